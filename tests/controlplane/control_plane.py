"""Our own control plane: what is started, in which order, and when it is ready."""

from __future__ import annotations

import os
import secrets
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from . import components
from .binaries import STAGES, provide
from .cluster import Cluster
from .components import Layout, Mode, command
from .footprint import RunDirectory, free_port
from .processes import ControlPlaneError, Process, stop_together

if TYPE_CHECKING:
    from collections.abc import Sequence

_START_TIMEOUT = 60.0
_ATTEMPTS = 3

NEEDED: dict[Mode, tuple[str, ...]] = {
    "alive": (
        "etcd",
        "kube-apiserver",
        "kube-scheduler",
        "kube-controller-manager",
        "kubectl",
        "kwok",
        STAGES,
    ),
    "still": ("etcd", "kube-apiserver", "kube-scheduler", "kubectl"),
}
"""The binaries of each mode."""


class ControlPlane(Cluster):
    """etcd, API server and scheduler, and in alive mode controller manager and KWOK."""

    def __init__(
        self,
        mode: Mode = "alive",
        *,
        version: str | None = None,
        event_ttl: str = "1h",
        profiles: Sequence[str] = ("default-scheduler",),
        apiserver_flags: Sequence[str] = (),
        scheduler_flags: Sequence[str] = (),
        controller_manager_flags: Sequence[str] = (),
        kwok_flags: Sequence[str] = (),
    ) -> None:
        """Describe a control plane; `start` or a `with` block starts it.

        Args:
            mode: Whether nodes and pods live or stay as they are written.
            version: Of Kubernetes, such as "1.36.3"; the one that go.mod pins if not given.
            event_ttl: How long the API server keeps an Event.
            profiles: Scheduler names that the scheduler answers to.
            apiserver_flags: More flags; they win over those given here.
            scheduler_flags: More flags for the scheduler.
            controller_manager_flags: More flags for the controller manager.
            kwok_flags: More flags for KWOK.
        """
        super().__init__(mode)
        self._version = version
        self._event_ttl = event_ttl
        self._profiles = tuple(profiles)
        self._flags = {
            "kube-apiserver": tuple(apiserver_flags),
            "kube-scheduler": tuple(scheduler_flags),
            "kube-controller-manager": tuple(controller_manager_flags),
            "kwok": tuple(kwok_flags),
        }
        self._tls: ssl.SSLContext | None = None

    def _start(self) -> None:
        """Start everything; again with other ports if somebody took one of ours meanwhile."""
        self.binaries = provide(NEEDED[self.mode], self._version)
        self._run = RunDirectory()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._launch(attempt)
                return
            except ControlPlaneError:
                taken = any("address already in use" in p.tail(50) for p in self.processes)
                if not taken or attempt == _ATTEMPTS:
                    raise
                stop_together(self.processes, grace=1.0)
                self.etcd = self.apiserver = None
                self.scheduler = self.controller_manager = self.kwok = None

    def _launch(self, attempt: int) -> None:
        """Start the servers, each as soon as what it cannot start without is there."""
        folder = self.directory / f"attempt-{attempt}" if attempt > 1 else self.directory
        folder.mkdir(exist_ok=True)
        layout = Layout(folder, free_port(), free_port())
        token = secrets.token_urlsafe(24)
        self.url, self.token, self.ca_file = layout.url, token, layout.ca_file
        self.kubeconfig = layout.kubeconfig
        self._tls = None

        self.etcd = self._spawn(layout, "etcd", components.etcd(layout))
        components.write_secrets(layout, token)
        self.apiserver = self._spawn(
            layout, "kube-apiserver", components.apiserver(layout, self.mode, self._event_ttl)
        )
        # The key is written after the certificate: when it is there, the certificate is complete.
        self._wait(
            (layout.certificates / "apiserver.key").exists,
            "the API server's certificate",
            _START_TIMEOUT,
        )
        components.write_ca(layout)
        components.write_kubeconfig(layout, token)
        components.write_scheduler_config(layout, self.mode, self._profiles)
        self.wait_ready(_START_TIMEOUT)
        self.scheduler = self._spawn(layout, "kube-scheduler", components.scheduler(layout))
        if self.mode == "alive":
            self.controller_manager = self._spawn(
                layout, "kube-controller-manager", components.controller_manager(layout)
            )
            self.kwok = self._spawn(
                layout,
                "kwok",
                components.kwok(layout.kubeconfig, self.binaries[STAGES], all_nodes=True),
            )
            self._wait(
                lambda: self.get("/api/v1/namespaces/default/serviceaccounts/default"),
                "the ServiceAccount default of the namespace default",
                _START_TIMEOUT,
            )

    def _spawn(self, layout: Layout, name: str, arguments: list[str]) -> Process:
        """Start one server with its log in the run's folder."""
        argv = command(self.binaries[name], arguments, self._flags.get(name, ()))
        # A still control plane answers thousands of questions a minute, and its memory is small: a
        # lazier garbage collector makes it a fifth faster.
        env = {**os.environ, "GOGC": "400"} if self.mode == "still" else None
        process = Process(name, self._placed(argv), layout.directory / f"{name}.log", env=env)
        process.start()
        return process

    def _placed(self, argv: list[str]) -> list[str]:
        """Return the command line that runs a server where the others are: on the machine."""
        return argv

    def _fetch(self, path: str) -> str:
        """Ask the API server directly: a kubectl for each poll would slow the start down."""
        request = urllib.request.Request(self.url + path)
        request.add_header("Authorization", f"Bearer {self.token}")
        # A proxy of the machine has no business with 127.0.0.1.
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._trust())
        )
        try:
            with opener.open(request, timeout=10) as response:
                body: bytes = response.read()
        except urllib.error.HTTPError as error:
            raise ControlPlaneError(f"GET {path}: {error.code} {error.read().decode()}") from None
        except OSError as error:
            raise ControlPlaneError(
                f"GET {path}: the API server does not answer ({error})"
            ) from None
        return body.decode()

    def _trust(self) -> ssl.SSLContext:
        """Return the TLS context that knows the API server's certificate."""
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=str(self.ca_file or Path()))
        return self._tls
