"""How kopf is run: as a watcher that writes nothing and gives up never."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import kopf

from gpu_triage.controller.handlers import Intake, register
from gpu_triage.controller.transport import Transport

BACKOFFS = (1, 1, 2, 3, 5, 8)
LONGEST_BACKOFF = 10
"""Words are right within half a minute of the end of any outage; three requests are no load."""
EXIT_SECONDS: float | None = 10
"""A process that cannot end by then is killed, with no more said."""
RELIST_SECONDS = 1.0
"""Before each new list: an API server that refuses every watch must not be listed in a circle."""


class EndlessBackoffs:
    """Pauses between attempts, in seconds: after kopf's own, at most 10 s each, for ever.

    With kopf's own alone, an API server that fails for a minute would end the process.
    """

    def __iter__(self) -> Iterator[float]:
        """Starts from the shortest."""
        yield from BACKOFFS
        while True:
            yield LONGEST_BACKOFF


class NoDiffBase(kopf.DiffBaseStorage):
    """No memory of what an object was: kopf else copies each body for each event."""

    def build(self, *, body: Any, extra_fields: Iterable[Any] | None = None) -> kopf.BodyEssence:
        """Nothing."""
        return kopf.BodyEssence()

    def fetch(self, *, body: Any) -> kopf.BodyEssence | None:
        """Nothing."""
        return None

    def store(self, *, body: Any, patch: Any, essence: Any) -> None:
        """Does nothing."""


class NoProgress(kopf.ProgressStorage):
    """No memory of handlers: ours are never repeated."""

    def fetch(self, *, key: Any, body: Any) -> None:
        """Nothing."""
        return

    def store(self, *, key: Any, record: Any, body: Any, patch: Any) -> None:
        """Does nothing."""

    def purge(self, *, key: Any, body: Any, patch: Any) -> None:
        """Does nothing."""

    def touch(self, *, body: Any, patch: Any, value: Any) -> None:
        """Does nothing."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """The essence as it is."""
        return essence


def settings() -> kopf.OperatorSettings:
    """Settings of kopf for many objects and no writes of its own."""
    own = kopf.OperatorSettings()
    own.posting.enabled = False
    own.scanning.disabled = True
    own.persistence.diffbase_storage = NoDiffBase()
    own.persistence.progress_storage = NoProgress()
    own.queueing.idle_timeout = 0.05
    own.networking.error_backoffs = EndlessBackoffs()
    own.networking.request_timeout = 60
    own.networking.connect_timeout = 10
    own.watching.chunk_size = 500
    own.process.ultimate_exiting_timeout = EXIT_SECONDS
    own.watching.reconnect_backoff = RELIST_SECONDS
    return own


async def watch(
    transport: Transport,
    intake: Intake,
    *,
    stop: asyncio.Event,
    before_end: Callable[[], Awaitable[None]],
) -> None:
    """Feeds the intake until a signal comes or ``stop`` is set; raises what ends kopf otherwise.

    Args:
        transport: whose session kopf uses.
        intake: where the objects go.
        stop: ends it.
        before_end: ends all else that runs.
    """
    registry = kopf.OperatorRegistry()
    older = asyncio.all_tasks()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        return transport.login()

    @kopf.on.cleanup(registry=registry)
    async def cleanup(**_: Any) -> None:
        await before_end()
        # Whoever is there now, kopf waits 5 s for: its own "pause-waiter" of a watch that was ended
        # while an event of it was taken in, which nobody ends.
        for task in asyncio.all_tasks() - older - {asyncio.current_task()}:
            task.cancel()

    register(registry, intake)
    await kopf.operator(
        registry=registry,
        settings=settings(),
        clusterwide=True,
        standalone=True,
        stop_flag=stop,
    )
