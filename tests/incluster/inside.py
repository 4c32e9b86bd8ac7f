"""The first process of a node's namespaces: `inside.py DIRECTORY NAME`.

It sets up file systems and network, says so by a file, and then only stays. When it ends, the
kernel ends everything that runs beside it.
"""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

# Kernel flags that no namespace holds and that the kubelet would change for the whole machine. It
# leaves alone what has the value that it wants, so here it finds files with these values.
FLAGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
PRIVATE = {
    "log": "/var/log",
    "kubelet": "/var/lib/kubelet",
    "containerd": "/var/lib/containerd",
    "cni": "/var/lib/cni",
}
"""Folders of the run that stand in for folders of the machine."""


def main() -> None:
    """Set up, tell, stay."""
    directory, name = Path(sys.argv[1]), sys.argv[2]
    socket.sethostname(name)
    run("mount", "--make-rshared", "/")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    for own, usual in PRIVATE.items():
        (directory / own).mkdir()
        Path(usual).mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(directory / own), usual)
    hide_flags(directory / "flags")
    # The kubelet hands mounts of its own on to containers.
    run("mount", "--make-rshared", "/")
    network()
    (directory / "ready").touch()
    # Whatever loses its parent comes to process 1; ignored, it is reaped by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        signal.pause()


def hide_flags(folder: Path) -> None:
    """Put files over the kernel flags that are not to be changed."""
    folder.mkdir()
    for flag, value in FLAGS.items():
        file = folder / flag.replace("/", ".")
        file.write_text(f"{value}\n")
        run("mount", "--bind", str(file), f"/proc/sys/{flag}")


def network() -> None:
    """Give the node an address on a bridge that leads nowhere, and a way to the Services."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "node0", "type", "bridge")
    run("ip", "address", "add", "10.250.0.1/24", "dev", "node0")
    run("ip", "link", "set", "node0", "up")
    # kube-proxy's rules rewrite the address only after a route has been found.
    run("ip", "route", "add", "10.96.0.0/16", "dev", "node0")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1\n")


def run(*command: str) -> None:
    """Run a short command; its failure is ours."""
    subprocess.run(command, check=True, env={"PATH": os.environ["PATH"]})


if __name__ == "__main__":
    main()
