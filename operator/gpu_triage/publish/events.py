"""The Event of a spell: one for the time that a word lasts, so that kubectl describe pod shows it.

An Event is immutable but for its series, and it expires an hour after its last change. Its name
comes from the spell, so an operator that starts anew meets its own Event and doubles nothing.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core import objects
from gpu_triage.core.causes import EventType
from gpu_triage.core.vocabulary import VOCABULARY, sense
from gpu_triage.publish.write import Kind, Write

REPORTER = "gpu-triage.io/operator"
INSTANCE = "gpu-triage"
"""Immutable in an Event, so a constant: with a pod's name the next operator could not go on."""
ACTION = "Triage"
NOTE_BYTES = 1024
NAME_LENGTH = 253


class Told(msgspec.Struct, frozen=True):
    """What is known of the Event of a spell."""

    name: str
    renew: float
    """When it is looked at next, by the clock that ``known`` was given."""
    made: bool = True
    """False: it was not to be made, as the pod was one of many."""


class Silence(msgspec.Struct, frozen=True):
    """Until when a pod gets no new Event."""

    until: float = 0.0
    """In seconds since 1970."""
    latest: EventType | None = None
    """The type of its latest Event, as far as is known."""
    own: str = ""
    """The Event of a spell that goes on since before we came, which may be there or not."""
    own_until: float = 0.0
    """Until when that one is not made."""

    def ends(self, kind: EventType, name: str) -> float:
        """From when on an Event may be made: a Warning after a Normal one at once."""
        if name == self.own:
            return self.own_until
        worse = kind is EventType.WARNING and self.latest is EventType.NORMAL
        return 0.0 if worse else self.until


def change(
    standing: Standing,
    told: Told | None,
    now: float,
    period: float,
    *,
    clock: float | None = None,
) -> Write | None:
    """The write that a word's Event needs now; None where it needs none.

    Args:
        standing: the word.
        told: what is known of this pod's latest Event.
        now: seconds since 1970.
        period: seconds between two writes of the series.
        clock: seconds that never go back; ``now`` where not given.
    """
    kind = event_type(standing)
    if kind is None:
        return None
    name = name_of(standing, kind)
    moment = now if clock is None else clock
    if told is not None and told.name == name and moment < told.renew:
        return None
    if told is None or told.name != name or not told.made:
        return _create(standing, kind, name, now, period)
    return _renew(standing, name, now, period)


def known(
    standing: Standing,
    now: float,
    period: float,
    *,
    clock: float | None = None,
    made: bool = True,
) -> Told | None:
    """What is known once an Event is there, or is not to be made; None for a word without one."""
    kind = event_type(standing)
    if kind is None:
        return None
    # A day that was set back lies before the word, and must not outlast the API server's memory.
    wait = min(period, standing.since + period * _count(standing, now, period) - now)
    return Told(name_of(standing, kind), (now if clock is None else clock) + wait, made)


def is_of(told: Told | None, standing: Standing) -> bool:
    """Whether what is known is of the spell that a word stands for."""
    kind = event_type(standing)
    return told is not None and kind is not None and told.name == name_of(standing, kind)


def silence(there: Mapping[str, str], standing: Standing | None, gap: float) -> Silence:
    """How long a pod gets no new Event, told from the annotations that an earlier life has left.

    The Event of the word that stands there was made ``gap`` after the word began at the latest, so
    the same limit holds as if nothing had been forgotten.

    Args:
        there: the annotations, without the domain.
        standing: the word that stands now.
        gap: seconds between two new Events.
    """
    since, latest = objects.seconds(there.get("since")), _type_of(there)
    if since is None:
        return Silence()
    if latest is None:
        return Silence(since + gap)
    # It may itself have been made as late as the Event before it allowed.
    until, own = since + 2 * gap, ""
    if standing is not None and standing.since == since and standing.cause == there.get("cause"):
        own = name_of(standing, latest)
    return Silence(until, latest, own, since + gap)


def made(silence: Silence, standing: Standing, now: float, gap: float, *, new: bool) -> Silence:
    """The same after an Event has been made, or was found to be there already."""
    until = now + gap if new else min(now, standing.since + gap) + gap
    return Silence(max(silence.until, until), event_type(standing))


def _type_of(there: Mapping[str, str]) -> EventType | None:
    for cause, word in VOCABULARY.items():
        if cause == there.get("cause"):
            detail = next((each for each in word.details if each == there.get("detail")), None)
            return sense(cause, detail).event if detail is not None else None
    return None


def event_type(standing: Standing) -> EventType | None:
    """How the word is shown; None where no Event is made of it."""
    return sense(standing.cause, standing.detail).event


def _create(standing: Standing, kind: EventType, name: str, now: float, period: float) -> Write:
    pod = standing.pod
    body: dict[str, object] = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": pod.namespace},
        "eventTime": _micro_time(standing.since),
        "reportingController": REPORTER,
        "reportingInstance": INSTANCE,
        "action": ACTION,
        "reason": VOCABULARY[standing.cause].reason,
        "type": kind.value,
        "note": _cut(standing.message),
        # kubectl describe looks an Event up by all of these.
        "regarding": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
    }
    if _count(standing, now, period) >= 2:
        body["series"] = _series(standing, now, period)
    return Write(
        Kind.EVENT,
        "POST",
        f"{_collection(standing)}?fieldManager={INSTANCE}",
        "application/json",
        msgspec.json.encode(body),
        says=name,
    )


def _renew(standing: Standing, name: str, now: float, period: float) -> Write:
    return Write(
        Kind.SERIES,
        "PATCH",
        f"{_collection(standing)}/{name}?fieldManager={INSTANCE}",
        "application/merge-patch+json",
        msgspec.json.encode({"series": _series(standing, now, period)}),
        says=name,
    )


def _collection(standing: Standing) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{standing.pod.namespace}/events"


def _count(standing: Standing, now: float, period: float) -> int:
    """How often the word has been said, told from its age: it need not be remembered."""
    return 1 + max(0, int((now - standing.since) // period))


def _series(standing: Standing, now: float, period: float) -> dict[str, object]:
    # The API server wants 2 at least, which a clock that was set back would miss.
    return {
        "count": max(2, _count(standing, now, period)),
        "lastObservedTime": _micro_time(now),
    }


def name_of(standing: Standing, kind: EventType) -> str:
    """The name of a spell's Event."""
    pod = standing.pod
    spell = f"{pod.uid}/{standing.cause}/{kind}/{standing.since}"
    digest = hashlib.sha256(spell.encode()).hexdigest()[:16]
    return f"{pod.name[: NAME_LENGTH - 17].rstrip('-.')}.{digest}"


def _micro_time(seconds: float) -> str:
    """RFC 3339 with exactly six digits: the API server refuses any other number of them."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(text: str) -> str:
    """At most 1,024 bytes of UTF-8, whole characters."""
    return text.encode()[:NOTE_BYTES].decode(errors="ignore")
