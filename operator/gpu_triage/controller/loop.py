"""Debounce, bring the words up to date, publish.

Handlers only change the picture and say so; a burst of changes is taken in together. The words come
first and cost little, but where thousands of shapes wait for thousands of nodes even they take
seconds. So they are worked out in turns, and the picture stays as it is until all are; a handler
that comes meanwhile waits. Their messages come after, in turns too: each costs a look at every
node.
"""

import asyncio
import contextlib
import gc
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping

from gpu_triage.cluster.agenda import Agenda
from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.fleet import Fleet
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.reviews import Reviews
from gpu_triage.cluster.unsaid import Unsaid
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.tempo import Tempo
from gpu_triage.core.alike import likeness
from gpu_triage.core.causes import KINDS, Cause
from gpu_triage.core.explain import explain
from gpu_triage.core.facts import PodFacts
from gpu_triage.core.message import Message
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.writer import Writer

log = logging.getLogger(__name__)

UNREAD_SECONDS = 0.05
"""How often it is asked whether all has been read."""
BEAT_SECONDS = 2.0
"""How often the feeds are looked at when nothing else happens: a silent watch makes no event."""
TURN_SECONDS = 0.02
"""How long words and messages are worked out before others get a turn: watches, probes, scrapes."""
OTHERS_SECONDS = TURN_SECONDS / 4
"""How long the turn of others is while not all words are there."""


