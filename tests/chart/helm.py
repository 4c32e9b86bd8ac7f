"""Helm as a command, and the chart as the objects that it renders."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.binaries import provide

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm"
IMAGE = {"repository": "registry.example.com/gpu-triage"}

Objects = dict[tuple[str, str], dict[str, Any]]


class HelmError(Exception):
    """Helm refused; its text says why."""


class Helm:
    """Runs the pinned Helm, with folders of its own."""

    def __init__(self, folder: Path, kubeconfig: Path | None = None) -> None:
        """Builds Helm if nobody has.

        Args:
            folder: for what Helm keeps.
            kubeconfig: of the cluster; without one it can render only.
        """
        self._binary = provide(["helm"])["helm"]
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "HELM_CACHE_HOME": str(folder / "cache"),
            "HELM_CONFIG_HOME": str(folder / "config"),
            "HELM_DATA_HOME": str(folder / "data"),
            "KUBECONFIG": str(kubeconfig or folder / "none"),
        }
        self._folder = folder
        self._texts: dict[str, str] = {}

    def run(self, *arguments: str, values: dict[str, Any] | None = None) -> str:
        """Returns what Helm prints.

        Args:
            arguments: of Helm.
            values: what is set besides the chart's own values.

        Raises:
            HelmError: it failed.
        """
        given = []
        if values is not None:
            with tempfile.NamedTemporaryFile(
                "w", dir=self._folder, suffix=".yaml", delete=False
            ) as file:
                yaml.safe_dump(values, file)
            given = ["--values", file.name]
        done = subprocess.run(
            [str(self._binary), *arguments, *given],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise HelmError(done.stderr)
        return done.stdout

    def text(
        self,
        values: dict[str, Any] | None = None,
        *arguments: str,
        chart: Path = CHART,
        name: str = "gpu-triage",
        namespace: str = "gpu-triage",
    ) -> str:
        """What the chart renders, with an image that nobody has; the same is rendered once."""
        given = {**(values or {})}
        given["image"] = {**IMAGE, **given.get("image", {})}
        command = ["template", name, str(chart), "-n", namespace, *arguments]
        key = repr((command, given))
        if key not in self._texts:
            self._texts[key] = self.run(*command, values=given)
        return self._texts[key]

    def render(self, values: dict[str, Any] | None = None, *arguments: str, **rest: Any) -> Objects:
        """What the chart renders, by kind and name; hooks are left out."""
        return objects(self.text(values, "--no-hooks", *arguments, **rest))

    def hooks(self, values: dict[str, Any] | None = None) -> Objects:
        """What uninstalling makes, by kind and name, in Helm's order."""
        found = objects(self.text(values))
        hooks = [item for item in found.items() if "helm.sh/hook" in _annotations(item[1])]
        return dict(sorted(hooks, key=lambda item: weight(item[1])))


def objects(text: str) -> Objects:
    """The objects of a YAML stream, by kind and name."""
    return {
        (each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text) if each
    }


def weight(hook: dict[str, Any]) -> int:
    """Helm makes hooks of lower weight first."""
    return int(_annotations(hook)["helm.sh/hook-weight"])


def environment(pod_owner: dict[str, Any]) -> dict[str, str]:
    """The variables that the only container of a Deployment or Job gets."""
    (container,) = pod_owner["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def _annotations(item: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = item["metadata"].get("annotations", {})
    return found
