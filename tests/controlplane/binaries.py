"""Which binaries a control plane needs, and where they are.

They come from the environment, in the way of Kubernetes' own envtest, or else from a cache outside
the tree, into which they are built from the Go modules that the go.mod files here pin. Given ones
win one by one: `KUBEBUILDER_ASSETS` usually holds etcd, kube-apiserver and kubectl, and the rest is
built. Whoever gives an API server of another minor version should give the scheduler too.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import other_version
from .build import BuildError, cache_lock, go_build
from .processes import ControlPlaneError
from .toolchain import Go, find_go

if TYPE_CHECKING:
    from collections.abc import Iterable

_HERE = Path(__file__).parent
_NODE = _HERE.parent / "incluster" / "node"
_OURS = _HERE.parent / "incluster" / "programs"
STAGES = "kwok-stages.yaml"
"""What KWOK does to nodes and pods; KWOK ships it as files of its module."""


@dataclass(frozen=True)
class Binary:
    """A program and the module it is built from."""

    name: str
    module: Path
    """Folder with the go.mod that pins it."""
    dependency: str
    """The module whose version is the program's version."""
    package: str
    hint: str

    @property
    def version(self) -> str:
        """The version that go.mod pins."""
        return _pinned(self.module, self.dependency)

    @property
    def ldflags(self) -> str:
        """Version stamps; without them a Kubernetes server calls itself v0.0.0."""
        flags = ["-s", "-w"]
        if self.dependency == "k8s.io/kubernetes":
            major, minor = self.version.lstrip("v").split(".")[:2]
            for stamp in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
                flags += [
                    f"-X {stamp}.gitVersion={self.version}",
                    f"-X {stamp}.gitMajor={major}",
                    f"-X {stamp}.gitMinor={minor}",
                ]
        return " ".join(flags)


def _kubernetes(name: str, hint: str, module: Path = _HERE) -> Binary:
    """Describe one of the programs of k8s.io/kubernetes."""
    return Binary(name, module, "k8s.io/kubernetes", f"k8s.io/kubernetes/cmd/{name}", hint)


def _ours(name: str, hint: str) -> Binary:
    """Describe a program of our own, which speaks with the kubelet or needs nothing."""
    return Binary(name, _OURS, "k8s.io/kubelet", f"./{name}", hint)


_ETCD = "go.etcd.io/etcd/server/v3"
_KWOK = "sigs.k8s.io/kwok"
_HELM = "helm.sh/helm/v4"

# In the order in which they are built. The API server compiles most of what the others share.
BINARIES = {
    binary.name: binary
    for binary in (
        Binary("etcd", _HERE, _ETCD, _ETCD, "about 1 min"),
        _kubernetes("kube-apiserver", "about 4 min"),
        _kubernetes("kube-scheduler", "about 1 min"),
        _kubernetes("kube-controller-manager", "about 1 min"),
        _kubernetes("kubectl", "about 20 s"),
        Binary("kwok", _HERE / "kwok", _KWOK, f"{_KWOK}/cmd/kwok", "about 1 min"),
        Binary("helm", _HERE / "kwok", _HELM, f"{_HELM}/cmd/helm", "about 1 min"),
        _kubernetes("kubelet", "about 3 min", _NODE),
        _kubernetes("kube-proxy", "about 30 s", _NODE),
        _ours("device-plugin", "about 20 s"),
        _ours("pause", "about 5 s"),
    )
}


def provide(names: Iterable[str], version: str | None = None) -> dict[str, Path]:
    """Return the path of each binary, building what neither the environment nor the cache has.

    Args:
        names: Names from `BINARIES`, or `STAGES`.
        version: Of the Kubernetes servers, such as "1.36.3"; the pinned one if not given.

    Raises:
        ControlPlaneError: A variable points to nothing, or a build failed.
    """
    wanted = set(names)
    other = _other(version)
    paths: dict[str, Path] = {}
    for name in [*BINARIES, STAGES]:
        if name in wanted:
            paths[name] = _given(name) or _cached(name, other)
    missing = [name for name, path in paths.items() if not path.exists()]
    if missing:
        cache = cache_folder()
        with cache_lock(cache):
            go = find_go(_go_version(), cache)
            for name in missing:
                # Whoever held the lock before may have built it.
                if not paths[name].exists():
                    _make(go, name, paths[name], other)
    return paths


