"""What the command costs on a large cluster: `python -m bench.command [PODS NODES]`.

One pod a row, each as a process of its own against the stand-in (bench/api_server.py).
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from bench.fleet import NAMESPACES
from bench.load import machine, table
from bench.running import ROOT, kubeconfig, stand_in

START = "import sys; sys.argv[0] = 'gpu-triage'; from gpu_triage.cli.main import main; main()"
ASKED = (
    ("hangs on one node", 7, "≤ 2 s, ≤ 0.6 s CPU, ≤ 300 MiB"),
    ("selects nodes without GPUs", 106, "≤ 2 s, ≤ 0.6 s CPU, ≤ 300 MiB"),
    ("250 candidates, all taken", 120, "≤ 15 s, ≤ 300 MiB"),
)
"""What the pod waits for, its number in the fleet, and what is wanted."""


def main(pods: int, nodes: int) -> None:
    """Prints a row for each pod, and one for --help."""
    print(f"{machine()}\n")
    with stand_in(pods, nodes) as (_, server), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig(server)))
        rows = (
            (what, *cost(path, f"team-{number % NAMESPACES:03}", f"job-{number:06}"), wanted)
            for what, number, wanted in ASKED
        )
        table(("one pod that", "word", "time", "CPU", "peak RSS", "wanted"), rows)
        _, *spent = cost(path, "--help")
        table(("", "time", "CPU", "peak RSS", "wanted"), [("--help", *spent, "≤ 0.15 s")])


def cost(path: Path, *arguments: str) -> tuple[str, str, str, str]:
    """What it says, and what that took."""
    begun = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "operator"),
            "KUBECONFIG": str(path),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdout is not None
    said = child.stdout.read().decode().strip()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - begun
    cpu = used.ru_utime + used.ru_stime
    return said, f"{took:.2f} s", f"{cpu:.2f} s", f"{used.ru_maxrss / 1024:.0f} MiB"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or (150_000, 5_000)))
