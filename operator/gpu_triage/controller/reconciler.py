"""One round: bring the words up to date, say what is to be said of them, publish.

The words come first and cost little, but where thousands of shapes wait for thousands of nodes even
they take seconds. So they are worked out in turns, and the picture stays as it is until all are; a
handler that comes meanwhile waits. Their messages come after, in turns too: each costs a look at
every node.
"""

import math
import time
from collections.abc import Callable, Hashable, Iterator

from gpu_triage.cluster.agenda import Agenda
from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.fleet import Fleet
from gpu_triage.cluster.groups import Groups
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.reviews import Reviews
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.core.alike import likeness
from gpu_triage.core.causes import Cause
from gpu_triage.core.explain import explain
from gpu_triage.core.message import Message
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.writer import Writer

TURN_SECONDS = 0.02
"""How long words and messages are worked out before others get a turn: watches, probes, scrapes."""


class Reconciler:
    """Keeps what is published in step with the picture, turn by turn."""

    def __init__(
        self,
        inventory: Inventory,
        verdicts: Verdicts,
        writer: Writer,
        counters: Counters,
        *,
        publish_gated: bool,
        term: Callable[[], int | None] = lambda: 0,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Does nothing yet.

        Args:
            inventory: the picture of the cluster.
            verdicts: the words.
            writer: takes what should stand on the pods.
            counters: where recomputations are counted.
            publish_gated: whether pods that a scheduling gate holds are annotated.
            term: which time it is that this replica leads; None while another may.
            now: seconds since 1970.
            clock: seconds that never go back.
        """
        self.took = 0.0
        """Seconds that went into the words so far, or the last time."""
        self._inventory = inventory
        self._engine = Engine(inventory)
        self._agenda = Agenda()
        """When a word is looked at again because time has passed, by the clock."""
        self._unsaid = Groups()
        self._reviews = Reviews(clock(), TURN_SECONDS)
        self._verdicts = verdicts
        self._writer = writer
        self._counters = counters
        self._publish_gated = publish_gated
        self._term = term
        self._taken_over: int | None = None
        """The term in which the words that others have published were taken over last."""
        self._now = now
        self._clock = clock
        self._work: Iterator[None] | None = None
        """What is left to do until every word is right."""

    @property
    def judged(self) -> bool:
        """Whether the words have been worked out once."""
        return self._counters.recomputed.times > 0

    @property
    def fleet(self) -> Fleet:
        """The GPUs of all nodes."""
        return self._engine.fleet

    @property
    def leading(self) -> bool:
        """Whether this replica is the one that writes, and knows what the last one wrote."""
        term = self._term()
        return term is not None and term == self._taken_over

    @property
    def working(self) -> bool:
        """Whether some words are still to be worked out; the inventory must not change."""
        return self._work is not None

    @property
    def speechless(self) -> bool:
        """Whether some words have no message yet."""
        return bool(self._unsaid)

    def recompute(self) -> None:
        """Brings the words up to date; once all are, says for a turn what is to be said of them."""
        begun = self._clock()
        ends = begun + TURN_SECONDS
        if self._work is None:
            self.took, self._work = 0.0, self._judge(self._now(), begun)
        for _ in self._work:
            if self._clock() >= ends:
                self.took += self._clock() - begun
                return
        self._work = None
        self.took += self._clock() - begun
        self._counters.recomputed.add(self.took)
        for pod in self._inventory.take_ignored():
            self._publish(pod)
        self._speak(self._now(), ends)
        self.review()

    def wait(self) -> float:
        """How long until it is to be done again if nothing changes, in seconds.

        0 or less: now; infinity where only an event can change an answer.
        """
        if self._unsaid or self._work is not None:
            return 0.0
        return min(self._engine.next - self._now(), self._agenda.next - self._clock())

    def _judge(self, now: float, clock: float) -> Iterator[None]:
        term, taken = self._term(), set[str]()
        self._verdicts.history.counting = term is not None
        told = yield from self._engine.steps(now)
        if term is not None and term != self._taken_over:
            taken = self._verdicts.take_over(self._inventory.pods, now, clock)
        for uid in sorted(told.union(self._agenda.take(clock), taken), key=self._age):
            self._settle(uid, now, clock)
            yield
        for uid in taken & self._inventory.pods.keys():
            self._publish(self._inventory.pods[uid])  # the writer still knows our own words
        self._taken_over = term

    def _age(self, uid: str) -> tuple[float, str]:
        pod = self._inventory.pods.get(uid)
        return (pod.created or 0.0, pod.key) if pod is not None else (0.0, "")

    def _settle(self, uid: str, now: float, clock: float) -> None:
        pod, raw = self._inventory.pods.get(uid), self._engine.words.get(uid)
        again, before = math.inf, self._verdicts.of(uid)
        self._unsaid.drop(uid)
        if pod is not None and raw is not None:
            again = self._verdicts.judge(pod, raw, now, clock)
            if self._verdicts.wants_message(uid, raw):
                self._unsaid.put(uid, likeness(pod, raw, self._inventory.picture))
        elif pod is not None and pod.node:
            self._verdicts.place(uid, clock)
        else:
            self._verdicts.forget(uid)
        self._agenda.put(uid, again)
        if before is not None and before is self._verdicts.of(uid):
            return  # another raw word, which may not last
        if pod is not None:
            self._publish(pod)
        else:
            self._writer.leave(uid)

    def _speak(self, now: float, ends: float) -> None:
        while self._unsaid:
            like, together = self._unsaid.take()
            said = explain(self._engine.verdict(together[0]), now)
            for uid in together:
                self._reviews.said(uid, like, self._clock(), self._inventory.version)
                self._say(self._inventory.pods[uid], said)
            if self._clock() >= ends:
                break

    def _say(self, pod: PodFacts, said: Message) -> None:
        self._verdicts.say(pod.uid, said)
        self._publish(pod)

    def review(self) -> None:
        """Works some messages out anew; what in them is worth a write is for the writer to say.

        Right after ``recompute`` only: the words rest on the picture as it was then.
        """
        moment = self._clock()
        ends = moment + self._reviews.allowance(moment)
        while not self._unsaid and self._clock() < ends:
            together = self._reviews.take(moment, self._inventory.version)
            if not together:
                break
            told: dict[Hashable, Message] = {}
            for uid in together:
                self._review(uid, told, moment)
        self._reviews.spend(self._clock() - moment)

    def _review(self, uid: str, told: dict[Hashable, Message], moment: float) -> None:
        pod, raw = self._inventory.pods.get(uid), self._engine.words.get(uid)
        standing = self._verdicts.of(uid)
        if pod is None or raw is None or standing is None:
            return
        like = likeness(pod, raw, self._inventory.picture)
        self._reviews.said(uid, like, moment, self._inventory.version)
        if (standing.cause, standing.detail) != (raw.cause, raw.detail):
            return  # it settles
        if like not in told:
            told[like] = explain(self._engine.verdict(uid), self._now())
        if told[like] != standing.said:
            self._say(pod, told[like])

    def _publish(self, pod: PodFacts) -> None:
        if not pod.node and (pod.ended or pod.terminating):
            self._writer.leave(pod.uid)
            return
        standing = self._verdicts.of(pod.uid)
        if standing is not None and standing.cause is Cause.GATED and not self._publish_gated:
            standing = None
        if pod.ignored or pod.namespace in self._inventory.ignored:
            standing = None
        self._writer.want(pod, standing)
