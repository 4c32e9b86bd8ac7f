"""A histogram's numbers as Prometheus wants them: cumulative, up to infinity."""

from collections.abc import Sequence
from itertools import accumulate


def buckets(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Pairs of an upper bound, as its label's text, and how many do not exceed it.

    Args:
        bounds: upper bounds, rising.
        counts: how many lie in each bucket alone; the last are those above all bounds.
    """
    labels = [*(str(float(bound)) for bound in bounds), "+Inf"]
    return list(zip(labels, map(float, accumulate(counts)), strict=True))
