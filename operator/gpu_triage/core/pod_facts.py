"""What the rules need to know of a pod, worked out once per object.

Raw objects are large and quantities are text; facts are small, hashable where rules compare them,
and hold no reference to the object that they came from.
"""

import msgspec

from gpu_triage.core import objects
from gpu_triage.core.intent import Intent, intent
from gpu_triage.core.request import Ask, asks, request
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import Selector, selector
from gpu_triage.core.toleration import Toleration, tolerations
from gpu_triage.core.workload import Trouble, trouble, workload

DEFAULT_SCHEDULER = "default-scheduler"
REJECTIONS = ("UnexpectedAdmissionError", "TopologyAffinityError")
ANNOTATIONS = ("cause", "detail", "message", "since")
IGNORE = "ignore"
"""The annotation by which a pod or a namespace asks that nothing be written; it is theirs."""


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


def _waiting(status: objects.PodStatus) -> str:
    for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        if each.state is not None and each.state.waiting is not None and each.state.waiting.reason:
            return f"{each.name}: {each.state.waiting.reason}"
    return ""
