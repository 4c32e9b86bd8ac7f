"""Which word each waiting pod has now, and since when.

The classifier's word of a moment is *raw*: one freed GPU makes every waiting pod of a kind fit
until the scheduler has placed one of them. What stands here is what may be published and counted.
"""

import math
from collections.abc import Mapping

import msgspec

from gpu_triage.cluster.history import History
from gpu_triage.core import objects
from gpu_triage.core.causes import PENDING, Cause, Detail
from gpu_triage.core.classify import Raw
from gpu_triage.core.facts import PodFacts
from gpu_triage.core.vocabulary import VOCABULARY

CLOCK_SECONDS = 60
"""How far another clock may be ahead before a time that it wrote is not believed."""


class Pace(msgspec.Struct, frozen=True):
    """How fast words may change, in seconds."""

    settle: float = 2
    """A pod waits this long before its first word."""
    fit: float = 30
    """It must fit this long without a break before GPUs are said not to be the cause."""
    refresh: float = 600
    """The message alone changes once in this time."""


class Standing(msgspec.Struct, frozen=True):
    """The word that stands for a waiting pod."""

    pod: PodFacts
    cause: Cause
    detail: Detail
    since: int
    """When the word began, in whole seconds since 1970; a change of detail does not touch it."""
    message: str
    """Empty until it has been said."""


class _Wait(msgspec.Struct):
    """What is remembered of one waiting pod."""

    seen: float
    since: float
    """When it began to wait for a scheduler, as far as is known."""
    standing: Standing | None
    said: float
    """When the message was last asked for."""
    unsaid: bool = False
    """It has been asked for and is not there yet."""
    fits: float | None = None
    """Since when it fits without a break."""
    gated: bool = False


class Verdicts:
    """The words of all waiting pods."""

    def __init__(self, pace: Pace) -> None:
        self.history = History()
        """What has happened so far."""
        self._pace = pace
        self._waits: dict[str, _Wait] = {}

    @property
    def standing(self) -> Mapping[str, Standing]:
        """The words that stand, by the pods' uids; pods that are too new have none."""
        return {uid: w.standing for uid, w in self._waits.items() if w.standing is not None}

    @property
    def waiting_since(self) -> Mapping[str, float]:
        """Since when each pod waits, by uid, in seconds since 1970; pods behind a gate do not.

        That is the later of its creation and its first sight without gates; after a restart, when
        the word that was read back began.
        """
        return {uid: w.since for uid, w in self._waits.items() if not w.gated}

    def of(self, uid: str) -> Standing | None:
        """The word that stands for a pod."""
        wait = self._waits.get(uid)
        return wait.standing if wait is not None else None

    def judge(self, pod: PodFacts, raw: Raw, now: float) -> float:
        """Takes the raw words of a waiting pod.

        Args:
            pod: the pod.
            raw: its words of the moment.
            now: seconds since 1970.

        Returns:
            When to do it again if nothing changes before, in seconds since 1970.
        """
        wait = self._waits.get(pod.uid)
        if wait is None:
            wait = self._waits[pod.uid] = _new(pod, _read_back(pod, now), now)
        if wait.gated and not pod.gates:
            # A pod whose gate has gone is new to the scheduler: it may well place it at once.
            wait = self._waits[pod.uid] = _new(pod, None, now)
        if raw.cause is not Cause.NOT_GPU:
            wait.fits = None
        elif wait.fits is None:
            wait.fits = now
        ripe = self._ripe(wait, raw, now)
        if now >= ripe:
            wait.standing = self._next(wait, pod, raw, now)
            ripe = math.inf
        elif wait.standing is not None:
            wait.standing = msgspec.structs.replace(wait.standing, pod=pod)
        refresh = wait.said + self._pace.refresh if wait.standing is not None else math.inf
        return min(ripe, max(refresh, now + 1))

    def wants_message(self, uid: str, raw: Raw) -> bool:
        """Whether a pod's word waits for its message, and these words are what it is to say."""
        wait = self._waits.get(uid)
        if wait is None or wait.standing is None or not wait.unsaid:
            return False
        return (wait.standing.cause, wait.standing.detail) == (raw.cause, raw.detail)

    def say(self, uid: str, message: str) -> None:
        """Takes the message of a pod's word."""
        wait = self._waits[uid]
        assert wait.standing is not None  # it was asked for
        wait.standing = msgspec.structs.replace(wait.standing, message=message)
        wait.unsaid = False

    def place(self, uid: str, now: float) -> None:
        """Notes that a pod has been placed, and forgets it."""
        wait = self._waits.pop(uid, None)
        if wait is not None and wait.standing is not None:
            self.history.waited(wait.standing.cause, max(0.0, now - wait.since))

    def forget(self, uid: str) -> None:
        """Forgets a pod that is gone without having been placed."""
        self._waits.pop(uid, None)

    def _ripe(self, wait: _Wait, raw: Raw, now: float) -> float:
        """From when on the raw word may stand, if it lasts."""
        fits = (wait.fits if wait.fits is not None else now) + self._pace.fit
        if raw.detail is Detail.TERMINATING:
            return now
        if wait.standing is None:
            settled = wait.seen + self._pace.settle
            return max(settled, fits) if raw.detail is Detail.NOT_TRIED else settled
        if raw.cause is Cause.NOT_GPU and wait.standing.cause is not Cause.NOT_GPU:
            return fits
        return now

    def _next(self, wait: _Wait, pod: PodFacts, raw: Raw, now: float) -> Standing:
        before, since, message = wait.standing, int(now), ""
        if before is not None and before.cause is raw.cause:
            since = before.since
            if before.detail is raw.detail:
                if now < wait.said + self._pace.refresh:
                    return msgspec.structs.replace(before, pod=pod)
                message = before.message
        if before is None or before.cause is not raw.cause:
            self.history.begun(raw.cause)
        wait.said, wait.unsaid = now, True
        return Standing(pod, raw.cause, raw.detail, since, message)


def _new(pod: PodFacts, standing: Standing | None, now: float) -> _Wait:
    """A pod that is seen waiting for the first time, or for the first time without gates."""
    gated = bool(pod.gates) or (standing is not None and standing.cause is Cause.GATED)
    since = now if standing is None else standing.since
    return _Wait(now, since, standing, now, gated=gated)


def _read_back(pod: PodFacts, now: float) -> Standing | None:
    """The word that an earlier life of this operator has left on the pod.

    A manifest that was copied with its annotations carries those of another pod: a word cannot be
    older than the pod it is about.
    """
    there = pod.published
    cause = next((each for each in PENDING if each == there.get("cause")), None)
    since = objects.seconds(there.get("since"))
    if cause is None or since is None or since > now + CLOCK_SECONDS:
        return None
    if pod.created is not None and since < pod.created:
        return None
    details = VOCABULARY[cause].details
    detail = next((each for each in details if each == there.get("detail")), None)
    if detail is None:
        return None
    return Standing(pod, cause, detail, int(since), there.get("message", ""))