class Loop:
    """Keeps the words in step with the picture."""

    def __init__(
        self,
        inventory: Inventory,
        feeds: Mapping[str, Feed],
        verdicts: Verdicts,
        writer: Writer,
        counters: Counters,
        *,
        changed: asyncio.Event,
        free: asyncio.Event,
        publish_gated: bool,
        term: Callable[[], int | None] = lambda: 0,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Does nothing yet.

        Args:
            inventory: the picture of the cluster.
            feeds: the watched kinds, by their plural.
            verdicts: the words.
            writer: takes what should stand on the pods.
            counters: where recomputations are counted.
            changed: set whenever the answers may be other ones.
            free: set while the inventory may be changed.
            publish_gated: whether pods that a scheduling gate holds are annotated.
            term: which time it is that this replica leads; None while another may.
            now: seconds since 1970.
            clock: seconds that never go back.
        """
        self.beat = clock()
        """When it was last seen alive, by the clock that never goes back."""
        self._inventory = inventory
        self._engine = Engine(inventory)
        self._agenda = Agenda()
        """When a word is looked at again because time has passed, by the clock."""
        self._unsaid = Unsaid()
        self._reviews = Reviews(clock(), TURN_SECONDS)
        self._feeds = feeds
        self._verdicts = verdicts
        self._writer = writer
        self._counters = counters
        self._publish_gated = publish_gated
        self._term = term
        self._taken_over: int | None = None
        """The term in which the words that others have published were taken over last."""
        self._now = now
        self._clock = clock
        self._tempo = Tempo(clock)
        self._changed = changed
        self._free = free
        self._work: Iterator[None] | None = None
        """What is left to do until every word is right."""
        self._took = 0.0
        """Seconds that went into that so far, or the last time."""
        self._frozen = False

    @property
    def judged(self) -> bool:
        """Whether the words have been worked out once."""
        return self._counters.recomputed.times > 0

    @property
    def fleet(self) -> Fleet:
        """The GPUs of all nodes."""
        return self._engine.fleet

    @property
    def synced(self) -> bool:
        """Whether every watched kind has been read, or is known not to be readable."""
        return all(feed.settled() for feed in self._feeds.values())

    @property
    def stale(self) -> bool:
        """Whether the API server has been silent for too long about some kind."""
        return any(feed.stale() for feed in self._feeds.values())

    @property
    def leading(self) -> bool:
        """Whether this replica is the one that writes, and knows what the last one wrote."""
        term = self._term()
        return term is not None and term == self._taken_over

    def problems(self) -> list[str]:
        """Why the operator is not ready; nothing where it is."""
        return [problem for feed in self._feeds.values() if (problem := feed.problem())]

    async def run(self) -> None:
        """Recomputes whenever something has changed or is due, for ever."""
        try:
            await self._run()
        finally:
            self._free.set()  # kopf waits for its handlers when it ends

    async def _run(self) -> None:
        turn = 0.0
        while True:
            await self._wait()
            self.beat = self._clock()
            working = self._work is not None
            if not working and self._mark_unread():
                self._changed.set()  # remembered until it may be acted on
            trusted = self.synced and not self.stale
            self._writer.hold(not trusted)
            if not trusted and not working:
                # Changes are coming in all the while; they are judged together when all is read.
                await asyncio.sleep(UNREAD_SECONDS)
                continue
            self._freeze_once()
            if not working and not self._changed.is_set() and self.wait() > 0:
                self._review(self._now())
            else:
                await asyncio.sleep(self._pause(turn))
                if self._changed.is_set():
                    self._changed.clear()
                    self._reviews.changed()
                begun = self._clock()
                self.recompute()
                turn = self._clock() - begun

    def _pause(self, turn: float) -> float:
        """How long others get a turn, after one that took so long."""
        if self._work is not None:
            return OTHERS_SECONDS
        if self._unsaid:
            return min(turn, TURN_SECONDS)
        return self._tempo.pause()

    def recompute(self) -> None:
        """Brings the words up to date; once all are, says for a turn what is to be said of them."""
        begun = self._clock()
        ends = begun + TURN_SECONDS
        if self._work is None:
            self._took, self._work = 0.0, self._judge(self._now(), begun)
        for _ in self._work:
            if self._clock() >= ends:
                self._took += self._clock() - begun
                self._free.clear()
                return
        self._work = None
        self._took += self._clock() - begun
        self._tempo.ended(self._took)
        self._counters.recomputed.add(self._took)
        self._free.set()
        for pod in self._inventory.take_ignored():
            self._publish(pod)
        self._speak(self._now(), ends)
        self._review(self._now())

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
            together = self._unsaid.take()
            said = explain(self._engine.verdict(together[0]), now)
            for uid in together:
                self._say(self._inventory.pods[uid], said)
            if self._clock() >= ends:
                break

    def _say(self, pod: PodFacts, said: Message) -> None:
        self._verdicts.say(pod.uid, said)
        self._reviews.said(pod.uid, self._clock())
        self._publish(pod)

    def _review(self, now: float) -> None:
        """Works some messages out anew; what in them is worth a write is for the writer to say.

        Right after ``recompute`` only: the words rest on the picture as it was then.
        """
        moment = self._clock()
        ends = moment + self._reviews.allowance(moment)
        while not self._unsaid and self._clock() < ends:
            uid = self._reviews.take(moment)
            if uid is None:
                break
            pod, raw = self._inventory.pods.get(uid), self._engine.words.get(uid)
            standing = self._verdicts.of(uid)
            if pod is None or raw is None or standing is None:
                continue
            if (standing.cause, standing.detail) == (raw.cause, raw.detail):
                self._say(pod, explain(self._engine.verdict(uid), now))
            else:  # it settles
                self._reviews.said(uid, moment)
        self._reviews.spend(self._clock() - moment)

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

    def _mark_unread(self) -> bool:
        changed = False
        for kind in self._feeds.keys() & {*KINDS}:
            why = self._feeds[kind].unread()
            if why is None:
                changed |= self._inventory.mark_read(kind)
            else:
                changed |= self._inventory.mark_unread(kind, why)
        return changed

    async def _wait(self) -> None:
        seconds = max(0.0, min(BEAT_SECONDS, self.wait()))
        # Not wait_for: in Python 3.11 it can swallow the cancellation that ends this task.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _freeze_once(self) -> None:
        """Keeps what was read at the start out of the garbage collector's way for good."""
        if not self._frozen:
            self._frozen = True
            gc.collect()
            gc.freeze()
            log.info("Everything has been read pods=%d", len(self._inventory.pods))
