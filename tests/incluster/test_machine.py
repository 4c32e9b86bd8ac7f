"""What needs no node: when there can be none, and what versions are built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import machine

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def pins(module: Path) -> dict[str, str]:
    """Return the versions that a go.mod requires."""
    required = (module / "go.mod").read_text().partition("replace (")[0]
    return dict(re.findall(r"^(?:require)?\s+(\S+) (v\S+)", required, re.MULTILINE))


@pytest.mark.parametrize("module", ["node", "programs"])
def test_what_is_compiled_for_the_control_plane_is_not_compiled_again(module: str) -> None:
    theirs, ours = pins(ROOT / "tests" / "controlplane"), pins(HERE / module)
    shared = theirs.keys() & ours.keys()
    assert "k8s.io/kubelet" in shared
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_without_root_there_is_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert machine.why_not() == "a kubelet needs root"


def test_without_the_packages_and_apt_there_is_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    reason = machine.why_not()
    assert reason is not None
    assert re.fullmatch(r"no buildah, .* here, and no apt-get to install them", reason)


@pytest.mark.parametrize(
    ("variable", "outcome"), [({}, "skipped"), ({"TEST_NO_SKIP": "1"}, "failed")]
)
def test_a_skip_is_a_failure_where_that_is_asked_for(
    tmp_path: Path, variable: dict[str, str], outcome: str
) -> None:
    (tmp_path / "test_trial.py").write_text(
        "import pytest\n\ndef test_trial():\n    pytest.skip('the reason')\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TEST_NO_SKIP"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "tests.conftest", str(tmp_path)],
        cwd=ROOT,
        env={**environment, **variable},
        capture_output=True,
        check=False,
        text=True,
    )
    assert f"1 {outcome} in" in done.stdout
    assert "the reason" in done.stdout
