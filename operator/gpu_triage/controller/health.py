"""/healthz, /readyz and /metrics, for the kubelet and Prometheus."""

import time
from collections.abc import Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

HUNG_SECONDS = 60.0
"""A loop that has not moved for so long will not move again."""


class Health:
    """A site with three pages."""

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        beat: Callable[[], float],
        dead: Callable[[], list[str]],
        problems: Callable[[], list[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serves nothing yet.

        Args:
            registry: what /metrics shows.
            beat: when the loop last moved, by the clock.
            dead: own tasks that have ended.
            problems: why the operator is not ready; nothing where it is.
            clock: seconds that never go back.
        """
        self._registry = registry
        self._beat = beat
        self._dead = dead
        self._problems = problems
        self._clock = clock
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)

    async def start(self, address: str) -> str:
        """Serves at HOST:PORT and returns where, with the port that was found for port 0.

        Raises:
            OSError: the address cannot be used.
        """
        host, _, port = address.rpartition(":")
        await self._runner.setup()
        site = web.TCPSite(self._runner, host.strip("[]"), int(port))
        await site.start()
        return f"{host}:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Serves no more."""
        await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        wrong = [f"{name}: has ended" for name in self._dead()]
        silent = self._clock() - self._beat()
        if silent > HUNG_SECONDS:
            wrong.append(f"loop: has not moved for {silent:.0f} s")
        return _page(wrong)

    async def _readyz(self, _: web.Request) -> web.Response:
        return _page(self._problems())

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )


def _page(wrong: list[str]) -> web.Response:
    return web.Response(text="\n".join(wrong or ["ok"]) + "\n", status=503 if wrong else 200)
