"""When to look at what again, for answers that change without an event."""

import heapq
import math


class Agenda:
    """Names, each with the time at which it is due, in seconds since 1970."""

    def __init__(self) -> None:
        self._when: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    @property
    def next(self) -> float:
        """When the first of them is due; infinity where none is."""
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf

    def put(self, name: str, when: float) -> None:
        """Says when a name is due, in place of what was said before; infinity: never."""
        if self._when.get(name, math.inf) == when:
            return
        if when == math.inf:
            del self._when[name]
            return
        self._when[name] = when
        heapq.heappush(self._heap, (when, name))

    def take(self, now: float) -> list[str]:
        """The names that are due; they are due no more."""
        due = []
        while self.next <= now:
            _, name = heapq.heappop(self._heap)
            del self._when[name]
            due.append(name)
        return due
