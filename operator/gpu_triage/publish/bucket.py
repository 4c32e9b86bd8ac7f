"""A token bucket: how many requests may be made a second, and how many at once after a rest."""

ENOUGH = 1 - 1e-6
"""Of a token: seconds are no exact numbers."""


class Bucket:
    """So many tokens a second, and never more than ``burst`` of them at once."""

    def __init__(self, rate: float, burst: float) -> None:
        """Begins full."""
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at: float | None = None

    def wait(self, now: float) -> float:
        """Seconds until there is a token; 0 where there is one."""
        self._fill(now)
        return 0.0 if self._tokens >= ENOUGH else (1 - self._tokens) / self._rate

    def take(self, now: float) -> None:
        """Takes a token."""
        self._fill(now)
        self._tokens -= 1

    def _fill(self, now: float) -> None:
        # A clock that was set back gives nothing and takes nothing.
        passed = max(0.0, now - self._at) if self._at is not None else 0.0
        self._tokens = min(self._burst, self._tokens + passed * self._rate)
        self._at = now
