"""What keeps a node from helping: it starts up, is lost, has a taint of a kind, lacks a label."""

import math

from gpu_triage.core.causes import Detail
from gpu_triage.core.fit import LABEL
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.offer import offer_lost
from gpu_triage.core.outlook import Outlook
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import Requirement, Selector, Values
from gpu_triage.core.survey import Survey
from gpu_triage.core.toleration import UNSCHEDULABLE, Taint, untolerated

BUILT_IN = "node.kubernetes.io/"
NOT_READY = f"{BUILT_IN}not-ready"
UNREACHABLE = f"{BUILT_IN}unreachable"
NETWORK = f"{BUILT_IN}network-unavailable"
PRESSURES = tuple(f"{BUILT_IN}{kind}-pressure" for kind in ("memory", "disk", "pid"))


def blockers(seen: Outlook, node: NodeFacts) -> list[Taint]:
    """The taints of a node that the pod does not tolerate."""
    return untolerated(node.taints, seen.shape.tolerations)


def taint_kind(seen: Outlook, node: NodeFacts) -> Detail:
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

    It is young or carries a start-up taint; the pod's patience ends after as long.
    """
    rules = seen.picture.rules
    waits = is_young(node, rules, now) or (
        is_marked(node, rules) and is_recent(seen.pod.created, rules, now)
    )
    return waits and helps_once_up(seen, node)


def is_recent(created: float | None, rules: Rules, now: float) -> bool:
    """Whether something has not been there for longer than a node takes to start."""
    return created is None or now - created < rules.node_starting_seconds


def end_of_start(created: float | None, rules: Rules, now: float) -> float:
    """When something that is recent no longer is, in seconds since 1970; infinity: never."""
    if created is None:
        return math.inf
    ends = created + rules.node_starting_seconds
    return ends if ends > now else now + 1  # the sum may be rounded down


def is_young(node: NodeFacts, rules: Rules, now: float) -> bool:
    """Whether a node may still be starting by its age."""
    return node.created is not None and is_recent(node.created, rules, now)


def is_marked(node: NodeFacts, rules: Rules) -> bool:
    """Whether a node says itself that it is starting."""
    return any(rules.is_startup_taint(taint.key) for taint in node.taints)


def helps_once_up(seen: Outlook, node: NodeFacts) -> bool:
    """Whether a node that starts would help the pod once it is up.

    It is known to have GPUs or is chosen by the pod's own selector, and nothing else stops it than
    start-up taints, GPU labels to come, or offering nothing yet.
    """
    rules, selector = seen.picture.rules, seen.shape.selector
    chosen = not selector.empty and selector.matches(node.labels, node.name)
    if not (node.gpu_label or chosen):
        return False
    if not selector.would_match(node.labels, node.name, rules.is_gpu_label):
        return False
    if not all(
        taint.key in (NOT_READY, NETWORK) or rules.is_startup_taint(taint.key)
        for taint in blockers(seen, node)
    ):
        return False
    return not node.living() or seen.fits(lambda name: seen.free(node, name))


def is_lost(seen: Outlook, node: NodeFacts) -> bool:
    """Whether the pod would fit, or could, on a node that is not ready or whose GPUs have vanished.

    The node matches the pod's selector. Terminating pods on it count for nothing: they go when it
    returns.
    """
    stoppers = blockers(seen, node)
    if not all(taint.key in (NOT_READY, UNREACHABLE) for taint in stoppers):
        return False
    zero = any(node.allocatable.get(resource, 0) <= 0 for resource in seen.resources())
    if not (stoppers or zero):
        return False
    staying = seen.picture.staying_on(node.name)
    asked = dict(seen.shape.request)

    def devices(resource: str) -> int:
        if node.allocatable.get(resource, 0) > 0:
            return node.allocatable[resource]
        if not offer_lost(node, resource, seen.picture.classes):
            return 0
        # Nobody knows how many devices there were: enough, as far as can be told.
        return node.expected(resource) or asked[resource] + staying.get(resource, 0)

    return seen.fits(lambda resource: devices(resource) - staying.get(resource, 0))


def lost(seen: Survey) -> NodeFacts:
    """The lost node that has been there longest, where some node is lost."""
    found = [node for node in seen.nodes(LABEL) if is_lost(seen, node)]
    return min(found, key=lambda node: node.created or 0.0)


def fits_when_healthy(seen: Outlook, node: NodeFacts) -> bool:
    """Whether the pod would fit if every device that the node should have were allocatable."""
    taken = seen.taken(node.name)
    return seen.fits(
        lambda name: max(node.expected(name), node.allocatable.get(name, 0)) - taken.get(name, 0)
    )


def unmet(alternative: tuple[Requirement, ...], cluster: Values) -> list[Requirement]:
    """The requirements that no node of the cluster meets, each taken alone."""
    return [each for each in alternative if not each.met(cluster)]


def missing_kind(selector: Selector, cluster: Values) -> Detail:
    """Why no node matches the selector; of several terms, the one that comes nearest tells."""
    kinds = [_missing(alternative, cluster) for alternative in selector.alternatives]
    order = (Detail.NO_NODE_HAS_ALL, Detail.UNKNOWN_VALUE, Detail.UNKNOWN_KEY)
    return next((kind for kind in order if kind in kinds), Detail.NO_NODE_HAS_ALL)


def _missing(alternative: tuple[Requirement, ...], cluster: Values) -> Detail:
    lacking = [each for each in unmet(alternative, cluster) if each.wants_label or each.field]
    if any(not each.field and not cluster.values(each.key) for each in lacking):
        return Detail.UNKNOWN_KEY
    return Detail.UNKNOWN_VALUE if lacking else Detail.NO_NODE_HAS_ALL
