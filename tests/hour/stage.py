"""The operator on a pretended cluster, in virtual time: all of it but kopf and the HTTP edge.

What is wired is what gpu_triage.controller.life wires; only the writes go to the pretended API
server, whose watch goes to the operator's intake.
"""

import asyncio
import contextlib
import copy
from unittest.mock import patch

from gpu_triage.controller.access import Access
from gpu_triage.controller.life import Operator
from gpu_triage.controller.transport import Transport
from gpu_triage.core import objects
from gpu_triage.core.causes import Cause
from gpu_triage.core.classify import classify
from gpu_triage.settings import Settings
from tests import builders
from tests.answers import inventory
from tests.hour.api import PretendApi
from tests.hour.diary import Diary
from tests.hour.scheduler import PretendScheduler, time_of
from tests.virtual_time import Clock

BEGUN = objects.seconds("2026-03-02T09:00:00Z")
BOOKMARK_SECONDS = 60.0


class Stage:
    """A cluster, and one life of the operator after another.

    Attributes:
        clock: its time of day may be set wrong.
        api: the cluster's objects.
        diary: what people saw.
        scheduler: places pods.
        operator: the life that runs now, or None.
    """

    def __init__(self, **settings):
        """Describe it; the settings are the operator's."""
        self._settings = Settings(http_address="127.0.0.1:0", **settings)
        self.clock = Clock(BEGUN)
        self.diary = Diary(BEGUN, self.clock)
        self.api = PretendApi(self.clock, self.diary)
        self.scheduler = PretendScheduler(self.api, self.clock)
        self.operator = None
        self._tasks = []
        self._made = 0

    async def __aenter__(self):
        self._others = [
            asyncio.create_task(self.scheduler.run()),
            asyncio.create_task(self._bookmarks()),
        ]
        self.start()
        return self

    async def __aexit__(self, *_):
        await self.kill()
        await _cancel(self._others)

    def start(self):
        """Begin a life of the operator; it reads what is there."""
        access = Access(server="http://pretended", source="test", inside=True, token="none")
        with patch.object(Transport, "send", lambda _, write: self.api.send(write)):
            self.operator = Operator(
                self._settings, access, now=self.clock.now, clock=self.clock.steady
            )
        self.api.told = self._take
        for raw in (*self.api.nodes.values(), *self.api.pods.values()):
            self._take("ADDED", raw)
        for feed in self.operator._feeds.values():
            feed.page([], first=True, last=True)
        self._tasks = [
            asyncio.create_task(self.operator._loop.run()),
            asyncio.create_task(self.operator._writer.run()),
        ]

    async def kill(self):
        """End it as kill -9 does: a request that is on its way may arrive or not."""
        self.api.told = lambda what, raw: None
        await _cancel(self._tasks)
        self.operator = None

    def add_pod(self, name, gpus=1, *, lasts=None, namespace="default", owner=None, **rest):
        """Make a pod (see builders.pod); it runs for so many seconds. Return it."""
        raw = builders.pod(name, gpus, namespace=namespace, created=self._time(), **rest)
        raw["metadata"]["uid"] = self._uid()
        if owner is not None:
            kind, of = owner.split("/")
            raw["metadata"]["ownerReferences"] = [
                {
                    "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
                    "kind": kind,
                    "name": of,
                    "uid": f"uid-{owner}",
                    "controller": True,
                }
            ]
        if lasts is not None:
            self.scheduler.lasts[raw["metadata"]["uid"]] = lasts
        self.api.put(raw)
        return raw

    def add_node(self, name, gpus=8, *, old=True, **rest):
        """Make a node (see builders.node), by default one that is long past its start."""
        created = "2026-01-10T08:00:00Z" if old else self._time()
        raw = builders.node(name, gpus, created=created, **rest)
        raw["metadata"]["uid"] = self._uid()
        self.api.put(raw)
        return raw

    def change_node(self, name, change):
        """Let a function change a copy of a node, and put it."""
        raw = next(each for each in self.api.nodes.values() if each["metadata"]["name"] == name)
        changed = copy.deepcopy(raw)
        change(changed)
        self.api.put(changed)

    async def at(self, minute, second=0):
        """Wait until so long after the begin."""
        await asyncio.sleep(max(0.0, 60 * minute + second - self.clock.steady()))

    def differences(self):
        """A line for each pod that does not say what the one-shot classifier says of it now."""
        known = inventory(*self.api.nodes.values(), *self.api.pods.values())
        waiting = {pod.uid for pod in known.waiting()}
        lines = []
        for pod in known.pods.values():
            wanted = "bare"
            if pod.uid in waiting:
                verdict = classify(pod, known.picture, self.clock.now())
                if verdict.cause is not Cause.GATED:
                    wanted = f"{verdict.cause}/{verdict.detail}"
            there = "/".join(pod.published.get(key, "") for key in ("cause", "detail"))
            if wanted != (there if pod.published else "bare"):
                lines.append(f"{pod.key} should say {wanted} and says {pod.published}")
        return lines

    def _take(self, what, raw):
        intake = self.operator._intake
        handler = intake.pod if raw["kind"] == "Pod" else intake.node
        taking = handler({"type": what, "object": raw})
        with contextlib.suppress(StopIteration):
            taking.send(None)
            raise AssertionError("in virtual time nothing takes long enough to wait for it")
        for feed in self.operator._feeds.values():
            feed.answered()

    async def _bookmarks(self):
        while True:
            await asyncio.sleep(BOOKMARK_SECONDS)
            if self.operator is not None:
                for feed in self.operator._feeds.values():
                    feed.answered()

    def _time(self):
        return time_of(self.clock.now())

    def _uid(self):
        self._made += 1
        return f"{self._made:08x}-0000-4000-8000-000000000000"


async def _cancel(tasks):
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task  # whatever else it ended with is shown
