"""Prometheus' own linter finds nothing to say about the metrics."""

import subprocess

from gpu_triage.cluster.history import History
from gpu_triage.core.causes import Cause, Detail
from tests import builders
from tests.monitoring.programs import program
from tests.unit.test_metrics import exposition, waiting


def lint(text):
    """What promtool says of an exposition: (exit code, its lines)."""
    done = subprocess.run(
        [str(program("promtool")), "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_promtool_has_nothing_to_say():
    history = History()
    history.begun(Cause.TAINT)
    history.waited(Cause.TAINT, 61)
    pod = waiting("a", Cause.EXHAUSTED, Detail.BUSY, 2)
    text = exposition(
        builders.node("sick", 6, capacity=8),
        builders.node("dead", 0),
        standing=[pod],
        since={pod.pod.uid: 1700000000.5},
        history=history,
    )
    assert lint(text) == (0, [])


def test_promtool_would_say_something():
    text = "# HELP gpu_triage_x_total X.\n# TYPE gpu_triage_x_total gauge\ngpu_triage_x_total 1\n"
    code, lines = lint(text)
    assert code != 0
    assert lines
