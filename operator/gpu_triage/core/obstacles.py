"""What keeps a node from helping: it starts up, is lost, has a taint of a kind, lacks a label."""

from gpu_triage.core.causes import Detail
from gpu_triage.core.facts import NodeFacts
from gpu_triage.core.fit import LABEL
from gpu_triage.core.selector import Requirement
from gpu_triage.core.survey import Survey
from gpu_triage.core.toleration import UNSCHEDULABLE, Taint, untolerated

BUILT_IN = "node.kubernetes.io/"
NOT_READY = f"{BUILT_IN}not-ready"
UNREACHABLE = f"{BUILT_IN}unreachable"
NETWORK = f"{BUILT_IN}network-unavailable"
PRESSURES = tuple(f"{BUILT_IN}{kind}-pressure" for kind in ("memory", "disk", "pid"))
_PASSTHROUGH = ("vm-passthrough", "vm-vgpu")


def blockers(seen: Survey, node: NodeFacts) -> list[Taint]:
    """The taints of a node that the pod does not tolerate."""
    return untolerated(node.taints, seen.pod.shape.tolerations)


def taint_kind(seen: Survey, node: NodeFacts) -> Detail:
    """The kind of taint that stops the pod; what Kubernetes set goes before what people set."""
    keys = [taint.key for taint in blockers(seen, node)]
    if UNSCHEDULABLE in keys and not {NOT_READY, UNREACHABLE} & set(keys):
        return Detail.CORDONED
    if any(key in PRESSURES for key in keys) and not {NOT_READY, UNREACHABLE} & set(keys):
        return Detail.PRESSURE
    starting = seen.picture.rules.is_startup_taint
    if any(key.startswith(BUILT_IN) or starting(key) for key in keys):
        return Detail.NOT_READY
    return Detail.UNTOLERATED


def is_starting(seen: Survey, node: NodeFacts, now: float) -> bool:
    """Whether a node is on its way up and would help this pod once it is.

    It is young or carries a start-up taint, is known to have GPUs or is chosen by the pod's own
    selector, and nothing else stops it than start-up taints, GPU labels to come, or offering
    nothing yet.
    """
    rules = seen.picture.rules
    limit = rules.node_starting_seconds
    young = node.created is not None and now - node.created < limit
    marked = any(rules.is_startup_taint(taint.key) for taint in node.taints)
    patient = seen.pod.created is None or now - seen.pod.created < limit
    if not (young or (marked and patient)):
        return False
    chosen = bool(seen.codes[node.name] & LABEL) and not seen.pod.shape.selector.empty
    if not (node.gpu_label or chosen):
        return False
    if not seen.pod.shape.selector.would_match(node.labels, node.name, rules.is_gpu_label):
        return False
    if not all(
        taint.key in (NOT_READY, NETWORK) or rules.is_startup_taint(taint.key)
        for taint in blockers(seen, node)
    ):
        return False
    if not node.living():
        return True
    return seen.fits(lambda name: seen.free(node, name))


def is_lost(seen: Survey, node: NodeFacts) -> bool:
    """Whether the pod would fit, or could, on a node that is not ready or whose GPUs have vanished.

    The node matches the pod's selector. Terminating pods on it count for nothing: they go when it
    returns.
    """
    if not all(taint.key in (NOT_READY, UNREACHABLE) for taint in blockers(seen, node)):
        return False
    staying = [
        pod for pod in seen.picture.holders.get(node.name, {}).values() if not pod.terminating
    ]

    def left(resource: str) -> int:
        held = sum(pod.request.get(resource, 0) for pod in staying)
        return devices(resource) - held

    def devices(resource: str) -> int:
        if node.allocatable.get(resource, 0) > 0:
            return node.allocatable[resource]
        if not offer_lost(node, resource, seen):
            return 0
        # Nobody knows how many devices there were: enough, as far as can be told.
        return node.expected(resource) or seen.pod.request[resource]

    stopped = bool(blockers(seen, node)) or any(
        node.allocatable.get(resource, 0) <= 0 for resource in seen.resources()
    )
    return stopped and seen.fits(left)


def fits_when_healthy(seen: Survey, node: NodeFacts) -> bool:
    """Whether the pod would fit if every device that the node should have were allocatable."""
    taken = seen.picture.taken_from(seen.pod, node.name)
    return seen.fits(
        lambda name: max(node.expected(name), node.allocatable.get(name, 0)) - taken.get(name, 0)
    )


def offer_lost(node: NodeFacts, resource: str, seen: Survey) -> bool:
    """Whether a node says 0, or is known to have GPUs and offers none, and nothing explains it.

    Explained are: a living sibling resource, Dynamic Resource Allocation, a device plugin that is
    kept off on purpose, devices passed through to virtual machines, a cordon.
    """
    labels = node.labels
    if (
        resource in seen.picture.classes
        or node.living_sibling(resource)
        or labels.get("nvidia.com/gpu.deploy.device-plugin") == "false"
        or labels.get("nvidia.com/gpu.workload.config") in _PASSTHROUGH
        or any(taint.key == UNSCHEDULABLE for taint in node.taints)
        or node.allocatable.get(resource, 0) > 0
    ):
        return False
    says_zero = resource in node.capacity or resource in node.allocatable
    return says_zero or (node.gpu_label and not node.living())


def unmet(alternative: tuple[Requirement, ...], seen: Survey) -> list[Requirement]:
    """The requirements that no node of the cluster meets, each taken alone."""
    nodes = seen.picture.nodes.values()
    return [
        each
        for each in alternative
        if not any(each.holds(node.labels, node.name) for node in nodes)
    ]


def missing_kind(seen: Survey) -> Detail:
    """Why no node matches the selector; of several terms, the one that comes nearest tells."""
    kinds = [_missing(alternative, seen) for alternative in seen.pod.shape.selector.alternatives]
    order = (Detail.NO_NODE_HAS_ALL, Detail.UNKNOWN_VALUE, Detail.UNKNOWN_KEY)
    return next((kind for kind in order if kind in kinds), Detail.NO_NODE_HAS_ALL)


def _missing(alternative: tuple[Requirement, ...], seen: Survey) -> Detail:
    lacking = [each for each in unmet(alternative, seen) if each.wants_label or each.field]
    nodes = seen.picture.nodes.values()
    for each in lacking:
        if not each.field and not any(each.key in node.labels for node in nodes):
            return Detail.UNKNOWN_KEY
    return Detail.UNKNOWN_VALUE if lacking else Detail.NO_NODE_HAS_ALL
