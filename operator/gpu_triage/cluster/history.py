"""What has happened to waiting pods since this process began: for counters and a histogram.

Settled words only. What an earlier life of the operator has counted is not counted again: a word
that is read back from a pod did not begin now, and a pod that was placed meanwhile was not seen.
"""

from bisect import bisect_left
from collections import Counter

import msgspec

from gpu_triage.core.causes import Cause

BOUNDS = (10, 30, 60, 120, 300, 600, 1800, 3600, 14400, 43200, 86400, 259200, 604800)
"""Seconds, from 10 s to 7 days: how long pods have waited is told by how many waited at most so."""


class Waits(msgspec.Struct):
    """How long pods have waited."""

    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """Pods for each of ``BOUNDS``, each pod in the first that it does not exceed; the last number
    is of those that exceed all."""
    seconds: float = 0.0
    """Of all of them together."""

    def add(self, seconds: float) -> None:
        """Takes one more pod."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class History:
    """Counts over the settled words of all pods."""

    def __init__(self) -> None:
        self.counting = True
        """Whether anything is counted: of several replicas, one counts."""
        self.words_begun: Counter[Cause] = Counter()
        """First words and changed ones; a change of detail begins none."""
        self.placed: dict[Cause, Waits] = {}
        """Pods that were placed, by the last word that stood. One that was placed before any word
        stood has none and is left out."""

    def begun(self, cause: Cause) -> None:
        """Notes that a word has begun for a pod."""
        if self.counting:
            self.words_begun[cause] += 1

    def waited(self, cause: Cause, seconds: float) -> None:
        """Notes that a pod has been placed after so many seconds, under this last word."""
        if self.counting:
            self.placed.setdefault(cause, Waits()).add(seconds)
