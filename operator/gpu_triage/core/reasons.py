"""Why one node does not help one pod, in a few words with numbers."""

from collections.abc import Sequence

from gpu_triage.core.causes import PODS
from gpu_triage.core.fit import Step, step
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import BUILT_IN, NETWORK, NOT_READY, UNREACHABLE, blockers
from gpu_triage.core.selector import Requirement
from gpu_triage.core.survey import Survey
from gpu_triage.core.toleration import UNSCHEDULABLE
from gpu_triage.core.wording import listing


def node_reason(seen: Survey, node: NodeFacts) -> str:
    """The step that the node fails first, or how it fits, with what decides it."""
    match step(seen.codes[node.name]):
        case Step.LABEL:
            return _unmatched(seen, node)
        case Step.TAINT:
            return taint_reason(seen, node)
        case Step.OFFERS:
            missing = [name for name in seen.resources() if not node.offers(name)]
            instead = [f"{node.allocatable.get(name, 0)} {name}" for name in node.living()]
            offer = f"; it offers {listing(instead)}" if instead else ""
            return f"does not offer {listing(missing)}{offer}"
        case Step.ALLOCATABLE:
            zero = [name for name in seen.resources() if node.allocatable.get(name, 0) <= 0]
            return listing([f"allocatable is 0 of {node.capacity.get(n, 0)} {n}" for n in zero])
        case Step.FREE:
            return f"{free_of(seen, node)}, the pod needs {listing(_wanted(seen), most=4)}"
        case Step.UNKNOWN:
            mapped = [name for name in seen.resources() if name in seen.picture.classes]
            classes = [f"{name} (DeviceClass {seen.picture.classes[name]})" for name in mapped]
            return f"left to Dynamic Resource Allocation: {listing(classes)}"
        case _:
            return free_of(seen, node)


def taint_reason(seen: Survey, node: NodeFacts) -> str:
    """What stops the pod at a node: what Kubernetes says of it in words, taints as written."""
    keys = {taint.key: taint for taint in blockers(seen, node)}
    parts = []
    if NOT_READY in keys or UNREACHABLE in keys:
        parts.append("not ready")
    if UNSCHEDULABLE in keys:
        parts.append("cordoned")
    told = {NOT_READY, UNREACHABLE, UNSCHEDULABLE}
    for key, taint in keys.items():
        if key == NETWORK:
            parts.append("without network")
        elif key.startswith(BUILT_IN) and key.endswith("-pressure"):
            parts.append(f"under {key.removeprefix(BUILT_IN).replace('-', ' ')}")
        elif key not in told:
            parts.append(f"tainted {taint}")
    return listing(parts, most=4)


def free_of(seen: Survey, node: NodeFacts, resources: Sequence[str] | None = None) -> str:
    """``1 of 2 nvidia.com/gpu free``, for each resource; None: those that the pod asks for.

    Where pods could not be read, nothing is said of what is free: ``2 nvidia.com/gpu allocatable``.
    """
    resources = resources or list(seen.resources())
    if PODS in seen.picture.unread:
        there = [f"{node.allocatable.get(name, 0)} {name}" for name in resources]
        return f"{listing(there, most=4)} allocatable"
    parts = [
        f"{max(0, seen.free(node, name))} of {node.allocatable.get(name, 0)} {name}"
        for name in resources
    ]
    return f"{listing(parts, most=4)} free"


def lacking(seen: Survey, node: NodeFacts) -> list[Requirement]:
    """The requirements that the node fails, of the alternative that comes nearest."""
    failing = [
        [each for each in alternative if not each.holds(node.labels, node.name)]
        for alternative in seen.pod.shape.selector.alternatives
    ]
    return min(failing, key=len, default=[])


def _unmatched(seen: Survey, node: NodeFacts) -> str:
    failing = lacking(seen, node)
    if not failing:
        return "the pod's affinity can match no node: its terms are empty or invalid"
    parts = []
    for each in failing:
        has = node.labels.get(each.key)
        parts.append(f"{each} (has {has!r})" if has is not None and not each.field else f"{each}")
    return f"does not match {listing(parts)}"


def _wanted(seen: Survey) -> list[str]:
    return [str(n) for _, n in seen.pod.shape.request]
