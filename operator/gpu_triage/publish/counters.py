"""What loop and writer count and the metrics show: plain numbers, so that none knows the other."""

from bisect import bisect_left
from collections import Counter

TURN_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds."""


class Turns:
    """How long something took, each time."""

    def __init__(self) -> None:
        self.counts = [0] * (len(TURN_BOUNDS) + 1)
        """Times for each of ``TURN_BOUNDS``, each in the first that it does not exceed; the last
        number is of those that exceed all."""
        self.seconds = 0.0
        """Of all of them together."""

    @property
    def times(self) -> int:
        """How often."""
        return sum(self.counts)

    def add(self, seconds: float) -> None:
        """Takes one more."""
        self.counts[bisect_left(TURN_BOUNDS, seconds)] += 1
        self.seconds += seconds


class Counters:
    """Counts since the process began."""

    def __init__(self) -> None:
        self.writes: Counter[tuple[str, str]] = Counter()
        """Requests that change something, by their kind and result (see ``publish.write``)."""
        self.queued = 0
        """Pods with a write that waits."""
        self.recomputed = Turns()
        """How long it took to bring the words up to date."""
