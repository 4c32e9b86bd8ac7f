"""Which settled word each waiting pod has now, since when, and what its message says.

What stands here is what may be published and counted. It outlives this process: it is read back
from the pods.
"""

import math
from collections.abc import Mapping

import msgspec

from gpu_triage.cluster.history import History
from gpu_triage.cluster.settling import Pace, Settling
from gpu_triage.core import objects
from gpu_triage.core.causes import PENDING, Cause, Detail
from gpu_triage.core.classify import Raw
from gpu_triage.core.message import Message
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.vocabulary import VOCABULARY

CLOCK_SECONDS = 60
"""How far another clock may be ahead before a time that it wrote is not believed."""


class Standing(msgspec.Struct, frozen=True):
    """The word that stands for a waiting pod."""

    pod: PodFacts
    cause: Cause
    detail: Detail
    since: int
    """When the word began, in whole seconds since 1970; a change of detail does not touch it."""
    message: str
    """Empty until it has been said."""
    taken: str = ""
    """The part of the message that says who has the GPUs."""
    step: str | None = None
    """The next step, for comparing; None where the message was read back."""

    @property
    def said(self) -> Message:
        """The message with its parts."""
        return Message(self.message, self.taken, self.step or "")


class _Wait(msgspec.Struct):
    """What is remembered of one waiting pod. ``since`` is by the day, all else by the clock."""

    settling: Settling
    gated: bool
    since: float
    """When it began to wait for a scheduler, as far as is known."""
    before: float
    """For how many seconds it had waited when it was first seen."""
    said: float
    """When the message was last asked for."""
    standing: Standing | None = None
    unsaid: bool = False
    """It has been asked for and is not there yet."""


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

    def judge(self, pod: PodFacts, raw: Raw, now: float, clock: float) -> float:
        """Takes the raw words of a waiting pod.

        Args:
            pod: the pod.
            raw: its words of the moment.
            now: seconds since 1970, for what is written.
            clock: seconds that never go back, for what lasts.

        Returns:
            When to do it again by the clock, if nothing changes before.
        """
        wait = self._waits.get(pod.uid)
        if wait is None:
            wait = self._waits[pod.uid] = _first_seen(pod, self._pace, now, clock)
        if wait.gated and not pod.gates:
            # A pod whose gate has gone is new to the scheduler: it may well place it at once.
            wait = self._waits[pod.uid] = _new(pod, now, clock)
        ripe = wait.settling.take(raw.cause, raw.detail, self._pace, clock)
        if ripe <= clock:
            self._stand(wait, pod, now, clock)
            ripe = math.inf
        if wait.standing is None:
            return ripe
        if wait.standing.pod is not pod:
            wait.standing = msgspec.structs.replace(wait.standing, pod=pod)
        return min(ripe, max(wait.said + self._pace.refresh, clock + 1))

    def wants_message(self, uid: str, raw: Raw) -> bool:
        """Whether a pod's word waits for its message, and these words are what it is to say."""
        wait = self._waits.get(uid)
        if wait is None or wait.standing is None or not wait.unsaid:
            return False
        return (wait.standing.cause, wait.standing.detail) == (raw.cause, raw.detail)

    def say(self, uid: str, message: Message) -> None:
        """Takes the message of a pod's word."""
        wait = self._waits[uid]
        assert wait.standing is not None  # it was asked for
        wait.standing = msgspec.structs.replace(
            wait.standing, message=message.text, taken=message.taken, step=message.step
        )
        wait.unsaid = False

    def place(self, uid: str, clock: float) -> None:
        """Notes that a pod has been placed, and forgets it."""
        wait = self._waits.pop(uid, None)
        if wait is not None and wait.standing is not None:
            waited = wait.before + clock - wait.settling.seen
            self.history.waited(wait.standing.cause, waited)

    def forget(self, uid: str) -> None:
        """Forgets a pod that is gone without having been placed."""
        self._waits.pop(uid, None)

    def take_over(self, pods: Mapping[str, PodFacts], now: float, clock: float) -> set[str]:
        """Goes on with the words that stand on the pods, as after a restart.

        For a replica that has only looked on: another has published meanwhile, and its words began
        when it says. Ours stay where nothing is published, or another word that began earlier.

        Args:
            pods: as they are now, by their uids.
            now: seconds since 1970.
            clock: seconds that never go back.

        Returns:
            The uids of all waiting pods: they are to be judged again.
        """
        for uid in self._waits.keys() & pods.keys():
            wait, known = self._waits[uid], _first_seen(pods[uid], self._pace, now, clock)
            own, there = wait.standing, known.standing
            if there is None:
                continue
            if own is not None and own.cause is not there.cause and own.since > there.since:
                self._count(own.cause, own.detail)
                continue
            known.since = min(known.since, wait.since)
            known.before = max(known.before, wait.before + clock - wait.settling.seen)
            self._waits[uid] = known
        return set(self._waits)

    def _stand(self, wait: _Wait, pod: PodFacts, now: float, clock: float) -> None:
        """Takes over the settled words, and asks for their message where it is due."""
        before, settled = wait.standing, wait.settling
        assert settled.cause is not None  # words have settled
        assert settled.detail is not None
        since, message = int(now), ""
        if before is None or before.cause is not settled.cause:
            self._count(settled.cause, settled.detail)
        else:
            since = before.since
            if before.detail is settled.detail:
                if clock < wait.said + self._pace.refresh:
                    return
                message = before.message
        wait.said, wait.unsaid = clock, True
        wait.standing = Standing(pod, settled.cause, settled.detail, since, message)

    def _count(self, cause: Cause, detail: Detail) -> None:
        if detail is not Detail.TERMINATING:
            self.history.begun(cause)


def _first_seen(pod: PodFacts, pace: Pace, now: float, clock: float) -> _Wait:
    """A pod that this process has not seen before; an earlier one may have."""
    standing, new = _read_back(pod, now), _new(pod, now, clock)
    if standing is None:
        return new
    age = max(0.0, now - standing.since)
    settled = new.settling
    settled.cause, settled.detail = standing.cause, standing.detail
    # How often it had changed is not written anywhere; what we could not read may be there now.
    settled.restless = age < pace.quiet and standing.cause is not Cause.UNKNOWN
    settled.stirred = clock - age
    new.gated = new.gated or standing.cause is Cause.GATED
    new.since, new.before, new.standing = standing.since, age, standing
    return new


def _new(pod: PodFacts, now: float, clock: float) -> _Wait:
    return _Wait(Settling(clock), bool(pod.gates), now, 0.0, clock)


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
