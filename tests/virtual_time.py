"""An event loop in which nobody waits: with nothing left to do, its clock goes to the next timer.

The operator's tasks run as they are, with their sleeps and timeouts; an hour takes as long as what
is computed in it.
"""

import asyncio
import selectors


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own, which begins at 0."""

    def __init__(self):
        self._hurry = _Hurry()
        super().__init__(self._hurry)

    def time(self):
        return self._hurry.passed


class _Hurry(selectors.DefaultSelector):
    """Waits for nothing, and notes how long it would have."""

    def __init__(self):
        super().__init__()
        self.passed = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everybody waits for somebody else")
            self.passed += max(0.0, timeout)
        return ready


class Clock:
    """The time of day, which may be set wrong, and seconds that never go back."""

    def __init__(self, begun):
        """Give the time of day at which the running event loop's clock was 0."""
        self._begun = begun
        self.off = 0.0
        """Seconds by which the time of day has been set forward."""

    def now(self):
        return self._begun + self.off + self.steady()

    @staticmethod
    def steady():
        return asyncio.get_running_loop().time()


def run(main):
    """Run a coroutine function on a loop of virtual time; return what it returns."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())
