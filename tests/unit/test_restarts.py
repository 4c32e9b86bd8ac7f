"""Killed at any moment, the operator goes on where it was: nothing is doubled, nothing is lost."""

import asyncio
import random

import pytest

from tests import virtual_time
from tests.hour.stage import Stage
from tests.hour.story import Story

QUIET_SECONDS = 150
"""Enough for every word to settle, whatever happened before."""


def test_an_event_that_a_kill_has_prevented_is_made_by_the_next_life():
    async def scene():
        async with Stage() as stage:
            stage.add_node("gpu-a", 0)
            usual, stage.api.fault = stage.api.fault, _events_get_no_answer
            pod = stage.add_pod("train")
            await asyncio.sleep(10)
            (_, before) = stage.diary.witness.stood[pod["metadata"]["uid"]]
            assert stage.diary.witness.events == []
            await stage.kill()
            stage.api.fault = usual
            await asyncio.sleep(60)
            stage.start()
            # It may have been made: no pod gets two within five minutes, whoever was killed when.
            await asyncio.sleep(300)
            return before, stage.diary.witness

    before, witness = virtual_time.run(scene)
    (event,) = witness.events
    assert event["eventTime"] == before["since"].replace("Z", ".000000Z")
    assert event["note"] == before["message"]
    assert witness.wrong() == []


@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_kills_at_any_moment_of_churn(seed):
    async def scene():
        chance = random.Random(seed)
        async with Stage() as stage:
            story = asyncio.create_task(Story(stage, seed).tell(12))
            for _ in range(20):
                await asyncio.sleep(chance.uniform(0, 60))
                await stage.kill()
                await asyncio.sleep(chance.choice([0, 0.5, 5]))
                stage.start()
            await story
            await asyncio.sleep(QUIET_SECONDS)
            return stage.differences(), stage.diary.witness

    differences, witness = virtual_time.run(scene)
    assert differences == []
    assert witness.wrong() == []
    assert len(witness.events) > 20


async def _events_get_no_answer(write):
    if write.method == "POST":
        await asyncio.Event().wait()
