"""Many nodes, one word: how many nodes remain after each step, and the word that follows.

Only the counts of codes matter, so one call decides for any number of nodes.
"""

from collections.abc import Mapping

import msgspec

from gpu_triage.core.causes import Cause
from gpu_triage.core.fit import ALLOCATABLE, DRA, FREE, LABEL, OFFERS, TOLERATED


class Funnel(msgspec.Struct, frozen=True):
    """Nodes that remain after each step, in the order in which the steps are taken."""

    nodes: int
    label: int
    """Selector and required affinity hold."""
    offering: int
    """Those that offer the resource, if any does: else the same as before."""
    taint: int
    """Every taint is tolerated."""
    offers: int
    """The resource name stands in their status."""
    allocatable: int
    """Allocatable above 0."""
    free: int
    """Enough is left."""


def passes_through(counts: Mapping[int, int]) -> int:
    """The bits that a node needs to stay a candidate: LABEL, and OFFERS if any such node offers.

    In a cluster with untainted CPU nodes a pod that forgot the GPU toleration is stopped by the
    taint: CPU nodes are no candidates for it.
    """
    both = LABEL | OFFERS
    offering = any(n for code, n in counts.items() if code & both == both)
    return both if offering else LABEL


def funnel(counts: Mapping[int, int]) -> Funnel:
    """The remainders for a count of nodes per code."""

    def remain(needed: int) -> int:
        return sum(n for code, n in counts.items() if code & needed == needed)

    candidate = passes_through(counts)
    tolerated = candidate | TOLERATED
    return Funnel(
        nodes=sum(counts.values()),
        label=remain(LABEL),
        offering=remain(candidate),
        taint=remain(tolerated),
        offers=remain(tolerated | OFFERS),
        allocatable=remain(tolerated | OFFERS | ALLOCATABLE),
        free=remain(tolerated | OFFERS | ALLOCATABLE | FREE),
    )


def decide(counts: Mapping[int, int]) -> Cause:
    """The word for a pod that waits, from the count of nodes per code."""
    left = funnel(counts)
    if not left.nodes:
        return Cause.NO_GPU_NODE
    if not left.label:
        return Cause.LABEL_MISMATCH
    if not left.taint:
        return Cause.TAINT
    if not left.offers:
        return Cause.NO_GPU_NODE
    if not left.allocatable:
        return Cause.ALLOCATABLE_ZERO
    if not left.free:
        return Cause.EXHAUSTED
    every = LABEL | TOLERATED | OFFERS | ALLOCATABLE | FREE
    certain = any(n for code, n in counts.items() if code & every == every and not code & DRA)
    return Cause.NOT_GPU if certain else Cause.UNKNOWN
