"""What a test can do with a cluster, wherever it comes from."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from .processes import ControlPlaneError, Process, stop_together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from .components import Mode
    from .footprint import RunDirectory


class Cluster(ABC):
    """A cluster in use: its address, its credentials and the processes that are ours.

    Attributes:
        provider: "own", "existing" or "kind".
        mode: What happens to nodes and pods in it.
        url: Address of the API server.
        token: Bearer token of the admin, None where the kubeconfig has none.
        ca_file: What the API server's certificate is checked against, None where not known.
        kubeconfig: The admin's, with everything in it.
        binaries: Path of every binary in use, by name.
        etcd, apiserver, scheduler, controller_manager, kwok: The processes, None for those that
            are not ours or not in this mode.
    """

    provider = "own"

    def __init__(self, mode: Mode) -> None:
        """Describe a cluster that is not started yet."""
        self.mode: Mode = mode
        self.url = ""
        self.token: str | None = None
        self.ca_file: Path | None = None
        self.kubeconfig = Path()
        self.binaries: Mapping[str, Path] = {}
        self.etcd: Process | None = None
        self.apiserver: Process | None = None
        self.scheduler: Process | None = None
        self.controller_manager: Process | None = None
        self.kwok: Process | None = None
        self._run: RunDirectory | None = None

    def __enter__(self) -> Self:
        """Start it, if `open_cluster` has not."""
        if self._run is None:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.stop()

    @property
    def directory(self) -> Path:
        """Folder of this run, with a log file of every process; gone after `stop`.

        Raises:
            ControlPlaneError: It is not started.
        """
        if self._run is None:
            raise ControlPlaneError("the cluster is not started")
        return self._run.path

    @property
    def processes(self) -> list[Process]:
        """Our processes in the order in which they depend on each other."""
        candidates = (
            self.etcd,
            self.apiserver,
            self.scheduler,
            self.controller_manager,
            self.kwok,
        )
        return [process for process in candidates if process is not None]

    def start(self) -> Self:
        """Start it and wait until it works; after a failure nothing is left.

        Raises:
            ControlPlaneError: It does not start.
        """
        if self._run is not None:
            raise ControlPlaneError("the cluster is started already")
        try:
            self._start()
            for process in self.processes:
                process.check()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End everything that was started and remove the run's folder; may be called twice."""
        # Nothing is worth saving, so nobody gets long to say goodbye.
        stop_together(self.processes, grace=1.0)
        if self._run is not None:
            self._run.remove()
            self._run = None

    def kubectl(self, *args: str, input: str | None = None, check: bool = True) -> str:  # noqa: A002
        """Run kubectl as the admin and return its output.

        Args:
            args: Arguments such as "get", "pods".
            input: Its standard input, for `-f -`.
            check: Whether a failure raises. If not, a failed call returns both outputs, so that a
                refusal can be read.

        Raises:
            ControlPlaneError: It failed and `check` is set.
        """
        command = [
            str(self.binaries["kubectl"]),
            f"--kubeconfig={self.kubeconfig}",
            # Not in the home folder: the next run's server may use the same port.
            f"--cache-dir={self.directory / 'kubectl-cache'}",
        ]
        done = subprocess.run(
            [*command, *args],
            input=input,
            # The user's own preferences for kubectl must not change what a test does.
            env={**os.environ, "KUBERC": "off"},
            capture_output=True,
            check=False,
            text=True,
        )
        if done.returncode == 0:
            return done.stdout
        if check:
            raise ControlPlaneError(f"`kubectl {' '.join(args)}` failed: {done.stderr.strip()}")
        return done.stdout + done.stderr

    def get(self, path: str) -> dict[str, Any]:
        """Read a path of the API, such as "/api/v1/nodes", as the admin.

        Raises:
            ControlPlaneError: The API server refuses or does not answer.
        """
        body: dict[str, Any] = json.loads(self._fetch(path))
        return body

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Wait until the API server says that it is ready.

        Raises:
            ControlPlaneError: It ended or was not ready in time.
        """
        self._wait(lambda: self._fetch("/readyz") == "ok", "the API server is ready", timeout)

    @abstractmethod
    def _start(self) -> None:
        """Do the provider's part of `start`."""

    def _fetch(self, path: str) -> str:
        """Return what the API answers on a path."""
        return self.kubectl("get", "--raw", path)

    def _wait(self, condition: Callable[[], object], what: str, timeout: float) -> None:
        """Poll a condition while our processes stand; a failing request counts as "not yet"."""
        deadline = time.monotonic() + timeout
        while True:
            with contextlib.suppress(ControlPlaneError, OSError):
                if condition():
                    return
            for process in self.processes:
                process.check()
            if time.monotonic() > deadline:
                tails = "\n".join(
                    f"--- {process.name}\n{process.tail(5)}" for process in self.processes
                )
                raise ControlPlaneError(f"after {timeout:.0f} s not yet: {what}\n{tails}")
            time.sleep(0.05)
