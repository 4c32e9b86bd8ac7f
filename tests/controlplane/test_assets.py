"""What needs no control plane: which binaries are taken, and how settings and children behave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from tests.controlplane import ControlPlaneError, Process
from tests.controlplane.binaries import BINARIES, provide
from tests.controlplane.other_version import module_text

ROOT = Path(__file__).parents[2]


def test_versions_are_those_of_go_mod() -> None:
    text = (Path(__file__).parent / "go.mod").read_text()
    assert f"k8s.io/kubernetes {BINARIES['kubectl'].version} " in text
    assert f"gitVersion={BINARIES['kubectl'].version}" in BINARIES["kubectl"].ldflags
    assert "gitVersion" not in BINARIES["etcd"].ldflags


def test_kubebuilder_assets_are_taken_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kubectl"):
        (assets / name).touch(mode=0o755)
    (tmp_path / "other").touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.setenv("TEST_ASSET_KUBECTL", str(tmp_path / "other"))
    monkeypatch.setenv("GPU_TRIAGE_CACHE", str(tmp_path / "never-written"))
    found = provide(["etcd", "kubectl"])
    assert found == {"etcd": assets / "etcd", "kubectl": tmp_path / "other"}
    assert not (tmp_path / "never-written").exists()


def test_another_version_has_a_place_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("KUBEBUILDER_ASSETS", "TEST_ASSET_KUBE_APISERVER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GPU_TRIAGE_CACHE", str(tmp_path))
    there = tmp_path / "kubernetes-v1.30.1" / "kube-apiserver"
    there.parent.mkdir()
    there.touch()
    assert provide(["kube-apiserver"], "1.30.1") == {"kube-apiserver": there}


def test_a_module_of_another_version_takes_its_staging_modules_from_outside() -> None:
    own = "module k8s.io/kubernetes\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n"
    text = module_text(own, "v1.36.3", "1.26.0")
    assert "\trequire" not in text
    assert "require k8s.io/kubernetes v1.36.3\n" in text
    assert "\tk8s.io/api => k8s.io/api v0.36.3\n" in text
    with pytest.raises(ControlPlaneError, match="no staging modules"):
        module_text("module k8s.io/kubernetes\n", "v1.36.3", "1.26.0")


@pytest.mark.parametrize("version", ["1.36", "latest", "2.0.0", ""])
def test_a_version_that_is_none_is_said(version: str) -> None:
    with pytest.raises(ControlPlaneError, match=r"is no Kubernetes version such as 1\.36\.3"):
        provide(["kube-apiserver"], version)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TEST_ASSET_ETCD": "/nowhere/etcd"}, "TEST_ASSET_ETCD=/nowhere/etcd: no executable"),
        ({"KUBEBUILDER_ASSETS": "/nowhere"}, "KUBEBUILDER_ASSETS=/nowhere: no such folder"),
        ({"PROVIDER": "cloud"}, "PROVIDER=cloud: choose one of own, existing, kind"),
        ({"PROVIDER": "kind", "PATH": "/nowhere"}, "no kind on the PATH"),
    ],
)
def test_a_wrong_setting_is_one_clear_line_without_traceback(
    variables: dict[str, str], message: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.controlplane"],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_a_process_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    process = Process("sleep", ["/bin/sleep", "60"], tmp_path / "log")
    starter = Thread(target=process.start)
    starter.start()
    starter.join()
    time.sleep(0.3)
    assert process.running
    process.stop()
    assert process.exit_code == -signal.SIGTERM
