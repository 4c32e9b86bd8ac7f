"""A control plane and one real node, in namespaces of their own."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

from tests.controlplane import ControlPlane, ControlPlaneError, Process
from tests.controlplane.binaries import provide
from tests.controlplane.control_plane import NEEDED
from tests.controlplane.footprint import RunDirectory

from . import components
from .images import IDLE, provide_images
from .machine import prepare, why_not
from .namespaces import Namespaces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.controlplane.components import Layout

NODE = "gpu-node"
NEEDED_HERE = (*NEEDED["alive"], "kubelet", "kube-proxy", "helm")
_NODE_SECONDS = 240.0


class NodeCluster(ControlPlane):
    """A cluster whose node `gpu-node` runs pods; KWOK plays nodes that have its annotation.

    Its API server is at 127.0.0.1 for everybody on this machine, like any other one's; pods,
    Services and the node itself are reached from inside only (see `inside`).

    Attributes:
        containerd, kubelet, kube_proxy: The node's processes.
    """

    def __init__(self) -> None:
        """Describe it; `start` or a `with` block starts it."""
        super().__init__("alive")
        self.containerd: Process | None = None
        self.kubelet: Process | None = None
        self.kube_proxy: Process | None = None
        self._door: Process | None = None
        self._namespaces: Namespaces | None = None
        self._layout: Layout | None = None

    @property
    def processes(self) -> list[Process]:
        """Our processes in the order in which they depend on each other."""
        own = (self._door, self.containerd, self.kubelet, self.kube_proxy)
        return [*super().processes, *(process for process in own if process is not None)]

    def inside(self, *command: str, check: bool = True) -> str:
        """Run a program in the node's namespaces and return its output.

        Raises:
            ControlPlaneError: It failed and `check` is set.
        """
        done = subprocess.run(
            self._world.enter(command), capture_output=True, check=False, text=True
        )
        if done.returncode and check:
            raise ControlPlaneError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
        return done.stdout

    def stop(self) -> None:
        """End everything, remove the run's folder and its control groups."""
        if self._namespaces is not None:
            self._namespaces.stop()
        super().stop()

    @property
    def _world(self) -> Namespaces:
        if self._namespaces is None:
            raise ControlPlaneError("the cluster is not started")
        return self._namespaces

    def _start(self) -> None:
        """Start the namespaces, in them the control plane, and meanwhile containerd."""
        if reason := why_not():
            raise ControlPlaneError(reason)
        prepare()
        self.binaries = provide(NEEDED_HERE)
        images = provide_images()
        self._run = RunDirectory()
        self._namespaces = Namespaces(self.directory, NODE)
        self._namespaces.start()
        self.containerd = self._node("containerd", components.containerd(self.directory, IDLE))
        with _Importing(self, images):
            self._launch(1)
        layout = self._layout
        assert layout is not None
        self.kubelet = self._node(
            "kubelet",
            components.kubelet(self.binaries["kubelet"], layout, NODE, self._world.cgroup),
        )
        self.kube_proxy = self._node(
            "kube-proxy", components.kube_proxy(self.binaries["kube-proxy"], layout, NODE)
        )
        self._wait(self._node_is_ready, "the node is Ready", _NODE_SECONDS)

    def _spawn(self, layout: Layout, name: str, arguments: list[str]) -> Process:
        """Start one server with what it is told here besides."""
        if name == "kube-apiserver":
            self._layout = layout
            components.write_credentials(layout, NODE)
            log = layout.directory / "door.log"
            self._door = Process("the door", self._world.door(layout.apiserver_port), log)
            self._door.start()
            arguments = [*arguments, *components.apiserver(layout)]
        elif name == "kwok":
            arguments = [*arguments, *components.kwok()]
        return super()._spawn(layout, name, arguments)

    def _placed(self, argv: list[str]) -> list[str]:
        """Return the command line that runs a server in the cluster's network."""
        return self._world.enter(argv, only_network=True)

    def _node(self, name: str, argv: Sequence[str]) -> Process:
        """Start a program of the node."""
        process = Process(name, self._world.enter(argv), self.directory / f"{name}.log")
        process.start()
        return process

    def _node_is_ready(self) -> bool:
        status = self.get(f"/api/v1/nodes/{NODE}")["status"]
        return any(c["type"] == "Ready" and c["status"] == "True" for c in status["conditions"])


class _Importing:
    """Images go into containerd while something else happens; a failure shows at the end."""

    def __init__(self, cluster: NodeCluster, archives: Mapping[str, Path]) -> None:
        self._cluster = cluster
        self._archives = archives
        self._failure: ControlPlaneError | None = None
        self._thread = threading.Thread(target=self._import)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._thread.join()
        if self._failure is not None and kind is None:
            raise self._failure

    def _import(self) -> None:
        try:
            self._cluster._wait(
                lambda: self._cluster.inside("ctr", "version"), "containerd answers", 60
            )
            for archive in self._archives.values():
                self._cluster.inside("ctr", "-n", "k8s.io", "images", "import", str(archive))
        except ControlPlaneError as error:
            self._failure = error
