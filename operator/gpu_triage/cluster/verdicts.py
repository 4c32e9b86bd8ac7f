"""Which word each waiting pod has now, and since when.

The classifier's word of a moment is *raw*: one freed GPU makes every waiting pod of a kind fit
until the scheduler has placed one of them. What stands here is what may be published and counted.
"""

import math
from collections.abc import Mapping

import msgspec

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
    standing: Standing | None
    said: float
    """When the message was last asked for."""
    unsaid: bool = False
    """It has been asked for and is not there yet."""
    fits: float | None = None
    """Since when it fits without a break."""


class Verdicts:
    """The words of all waiting pods."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._waits: dict[str, _Wait] = {}

    @property
    def standing(self) -> Mapping[str, Standing]:
        """The words that stand, by the pods' uids; pods that are too new have none."""
        return {uid: w.standing for uid, w in self._waits.items() if w.standing is not None}

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
            wait = self._waits[pod.uid] = _Wait(now, _read_back(pod, now), now)
        elif _gate_lifted(wait, raw):
            # A pod whose gate has gone is new to the scheduler: it may well place it at once.
            wait = self._waits[pod.uid] = _Wait(now, None, now)
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

    def forget(self, uid: str) -> None:
        """Forgets a pod that has been placed or is gone."""
        self._waits.pop(uid, None)

    def take_over(self, pods: Mapping[str, PodFacts], now: float) -> set[str]:
        """Goes on with the words that stand on the pods, as after a restart.

        For a replica that has only looked on: another has published meanwhile, and its words began
        when it says. Ours stay where nothing is published.

        Args:
            pods: as they are now, by their uids.
            now: seconds since 1970.

        Returns:
            The uids of all waiting pods: they are to be judged again.
        """
        for uid, wait in list(self._waits.items()):
            pod = pods.get(uid)
            standing = _read_back(pod, now) if pod is not None else None
            if standing is not None:
                self._waits[uid] = _Wait(wait.seen, standing, now, fits=wait.fits)
        return set(self._waits)

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
        wait.said, wait.unsaid = now, True
        return Standing(pod, raw.cause, raw.detail, since, message)


def _gate_lifted(wait: _Wait, raw: Raw) -> bool:
    return (
        wait.standing is not None
        and wait.standing.cause is Cause.GATED
        and raw.cause is not Cause.GATED
    )


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
