"""When changes are taken in: at once after a quiet moment, more seldom where they never end."""

import math
from collections.abc import Callable

GATHER_SECONDS = 0.02
"""How long after a change others are waited for: what happens together is told within this."""
DEBOUNCE_SECONDS = 0.05
SLOW_SECONDS = 0.2
SHARE = 20
"""Where changes never end, they are taken in so often that it costs a twentieth of the time, but no
more often than the first and no less than the second pace."""


class Tempo:
    """How long to wait before the words are brought up to date again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Has seen nothing yet.

        Args:
            clock: seconds that never go back.
        """
        self._clock = clock
        self._ended = -math.inf
        self._took = 0.0

    def ended(self, took: float) -> None:
        """Notes that all words have been brought up to date, and how long that took."""
        self._ended, self._took = self._clock(), took

    def pause(self) -> float:
        """Seconds until the next time, now that something has changed.

        At most half the time is spent on this, however fast the changes come.
        """
        seldom = max(DEBOUNCE_SECONDS, min(SLOW_SECONDS, self._took * (SHARE - 1)), self._took)
        return max(GATHER_SECONDS, self._ended + seldom - self._clock())
