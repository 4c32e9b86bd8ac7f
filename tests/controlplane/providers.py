"""Where a cluster comes from: our own control plane, one that is at hand, or kind.

`USE_EXISTING_CLUSTER=1` takes the cluster of the kubeconfig as it is, `PROVIDER=kind` makes one in
a container engine; without either the own control plane is started. In the first two KWOK plays
only nodes with the annotation `kwok.x-k8s.io/node: fake`.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Literal, get_args

from . import components
from .binaries import STAGES, provide
from .cluster import Cluster
from .control_plane import NEEDED, ControlPlane
from .footprint import RunDirectory
from .processes import ControlPlaneError, Process

if TYPE_CHECKING:
    from pathlib import Path

    from .components import Mode

Provider = Literal["own", "existing", "kind"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)


def chosen_provider() -> Provider:
    """Return the provider that the environment asks for.

    Raises:
        ControlPlaneError: `PROVIDER` names none.
    """
    if os.environ.get("USE_EXISTING_CLUSTER", "").lower() in ("1", "true", "yes"):
        return "existing"
    name = os.environ.get("PROVIDER") or "own"
    for provider in PROVIDERS:
        if provider == name:
            return provider
    raise ControlPlaneError(f"PROVIDER={name}: choose one of {', '.join(PROVIDERS)}")


def needed_binaries(mode: Mode, provider: Provider) -> tuple[str, ...]:
    """Return the binaries to build before a cluster of this kind can start."""
    return NEEDED[mode] if provider == "own" else ("kubectl", "kwok", STAGES)


def open_cluster(mode: Mode = "alive", *, provider: Provider | None = None) -> Cluster:
    """Return a started cluster; stop it with `stop` or use it in a `with` block.

    Args:
        mode: alive, or still (own control plane only).
        provider: Where it comes from; the environment decides if not given.

    Raises:
        ControlPlaneError: It cannot be started; nothing is left behind.
    """
    provider = provider or chosen_provider()
    if provider == "own":
        return ControlPlane(mode).start()
    if mode == "still":
        raise ControlPlaneError(
            f"mode still does not work with the provider {provider}, whose controllers change "
            "nodes: unset USE_EXISTING_CLUSTER and PROVIDER to use the own control plane"
        )
    return (KindCluster() if provider == "kind" else ExistingCluster()).start()


class ExistingCluster(Cluster):
    """The cluster of `KUBECONFIG` (or ~/.kube/config), current context: used, never stopped."""

    provider = "existing"

    def __init__(self) -> None:
        """Describe it; its controllers are its own, so it is always alive."""
        super().__init__("alive")

    def _start(self) -> None:
        """Read the kubeconfig and start KWOK against the cluster."""
        self.binaries = provide(needed_binaries("alive", "existing"))
        self._run = RunDirectory()
        self._adopt(None)

    def _adopt(self, source: Path | None) -> None:
        """Take over the current context of a kubeconfig, of the environment's if not given."""
        self.kubeconfig = self.directory / "kubeconfig"
        command = [str(self.binaries["kubectl"]), "config", "view", "-o", "json"]
        if source is not None:
            command.append(f"--kubeconfig={source}")
        # A copy of this one context: a later `kubectl config use-context` in another terminal must
        # not move a running test to another cluster.
        done = subprocess.run(
            [*command, "--raw", "--minify", "--flatten"],
            capture_output=True,
            check=False,
            text=True,
        )
        if done.returncode:
            where = source or os.environ.get("KUBECONFIG") or "~/.kube/config"
            raise ControlPlaneError(
                f"{where} names no cluster ({done.stderr.strip()}): set KUBECONFIG, or unset "
                "USE_EXISTING_CLUSTER to use the own control plane"
            )
        config = json.loads(done.stdout)
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(done.stdout)
        cluster = config["clusters"][0]["cluster"]
        self.url = cluster["server"]
        self.token = (config.get("users") or [{}])[0].get("user", {}).get("token")
        if "certificate-authority-data" in cluster:
            self.ca_file = self.directory / "ca.crt"
            self.ca_file.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        self.wait_ready(30)
        arguments = components.kwok(self.kubeconfig, self.binaries[STAGES], all_nodes=False)
        argv = components.command(self.binaries["kwok"], arguments, ())
        self.kwok = Process("kwok", argv, self.directory / "kwok.log")
        self.kwok.start()


class KindCluster(ExistingCluster):
    """A cluster that kind makes and deletes; not run in CI.

    kind's containers are not our processes: after a kill -9 of the owner they stay, and
    `kind delete cluster` with the printed name removes them.
    """

    provider = "kind"

    def __init__(self) -> None:
        """Describe a cluster with a name of its own."""
        super().__init__()
        self.name = f"gpu-triage-{os.getpid()}"
        self._created = False

    def _start(self) -> None:
        """Make the cluster, then use it like any other that is at hand."""
        _check_engine()
        self.binaries = provide(needed_binaries("alive", "kind"))
        self._run = RunDirectory()
        kubeconfig = self.directory / "kind.kubeconfig"
        print(f"kind creates the cluster {self.name} (this way is not run in CI)")
        self._created = True
        _kind("create", "cluster", "--name", self.name, "--kubeconfig", str(kubeconfig))
        self._adopt(kubeconfig)

    def stop(self) -> None:
        """Stop KWOK and delete the cluster."""
        if self._created:
            self._created = False
            kubeconfig = self.directory / "kind.kubeconfig"
            try:
                _kind("delete", "cluster", "--name", self.name, "--kubeconfig", str(kubeconfig))
            finally:
                super().stop()
        else:
            super().stop()


def _check_engine() -> None:
    """Make sure that kind and a container engine are there.

    Raises:
        ControlPlaneError: One of them is missing.
    """
    instead = "or unset PROVIDER to use the own control plane, which needs neither"
    if shutil.which("kind") is None:
        raise ControlPlaneError(f"PROVIDER=kind and no kind on the PATH: install it, {instead}")
    docker = shutil.which("docker")
    if (
        docker is None
        or subprocess.run([docker, "info"], capture_output=True, check=False).returncode
    ):
        raise ControlPlaneError(
            f"PROVIDER=kind and no Docker engine answers `docker info`: start one, {instead}"
        )


def _kind(*args: str) -> None:
    """Run kind.

    Raises:
        ControlPlaneError: It failed.
    """
    done = subprocess.run(["kind", *args], capture_output=True, check=False, text=True)
    if done.returncode:
        raise ControlPlaneError(f"`kind {' '.join(args)}` failed: {done.stderr.strip()}")
