"""Which message is worked out anew though its word stays: its numbers may be other ones by now.

Nobody asks for this, so it takes a small part of the time, the oldest message first, and with it
those of all pods that were alike when they were told.
"""

from collections.abc import Hashable

from gpu_triage.cluster.groups import Groups

AGE_SECONDS = 15.0
"""How old a message is at least."""
PART = 0.01
"""The part of the time that this may take."""


class Reviews:
    """Messages by the uid of their pod, with when they were worked out."""

    def __init__(self, clock: float, most: float) -> None:
        """Knows no message yet.

        Args:
            clock: seconds that never go back.
            most: seconds that are saved up at most.
        """
        self._said: dict[str, tuple[float, int]] = {}
        self._order = Groups()
        """The same pods."""
        self._since = clock
        self._most = most
        self._saved = 0.0

    def said(self, uid: str, like: Hashable, clock: float, version: int) -> None:
        """Notes that a pod's message has been worked out.

        Args:
            uid: the pod's.
            like: equal for pods that are to be told the same.
            clock: seconds that never go back.
            version: of the picture that it rests on.
        """
        self._said.pop(uid, None)
        self._said[uid] = (clock, version)
        self._order.put(uid, like)

    def take(self, clock: float, version: int) -> list[str]:
        """The pods whose message comes next, which are forgotten by that; none if none is due.

        Args:
            clock: seconds that never go back.
            version: of the picture as it is.
        """
        first = next(iter(self._said.values()), None)
        if first is None:
            return []
        when, of = first
        if clock - when < AGE_SECONDS or of == version:
            return []
        _, together = self._order.take()
        for uid in together:
            del self._said[uid]
        return together

    def allowance(self, clock: float) -> float:
        """How many seconds may be spent now."""
        self._saved = min(self._most, self._saved + (clock - self._since) * PART)
        self._since = clock
        return self._saved

    def spend(self, seconds: float) -> None:
        """Notes what was spent, which may be more than was allowed."""
        self._saved -= seconds
