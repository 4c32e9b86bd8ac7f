"""How both demos begin and end, and what they put on the screen."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.controlplane import Cluster, ControlPlaneError

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
BOLD, FAINT, PLAIN = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


def demonstrate(command: str, about: str | None, show: Callable[[bool], None]) -> int:
    """Run a demo; 0 when all of it was seen.

    Args:
        command: How it is called.
        about: What it shows.
        show: Shows it; True: and stays before its end.
    """
    parser = argparse.ArgumentParser(prog=command, description=about)
    parser.add_argument("--once", action="store_true", help="end after the last step")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        show(not options.once)
    except KeyboardInterrupt:
        say("Stopped; everything that was started is gone.")
    except (ControlPlaneError, AssertionError, OSError, subprocess.SubprocessError) as error:
        print(f"make demo: {error}", file=sys.stderr)
        return 1
    return 0


def step(title: str) -> None:
    """A heading."""
    print(f"\n{BOLD}== {title}{PLAIN}", flush=True)


def say(text: str) -> None:
    """A line of our own."""
    print(f"\n{text}", flush=True)


def kubectl(cluster: Cluster, *arguments: str) -> None:
    """Show a kubectl command and what it prints."""
    print(f"{FAINT}$ kubectl {shlex.join(arguments)}{PLAIN}", flush=True)
    print(cluster.kubectl(*arguments), flush=True)


def gpu_triage(*arguments: str, cluster: Cluster | None = None) -> None:
    """Show a gpu-triage command and what it prints."""
    print(f"{FAINT}$ gpu-triage {shlex.join(arguments)}{PLAIN}", flush=True)
    environment = dict(os.environ)
    if cluster is not None:
        environment["KUBECONFIG"] = str(cluster.kubeconfig)
    subprocess.run([BIN / "gpu-triage", *arguments], cwd=ROOT, env=environment, check=True)
    print(flush=True)
