"""deploy/rbac is what the chart renders."""

import importlib.util
import re
import shutil
import subprocess

import pytest
import yaml

from tests.chart.helm import ROOT, objects
from tests.controlplane.binaries import provide

RIGHTS = ROOT / "deploy" / "rbac"
KUSTOMIZATION = ROOT / "deploy" / "kustomization.yaml"


@pytest.fixture(scope="module")
def generator():
    specification = importlib.util.spec_from_file_location("rbac", ROOT / "deploy" / "rbac.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_manifests_are_fresh(generator):
    assert generator.main(["--check"]) == 0


def test_a_stale_manifest_is_one_line(generator, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generator, "FOLDER", tmp_path)
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    role = tmp_path / "clusterrole.yaml"
    role.write_text(role.read_text().replace("patch", "update"))
    assert generator.main(["--check"]) == 1
    assert capsys.readouterr().err == "deploy/rbac/clusterrole.yaml stale: run `make rbac`\n"


def test_the_manifests_hold_all_that_the_chart_says_of_rights(helm):
    """Compared as objects: nothing that the chart renders about rights is missing there."""
    shipped = manifests()
    chart = {
        key: item
        for key, item in helm.render({"replicas": 2}).items()
        if item["apiVersion"].split("/")[0]
        in ("rbac.authorization.k8s.io", "admissionregistration.k8s.io")
        or item["kind"] == "ServiceAccount"
    }
    for item in chart.values():
        labels = item["metadata"]["labels"]
        item["metadata"]["labels"] = {key: labels[key] for key in ("app.kubernetes.io/name",)}
    namespace = shipped.pop(("Namespace", "gpu-triage"))
    assert namespace["metadata"]["name"] == "gpu-triage"
    assert shipped == chart


def test_another_namespace_is_one_line(tmp_path):
    deploy = tmp_path / "deploy"
    shutil.copytree(RIGHTS, deploy / "rbac")
    text = KUSTOMIZATION.read_text()
    (deploy / "kustomization.yaml").write_text(
        re.sub("^namespace: gpu-triage$", "namespace: elsewhere", text, flags=re.MULTILINE)
    )
    kubectl = provide(["kubectl"])["kubectl"]
    done = subprocess.run(
        [str(kubectl), "kustomize", str(deploy)], capture_output=True, text=True, check=True
    )
    found = objects(done.stdout)
    assert len(found) == len(manifests())
    assert ("Namespace", "elsewhere") in found
    for item in found.values():
        assert item["metadata"].get("namespace", "elsewhere") == "elsewhere"
        for subject in item.get("subjects", ()):
            assert subject["namespace"] == "elsewhere"
        for condition in item.get("spec", {}).get("matchConditions", ()):
            assert condition["expression"] == (
                "request.userInfo.username == 'system:serviceaccount:elsewhere:gpu-triage'"
            )


def manifests():
    text = "\n---\n".join(file.read_text() for file in sorted(RIGHTS.glob("*.yaml")))
    found = objects(text)
    assert len(found) == sum(1 for each in yaml.safe_load_all(text) if each)
    return found
