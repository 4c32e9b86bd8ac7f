"""The recorded texts are what the scheduler of the pinned version says today."""

import json
from pathlib import Path

from tests.controlplane import ControlPlane
from tests.e2e import scheduler_texts

RECORDED = Path(__file__).parents[1] / "texts" / "1.37.2.json"


def test_the_scheduler_says_what_was_recorded():
    with ControlPlane(mode="still") as plane:
        assert scheduler_texts.record(plane) == json.loads(RECORDED.read_text())
