"""What a machine must have before a node can run on it, and why it has not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.controlplane import ControlPlaneError

_PACKAGES = {
    "buildah": "buildah",
    "conntrack": "conntrack",
    "containerd": "containerd",
    "ip": "iproute2",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "mount": "mount",
    "nft": "nftables",
    "openssl": "openssl",
    "runc": "runc",
    "sysctl": "procps",
    "unshare": "util-linux",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
}
"""Programs that are called, and the Debian packages that hold them."""

_TRIAL = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--mount-proc"]


def why_not() -> str | None:
    """Return why no node can run on this machine, None if one can; changes nothing."""
    if sys.platform != "linux":
        return "a kubelet needs Linux"
    if os.geteuid() != 0:
        return "a kubelet needs root"
    if missing := _missing():
        if shutil.which("apt-get") is None:
            return f"no {', '.join(missing)} here, and no apt-get to install them"
    elif version := _unknown_containerd():
        return f"containerd is {version}, and only 1.x is known here"
    if shutil.which("unshare") is None:
        return None
    trial = subprocess.run([*_TRIAL, "true"], capture_output=True, check=False, text=True)
    if trial.returncode:
        return f"namespaces cannot be made here: {trial.stderr.strip()}"
    if not any(os.access(folder, os.W_OK) for folder in cgroup_folders()):
        return "control groups cannot be made under /sys/fs/cgroup"
    return None


def prepare() -> None:
    """Install the packages that are missing.

    Raises:
        ControlPlaneError: They cannot be had.
    """
    if not (missing := _missing()):
        return
    packages = sorted({_PACKAGES[program] for program in missing})
    print(f"installing {' '.join(packages)} with apt-get", file=sys.stderr, flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages],
    ):
        done = subprocess.run(command, env=quiet, capture_output=True, check=False, text=True)
        if done.returncode:
            raise ControlPlaneError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    if reason := why_not():
        raise ControlPlaneError(reason)


def cgroup_folders() -> list[Path]:
    """Return the root of each hierarchy of control groups: one (v2) or one a controller (v1).

    Tried with v1 only.
    """
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root]
    return sorted(folder.parent for folder in root.glob("*/cgroup.procs"))


def _missing() -> list[str]:
    """Return the programs that are not here."""
    return [program for program in _PACKAGES if shutil.which(program) is None]


def _unknown_containerd() -> str | None:
    """Return containerd's version if its configuration would be another one than ours."""
    done = subprocess.run(["containerd", "--version"], capture_output=True, check=False, text=True)
    found = re.search(r"\bv?(\d+)\.\d+\S*", done.stdout)
    return None if found and found[1] == "1" else done.stdout.strip() or "silent on its version"
