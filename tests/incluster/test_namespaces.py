"""One kill ends a node, and the machine is as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.controlplane.footprint import RunDirectory, free_port

from .inside import FLAGS
from .machine import cgroup_folders
from .namespaces import Namespaces

OWNER = """
import sys, time
from tests.controlplane import Process
from tests.controlplane.footprint import RunDirectory
from tests.incluster.namespaces import Namespaces

run = RunDirectory()
world = Namespaces(run.path, "trial")
world.start()
for name, argv in {
    "child": world.enter(["sleep", "600"]),
    "orphan": world.enter(["sh", "-c", "setsid sleep 600 & exec sleep 600"]),
    "neighbour": world.enter(["sleep", "600"], only_network=True),
    "door": world.door(int(sys.argv[1])),
}.items():
    Process(name, argv, run.path / f"{name}.log").start()
print(run.path, world.pid, flush=True)
time.sleep(600)
"""


def members(namespace: int) -> list[str]:
    """Return the command lines of the processes in a network namespace, by its inode."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.stat(process / "ns" / "net").st_ino == namespace:
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def is_sleep(command: str) -> bool:
    """Tell whether a command line is that of sleep itself."""
    return command.split()[:1] in (["sleep"], ["/usr/bin/sleep"], ["/bin/sleep"])


def flags() -> dict[str, str]:
    """Return the machine's kernel flags that the kubelet would change."""
    return {flag: (Path("/proc/sys") / flag).read_text() for flag in FLAGS}


def links() -> list[str]:
    """Return the machine's network links."""
    return sorted(os.listdir("/sys/class/net"))


@pytest.mark.usefixtures("machine")
def test_a_killed_owner_takes_everything_along() -> None:
    before = (flags(), links())
    command = [sys.executable, "-c", OWNER, str(free_port())]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        told = owner.stdout.readline()
        try:
            directory, pid = told.split()
            namespace = os.stat(f"/proc/{pid}/ns/net").st_ino
            deadline = time.monotonic() + 30
            while len(sleeping := [m for m in members(namespace) if is_sleep(m)]) < 4:
                assert time.monotonic() < deadline, members(namespace)
                time.sleep(0.05)
        finally:
            owner.kill()
    assert len(sleeping) == 4
    deadline = time.monotonic() + 30
    while left := members(namespace):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    assert (flags(), links()) == before
    assert directory not in Path("/proc/self/mounts").read_text()
    # The folder and the empty control groups are all that is left, until the next run.
    groups = [folder / Path(directory).name for folder in cgroup_folders()]
    assert all(group.exists() for group in groups)
    following = RunDirectory()
    world = Namespaces(following.path, "trial")
    try:
        world.start()
        assert not Path(directory).exists()
        assert not any(group.exists() for group in groups)
    finally:
        world.stop()
        following.remove()
    assert not any((folder / following.path.name).exists() for folder in cgroup_folders())
