"""How long nothing is written because the API server answers nobody."""

FIRST_SECONDS = 1.0
MOST_SECONDS = 15.0
"""The longest pause: the API server is asked soon after it is back."""


class Outage:
    """Pauses that grow while no answer comes, or none but 429 and 401."""

    def __init__(self) -> None:
        self._until = 0.0
        self._pauses = 0
        """In a row."""

    def left(self, clock: float) -> float:
        """How many seconds nothing is to be written; 0 where nothing hinders."""
        return max(0.0, self._until - clock)

    def pause(self, clock: float, at_least: float = 0.0) -> None:
        """Lets the API server come back: it refuses everybody, not this one pod.

        Args:
            clock: seconds that never go back.
            at_least: how many seconds the API server has asked for.
        """
        if clock >= self._until:  # of several that were on their way, one counts
            self._pauses += 1
        pause = min(MOST_SECONDS, FIRST_SECONDS * 2 ** min(self._pauses - 1, 6))
        self._until = max(self._until, clock + max(pause, at_least))

    def over(self) -> None:
        """Notes an answer: the next pause is a short one again."""
        self._pauses = 0
