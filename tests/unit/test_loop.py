"""The loop: when it publishes, what it leaves alone, and that it waits until all has been read."""

import asyncio
import contextlib
import json
import math
import random
from datetime import UTC, datetime

import pytest

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.settling import Pace
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.controller.feed import REFUSED_SECONDS, STALE_SECONDS, Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.controller.loop import Loop
from gpu_triage.controller.reconciler import Reconciler
from gpu_triage.core.classify import classify
from gpu_triage.core.rules import Rules
from gpu_triage.publish.annotations import time_of
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


@pytest.fixture(autouse=True)
def no_debounce(monkeypatch):
    for pace in ("GATHER_SECONDS", "DEBOUNCE_SECONDS", "SLOW_SECONDS"):
        monkeypatch.setattr(f"gpu_triage.controller.tempo.{pace}", 0)


def gated(**rest):
    return builders.pod(schedulingGates=[{"name": "queue"}], **rest)


def test_a_pod_is_judged_two_seconds_after_it_was_first_seen():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    assert scene.after(0) == ([], 2)
    assert scene.after(2)[0] == ["annotation train"]


def test_placement_acts_at_once():
    scene = Scene(builders.node(gpus=8), builders.pod(annotations=MARKED, node="gpu-a"))
    assert scene.after(0) == (["removal train"], math.inf)


def test_a_pod_that_is_placed_is_noted_and_one_that_is_deleted_is_not():
    scene = Scene(builders.pod("one"), builders.pod("two"), builders.node(gpus=0))
    scene.after(0)
    scene.after(2)
    scene.take(builders.pod("one", node="gpu-a"))
    scene.take(builders.pod("two"), kind="DELETED")
    scene.after(5)
    assert {cause: waits.seconds for cause, waits in scene.verdicts.history.placed.items()} == {
        "allocatable-zero": 7
    }
    assert scene.verdicts.history.words_begun == {"allocatable-zero": 2}
    assert scene.verdicts.waiting_since == {}


def test_a_pod_that_no_longer_asks_for_gpus_by_the_settings_is_cleared():
    scene = Scene(builders.pod(resource="amd.com/gpu", annotations=MARKED))
    assert scene.after(0)[0] == ["removal train"]


@pytest.mark.parametrize("end", ["deleted", "ended"])
def test_a_pod_that_ends_without_a_node_is_left_as_it_is(end):
    raw = builders.pod(annotations=MARKED, phase="Failed" if end == "ended" else None)
    if end == "deleted":
        raw["metadata"]["deletionTimestamp"] = builders.CREATED
    scene = Scene(raw, builders.node(gpus=0))
    assert scene.after(0)[0] == []
    assert scene.after(60)[0] == []


def test_a_pod_that_is_deleted_while_its_first_word_waits_gets_none():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.after(0)
    scene.take(builders.pod(), kind="DELETED")
    assert scene.after(2) == ([], math.inf)


def test_messages_are_worked_out_in_turns_the_oldest_pods_first(monkeypatch):
    monkeypatch.setattr("gpu_triage.controller.reconciler.TURN_SECONDS", 0)
    young, old = builders.pod("young"), builders.pod("old", 2, created="2026-01-10T09:00:00Z")
    scene = Scene(young, old, builders.node(gpus=0))
    scene.after(0)
    assert scene.after(2) == (["annotation old"], 0)
    said = {each.pod.name: each.message != "" for each in scene.verdicts.standing.values()}
    assert said == {"old": True, "young": False}
    assert scene.after(0) == (["annotation young"], 600)


def test_words_are_worked_out_in_turns_and_a_handler_waits_until_all_are_there(monkeypatch):
    monkeypatch.setattr("gpu_triage.controller.reconciler.TURN_SECONDS", 0)
    scene = Scene(*[builders.pod(name) for name in "abc"], builders.node(gpus=0))

    async def scenario():
        scene.loop.turn()
        late = asyncio.create_task(
            scene.intake.pod({"type": "DELETED", "object": builders.pod("a")})
        )
        turns = 1
        while not scene.free.is_set():
            await asyncio.sleep(0)
            assert "uid-default-a" in scene.inventory.pods
            scene.loop.turn()
            turns += 1
        assert turns > 5
        await late
        assert "uid-default-a" not in scene.inventory.pods

    asyncio.run(scenario())


