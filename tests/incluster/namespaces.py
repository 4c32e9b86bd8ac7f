"""The namespaces and control groups that hold a node, and how nothing of them stays behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.controlplane import ControlPlaneError, Process

from .machine import cgroup_folders

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = Path(__file__).parent
_ALL = "net,uts,ipc,pid,mnt"
_CGROUPS = "gpu-triage-lab-*"
_START_SECONDS = 30.0


class Namespaces:
    """Mount, network, PID, UTS and IPC namespaces, and a control group named like the run's folder.

    Their first process dies with ours, however ours dies, and everything in them with it. What a
    killed run leaves are empty control groups, which the next run removes.
    """

    def __init__(self, directory: Path, hostname: str) -> None:
        """Describe them.

        Args:
            directory: The run's folder.
            hostname: What the machine is called inside.
        """
        self.directory = directory
        self.cgroup = directory.name
        command = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork"]
        command += ["--kill-child", "--propagation", "private", "--mount-proc"]
        command += [sys.executable, "-I", "-S", str(_HERE / "inside.py"), str(directory), hostname]
        command[0] = shutil.which("unshare") or "unshare"
        self._holder = Process("the namespaces", command, directory / "namespaces.log")
        self.pid = 0
        """Of their first process, as seen from outside."""

    def start(self) -> None:
        """Make them and wait until they are set up.

        Raises:
            ControlPlaneError: They cannot be made.
        """
        sweep_cgroups()
        make_cgroups(self.cgroup)
        self._holder.start()
        deadline = time.monotonic() + _START_SECONDS
        while not (self.directory / "ready").exists():
            self._holder.check()
            if time.monotonic() > deadline:
                raise ControlPlaneError(f"the namespaces are not set up:\n{self._holder.tail()}")
            time.sleep(0.02)
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        self.pid = int(children.read_text().split()[0])

    def enter(self, command: Sequence[str], *, only_network: bool = False) -> list[str]:
        """Return the command line that runs a command in them, or only in their network."""
        kinds = "net" if only_network else _ALL
        launcher = [sys.executable, "-I", "-S", str(_HERE / "enter.py"), str(self.pid), kinds]
        return [*launcher, shutil.which(command[0]) or command[0], *command[1:]]

    def door(self, port: int) -> list[str]:
        """Return the command line that leads a port of this machine to the same one inside."""
        return [sys.executable, "-I", "-S", str(_HERE / "door.py"), str(self.pid), str(port)]

    def stop(self) -> None:
        """End everything in them, wait until it is gone, and remove the control groups."""
        if self.pid:
            # The kernel lets the first process go only after all others have gone.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._holder.stop()
            self.pid = 0
        self._holder.kill()
        remove_cgroups(self.cgroup)


def make_cgroups(name: str) -> None:
    """Make a control group in each hierarchy."""
    for folder in cgroup_folders():
        (folder / name).mkdir(exist_ok=True)
        # A new group of cpuset (v1) holds no CPU, and takes no process until it does.
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (folder / file).exists():
                (folder / name / file).write_text((folder / file).read_text())


def remove_cgroups(name: str) -> None:
    """Remove a control group and those below it; the last processes may still be leaving."""
    deadline = time.monotonic() + 10
    for folder in cgroup_folders():
        while (folder / name).exists() and time.monotonic() < deadline:
            _remove_empty(folder / name)
            time.sleep(0.02)


def sweep_cgroups() -> None:
    """Remove the groups of runs that have no folder any more."""
    for folder in cgroup_folders():
        for group in folder.glob(_CGROUPS):
            if not (Path(tempfile.gettempdir()) / group.name).exists():
                _remove_empty(group)


def _remove_empty(group: Path) -> None:
    """Remove those of a tree of groups that hold no process."""
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
