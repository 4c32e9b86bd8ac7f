"""Everything but kopf and the API server: events in, writes out, by a clock that tests set."""

import asyncio
import contextlib
import json

import pytest

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.settling import Pace
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.controller.loop import Loop
from gpu_triage.controller.reconciler import Reconciler
from gpu_triage.core.rules import Rules
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.terms import Terms
from gpu_triage.publish.write import Answer
from gpu_triage.publish.writer import Writer
from tests import builders
from tests.answers import NOW

MARKED = {
    "gpu-triage.io/cause": "taint",
    "gpu-triage.io/detail": "untolerated",
    "gpu-triage.io/message": "as it was",
    "gpu-triage.io/since": builders.CREATED,
}


class Scene:
    """Everything but kopf and the API server; writes are noted as "KIND POD"."""

    def __init__(self, *raws, publish_gated=False, term=0):
        self.now = NOW
        self.term = term
        self.set_by = 0
        """By how many seconds the day has been set forth, or back."""
        self.sent = []
        self.events = []
        """Of each that was made: the second, its type and its reason."""
        self.changed = asyncio.Event()
        self.inventory = Inventory(Rules())
        self.free = asyncio.Event()
        self.free.set()
        self.feeds = {
            kind: Feed(kind, "", "v1", clock=lambda: self.now) for kind in ("pods", "nodes")
        }
        self.writer = Writer(
            self.send,
            lambda: self.now,
            Counters(),
            Terms(domain="gpu-triage.io"),
            may_write=lambda: self.reconciler.leading,
        )
        self.verdicts = Verdicts(Pace())
        self.reconciler = Reconciler(
            self.inventory,
            self.verdicts,
            self.writer,
            Counters(),
            publish_gated=publish_gated,
            term=lambda: self.term,
            now=lambda: self.now + self.set_by,
            clock=lambda: self.now,
        )
        self.loop = Loop(
            self.inventory,
            self.feeds,
            self.reconciler,
            self.writer,
            changed=self.changed,
            free=self.free,
            clock=lambda: self.now,
        )
        self.intake = Intake(self.inventory, Rules(), self.feeds, self.changed.set, self.free)
        self.take(*raws)

    async def send(self, write):
        if write.method == "PATCH":
            self.sent.append(f"{write.kind} {write.path.split('/')[6]}")
        else:
            made = json.loads(write.body)
            self.events.append((self.now - NOW, made["type"], made["reason"]))
        return Answer(200)

    def take(self, *raws, kind="MODIFIED"):
        for raw in raws:
            handler = getattr(self.intake, raw["kind"].lower())
            with contextlib.suppress(StopIteration):  # it waits for nothing
                handler({"type": kind, "object": raw}).send(None)

    def read(self, *kinds):
        for kind in kinds:
            self.feeds[kind].page([], first=True, last=True)

    def after(self, seconds):
        """What is written when it recomputes after so many seconds; the wait that is left too."""
        self.now += seconds
        before = len(self.sent)

        async def recompute():
            self.loop.turn()
            while not self.free.is_set():
                self.loop.turn()
            self.writer.hold(False)
            while await self.writer.step() == 0:
                pass

        asyncio.run(recompute())
        return self.sent[before:], self.reconciler.wait()

    async def for_a_moment(self):
        """Let loop and writer run until both have had their turn."""
        tasks = [asyncio.create_task(self.loop.run()), asyncio.create_task(self.writer.run())]
        for _ in range(200):
            await asyncio.sleep(0)
        await asyncio.sleep(0.02)
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return list(self.sent)


@pytest.fixture
def no_debounce(monkeypatch):
    for pace in ("GATHER_SECONDS", "DEBOUNCE_SECONDS", "SLOW_SECONDS"):
        monkeypatch.setattr(f"gpu_triage.controller.tempo.{pace}", 0)
