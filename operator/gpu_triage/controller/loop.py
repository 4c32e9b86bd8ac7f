"""Debounce, bring the words up to date, publish.

Handlers only change the picture and say so; a burst of changes is taken in together. The words come
first and cost little. Their messages come after, in turns: each costs a look at every node.
"""

import asyncio
import contextlib
import gc
import logging
import math
import time
from collections.abc import Callable, Mapping

from gpu_triage.cluster.agenda import Agenda
from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.controller.feed import Feed
from gpu_triage.core.causes import Cause
from gpu_triage.core.explain import message
from gpu_triage.core.facts import PodFacts
from gpu_triage.publish.writer import Writer

log = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.05
SLOW_SECONDS = 0.2
SHARE = 20
"""Where changes never end, they are taken in so often that it costs a twentieth of the time, but no
more often than the first and no less than the second pace."""
BEAT_SECONDS = 2.0
"""How often the feeds are looked at when nothing else happens: a silent watch makes no event."""
TURN_SECONDS = 0.05
"""How long messages are worked out before others get a turn: watches, probes, the next change."""


class Loop:
    """Keeps the words in step with the picture."""

    def __init__(
        self,
        inventory: Inventory,
        feeds: Mapping[str, Feed],
        verdicts: Verdicts,
        writer: Writer,
        *,
        changed: asyncio.Event,
        publish_gated: bool,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Does nothing yet.

        Args:
            inventory: the picture of the cluster.
            feeds: the watched kinds, by their plural.
            verdicts: the words.
            writer: takes what should stand on the pods.
            changed: set whenever the answers may be other ones.
            publish_gated: whether pods that a scheduling gate holds are annotated.
            now: seconds since 1970.
            clock: seconds that never go back.
        """
        self.beat = clock()
        """When it was last seen alive, by the clock that never goes back."""
        self._inventory = inventory
        self._engine = Engine(inventory)
        self._agenda = Agenda()
        """When a word is looked at again because time has passed, by the clock."""
        self._unsaid: dict[str, None] = {}
        """Pods whose words may want a message, in the order in which they came to."""
        self._feeds = feeds
        self._verdicts = verdicts
        self._writer = writer
        self._publish_gated = publish_gated
        self._now = now
        self._clock = clock
        self._changed = changed
        self._frozen = False

    @property
    def synced(self) -> bool:
        """Whether every watched kind has been read, or is known not to be readable."""
        return all(feed.settled() for feed in self._feeds.values())

    def problems(self) -> list[str]:
        """Why the operator is not ready; nothing where it is."""
        return [problem for feed in self._feeds.values() if (problem := feed.problem())]

    async def run(self) -> None:
        """Recomputes whenever something has changed or is due, for ever."""
        took = 0.0
        while True:
            await self._wait()
            self.beat = self._clock()
            if self._mark_unread():
                self._changed.set()  # remembered until it may be acted on
            trusted = self.synced and not any(feed.stale() for feed in self._feeds.values())
            self._writer.hold(not trusted)
            if not trusted:
                # Changes are coming in all the while; they are judged together when all is read.
                await asyncio.sleep(DEBOUNCE_SECONDS)
                continue
            self._freeze_once()
            if self._changed.is_set() or self.wait() <= 0:
                await asyncio.sleep(self._pause(took))
                self._changed.clear()
                begun = self._clock()
                self.recompute()
                took = self._clock() - begun

    def _pause(self, took: float) -> float:
        """How long to wait for further changes, after a recomputation that took so long.

        At most half the time is spent here, however fast the changes come.
        """
        if self._unsaid:
            return took
        return max(DEBOUNCE_SECONDS, min(SLOW_SECONDS, took * (SHARE - 1)), took)

    def recompute(self) -> None:
        """Brings every word up to date, and says for one turn what is to be said of them."""
        now, clock = self._now(), self._clock()
        told = self._engine.refresh(now).union(self._agenda.take(clock))
        for uid in sorted(told, key=self._age):
            self._settle(uid, now, clock)
        self._speak(now)

    def wait(self) -> float:
        """How long until it is to be done again if nothing changes, in seconds.

        0 or less: now; infinity where only an event can change an answer.
        """
        if self._unsaid:
            return 0.0
        return min(self._engine.next - self._now(), self._agenda.next - self._clock())

    def _age(self, uid: str) -> tuple[float, str]:
        pod = self._inventory.pods.get(uid)
        return (pod.created or 0.0, pod.key) if pod is not None else (0.0, "")

    def _settle(self, uid: str, now: float, clock: float) -> None:
        pod, raw = self._inventory.pods.get(uid), self._engine.words.get(uid)
        again, before = math.inf, self._verdicts.of(uid)
        if pod is not None and raw is not None:
            again = self._verdicts.judge(pod, raw, now, clock)
            self._unsaid[uid] = None
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

    def _speak(self, now: float) -> None:
        ends = self._clock() + TURN_SECONDS
        while self._unsaid:
            uid = next(iter(self._unsaid))
            del self._unsaid[uid]
            pod, raw = self._inventory.pods.get(uid), self._engine.words.get(uid)
            if pod is not None and raw is not None and self._verdicts.wants_message(uid, raw):
                self._verdicts.say(uid, message(self._engine.verdict(uid), now))
                self._publish(pod)
                if self._clock() >= ends:
                    break

    def _publish(self, pod: PodFacts) -> None:
        if not pod.node and (pod.ended or pod.terminating):
            self._writer.leave(pod.uid)
            return
        standing = self._verdicts.of(pod.uid)
        if standing is not None and standing.cause is Cause.GATED and not self._publish_gated:
            standing = None
        if standing is not None and not standing.message:
            return  # what stands on the pod stays until there is something to say
        self._writer.want(pod, standing)

    def _mark_unread(self) -> bool:
        changed = False
        for kind, feed in self._feeds.items():
            why = feed.unread()
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
