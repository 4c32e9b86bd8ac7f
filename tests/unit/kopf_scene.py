"""kopf over our transport, against a scripted API server, all in one event loop."""

import asyncio
import logging

import pytest

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.controller import sieve, watcher
from gpu_triage.controller.access import Access
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.controller.transport import Transport
from gpu_triage.core.rules import Rules
from tests import builders
from tests.unit.scripted_api import ScriptedApi


@pytest.fixture
def no_pauses(monkeypatch):
    """Kopf without its pauses and its log."""
    monkeypatch.setenv("POD_ID", "test")
    monkeypatch.setattr(watcher, "BACKOFFS", (0.01,) * 100)
    monkeypatch.setattr(watcher, "RELIST_SECONDS", 0.01)
    monkeypatch.setattr(watcher, "EXIT_SECONDS", None)
    logging.getLogger("kopf").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("kopf").setLevel(logging.NOTSET)


class Scene:
    """What a scenario can look at; ``seen`` are the pods of all events that kopf handed over."""

    def __init__(self, api, token_file, lean):
        self.api = api
        self.seen = []
        self.inventory = Inventory(Rules())
        self.free = asyncio.Event()
        self.free.set()
        self.access = Access(
            server=api.url, source="test", inside=True, token="t", token_file=token_file
        )
        self.transport = Transport(self.access, "test")
        self.feeds = {
            kind: Feed(
                kind,
                "",
                "v1",
                sieve=sieve.lean(kind, Rules()) if lean else None,
                clock=asyncio.get_running_loop().time,
            )
            for kind in ("pods", "nodes")
        }
        self.intake = Intake(self.inventory, Rules(), self.feeds, lambda: None, self.free)
        self.intake.pod = self._note(self.intake.pod)
        self.transport.feeds = {feed.path: feed for feed in self.feeds.values()}

    def _note(self, handler):
        async def pod(event, **rest):
            metadata = event["object"]["metadata"]
            self.seen.append(metadata.get("name", metadata["uid"]))
            await handler(event, **rest)

        return pod

    async def until(self, condition):
        for _ in range(1000):
            if condition():
                return
            assert not self.watching.done(), self.watching.exception()
            await asyncio.sleep(0.005)
        raise AssertionError(f"never: {self.api.requests[-10:]}")

    async def synced(self):
        await self.until(lambda: all(feed.synced for feed in self.feeds.values()))
        await self.until(lambda: set(self.api.watches) == {"pods", "nodes"})

    def names(self):
        return {pod.name for pod in self.inventory.pods.values()}


def play(scenario, *, token_file=None, lean=True, **scripts):
    """Run kopf and a scenario beside it; whatever happens, kopf must still be there at its end."""

    async def run():
        api = ScriptedApi()
        api.objects["pods"] = [builders.pod(name) for name in ("a", "b")]
        api.objects["nodes"] = [builders.node()]
        for kind, answers in scripts.items():
            api.scripts[kind] = answers
        async with api.serving():
            scene = Scene(api, token_file, lean)
            stop = asyncio.Event()

            # kopf waits at its end for all tasks that are younger than it, the server's too.
            scene.watching = asyncio.create_task(
                watcher.watch(scene.transport, scene.intake, stop=stop, before_end=api.close)
            )
            try:
                await scenario(scene)
                assert not scene.watching.done()
            finally:
                stop.set()
                await scene.watching

    asyncio.run(run())
