"""What to do about a Lease, from what it says and for how long it has said so.

The times in a Lease are another machine's and are there for people only. A Lease has run out when
*this* process has seen it unchanged for the duration that it names: the rule of client-go, which
holds however wrong the clocks are, as long as they run at about the same speed.
"""

import math
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

import msgspec


class Timing(msgspec.Struct, frozen=True):
    """How long a Lease lasts, in seconds; the rest are shares of it: of 10 s, 9, 6, 2.5 and 2."""

    duration: float = 10
    """Another may take it over when it has not been renewed for so long."""

    @property
    def given_up(self) -> float:
        """So long after a renewal a request that is still without an answer is given up."""
        return self.duration * 0.9

    @property
    def deadline(self) -> float:
        """Whoever could not renew it for so long begins nothing any more."""
        return self.duration * 0.6

    @property
    def patience(self) -> float:
        """How long one request may take: after one without an answer there is time for another."""
        return self.duration * 0.25

    @property
    def retry(self) -> float:
        """Between two attempts to renew or take it."""
        return self.duration * 0.2


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """What a Lease says; every field may be missing."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Seen(msgspec.Struct, frozen=True):
    """A Lease, and since when it has said the same."""

    spec: Spec
    since: float
    """By our own clock, in seconds."""

    def ends(self, timing: Timing) -> float:
        """When another may take it over, if it does not change before."""
        if not self.spec.holder_identity:
            return self.since
        return self.since + (self.spec.lease_duration_seconds or timing.duration)

    def again(self, spec: Spec, now: float) -> "Seen":
        """The same Lease after a further look."""
        return self if spec == self.spec else Seen(spec, now)


class Act(Enum):
    """What to do now."""

    WAIT = auto()
    MAKE = auto()
    """There is no Lease: make one that we hold."""
    TAKE = auto()
    RENEW = auto()
    GIVE_BACK = auto()


def decide(
    seen: Seen | None, me: str, now: float, timing: Timing, *, ready: bool, fit: bool
) -> Act:
    """What to do about a Lease.

    Args:
        seen: the Lease; None where there is none.
        me: our identity.
        now: by the clock of ``seen``.
        timing: holds where the Lease itself names no duration.
        ready: whether we know the cluster, so that we could begin to write.
        fit: whether what we know is of now, so that we may go on; a leader that is not leaves the
            Lease to one that may be.
    """
    if seen is None:
        return Act.MAKE if ready and fit else Act.WAIT
    if seen.spec.holder_identity == me:
        return Act.RENEW if fit else Act.GIVE_BACK
    if not (ready and fit):
        return Act.WAIT
    return Act.WAIT if now < seen.ends(timing) else Act.TAKE


def held(before: Spec | None, me: str, timing: Timing, wall: float) -> dict[str, Any]:
    """The spec of a Lease that we hold from now on, or still.

    Args:
        before: what it says; None where there is none.
        me: our identity.
        timing: its duration.
        wall: seconds since 1970, for people.
    """
    old = before if before is not None else Spec()
    goes_on = old.holder_identity == me
    count = old.lease_transitions or 0
    return {
        "holderIdentity": me,
        "leaseDurationSeconds": math.ceil(timing.duration),
        "acquireTime": old.acquire_time if goes_on else _micro_time(wall),
        "renewTime": _micro_time(wall),
        "leaseTransitions": count if goes_on or before is None else count + 1,
    }


def given_back(before: Spec, wall: float) -> dict[str, Any]:
    """The spec of a Lease that anybody may take at once, as client-go leaves it."""
    return {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": _micro_time(wall),
        "renewTime": _micro_time(wall),
        "leaseTransitions": before.lease_transitions or 0,
    }


def _micro_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