def test_what_comes_between_turns_is_judged_after_them(monkeypatch):
    monkeypatch.setattr("gpu_triage.controller.reconciler.TURN_SECONDS", 0)
    monkeypatch.setattr("gpu_triage.controller.loop.OTHERS_SECONDS", 0)
    scene, chance = Scene(), random.Random(7)

    def event():
        name = chance.choice("abcdef")
        if chance.random() < 0.3:
            node = f"gpu-{name}"
            return scene.intake.node, builders.node(node, gpus=chance.choice((0, 1, 4)))
        where = {"node": chance.choice(("gpu-a", None, None, None))}
        return scene.intake.pod, builders.pod(name, chance.choice((1, 2, 8)), **where)

    async def scenario():
        scene.read("pods", "nodes")
        tasks = [asyncio.create_task(scene.loop.run())]
        interrupted = 0
        for _ in range(100):
            handler, raw = event()
            interrupted += not scene.free.is_set()
            kind = "DELETED" if chance.random() < 0.15 else "MODIFIED"
            tasks.append(asyncio.create_task(handler({"type": kind, "object": raw})))
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
        await asyncio.gather(*tasks[1:])
        while scene.changed.is_set() or not scene.free.is_set():
            assert not tasks[0].done(), tasks[0].exception()
            await asyncio.sleep(0.001)
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return interrupted

    assert asyncio.run(scenario()) > 10
    picture = scene.inventory.picture
    wanted = {pod.uid: classify(pod, picture, NOW).cause for pod in scene.inventory.waiting()}
    has = scene.reconciler._engine.words
    assert {uid: raw.cause for uid, raw in has.items()} == wanted
    assert len(wanted) > 2


