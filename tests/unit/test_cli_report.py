"""A report has for each pod what asking for that pod alone would give."""

from pathlib import Path

import yaml

from gpu_triage.cli import source
from gpu_triage.cli.files import read
from gpu_triage.core.classify import classify
from gpu_triage.core.rules import Rules

TESTS = Path(__file__).parents[1]


def test_a_report_has_the_verdicts_of_one_pod_at_a_time(tmp_path):
    """Of the laboratory with all clusters of bug reports beside it: one large, broken cluster."""
    for number, path in enumerate(sorted((TESTS / "cases").glob("*.yaml"))):
        objects = yaml.safe_load(path.read_text())["objects"]
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump_all(objects))
    lab = TESTS.parent / "examples" / "lab.yaml"
    snapshot = read([str(lab), str(tmp_path)], Rules(), "auto")
    pods = snapshot.pods(None)
    alone = [classify(pod, snapshot.inventory.picture, snapshot.now) for pod in pods]
    assert list(source._verdicts(pods, snapshot.inventory, snapshot.now)) == alone
    assert len({verdict.detail for verdict in alone}) > 10