def _other(version: str | None) -> str | None:
    """Return a version that is not the pinned one, None for that."""
    if version is None:
        return None
    normal = other_version.normal(version)
    return None if normal == BINARIES["kube-apiserver"].version else normal


def _make(go: Go, name: str, target: Path, other: str | None) -> None:
    """Build a binary or collect the stages into `target`."""
    if name == STAGES:
        _collect_stages(go, target)
        return
    binary = BINARIES[name]
    if other is not None and name in other_version.SERVERS:
        binary = replace(binary, module=target.parent)
        other_version.make_module(go, other, binary.module, _go_version())
    go_build(
        go,
        binary.package,
        target,
        label=f"{name} {binary.version}",
        module=binary.module,
        ldflags=binary.ldflags,
        hint=binary.hint,
    )


def _given(name: str) -> Path | None:
    """Return what the environment names for a binary, None if it names nothing."""
    variable = "TEST_ASSET_" + re.sub(r"\W", "_", name.removesuffix(".yaml")).upper()
    value = os.environ.get(variable)
    if value:
        path = Path(value).absolute()
        if not path.is_file() or (name != STAGES and not os.access(path, os.X_OK)):
            raise ControlPlaneError(
                f"{variable}={value}: no executable {name} there; correct or unset {variable}"
            )
        return path
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if folder:
        if not Path(folder).is_dir():
            raise ControlPlaneError(
                f"KUBEBUILDER_ASSETS={folder}: no such folder; correct or unset KUBEBUILDER_ASSETS"
            )
        path = Path(folder).absolute() / name
        if path.is_file():
            return path
    return None


def cache_folder() -> Path:
    """Return the folder that survives a run and a `git clean`."""
    own = os.environ.get("GPU_TRIAGE_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gpu-triage"


def _cached(name: str, other: str | None) -> Path:
    """Return where a binary is in the cache: other pins and versions give another folder."""
    if other is not None and name in other_version.SERVERS:
        return other_version.folder(cache_folder(), other) / name
    binary = BINARIES["kwok" if name == STAGES else name]
    digest = hashlib.sha256()
    sources = sorted(binary.module.rglob("*.go"))
    for file in (binary.module / "go.mod", binary.module / "go.sum", *sources):
        digest.update(file.read_bytes())
    return cache_folder() / f"{binary.module.name}-{digest.hexdigest()[:16]}" / name


def _pinned(module: Path, dependency: str) -> str:
    """Return the version of a dependency from the go.mod in a folder."""
    text = (module / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s*{re.escape(dependency)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise ControlPlaneError(f"{module / 'go.mod'} requires no {dependency}")
    return found[1]


def _go_version() -> str:
    """Return the Go version that the modules ask for."""
    found = re.search(r"^go (\S+)$", (_HERE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise ControlPlaneError(f"{_HERE / 'go.mod'} has no go line")
    return found[1]


def _collect_stages(go: Go, target: Path) -> None:
    """Copy KWOK's fast stages out of its module, so that starting it needs no Go."""
    module = BINARIES["kwok"].module
    # Without the download the module may be known and its files missing.
    go.run("mod", "download", _KWOK, cwd=module)
    source = Path(go.run("list", "-m", "-f", "{{.Dir}}", _KWOK, cwd=module).strip())
    files = [
        file
        for kind in ("node", "pod")
        for file in sorted((source / "kustomize" / "stage" / kind / "fast").glob("*.yaml"))
        if file.name != "kustomization.yaml"
    ]
    if not files:
        raise BuildError(f"no stages under {source}: KWOK keeps them elsewhere since this version")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    partial.write_text("\n---\n".join(file.read_text().strip() for file in files) + "\n")
    partial.replace(target)
