"""How soon a change is acted on."""

import pytest

from gpu_triage.controller.tempo import Tempo


@pytest.mark.parametrize(
    ("took", "quiet", "pause"),
    [
        pytest.param(
            0.001, 5, 0.02, id="after a quiet moment: only what comes together is awaited"
        ),
        pytest.param(0.001, 0, 0.05, id="right after the last time"),
        pytest.param(0.001, 0.01, 0.04, id="the time that has passed since counts"),
        pytest.param(0.005, 0, 0.095, id="a twentieth of the time is spent on it"),
        pytest.param(0.05, 0, 0.2, id="what takes longer: five times a second"),
        pytest.param(0.05, 0.19, 0.02, id="and others are still awaited"),
        pytest.param(3.0, 0, 3.0, id="what takes seconds: half of the time"),
        pytest.param(3.0, 10, 0.02, id="but at once after a quiet moment"),
    ],
)
def test_the_pause_before_the_words_are_brought_up_to_date(took, quiet, pause):
    now = 100.0
    tempo = Tempo(lambda: now)
    tempo.ended(took)
    now += quiet
    assert tempo.pause() == pytest.approx(pause)


def test_the_first_change_is_taken_in_at_once():
    assert Tempo(lambda: 0.0).pause() == 0.02
