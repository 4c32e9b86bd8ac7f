"""How servers of another Kubernetes version than the pinned one are built.

The module in this folder pins one version with a go.sum. For any other one a module is made in the
cache from what k8s.io/kubernetes of that version says of itself: it keeps its staging modules in
its own repository, and outside of it they are modules of a version of their own (v1.36.3 goes with
v0.36.3).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from .processes import ControlPlaneError

if TYPE_CHECKING:
    from .toolchain import Go

KUBERNETES = "k8s.io/kubernetes"
SERVERS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
"""The programs that are of the other version; etcd, kubectl and KWOK serve them all."""
_STAGED = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/\S+$", re.MULTILINE)


def normal(version: str) -> str:
    """Return a version as Go writes it: v1.36.3 for 1.36.3.

    Raises:
        ControlPlaneError: It is no version of Kubernetes 1.
    """
    found = re.fullmatch(r"v?(1\.\d+\.\d+\S*)", version)
    if found is None:
        raise ControlPlaneError(f"{version} is no Kubernetes version such as 1.36.3")
    return f"v{found[1]}"


def folder(cache: Path, version: str) -> Path:
    """Return where the module and the binaries of a version are."""
    return cache / f"kubernetes-{version}"


def make_module(go: Go, version: str, target: Path, go_line: str) -> None:
    """Write the go.mod and go.sum of a version into a folder, unless they are there.

    Args:
        go: The compiler.
        version: Such as "v1.36.3".
        target: The folder.
        go_line: The Go version that the module asks for.

    Raises:
        ControlPlaneError: There is no such version, or its dependencies cannot be had.
    """
    target.mkdir(parents=True, exist_ok=True)
    if (target / "go.sum").exists():
        return
    (target / "go.mod").write_text(f"module controlplane\n\ngo {go_line}\n")
    told = json.loads(go.run("mod", "download", "-json", f"{KUBERNETES}@{version}", cwd=target))
    (target / "go.mod").write_text(module_text(Path(told["GoMod"]).read_text(), version, go_line))
    go.run("mod", "tidy", cwd=target)


def module_text(own: str, version: str, go_line: str) -> str:
    """Return the text of a go.mod that builds the servers of a version.

    Args:
        own: The go.mod of k8s.io/kubernetes of that version.
        version: Such as "v1.36.3".
        go_line: The Go version that the module asks for.

    Raises:
        ControlPlaneError: It names no staging modules.
    """
    staged = _STAGED.findall(own)
    if not staged:
        raise ControlPlaneError(f"{KUBERNETES} {version} names no staging modules in its go.mod")
    staging = version.replace("v1.", "v0.", 1)
    tools = "".join(f"\t{KUBERNETES}/cmd/{name}\n" for name in SERVERS)
    replaced = "".join(f"\t{name} => {name} {staging}\n" for name in staged)
    return (
        f"module controlplane\n\ngo {go_line}\n\ntool (\n{tools})\n\n"
        f"require {KUBERNETES} {version}\n\nreplace (\n{replaced})\n"
    )
