"""GPUs that do not exist, a real device plugin that offers them, and pods that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import builders
from tests.e2e import laboratory

from .cluster import NODE
from .images import IDLE

if TYPE_CHECKING:
    from .cluster import NodeCluster

DEVICE_PLUGIN = Path(__file__).with_name("device-plugin.yaml")


def pod(namespace: str, name: str, gpus: int) -> dict[str, Any]:
    """Return a pod for the real node; it does nothing until it is told to end."""
    made = builders.pod(
        name,
        gpus,
        namespace=namespace,
        selector={"kubernetes.io/hostname": NODE},
        terminationGracePeriodSeconds=5,
    )
    del made["metadata"]["uid"], made["metadata"]["creationTimestamp"], made["status"]
    made["spec"]["containers"][0] |= {"image": IDLE, "imagePullPolicy": "Never"}
    return made


def devices(cluster: NodeCluster) -> tuple[str | None, str | None]:
    """Return capacity and allocatable of the real node's GPUs; None where it has no such key."""
    status = cluster.get(f"/api/v1/nodes/{NODE}")["status"]
    return status["capacity"].get(builders.GPU), status["allocatable"].get(builders.GPU)


def start_device_plugin(cluster: NodeCluster) -> None:
    """Install the device plugin and wait until the node offers its devices."""
    cluster.kubectl("apply", "-f", str(DEVICE_PLUGIN))
    laboratory.wait_for("two devices", lambda: devices(cluster) == ("2", "2"), 120)


def stop_device_plugin(cluster: NodeCluster) -> None:
    """Remove the device plugin and wait until its pod is gone."""
    cluster.kubectl("delete", "-f", str(DEVICE_PLUGIN), "--cascade=foreground", "--wait")


def set_sick(cluster: NodeCluster, count: int) -> None:
    """Make so many of the two devices unhealthy."""
    cluster.kubectl(
        *("exec", "-n", "kube-system", "daemonset/device-plugin", "--"),
        *("/device-plugin", f"-sick={count}"),
    )
