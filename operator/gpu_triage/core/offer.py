"""Whether a node offers the GPUs that it should: how many are missing, whether the offer is lost.

A node that is cordoned, whose GPUs are kept from pods on purpose, or whose resource is served by
Dynamic Resource Allocation owes nothing; nor does a name that a node of MIG or shared GPUs has left
behind.
"""

from collections.abc import Mapping

from gpu_triage.core.causes import Detail
from gpu_triage.core.node_facts import COUNTED, NodeFacts
from gpu_triage.core.rules import Rules
from gpu_triage.core.toleration import UNSCHEDULABLE


def offer_lost(node: NodeFacts, resource: str, classes: Mapping[str, str]) -> bool:
    """Whether a node says 0, or is known to have GPUs and offers none, and nothing explains it.

    Args:
        node: the node.
        resource: the resource that it should offer.
        classes: resources that Dynamic Resource Allocation serves, as in ``Picture.classes``.
    """
    if (
        node.allocatable.get(resource, 0) > 0
        or _owes_nothing(node, resource, classes)
        or node.living_sibling(resource)
    ):
        return False
    says_zero = resource in node.capacity or resource in node.allocatable
    return says_zero or (node.gpu_label and not node.living())


def lost_detail(node: NodeFacts, resource: str) -> Detail:
    """In which way an offer that is lost is lost."""
    if resource not in node.capacity and resource not in node.allocatable:
        return Detail.PLUGIN_MISSING
    return Detail.ALL_UNHEALTHY if node.capacity.get(resource, 0) > 0 else Detail.PLUGIN_GONE


def missing(node: NodeFacts, resource: str, classes: Mapping[str, str]) -> int:
    """How many devices fewer are allocatable on a node than it should have; 0: none.

    Args:
        node: the node.
        resource: the resource.
        classes: resources that Dynamic Resource Allocation serves, as in ``Picture.classes``.
    """
    leftover = node.capacity.get(resource, 0) <= 0 and node.living_sibling(resource)
    if leftover or _owes_nothing(node, resource, classes):
        return 0
    return max(0, node.expected(resource) - node.allocatable.get(resource, 0))


def owed(node: NodeFacts, rules: Rules) -> list[str]:
    """The resources that a node offers or should offer, sorted.

    One that is known to have GPUs by its labels alone should offer the first that is configured.
    """
    named = {*node.capacity, *node.allocatable, *node.annotated, *node.seen}
    if node.counted:
        named.add(COUNTED)
    if not named and node.gpu_label:
        named.add(next((each for each in rules.resources if "*" not in each), rules.resources[0]))
    return sorted(named)


def _owes_nothing(node: NodeFacts, resource: str, classes: Mapping[str, str]) -> bool:
    served = resource in classes and node.allocatable.get(resource, 0) <= 0
    return served or node.withheld or any(taint.key == UNSCHEDULABLE for taint in node.taints)
