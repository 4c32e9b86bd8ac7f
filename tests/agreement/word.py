"""Which word follows from what the scheduler said of each node of a cluster.

Written apart from the product: the steps of the semantics, walked with the scheduler's answers for
selector, taints and room. What it never looks at (whether a name is offered, whether it is 0) is
read from the raw nodes.
"""

import re

import msgspec

from gpu_triage.core.causes import Cause

from . import text
from .narrowing import Variant
from .text import Told

_ABOVE_ZERO = re.compile(r"[1-9]")


class Truth(msgspec.Struct, frozen=True):
    """What holds for one pod on one node."""

    label: bool
    tolerated: bool
    offers: bool
    allocatable: bool
    free: bool
    dra: bool
    """It passes, but a resource of it is left to Dynamic Resource Allocation."""


def truth(told: dict[Variant, Told], node: dict, resources: list[str], served: set[str]) -> Truth:
    """What holds, from the answers about every variant of a pod on a node.

    Args:
        told: the answers; together they show every step.
        node: the raw node.
        resources: what the pod asks for.
        served: resources that a DeviceClass serves.
    """
    said = {reason for each in told.values() for reason in each.reasons}
    whole = {each.whole for each in told.values()}
    status = node["status"]
    capacity, allocatable = status.get("capacity", {}), status.get("allocatable", {})
    delegated = {each for each in resources if each in served and not above_zero(allocatable, each)}
    plain = [each for each in resources if each not in delegated]
    return Truth(
        label=text.LABEL not in said and text.CONFLICT not in whole,
        tolerated=not said & {text.CORDON, text.TAINT},
        offers=all(offers(capacity, allocatable, each) for each in plain),
        allocatable=all(above_zero(allocatable, each) for each in plain),
        free=not any(text.is_gpu(reason) for reason in said),
        dra=bool(delegated),
    )


def word(truths: list[Truth]) -> Cause:
    """The word of a pod, from what holds on the nodes of its cluster."""
    left = [each for each in truths if each.label]
    if not left:
        return Cause.LABEL_MISMATCH
    left = [each for each in left if each.offers] or left
    for step, missing in (
        ("tolerated", Cause.TAINT),
        ("offers", Cause.NO_GPU_NODE),
        ("allocatable", Cause.ALLOCATABLE_ZERO),
        ("free", Cause.EXHAUSTED),
    ):
        left = [each for each in left if getattr(each, step)]
        if not left:
            return missing
    return Cause.UNKNOWN if all(each.dra for each in left) else Cause.NOT_GPU


def offers(capacity: dict[str, str], allocatable: dict[str, str], resource: str) -> bool:
    """Whether the name stands in the status; not as a leftover 0 beside a living sibling."""
    if resource not in capacity and resource not in allocatable:
        return False
    if above_zero(capacity, resource) or above_zero(allocatable, resource):
        return True
    domain = resource.split("/", maxsplit=1)[0]
    return not any(
        text.is_gpu(text.insufficient(name))
        and name.split("/")[0] == domain
        and (above_zero(capacity, name) or above_zero(allocatable, name))
        for name in {*capacity, *allocatable}
    )


def above_zero(amounts: dict[str, str], resource: str) -> bool:
    """Whether an amount is there and no 0, in any of the forms that a quantity has."""
    return bool(_ABOVE_ZERO.search(re.sub(r"[eE].*", "", amounts.get(resource, ""))))