def test_pods_that_are_alike_are_told_in_one_turn(monkeypatch):
    monkeypatch.setattr("gpu_triage.controller.reconciler.TURN_SECONDS", 0)
    job = [builders.pod(f"job-{number}") for number in range(3)]
    scene = Scene(*job, builders.pod("other", 2), builders.node(gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == [f"annotation job-{number}" for number in range(3)]
    told = {each.pod.name: each.message for each in scene.verdicts.standing.values()}
    assert len({told[f"job-{number}"] for number in range(3)}) == 1
    assert scene.after(0)[0] == ["annotation other"]


def test_a_pod_whose_words_have_changed_before_its_turn_is_told_the_new_ones(monkeypatch):
    monkeypatch.setattr("gpu_triage.controller.reconciler.TURN_SECONDS", 0)
    scene = Scene(builders.pod("a"), builders.pod("b", 2), builders.node(gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == ["annotation a"]
    scene.take(builders.node(gpus=8, taints=[builders.GPU_TAINT]))
    for seconds in (0, 2, 0):
        scene.after(seconds)
    told = {each.pod.name: each.message for each in scene.verdicts.standing.values()}
    assert all("tainted" in message for message in told.values()), told


def test_an_old_word_that_waits_to_be_written_is_not_once_there_is_a_new_one(monkeypatch):
    scene = Scene(builders.pod("a"), builders.pod("b", 2), builders.node(gpus=0))

    def recompute():
        scene.loop.turn()
        while scene.reconciler.wait() <= 0:
            scene.loop.turn()

    scene.after(0)
    scene.now += 2
    recompute()  # both messages are there, and nothing has been written
    assert all(each.message for each in scene.verdicts.standing.values())
    scene.take(builders.node(gpus=8, taints=[builders.GPU_TAINT]))
    recompute()
    monkeypatch.setattr("gpu_triage.controller.reconciler.TURN_SECONDS", 0)
    assert scene.after(2)[0] == ["annotation a"]  # b has a new word, and no message yet
    assert scene.verdicts.of("uid-default-b").cause == "taint"
    assert scene.after(0)[0] == ["annotation b"]


def test_a_placed_pod_does_not_wait_for_the_messages_of_others(monkeypatch):
    monkeypatch.setattr("gpu_triage.controller.reconciler.TURN_SECONDS", 0)
    waiting = [builders.pod(name) for name in "abc"]
    scene = Scene(*waiting, builders.pod("last", annotations=MARKED), builders.node(gpus=0))
    scene.after(0)
    scene.now += 2
    scene.take(builders.pod("last", annotations=MARKED, node="gpu-a"))
    assert "removal last" in scene.after(0)[0]


def test_what_ends_by_itself_is_looked_at_in_time():
    label = {"nvidia.com/gpu.present": "true"}
    young = builders.node(gpus=None, labels=label, created=builders.CREATED)
    scene = Scene(young, builders.pod())
    scene.after(0)
    scene.after(2)
    wait = scene.after(600)[1]
    assert wait == 900 - 60 - 602
    scene.after(wait - 1)
    (before,) = scene.verdicts.standing.values()
    assert scene.after(1)[1] == 2
    scene.after(2)
    (after,) = scene.verdicts.standing.values()
    assert (before.detail, after.detail) == ("node-starting", "plugin-missing")


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_day_that_is_set_anew_neither_hurries_nor_holds_a_word(seconds):
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.after(0)
    scene.set_by = seconds
    assert scene.after(1) == ([], 1)
    assert scene.after(1)[0] == ["annotation train"]


def test_a_word_that_does_not_last_is_not_written():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]
    for _ in range(20):
        scene.take(builders.node(gpus=8))
        assert scene.after(0.5)[0] == []
        scene.take(builders.node(gpus=0))
        assert scene.after(0.5)[0] == []


def test_a_node_that_stays_broken_makes_one_warning_after_fifteen_minutes():
    label = {"nvidia.com/gpu.present": "true"}
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    made = datetime.fromtimestamp(NOW, UTC).isoformat()
    broken = builders.node(gpus=None, labels=label, taints=[not_ready], created=made)
    scene = Scene(broken, builders.pod())
    while scene.now < NOW + 1700:
        scene.after(1)
    assert scene.events == [(3, "Normal", "GPUTaint"), (902, "Warning", "GPUTaint")]


def test_a_gated_pod_is_not_annotated_and_an_annotation_that_stands_goes():
    scene = Scene(gated(), builders.node())
    scene.after(0)
    assert scene.after(2)[0] == []
    assert [each.cause for each in scene.verdicts.standing.values()] == ["gated"]
    marked = Scene(gated(annotations=MARKED), builders.node())
    assert marked.after(0)[0] == []
    assert marked.after(60)[0] == ["removal train"]


def test_a_gated_pod_is_annotated_if_asked_for():
    scene = Scene(gated(), builders.node(), publish_gated=True)
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]


def test_nothing_is_written_before_every_kind_has_been_read():
    scene = Scene(builders.node(gpus=8), builders.pod(annotations=MARKED, node="gpu-a"))
    assert not scene.loop.synced
    assert scene.loop.problems() == ["pods: not read yet", "nodes: not read yet"]

    async def scenario():
        scene.read("pods")
        assert await scene.for_a_moment() == []
        scene.read("nodes")
        assert await scene.for_a_moment() == ["removal train"]

    asyncio.run(scenario())
    assert scene.loop.problems() == []


def test_nothing_is_written_while_a_watch_is_stale():
    scene = Scene(builders.node(gpus=8))

    async def scenario():
        scene.read("pods", "nodes")
        scene.now += STALE_SECONDS + 1
        scene.take(builders.pod(annotations=MARKED, node="gpu-a"))
        scene.feeds["pods"].answered()
        assert await scene.for_a_moment() == []
        assert scene.loop.problems() == ["nodes: no sign of life for 151 s"]
        scene.feeds["nodes"].answered()
        assert await scene.for_a_moment() == ["removal train"]

    asyncio.run(scenario())


def test_a_kind_that_is_read_again_while_another_is_stale_is_not_forgotten(monkeypatch):
    monkeypatch.setattr("gpu_triage.controller.loop.BEAT_SECONDS", 0.001)
    scene = Scene(builders.pod(gpus=16, annotations=MARKED), builders.node())

    async def scenario():
        scene.read("pods", "nodes")
        scene.feeds["nodes"].refused("list")
        scene.now += 11
        assert await scene.for_a_moment() == []
        scene.now += 60
        assert await scene.for_a_moment() == ["annotation train"]
        scene.feeds["pods"].page(["uid-unseen"], first=True, last=True)
        scene.feeds["nodes"].answered()
        assert await scene.for_a_moment() == ["annotation train"]
        scene.feeds["pods"].handled("uid-unseen")
        await scene.for_a_moment()
        scene.now += 60
        await scene.for_a_moment()
        assert scene.verdicts.of("uid-default-train").cause == "exhausted"

    asyncio.run(scenario())


def test_a_kind_that_must_not_be_read_makes_words_unknown():
    scene = Scene(builders.pod())

    async def word():
        await scene.for_a_moment()
        scene.now += 2
        scene.changed.set()
        await scene.for_a_moment()
        (standing,) = scene.verdicts.standing.values()
        return f"{standing.cause}/{standing.detail}"

    async def scenario():
        scene.read("pods")
        scene.feeds["nodes"].refused("list")
        scene.now += REFUSED_SECONDS
        assert await word() == "unknown/forbidden"
        scene.take(builders.node(gpus=0))
        scene.read("nodes")
        assert await word() == "allocatable-zero/plugin-gone"

    asyncio.run(scenario())


def test_a_replica_that_does_not_lead_knows_the_words_and_writes_nothing():
    scene = Scene(
        builders.pod(), builders.pod("placed", annotations=MARKED, node="gpu-a"), term=None
    )
    scene.take(builders.node("gpu-a", gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == []
    assert [each.cause for each in scene.verdicts.standing.values()] == ["allocatable-zero"]
    scene.term = 1
    assert scene.after(5)[0] == ["removal placed", "annotation train"]


def test_a_new_leader_goes_on_with_what_the_last_one_has_published():
    """The same word, which the last one saw begin a second before."""
    scene = Scene(builders.pod(), builders.node(gpus=0), term=None)
    scene.after(0)
    scene.after(2)
    (own,) = scene.verdicts.standing.values()
    since = time_of(own.since - 1)
    words = {"cause": own.cause, "detail": own.detail, "message": "as it was", "since": since}
    scene.take(
        builders.pod(annotations={f"gpu-triage.io/{key}": each for key, each in words.items()})
    )
    scene.after(5)
    scene.term = 1
    assert scene.after(5)[0] == []
    (taken,) = scene.verdicts.standing.values()
    assert (taken.since, taken.message) == (own.since - 1, "as it was")
    assert scene.after(600)[0] == ["annotation train"], "the numbers are old by then"


def test_a_word_that_has_changed_while_nobody_led_is_written_by_the_new_leader():
    scene = Scene(builders.pod(annotations=MARKED), builders.node(gpus=0), term=None)
    scene.after(0)
    scene.after(60)
    scene.term = 1
    assert scene.after(5)[0] == ["annotation train"]
    (standing,) = scene.verdicts.standing.values()
    assert (standing.cause, standing.since) == ("allocatable-zero", int(NOW + 60))


def test_a_leader_that_leads_again_has_looked_at_what_stands_before_it_writes():
    scene = Scene(builders.pod(), builders.node(gpus=0), term=1)
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]
    scene.term = 2  # it was stopped meanwhile: nothing has been worked out since
    scene.writer.want(scene.inventory.pods["uid-default-train"], None)
    assert asyncio.run(scene.writer.step()) == math.inf
    assert not scene.reconciler.leading
    scene.after(0)
    assert scene.reconciler.leading


IGNORE = {"gpu-triage.io/ignore": "true"}


def namespace(annotations=None):
    metadata = {"name": "default", "uid": "uid-namespace", "annotations": annotations}
    return {"kind": "Namespace", "metadata": metadata}


def causes(scene):
    return [each.cause for each in scene.verdicts.standing.values()]


def test_a_pod_that_asks_to_be_left_alone_is_counted_and_not_touched():
    scene = Scene(builders.pod(annotations=IGNORE), builders.node(gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == []
    assert causes(scene) == ["allocatable-zero"]
    scene.take(builders.pod())
    assert scene.after(1)[0] == ["annotation train"]
    scene.take(builders.pod(annotations={**MARKED, **IGNORE}))
    assert scene.after(1)[0] == ["removal train"]
    assert causes(scene) == ["allocatable-zero"]


def test_a_namespace_that_asks_to_be_left_alone_is_too():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.feeds["namespaces"] = Feed("namespaces", "", "v1", clock=lambda: scene.now)
    scene.take(namespace(IGNORE))
    scene.after(0)
    assert scene.after(2)[0] == []
    assert causes(scene) == ["allocatable-zero"]
    scene.take(namespace())
    assert scene.after(1)[0] == ["annotation train"]
    scene.take(namespace(IGNORE))
    assert scene.after(1)[0] == ["removal train"]


def test_a_message_whose_next_step_has_changed_is_told_without_another_word(monkeypatch):
    monkeypatch.setattr("gpu_triage.cluster.reviews.AGE_SECONDS", 0)
    monkeypatch.setattr("gpu_triage.cluster.reviews.PART", 1e9)
    tainted = builders.node(taints=[builders.GPU_TAINT])
    scene = Scene(builders.pod(), tainted)
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]
    scene.take(builders.node(taints=[{**builders.GPU_TAINT, "value": "other"}]))
    scene.reconciler.changed()  # as run() does
    assert scene.after(300)[0] == ["annotation train"]
    (standing,) = scene.verdicts.standing.values()
    assert "nvidia.com/gpu=other" in standing.message
    assert (standing.cause, standing.since) == ("taint", int(NOW + 2))


def test_messages_are_not_reviewed_where_nothing_has_changed(monkeypatch):
    monkeypatch.setattr("gpu_triage.cluster.reviews.AGE_SECONDS", 0)
    monkeypatch.setattr("gpu_triage.cluster.reviews.PART", 1e9)
    worked_out = []
    scene = Scene(builders.pod(), builders.node(gpus=0))
    explain = "gpu_triage.controller.reconciler.explain"
    original = __import__("gpu_triage.core.explain", fromlist=["explain"]).explain
    monkeypatch.setattr(explain, lambda *args: worked_out.append(1) or original(*args))
    scene.after(0)
    scene.after(2)
    for _ in range(5):
        scene.after(30)
    assert len(worked_out) == 1
    scene.reconciler.changed()
    scene.after(30)
    assert len(worked_out) == 2
