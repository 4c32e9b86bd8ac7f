"""`python -m tests.controlplane`: a cluster for a developer, as long as the command runs."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from .binaries import provide
from .components import Mode
from .processes import ControlPlaneError
from .providers import PROVIDERS, chosen_provider, needed_binaries, open_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from .cluster import Cluster

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ENDING = {
    "own": "Ctrl-C stops it and removes everything.",
    "existing": "Ctrl-C stops KWOK; the cluster and what you made in it stay.",
    "kind": "Ctrl-C deletes the cluster.",
}


class _Stopped(BaseException):
    """A signal asked for the end; no Exception, so that nothing on the way swallows it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Build, start, wait for the end, stop.

    Returns:
        0 after an orderly end, 1 after an error.
    """
    options = _parser().parse_args(argv)
    for number in _SIGNALS:
        signal.signal(number, _stop_once)
    try:
        if options.kubeconfig and options.kubeconfig.exists():
            # It may be somebody's real one, and it would be removed at the end.
            raise ControlPlaneError(f"{options.kubeconfig} exists already: name a new file")
        provider = options.provider or chosen_provider()
        binaries = provide(needed_binaries(options.mode, provider))
        if options.build_only:
            print(f"built or found: {', '.join(binaries)}")
            return 0
        begun = time.monotonic()
        with open_cluster(options.mode, provider=provider) as cluster:
            print(_describe(cluster, time.monotonic() - begun), flush=True)
            with _copied(cluster.kubeconfig, options.kubeconfig):
                _watch(cluster)
    except _Stopped:
        print("stopped", flush=True)
    except ControlPlaneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.controlplane",
        description="Start a real Kubernetes control plane on this machine until Ctrl-C.",
    )
    parser.add_argument(
        "--mode",
        choices=get_args(Mode),
        default="alive",
        help="alive: nodes get Ready and pods run; still: what is written stays (default: alive)",
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        help="own: built from Go modules; existing: the cluster of KUBECONFIG; kind: needs a "
        "Docker engine, not run in CI (default: from USE_EXISTING_CLUSTER and PROVIDER, else own)",
    )
    parser.add_argument(
        "--build-only", action="store_true", help="build what is missing, start nothing"
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="write the kubeconfig there too; the file is removed at the end",
    )
    return parser


def _stop_once(_number: int, _frame: FrameType | None) -> None:
    """Turn the first signal into an orderly end and ignore the others while it happens."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise _Stopped


@contextlib.contextmanager
def _copied(kubeconfig: Path, target: Path | None) -> Iterator[None]:
    """Keep a copy of the kubeconfig where the user wants one, if anywhere.

    Raises:
        ControlPlaneError: It cannot be written.
    """
    if target is None:
        yield
        return
    try:
        target.touch(mode=0o600, exist_ok=False)
        target.write_text(kubeconfig.read_text())
    except OSError as error:
        raise ControlPlaneError(
            f"the kubeconfig cannot be written to {target}: {error.strerror}"
        ) from None
    try:
        yield
    finally:
        target.unlink(missing_ok=True)


def _watch(cluster: Cluster) -> None:
    """Wait for a signal, and end when one of the processes does."""
    while True:
        for process in cluster.processes:
            process.check()
        threading.Event().wait(1.0)


def _describe(cluster: Cluster, seconds: float) -> str:
    """Tell what runs and how to use it."""
    version = cluster.get("/version")["gitVersion"]
    heading = (
        f"Kubernetes {version} at {cluster.url}, mode {cluster.mode}, ready in {seconds:.1f} s"
    )
    if cluster.provider == "kind":
        heading += " (kind: not run in CI)"
    lines = [heading, ""]
    for process in cluster.processes:
        lines.append(f"  {process.name:<24} pid {process.pid:<8} log {process.log}")
    lines += [
        "",
        f"  export KUBECONFIG={cluster.kubeconfig}",
        f"  {cluster.binaries['kubectl']} get nodes",
        "",
        _ENDING[cluster.provider],
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
