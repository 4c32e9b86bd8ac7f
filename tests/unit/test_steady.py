"""What would make an operator noisy or slow: a flood of pods, a node that flaps, a wrong clock."""

import asyncio
import os

import pytest

from gpu_triage.publish.write import Answer
from tests import builders, virtual_time
from tests.hour.stage import Stage

PODS = int(os.environ.get("FLOOD_PODS", "1000"))
OWNERS = 10
SHOWN = 20
"""Pods of one owner and word that get an Event."""
HOUR = 3600


def test_pods_by_the_thousand_at_once():
    """All words are right, the queue drains, and each Job gets the Events of its oldest pods."""

    async def scene():
        async with Stage() as stage:
            for number in range(10):
                stage.add_node(f"gpu-{number}", 8, taints=[builders.GPU_TAINT])
            for number in range(PODS):
                stage.add_pod(f"job-{number:05}", 1, owner=f"Job/job-{number % OWNERS}")
            counters = stage.operator._writer._counters
            longest = 0
            while stage.clock.steady() < 60 + PODS / 25:
                await asyncio.sleep(1)
                longest = max(longest, counters.queued)
            return stage.differences(), stage.diary.witness, longest, counters.queued

    differences, witness, longest, left = virtual_time.run(scene)
    assert differences == []
    assert witness.wrong() == []
    assert PODS / 2 < longest <= PODS
    assert left == 0
    assert witness.changes() == {"words": PODS, "details": 0, "messages": 0, "removals": 0}
    assert len(witness.events) == OWNERS * SHOWN


def test_a_node_that_flaps_every_second_is_no_news():
    """At most one write per pod and settling time."""

    async def scene():
        async with Stage() as stage:
            stage.add_node("gpu-a", 1)
            stage.add_pod("holder", 1)
            await asyncio.sleep(5)
            for number in range(20):
                stage.add_pod(f"train-{number}", 1)
            await asyncio.sleep(30)
            before = stage.diary.witness.changes()["words"]
            for _ in range(300):
                stage.change_node("gpu-a", _cordon)
                await asyncio.sleep(1)
            after = stage.diary.witness.changes()["words"]
            await asyncio.sleep(120)
            return before, after, stage.differences(), stage.diary.witness

    before, after, differences, witness = virtual_time.run(scene)
    assert before == 20
    # 300 s, and a settling time of 60 s for a pod whose words keep changing.
    assert after - before <= 20 * (300 / 60 + 3)
    assert differences == []
    assert witness.wrong() == []


@pytest.mark.parametrize("jump", [-5 * HOUR, -30, 30, 5 * HOUR])
def test_a_clock_that_jumps(jump):
    """No storm, no Event doubled, none lost for long, and a new pod waits no longer than before."""

    async def scene():
        async with Stage() as stage:
            stage.add_node("gpu-a", 0)
            for number in range(50):
                stage.add_pod(f"train-{number}", 1)
            await asyncio.sleep(1000)
            before = stage.api.requests
            stage.clock.off += jump
            await asyncio.sleep(60)
            storm = stage.api.requests - before
            stage.add_pod("late", 1)
            await asyncio.sleep(10)
            late = stage.api.pod("default", "late")["metadata"].get("annotations", {})
            await asyncio.sleep(2 * HOUR)
            gone = [key for key in stage.api.events if stage.api._there(key) is None]
            return storm, late, gone, stage.differences(), stage.diary.witness

    storm, late, gone, differences, witness = virtual_time.run(scene)
    # A clock that is set forward makes renewals due: one for each Event.
    assert storm <= (50 if jump > 1800 else 0)
    assert late["gpu-triage.io/cause"] == "allocatable-zero"
    assert gone == []
    assert differences == []
    assert witness.wrong() == []
    assert len(witness.events) == 51


def test_an_outage_in_which_the_clock_is_set_back_is_over_when_it_is_over():
    async def scene():
        async with Stage() as stage:
            stage.add_node("gpu-a", 0)
            usual, stage.api.fault = stage.api.fault, _refuses_everybody
            stage.add_pod("train", 1)
            await asyncio.sleep(20)
            stage.clock.off -= 3 * HOUR
            stage.api.fault = usual
            await asyncio.sleep(60)
            return stage.differences()

    assert virtual_time.run(scene) == []


def _cordon(node):
    node["spec"]["unschedulable"] = not node["spec"].get("unschedulable")


async def _refuses_everybody(_):
    return Answer(429)
