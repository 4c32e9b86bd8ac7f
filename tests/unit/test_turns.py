"""In which order words and messages are worked out, and which messages are worked out anew."""

import asyncio
import random

import pytest

from gpu_triage.core.classify import classify
from gpu_triage.core.explain import explain
from tests import builders
from tests.answers import NOW
from tests.unit.loop_scene import MARKED, Scene, no_debounce  # noqa: F401

pytestmark = pytest.mark.usefixtures("no_debounce")


@pytest.fixture
def worked_out(monkeypatch):
    """Messages are worked out anew at once; one entry for each that was."""
    found = []
    monkeypatch.setattr("gpu_triage.cluster.reviews.AGE_SECONDS", 0)
    monkeypatch.setattr("gpu_triage.cluster.reviews.PART", 1e9)
    spy = lambda *args: found.append(1) or explain(*args)  # noqa: E731
    monkeypatch.setattr("gpu_triage.controller.reconciler.explain", spy)
    return found


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


def test_a_message_whose_next_step_has_changed_is_told_without_another_word(worked_out):
    tainted = builders.node(taints=[builders.GPU_TAINT])
    scene = Scene(builders.pod(), tainted)
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]
    scene.take(builders.node(taints=[{**builders.GPU_TAINT, "value": "other"}]))
    assert scene.after(300)[0] == ["annotation train"]
    (standing,) = scene.verdicts.standing.values()
    assert "nvidia.com/gpu=other" in standing.message
    assert (standing.cause, standing.since) == ("taint", int(NOW + 2))
    assert len(worked_out) == 2


def test_messages_are_not_reviewed_where_nothing_has_changed(worked_out):
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.after(0)
    scene.after(2)
    for _ in range(5):
        scene.after(30)
    assert len(worked_out) == 1
    (standing,) = scene.verdicts.standing.values()
    scene.take(builders.pod(annotations=MARKED | {"gpu-triage.io/message": standing.message}))
    scene.after(30)  # our own annotations are no news
    assert len(worked_out) == 1
    scene.take(builders.node("gpu-b", gpus=0))
    scene.after(30)
    assert len(worked_out) == 2


def test_messages_of_pods_that_are_alike_are_worked_out_anew_together(worked_out):
    job = [builders.pod(f"job-{number}") for number in range(3)]
    scene = Scene(*job, builders.node(taints=[builders.GPU_TAINT]))
    scene.after(0)
    scene.after(2)
    scene.take(builders.node(taints=[{**builders.GPU_TAINT, "value": "other"}]))
    assert scene.after(300)[0] == [f"annotation job-{number}" for number in range(3)]
    assert all("=other" in each.message for each in scene.verdicts.standing.values())
    assert len(worked_out) == 2
