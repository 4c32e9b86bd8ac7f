"""Debounce, recompute, publish: the one place where the answers are worked out anew.

Handlers only change the picture and say so; a burst of changes costs one recomputation.
"""

import asyncio
import contextlib
import gc
import logging
import math
import time
from collections.abc import Callable, Mapping

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.controller.feed import Feed
from gpu_triage.core.causes import Cause
from gpu_triage.core.classify import classify
from gpu_triage.core.facts import PodFacts
from gpu_triage.publish.writer import Writer

log = logging.getLogger(__name__)

DEBOUNCE_SECONDS = 0.2
BEAT_SECONDS = 2.0
"""How often the feeds are looked at when nothing else happens: a silent watch makes no event."""
BREATH = 10
"""Pods that are judged before others get a turn: probes must be answered meanwhile."""


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
        """
        self.beat = time.monotonic()
        """When it was last seen alive, by the monotonic clock."""
        self._inventory = inventory
        self._feeds = feeds
        self._verdicts = verdicts
        self._writer = writer
        self._publish_gated = publish_gated
        self._now = now
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
        look_again, took = math.inf, 0.0
        while True:
            await self._wait(look_again)
            self.beat = time.monotonic()
            if self._mark_unread():
                self._changed.set()  # remembered until it may be acted on
            trusted = self.synced and not any(feed.stale() for feed in self._feeds.values())
            self._writer.hold(not trusted)
            if not trusted:
                # Changes are coming in all the while; they are judged together when all is read.
                await asyncio.sleep(DEBOUNCE_SECONDS)
                continue
            self._freeze_once()
            if self._changed.is_set() or self._now() >= look_again:
                # At most half the time is spent here, however fast the changes come.
                await asyncio.sleep(max(DEBOUNCE_SECONDS, took))
                self._changed.clear()
                begun = time.monotonic()
                look_again = await self.recompute()
                took = time.monotonic() - begun

    async def recompute(self) -> float:
        """Judges every waiting pod and says what should stand on each; returns when to do it again.

        Seconds since 1970; infinity where only an event can change an answer.
        """
        now = self._now()
        look_again = math.inf
        waiting = self._inventory.waiting()
        for number, pod in enumerate(waiting, 1):
            verdict = classify(pod, self._inventory.picture, now)
            look_again = min(look_again, self._verdicts.judge(verdict, now))
            if number % BREATH == 0:
                await asyncio.sleep(0)
        self._verdicts.keep_only({pod.uid for pod in waiting})
        for pod in list(self._inventory.pods.values()):
            self._publish(pod)
        self._writer.keep_only(self._inventory.pods)
        return look_again

    def _publish(self, pod: PodFacts) -> None:
        if not pod.node and (pod.ended or pod.terminating):
            self._writer.leave(pod.uid)
            return
        standing = self._verdicts.of(pod.uid)
        if standing is not None and standing.cause is Cause.GATED and not self._publish_gated:
            standing = None
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

    async def _wait(self, look_again: float) -> None:
        seconds = max(0.0, min(BEAT_SECONDS, look_again - self._now()))
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
