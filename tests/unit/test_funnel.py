"""The word from counts equals the word from walking the nodes one step after the other."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gpu_triage.core.causes import Cause
from gpu_triage.core.fit import ALLOCATABLE, DRA, FREE, LABEL, OFFERS, TOLERATED, Step, step
from gpu_triage.core.funnel import decide, funnel

CODES = st.lists(st.integers(0, 63), max_size=12)


def walk(codes):
    """The six steps of the semantics, written as they are told there."""
    if not codes:
        return Cause.NO_GPU_NODE
    left = [code for code in codes if code & LABEL]
    if not left:
        return Cause.LABEL_MISMATCH
    left = [code for code in left if code & OFFERS] or left
    for bit, word in (
        (TOLERATED, Cause.TAINT),
        (OFFERS, Cause.NO_GPU_NODE),
        (ALLOCATABLE, Cause.ALLOCATABLE_ZERO),
        (FREE, Cause.EXHAUSTED),
    ):
        left = [code for code in left if code & bit]
        if not left:
            return word
    return Cause.NOT_GPU if any(not code & DRA for code in left) else Cause.UNKNOWN


@given(CODES)
def test_counts_are_enough(codes):
    assert decide(Counter(codes)) is walk(codes)


@given(CODES)
def test_each_remainder_is_part_of_the_one_before(codes):
    left = funnel(Counter(codes))
    steps = [left.nodes, left.label, left.offering, left.taint, left.offers]
    steps += [left.allocatable, left.free]
    assert steps == sorted(steps, reverse=True)
    assert left.nodes == len(codes)


@given(st.integers(0, 63))
def test_a_node_fits_exactly_if_it_passes_every_step(code):
    every = LABEL | TOLERATED | OFFERS | ALLOCATABLE | FREE
    passes = code & every == every
    assert (step(code) in (Step.FITS, Step.UNKNOWN)) is passes
    assert (step(code) is Step.UNKNOWN) is (passes and bool(code & DRA))
