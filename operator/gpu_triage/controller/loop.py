"""When it is done: soon after a change, in turns with all else that runs, and never on a guess.

Handlers only change the picture and say so; a burst of changes is taken in together. Words are
brought up to date once every kind has been read, and as long as the API server is heard of.
"""

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Callable, Mapping

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.reconciler import TURN_SECONDS, Reconciler
from gpu_triage.controller.tempo import Tempo
from gpu_triage.core.causes import KINDS
from gpu_triage.publish.writer import Writer

log = logging.getLogger(__name__)

UNREAD_SECONDS = 0.05
"""How often it is asked whether all has been read."""
BEAT_SECONDS = 2.0
"""How often the feeds are looked at when nothing else happens: a silent watch makes no event."""
OTHERS_SECONDS = TURN_SECONDS / 4
"""How long the turn of others is while not all words are there."""


class Loop:
    """Has the words brought up to date whenever something has changed or is due."""

    def __init__(
        self,
        inventory: Inventory,
        feeds: Mapping[str, Feed],
        reconciler: Reconciler,
        writer: Writer,
        *,
        changed: asyncio.Event,
        free: asyncio.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Does nothing yet.

        Args:
            inventory: the picture of the cluster.
            feeds: the watched kinds, by their plural.
            reconciler: does it.
            writer: held while nobody knows what is right.
            changed: set whenever the answers may be other ones.
            free: set while the inventory may be changed.
            clock: seconds that never go back.
        """
        self.beat = clock()
        """When it was last seen alive, by the clock that never goes back."""
        self._inventory = inventory
        self._feeds = feeds
        self._reconciler = reconciler
        self._writer = writer
        self._clock = clock
        self._tempo = Tempo(clock)
        self._changed = changed
        self._free = free
        self._frozen = False

    @property
    def synced(self) -> bool:
        """Whether every watched kind has been read, or is known not to be readable."""
        return all(feed.settled() for feed in self._feeds.values())

    @property
    def stale(self) -> bool:
        """Whether the API server has been silent for too long about some kind."""
        return any(feed.stale() for feed in self._feeds.values())

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
            working = self._reconciler.working
            if not working and self._mark_unread():
                self._changed.set()  # remembered until it may be acted on
            trusted = self.synced and not self.stale
            self._writer.hold(not trusted)
            if not trusted and not working:
                # Changes are coming in all the while; they are judged together when all is read.
                await asyncio.sleep(UNREAD_SECONDS)
                continue
            self._freeze_once()
            if not working and not self._changed.is_set() and self._reconciler.wait() > 0:
                self._reconciler.review()
            else:
                await asyncio.sleep(self._pause(turn))
                self._changed.clear()
                turn = self.turn()

    def turn(self) -> float:
        """Has it done for a turn, and returns the seconds that this took."""
        begun = self._clock()
        self._reconciler.recompute()
        if self._reconciler.working:
            self._free.clear()
        else:
            self._free.set()
            self._tempo.ended(self._reconciler.took)
        return self._clock() - begun

    def _pause(self, turn: float) -> float:
        """How long others get a turn, after one that took so long."""
        if self._reconciler.working:
            return OTHERS_SECONDS
        if self._reconciler.speechless:
            return min(turn, TURN_SECONDS)
        return self._tempo.pause()

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
        seconds = max(0.0, min(BEAT_SECONDS, self._reconciler.wait()))
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
