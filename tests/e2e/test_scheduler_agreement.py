"""A real scheduler says of every node of random clusters what our classifier says.

`make agreement` does the same for as many clusters, and on other versions of Kubernetes.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.agreement import breakages, run
from tests.agreement.minimal import as_yaml
from tests.agreement.mutating import broken, outcomes
from tests.agreement.record import Measure, save
from tests.agreement.report import described, summary
from tests.answers import ask

ROOT = Path(__file__).parents[2]
SEED = 1
CLUSTERS = 2 * run.SIDE_BY_SIDE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plane():
    """A control plane in which everything stays as it is written."""
    with run.plane() as started:
        yield started


@pytest.fixture(scope="module")
def found(plane):
    """What the scheduler answered, and how it was judged."""
    outcomes = list(run.outcomes(plane, SEED, CLUSTERS))
    print("\n".join(summary(outcomes)))
    return outcomes


def test_no_answer_of_the_scheduler_disagrees(found):
    disagreements = [each for outcome in found for each in outcome.tally.disagreements]
    minimal = [as_yaml(each) for outcome in found for each in outcome.minimal]
    assert not disagreements, "\n".join([*map(described, disagreements[:5]), *minimal])


def test_so_many_verdicts_were_compared(found):
    verdicts = sum((outcome.tally.verdicts for outcome in found), Counter())
    assert verdicts[Measure.NARROWED] >= 1_500
    assert verdicts[Measure.HISTOGRAM] >= 50_000
    assert verdicts[Measure.NOMINATED] >= 5_000
    assert verdicts[Measure.BOUND] >= 200
    bound = sum(
        bool(each.node) for o in found for each in o.record.asked if each.measure == "bound"
    )
    assert bound >= 50
    assert verdicts[Measure.BOUND] - bound >= 50


def test_every_step_was_met(found):
    steps = sum((outcome.tally.steps for outcome in found), Counter())
    assert min(steps[step] for step in ("label", "taint", "offers", "allocatable", "free")) >= 50
    assert steps["fits"] >= 100
    assert steps["unknown"] >= 10


def test_everything_that_was_drawn_could_be_laid(found):
    assert [why for outcome in found for why in outcome.record.refused] == []


def test_a_small_breakage_of_the_classifier_is_noticed(found):
    survivors = [
        each.breakage
        for each in outcomes([outcome.record for outcome in found], breakages.ALL)
        if not each.measure
    ]
    assert [each.what for each in survivors if not each.hidden] == []
    assert [each.what for each in survivors] == [each.what for each in breakages.ALL if each.hidden]


def test_a_disagreement_becomes_a_small_file(plane, tmp_path):
    with broken(breakages.named("a cordon is ignored")):
        (outcome,) = run.outcomes(plane, SEED, 4)
        assert outcome.tally.disagreements
        (minimal,) = outcome.minimal
    file = tmp_path / "case.yaml"
    file.write_text(as_yaml(minimal))
    node, pod = yaml.safe_load(file.read_text())["items"]
    assert node["spec"] == {"unschedulable": True}
    assert pod["kind"] == "Pod"
    verdict = ask(pod, node)
    assert f"{verdict.cause}/{verdict.detail}" == "taint/cordoned"


def replayed(file, *flags):
    command = [sys.executable, "-m", "tests.agreement", "--replay", str(file), *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_judges_a_record_again(found, tmp_path):
    file = tmp_path / "record.json"
    save([found[0].record], file)
    done = replayed(file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("disagreements: 0\n")
    done = replayed(file, "--broken", "a cordon is ignored")
    assert done.returncode == 1
    assert "decided by a declared difference" in done.stdout
    assert "disagreements: 0" not in done.stdout
