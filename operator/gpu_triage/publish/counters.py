"""What the writer counts and the metrics show: plain numbers, so that neither knows the other."""

from collections import Counter


class Counters:
    """Counts since the process began."""

    def __init__(self) -> None:
        self.writes: Counter[tuple[str, str]] = Counter()
        """Requests that change something, by their kind and result (see ``publish.write``)."""
        self.queued = 0
        """Pods with a write that waits."""
