"""What the rules need to know of a node, worked out once per object: see ``pod_facts``."""

from collections.abc import Hashable

import msgspec

from gpu_triage.core import objects
from gpu_triage.core.quantity import QuantityError, count
from gpu_triage.core.rules import Rules
from gpu_triage.core.toleration import Taint, blocking

COUNTED = "nvidia.com/gpu"
"""The resource that GPU Feature Discovery counts."""
_COUNT_LABEL = "nvidia.com/gpu.count"
_PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
_WORKLOAD_LABEL = "nvidia.com/gpu.workload.config"
_PASSTHROUGH = ("vm-passthrough", "vm-vgpu")


class NodeFacts(msgspec.Struct, frozen=True):
    """What the rules need to know of a node."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    """Those that block; a cordon is one of them."""
    capacity: dict[str, int]
    """GPU resources only, as in status; a key that stands there is an offer, 0 too."""
    allocatable: dict[str, int]
    created: float | None
    annotated: dict[str, int]
    """GPUs that somebody says the node should have."""
    counted: int
    """GPUs that were counted on it, by its label; 0 where nobody has."""
    seen: dict[str, int]
    """GPUs that it was seen with before, where that is more than its capacity is now."""
    gpu_label: bool
    withheld: bool
    """Its GPUs are kept from pods on purpose: no device plugin, or they go to virtual machines."""

    @property
    def likeness(self) -> Hashable:
        """All but what makes a node the one it is: its name, its age, and its labels.

        To the rules nodes that are equal in this differ only by what selectors choose.
        """
        own = (getattr(self, field) for field in self.__struct_fields__ if field not in _IDENTITY)
        return tuple(tuple(sorted(x.items())) if isinstance(x, dict) else x for x in own)

    @property
    def advertises(self) -> bool:
        """Whether any GPU resource stands in the node's status, 0 of it too."""
        return bool(self.capacity or self.allocatable)

    def offers(self, resource: str) -> bool:
        """Whether the resource name stands in the node's status.

        A 0 is an offer: the kubelet keeps it after a device plugin died. Except on a node where
        another GPU resource of the same domain lives and this one is 0 in both: there the name is a
        leftover (MIG, time-slicing).
        """
        if resource not in self.capacity and resource not in self.allocatable:
            return False
        if self.capacity.get(resource, 0) > 0 or self.allocatable.get(resource, 0) > 0:
            return True
        return not self.living_sibling(resource)

    def living_sibling(self, resource: str) -> bool:
        """Whether another GPU resource of the same domain is above 0 here."""
        domain = resource.partition("/")[0] + "/"
        return any(name != resource and name.startswith(domain) for name in self.living())

    def living(self) -> list[str]:
        """The GPU resource names with a capacity or an allocatable above 0, sorted."""
        named = self.capacity.keys() | self.allocatable.keys()
        return sorted(
            name
            for name in named
            if self.capacity.get(name, 0) > 0 or self.allocatable.get(name, 0) > 0
        )

    def expected(self, resource: str) -> int:
        """How many devices the node should have: annotated, else the largest known of it."""
        if resource in self.annotated:
            return self.annotated[resource]
        known = max(self.capacity.get(resource, 0), self.seen.get(resource, 0))
        if self.counted > known and resource == COUNTED:
            shared = any(name != resource for name in self.living())
            return known if shared else self.counted
        return known


_IDENTITY = ("name", "labels", "created")


def node_facts(node: objects.Node, rules: Rules) -> NodeFacts:
    """The facts of a node. Raises ObjectError where a GPU quantity is none."""
    status = node.status or objects.NodeStatus()
    labels = node.metadata.labels or {}
    capacity = _gpus(status.capacity or {}, "capacity", rules)
    # The API server fills a missing allocatable with the capacity when it decodes a node.
    allocatable = (
        _gpus(status.allocatable, "allocatable", rules) if status.allocatable else dict(capacity)
    )
    expected = (node.metadata.annotations or {}).get(f"{rules.domain}/expected-gpus", "")
    return NodeFacts(
        name=node.metadata.name,
        labels=labels,
        taints=blocking(node.spec),
        capacity=capacity,
        allocatable=allocatable,
        created=objects.seconds(node.metadata.creation_timestamp),
        annotated=_annotated(expected, rules),
        counted=_counted(labels, rules),
        seen={},
        gpu_label=any(labels[key] != "false" for key in rules.gpu_labels(tuple(labels))),
        withheld=labels.get(_PLUGIN_LABEL) == "false"
        or labels.get(_WORKLOAD_LABEL) in _PASSTHROUGH,
    )


def _gpus(amounts: objects.Quantities, field: str, rules: Rules) -> dict[str, int]:
    try:
        return {name: count(value) for name, value in amounts.items() if rules.is_gpu(name)}
    except QuantityError as error:
        raise objects.ObjectError(f"{error} - at `$.status.{field}`") from None


def _annotated(text: str, rules: Rules) -> dict[str, int]:
    """``nvidia.com/gpu=8,nvidia.com/mig-1g.5gb=7``; parts that are not so are passed over."""
    pairs = (part.strip().partition("=") for part in text.split(","))
    return {
        name: int(n[:6])
        for name, _, n in pairs
        if rules.is_gpu(name) and n.isascii() and n.isdigit()
    }


def _counted(labels: dict[str, str], rules: Rules) -> int:
    text = labels.get(_COUNT_LABEL, "")
    known = rules.is_gpu(COUNTED) and text.isascii() and text.isdigit()
    return int(text[:6]) if known else 0
