"""What the rules need to know of a pod and of a node, worked out once per object.

Raw objects are large and quantities are text; facts are small, hashable where rules compare them,
and hold no reference to the object that they came from.
"""

from collections.abc import Hashable

import msgspec

from gpu_triage.core import objects
from gpu_triage.core.intent import Intent, intent
from gpu_triage.core.quantity import QuantityError, count
from gpu_triage.core.request import Ask, asks, request
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import Selector, selector
from gpu_triage.core.toleration import Taint, Toleration, blocking, tolerations
from gpu_triage.core.workload import Trouble, trouble, workload

DEFAULT_SCHEDULER = "default-scheduler"
REJECTIONS = ("UnexpectedAdmissionError", "TopologyAffinityError")
ANNOTATIONS = ("cause", "detail", "message", "since")
COUNTED = "nvidia.com/gpu"
"""The resource that GPU Feature Discovery counts."""
IGNORE = "ignore"
"""The annotation by which a pod or a namespace asks that nothing be written; it is theirs."""
_COUNT_LABEL = "nvidia.com/gpu.count"
_PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
_WORKLOAD_LABEL = "nvidia.com/gpu.workload.config"
_PASSTHROUGH = ("vm-passthrough", "vm-vgpu")


class Shape(msgspec.Struct, frozen=True):
    """All that decides which nodes suit a pod; pods of one shape get the same codes."""

    selector: Selector
    tolerations: tuple[Toleration, ...]
    request: tuple[tuple[str, int], ...]


class PodFacts(msgspec.Struct, frozen=True):
    """What the rules need to know of a pod."""

    namespace: str
    name: str
    uid: str
    shape: Shape
    node: str
    """Where it is placed; empty while it is not."""
    nominated: str
    priority: int
    scheduler: str
    phase: str
    reason: str
    gates: tuple[str, ...]
    terminating: bool
    created: float | None
    started: float | None
    """When its kubelet took it on."""
    workload: str
    """Whose pod it is: ``Deployment/web``, ``Job/train``; empty where nobody's."""
    trouble: Trouble | None
    tried: bool
    """A scheduler has said why it does not fit."""
    scheduler_says: str
    """The text of the PodScheduled condition; empty once it is placed."""
    waiting: str
    """The first container that waits and why: "cuda: ImagePullBackOff"."""
    asks: tuple[Ask, ...]
    """Where in the manifest the GPUs are asked for."""
    intent: Intent | None
    """Set only where nothing is requested."""
    published: dict[str, str]
    """Our own annotations, without the domain; those of a former domain with it."""
    ignored: bool
    """It asks to be left alone."""

    @property
    def key(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"

    @property
    def request(self) -> dict[str, int]:
        """GPUs that the pod asks for, by resource."""
        return dict(self.shape.request)

    @property
    def ended(self) -> bool:
        """Succeeded or Failed: it holds nothing any more."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def rejected(self) -> bool:
        """Refused by the kubelet of the node it was placed on."""
        return self.phase == "Failed" and (
            self.reason.startswith("OutOf") or self.reason in REJECTIONS
        )

    @property
    def pending(self) -> bool:
        """Asks for GPUs and is not placed: what the product is about."""
        return bool(self.shape.request) and not self.node and not self.ended


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


def pod_facts(pod: objects.Pod, rules: Rules) -> PodFacts:
    """The facts of a pod. Raises ObjectError where a GPU quantity is none."""
    spec = pod.spec or objects.PodSpec()
    status = pod.status or objects.PodStatus()
    meta = pod.metadata
    asked = request(spec, rules)
    refused = next(filter(_refuses, status.conditions or ()), None)
    annotations = meta.annotations or {}
    return PodFacts(
        namespace=meta.namespace or "default",
        name=meta.name,
        uid=meta.uid or f"{meta.namespace or 'default'}/{meta.name}",
        shape=Shape(selector(spec), tolerations(spec), tuple(asked.items())),
        node=spec.node_name or "",
        nominated=status.nominated_node_name or "",
        priority=spec.priority or 0,
        scheduler=spec.scheduler_name or DEFAULT_SCHEDULER,
        phase=status.phase or "",
        reason=status.reason or "",
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        terminating=meta.deletion_timestamp is not None,
        created=objects.seconds(meta.creation_timestamp),
        started=objects.seconds(status.start_time),
        workload=workload(meta),
        trouble=trouble(meta, status),
        tried=refused is not None and refused.reason != "SchedulingGated" and bool(refused.message),
        scheduler_says=(refused.message or "") if refused is not None else "",
        waiting=_waiting(status),
        asks=asks(spec, rules),
        intent=None if asked else intent(pod, rules),
        published=_published(annotations, rules),
        ignored=annotations.get(f"{rules.domain}/{IGNORE}") == "true",
    )


def _refuses(condition: objects.Condition) -> bool:
    return condition.type == "PodScheduled" and condition.status == "False"


def _published(annotations: dict[str, str], rules: Rules) -> dict[str, str]:
    if not annotations:
        return {}
    found = {
        name: annotations[key]
        for name in ANNOTATIONS
        if (key := f"{rules.domain}/{name}") in annotations
    }
    for domain in rules.old_domains:
        for name in ANNOTATIONS:
            if (key := f"{domain}/{name}") in annotations:
                found[key] = annotations[key]
    return found


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


def _waiting(status: objects.PodStatus) -> str:
    for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        if each.state is not None and each.state.waiting is not None and each.state.waiting.reason:
            return f"{each.name}: {each.state.waiting.reason}"
    return ""
