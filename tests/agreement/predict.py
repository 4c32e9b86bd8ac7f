"""Which reason our codes predict that the scheduler gives, in the order in which it looks.

Its order is not ours: cordon, taints, selector, resources. Its texts do not tell apart whether a
resource is not offered, is 0 or is used up; and they name the resource.
"""

from collections.abc import Collection, Mapping

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import fit, objects
from gpu_triage.core import toleration as taints
from gpu_triage.core.node_facts import NodeFacts, node_facts
from gpu_triage.core.pod_facts import PodFacts, Shape, pod_facts
from gpu_triage.core.survey import survey

from . import text
from . import vocabulary as words
from .record import Record
from .versions import Difference

ENOUGH = fit.OFFERS | fit.ALLOCATABLE | fit.FREE
MOST_IN_A_CLAIM = 32
"""``AllocationResultsMaxSize`` in resource.k8s.io."""
EVERY = fit.LABEL | fit.TOLERATED | ENOUGH


class Known:
    """A record's cluster as our classifier knows it, or as a version is declared to know it.

    Args:
        record: what was laid.
        declared: in what the version is known to differ.
    """

    def __init__(self, record: Record, declared: Collection[Difference] = ()) -> None:
        self.rules = words.RULES
        self.inventory = Inventory(self.rules)
        self.raw = {node["metadata"]["name"]: node for node in record.nodes}
        self._keeps_zero = Difference.DRA_ZERO in declared
        forgets = Difference.GATED_NOMINATION in declared
        for node in record.nodes:
            self.inventory.put_node(node_facts(objects.node(node), self.rules))
        for pod in record.pods:
            if not (forgets and is_held(pod)):
                self.inventory.put_pod(self.facts(pod))
        for each in record.classes:
            known = objects.device_class(each)
            resource = known.spec.extended_resource_name if known.spec else None
            self.inventory.put_class(known.metadata.name, resource or "")

    @property
    def nodes(self) -> Mapping[str, NodeFacts]:
        """The facts of every node, by name."""
        return self.inventory.picture.nodes

    def facts(self, pod: dict) -> PodFacts:
        """The facts of a pod."""
        return pod_facts(objects.pod(pod), self.rules)

    def codes(self, pod: PodFacts) -> dict[str, int]:
        """The code of every node."""
        if not self._keeps_zero:
            return survey(pod, self.inventory.picture).codes
        return {name: self._code(pod, pod.shape, name) for name in self.nodes}

    def served(self, name: str) -> set[str]:
        """The resources that may be left to Dynamic Resource Allocation on a node."""
        classes = set(self.inventory.picture.classes)
        if self._keeps_zero:
            classes -= self.raw[name]["status"].get("allocatable", {}).keys()
        return classes

    def over_claim_limit(self, pod: PodFacts, name: str) -> bool:
        """Whether a pod asks for more devices by DRA on a node than one claim may have."""
        there, served = self.nodes[name].allocatable, self.served(name)
        left = [n for each, n in pod.shape.request if each in served and not there.get(each, 0)]
        return sum(left) > MOST_IN_A_CLAIM

    def short(self, pod: PodFacts, name: str) -> set[str]:
        """The resources of which a node has not enough."""
        shape = pod.shape
        return {
            resource
            for resource, number in shape.request
            if self._code(
                pod, Shape(shape.selector, shape.tolerations, ((resource, number),)), name
            )
            & ENOUGH
            != ENOUGH
        }

    def reasons(
        self, pod: PodFacts, raw: dict, name: str, code: int, *, tolerant: bool, anywhere: bool
    ) -> frozenset[str]:
        """What the scheduler says of a node when it gets to it; empty where it finds no obstacle.

        Args:
            pod: the facts of the pod.
            raw: the same pod: what is no GPU matter is read from it.
            name: the node.
            code: what we say of it.
            tolerant: the pod is asked about with a toleration for everything.
            anywhere: the pod is asked about without selector and affinity.
        """
        if not tolerant and not code & fit.TOLERATED:
            return frozenset((self._taint_reason(pod, name),))
        if not anywhere and not code & fit.LABEL:
            return frozenset((text.LABEL,))
        allocatable = self.raw[name]["status"].get("allocatable", {})
        found = set()
        if allocatable.get("pods", "0") == "0":
            found.add(text.PODS)
        if wants_network(raw) and words.NETWORK not in allocatable:
            found.add(text.insufficient(words.NETWORK))
        if code & ENOUGH != ENOUGH:
            found |= {text.insufficient(each) for each in self.short(pod, name)} or {"nothing"}
        return frozenset(found)

    def _taint_reason(self, pod: PodFacts, name: str) -> str:
        cordon = taints.Taint(taints.UNSCHEDULABLE, "", "NoSchedule")
        cordoned = self.raw[name]["spec"].get("unschedulable", False)
        given = pod.shape.tolerations
        if cordoned and not any(each.tolerates(cordon) for each in given):
            return text.CORDON
        return text.TAINT

    def _code(self, pod: PodFacts, shape: Shape, name: str) -> int:
        picture = self.inventory.picture
        taken = picture.taken_from(pod, name)
        return fit.node_code(shape, picture.nodes[name], taken, self.served(name))


def is_held(pod: dict) -> bool:
    """Whether a pod is nominated and kept out of the scheduler's queue."""
    spec = pod["spec"]
    held = spec.get("schedulingGates") or spec.get("resourceClaims")
    return bool(held) and "nominatedNodeName" in pod["status"]


def wants_network(pod: dict) -> bool:
    """Whether a pod asks for the resource that is no GPU."""
    spec = pod["spec"]
    containers = (*spec["containers"], *spec.get("initContainers", ()))
    return any(words.NETWORK in each.get("resources", {}).get("limits", {}) for each in containers)
