"""When it is done: once all has been read, and as long as the API server is heard of."""

import asyncio

import pytest

from gpu_triage.controller.feed import REFUSED_SECONDS, STALE_SECONDS
from tests import builders
from tests.unit.loop_scene import MARKED, Scene, no_debounce  # noqa: F401

pytestmark = pytest.mark.usefixtures("no_debounce")


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
