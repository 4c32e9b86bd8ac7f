"""One node, one pod: which steps the node passes.

The steps are independent of each other, so a node has a code of bits rather than a first failure: a
tainted node that offers the resource and one that does not lead to different words.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.pod_facts import Shape
from gpu_triage.core.toleration import untolerated

LABEL = 1
TOLERATED = 2
OFFERS = 4
ALLOCATABLE = 8
FREE = 16
DRA = 32
"""At least one of the resources is left to Dynamic Resource Allocation on this node."""
CODE = LABEL | TOLERATED | OFFERS | ALLOCATABLE | FREE | DRA
"""All bits that a code can have."""


class Step(StrEnum):
    """The first step that a node fails, or what it is when it fails none."""

    LABEL = "label"
    TAINT = "taint"
    OFFERS = "offers"
    ALLOCATABLE = "allocatable"
    FREE = "free"
    FITS = "fits"
    UNKNOWN = "unknown"


_STEPS = (
    (LABEL, Step.LABEL),
    (TOLERATED, Step.TAINT),
    (OFFERS, Step.OFFERS),
    (ALLOCATABLE, Step.ALLOCATABLE),
    (FREE, Step.FREE),
)


def node_code(
    shape: Shape, node: NodeFacts, taken: Mapping[str, int], classes: Collection[str] = ()
) -> int:
    """The bits of the steps that a node passes for pods of a shape.

    Args:
        shape: what the pods ask for.
        node: the node.
        taken: devices on it that are not free, by resource; may exceed what is allocatable.
        classes: resources that a DeviceClass maps. The scheduler leaves such a resource to Dynamic
            Resource Allocation on nodes where its allocatable is 0 or absent, and only there
            (``shouldDelegateResourceToDRA`` in NodeResourcesFit).
    """
    code = OFFERS | ALLOCATABLE | FREE
    if shape.selector.matches(node.labels, node.name):
        code |= LABEL
    if not node.taints or not untolerated(node.taints, shape.tolerations):
        code |= TOLERATED
    for resource, wanted in shape.request:
        allocatable = node.allocatable.get(resource, 0)
        if allocatable <= 0:
            if resource in classes:
                code |= DRA
                continue
            code &= ~(ALLOCATABLE | FREE)
            if not node.offers(resource):
                code &= ~OFFERS
        elif allocatable - taken.get(resource, 0) < wanted:
            code &= ~FREE
    return code


def step(code: int) -> Step:
    """The first step that a node with this code fails."""
    for bit, failed in _STEPS:
        if not code & bit:
            return failed
    return Step.UNKNOWN if code & DRA else Step.FITS
