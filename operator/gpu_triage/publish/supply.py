"""The GPUs of a cluster: what each node has, who holds it, and the sum."""

from typing import Literal

import msgspec

from gpu_triage.core.causes import PODS
from gpu_triage.core.holders import Holder, holder
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import NOT_READY, UNREACHABLE
from gpu_triage.core.picture import Picture
from gpu_triage.core.toleration import UNSCHEDULABLE

_CLOSED = (NOT_READY, UNREACHABLE, UNSCHEDULABLE)


class GPUNode(msgspec.Struct, frozen=True):
    """One node that offers GPUs, or is known to have some. Amounts by resource."""

    name: str
    capacity: dict[str, int]
    allocatable: dict[str, int]
    used: dict[str, int] | None
    """Null where pods could not be read."""
    free: dict[str, int] | None
    """May be below 0."""
    taints: list[str]
    """Those that block, as kubectl writes them."""
    holders: list[Holder] | None


class GPUNodeList(msgspec.Struct, frozen=True, rename="camel"):
    """Every GPU node."""

    items: list[GPUNode]
    api_version: Literal["gpu-triage.io/v1"] = "gpu-triage.io/v1"
    kind: Literal["GPUNodeList"] = "GPUNodeList"


class Supply(msgspec.Struct, frozen=True):
    """One resource over all nodes."""

    resource: str
    nodes: int
    """Nodes that offer it."""
    capacity: int
    allocatable: int
    used: int | None
    """None where pods could not be read."""
    free: int | None
    """On nodes that are ready and not cordoned, never below 0 on any."""


def gpu_nodes(picture: Picture) -> list[GPUNode]:
    """Every node that offers a GPU resource or carries a GPU label, by name."""
    return [
        _node(picture, node)
        for _, node in sorted(picture.nodes.items())
        if node.capacity or node.allocatable or node.gpu_label
    ]


def supply(picture: Picture) -> list[Supply]:
    """The sum over all nodes, by resource."""
    nodes = picture.nodes.values()
    names = sorted({name for node in nodes for name in (*node.capacity, *node.allocatable)})
    counted = PODS not in picture.unread
    return [
        Supply(
            resource=name,
            nodes=sum(name in node.capacity or name in node.allocatable for node in nodes),
            capacity=sum(node.capacity.get(name, 0) for node in nodes),
            allocatable=sum(node.allocatable.get(name, 0) for node in nodes),
            used=sum(picture.used_on(node.name).get(name, 0) for node in nodes)
            if counted
            else None,
            free=sum(max(0, _free(picture, node, name)) for node in nodes if _open(node))
            if counted
            else None,
        )
        for name in names
    ]


def _node(picture: Picture, node: NodeFacts) -> GPUNode:
    names = sorted({*node.capacity, *node.allocatable})
    used = picture.used_on(node.name)
    counted = PODS not in picture.unread
    held = sorted(
        picture.holders.get(node.name, {}).values(), key=lambda pod: (pod.namespace, pod.name)
    )
    return GPUNode(
        name=node.name,
        capacity=dict(sorted(node.capacity.items())),
        allocatable=dict(sorted(node.allocatable.items())),
        used={name: used.get(name, 0) for name in names} if counted else None,
        free={name: _free(picture, node, name) for name in names} if counted else None,
        taints=[str(taint) for taint in node.taints],
        holders=[holder(pod) for pod in held] if counted else None,
    )


def _free(picture: Picture, node: NodeFacts, resource: str) -> int:
    return node.allocatable.get(resource, 0) - picture.used_on(node.name).get(resource, 0)


def _open(node: NodeFacts) -> bool:
    return not any(taint.key in _CLOSED for taint in node.taints)
