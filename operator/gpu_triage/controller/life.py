"""All parts of the operator: how they are wired, started, and ended in order."""

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable
from functools import partial

from gpu_triage import __version__
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.controller import discovery, watcher
from gpu_triage.controller.access import Access
from gpu_triage.controller.election import Election
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.controller.health import Health
from gpu_triage.controller.lease import Timing
from gpu_triage.controller.loop import Loop
from gpu_triage.controller.reconciler import Reconciler
from gpu_triage.controller.sieve import lean
from gpu_triage.controller.transport import Transport
from gpu_triage.core.causes import DEVICE_CLASSES, EVENTS, NAMESPACES, NODES, PODS
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.metrics import StateCollector, registry
from gpu_triage.publish.writer import Writer
from gpu_triage.settings import Settings

log = logging.getLogger("gpu_triage")

RIGHTS = "kubectl apply -f deploy/rbac"
EVENTS_RIGHTS = (
    "Helm gives the right with settings.readEvents; else add it to deploy/rbac/clusterrole.yaml, "
    + RIGHTS
)
STOPPED, DIED, BAD_SETTINGS = 0, 1, 2
REMOVAL_SECONDS = 4.0
"""How long removals are written after the signal to end."""


class Operator:
    """All parts of the operator, and their life."""

    def __init__(
        self,
        settings: Settings,
        access: Access,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Does nothing yet.

        Args:
            settings: all that can be set.
            access: the way to the API server.
            now: seconds since 1970.
            clock: seconds that never go back.
        """
        rules = settings.rules
        counters = Counters()
        self._settings = settings
        self._access = access
        self._clock = clock
        self._feeds: dict[str, Feed] = {}
        self._transport = Transport(access, f"gpu-triage/{__version__}")
        inventory = Inventory(rules)
        verdicts = Verdicts(settings.pace)
        changed, free = asyncio.Event(), asyncio.Event()
        free.set()
        self._election = election = self._candidacy(changed.set) if settings.lease else None
        send = self._transport.send
        self._writer = Writer(
            partial(election.send, send) if election is not None else send,
            now,
            counters,
            settings.terms,
            clock=clock,
            may_write=lambda: self._reconciler.leading,
        )
        self._intake = Intake(inventory, rules, self._feeds, changed.set, free, clock)
        self._reconciler = Reconciler(
            inventory,
            verdicts,
            self._writer,
            counters,
            publish_gated=settings.publish_gated,
            term=(lambda: election.term) if election is not None else lambda: 0,
            now=now,
            clock=clock,
        )
        self._loop = Loop(
            inventory,
            self._feeds,
            self._reconciler,
            self._writer,
            changed=changed,
            free=free,
            clock=clock,
        )
        collector = StateCollector(
            verdicts,
            self._reconciler.fleet,
            inventory.picture.classes,
            counters,
            version=__version__,
            synced=lambda: self._loop.synced,
            judged=lambda: self._reconciler.judged,
            ages=lambda: {kind: feed.age() for kind, feed in self._feeds.items()},
            leads=lambda: self._reconciler.leading,
            pod_rows=settings.pod_cause_info,
        )
        self._health = Health(
            registry(collector),
            beat=lambda: self._loop.beat,
            dead=lambda: [name for name, task in self._own.items() if task.done()],
            problems=self._problems,
            clock=clock,
        )
        self._own: dict[str, asyncio.Task[None]] = {}
        self._watch_kind(PODS, "")
        self._watch_kind(NODES, "")
        self._watch_kind(NAMESPACES, "", optional=True)
        if settings.read_events:
            self._watch_kind(EVENTS, "", optional=True, rights=EVENTS_RIGHTS)

    async def run(self) -> int:
        """Runs until told to stop; returns the exit code."""
        try:
            where = await self._health.start(self._settings.http_address)
        except OSError as error:
            log.error(
                "Cannot serve GPU_TRIAGE_HTTP_ADDRESS=%s: %s; choose another address",
                self._settings.http_address,
                os.strerror(error.errno) if error.errno else error,
            )
            return BAD_SETTINGS
        log.info("Serving pages=/healthz,/readyz,/metrics address=%s", where)
        # Our own tasks stand before kopf's: kopf waits at its end for all that came after it.
        self._own = {
            "loop": asyncio.create_task(self._loop.run(), name="loop"),
            "writer": asyncio.create_task(self._writer.run(), name="writer"),
        }
        if self._election is not None:
            self._own["election"] = asyncio.create_task(self._election.run(), name="election")
        try:
            return await self._watch() if await self._reach() else STOPPED
        finally:
            await self._end_own()
            await self._transport.close()

    async def _reach(self) -> bool:
        """Asks the API server the first questions; False when told to stop meanwhile."""
        asked = asyncio.create_task(self._ask())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, asked.cancel)
        try:
            exist = await asked
        except asyncio.CancelledError:
            return False
        if self._settings.dra != "off":
            if exist:
                self._watch_kind(
                    DEVICE_CLASSES, discovery.GROUP, optional=self._settings.dra == "auto"
                )
            elif self._settings.dra == "on":
                log.warning("GPU_TRIAGE_DRA=on, and this cluster has no DeviceClasses in v1")
        self._transport.feeds = {feed.path: feed for feed in self._feeds.values()}
        return True

    async def _ask(self) -> bool:
        exist = await discovery.knows_device_classes(self._transport, self._access)
        await discovery.tell_if_too_old(self._transport)
        return exist

    async def _watch(self) -> int:
        """Watches until told to stop, or until a part dies."""
        stop = asyncio.Event()
        watching = asyncio.create_task(
            watcher.watch(self._transport, self._intake, stop=stop, before_end=self._end_own),
            name="watcher",
        )
        parts = [watching, *self._own.values()]
        await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        code = STOPPED
        # The own tasks end with an error or when kopf, told to stop by a signal, has ended them.
        for part in parts:
            if part.done() and not part.cancelled() and (error := part.exception()) is not None:
                log.error(
                    "Part has died part=%s why=%r",
                    part.get_name(),
                    f"{type(error).__name__}: {error}",
                    exc_info=error if log.isEnabledFor(logging.DEBUG) else None,
                )
                code = DIED
        stop.set()
        with contextlib.suppress(Exception):
            await watching
        return code

    async def _end_own(self) -> None:
        """Ends our own parts; what must not stand on pods any more is removed before, if it may.

        The Lease is renewed until nothing can be written any more, and given back then.
        """
        if (loop := self._own.get("loop")) is not None:
            loop.cancel()  # it finds nothing new to write
        if (writer := self._own.get("writer")) is not None and not writer.done():
            await self._writer.finish(REMOVAL_SECONDS)
        for names in (self._own.keys() - {"election"}, {"election"} & self._own.keys()):
            for name in names:
                self._own[name].cancel()
            await asyncio.gather(*(self._own[name] for name in names), return_exceptions=True)
        if self._election is not None:
            await self._election.end()
        await self._health.stop()

    def _candidacy(self, changed: Callable[[], None]) -> Election:
        return Election(
            self._transport.ask,
            self._settings.lease,
            # A second process on one host must never take the other's Lease for its own.
            f"{socket.gethostname()}_{secrets.token_hex(4)}",
            Timing(self._settings.lease_seconds),
            ready=lambda: self._loop.synced,
            fit=lambda: not self._loop.stale,
            changed=changed,
        )

    def _problems(self) -> list[str]:
        return self._loop.problems() + (self._election.problems() if self._election else [])

    def _watch_kind(
        self,
        kind: str,
        group: str,
        *,
        optional: bool = False,
        rights: str = RIGHTS,
    ) -> None:
        self._feeds[kind] = Feed(
            kind,
            group,
            "v1",
            optional=optional,
            sieve=lean(kind, self._settings.rules) if self._settings.lean else None,
            stale_seconds=self._settings.stale_seconds,
            rights=rights,
            clock=self._clock,
        )
