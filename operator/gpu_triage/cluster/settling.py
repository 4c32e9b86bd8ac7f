"""From raw words to settled ones: which word of a pod may be published, counted and timed.

One freed GPU makes every waiting pod of a kind fit until the scheduler has placed one of them, and
a node that boots passes through three words in a minute. So a word stands until another has
lasted. Clocks here never go back: a day that is set anew neither shortens nor lengthens a wait.
"""

import math

import msgspec

from gpu_triage.core.causes import Cause, Detail

CHANGES = 3
"""A pod whose words have changed so often within ``Pace.quiet`` is restless."""

SCALABLE = (Cause.LABEL_MISMATCH, Cause.NO_GPU_NODE, Cause.EXHAUSTED)
"""Words that an autoscaler may be about to undo by a new node."""

_UNTOLD = (Detail.NOT_TRIED, Detail.OTHER)
"""The scheduler has not tried the pod since it fits, or what it said names no reason besides GPUs:
it may well place it at once."""

_PATIENT = (Detail.BUSY, Detail.RESERVED)
ALARMS = (Detail.FRAGMENTED, Detail.NODES_LOST, Detail.UNHEALTHY_DEVICES)
"""What a full cluster looks like for a moment, and what of it calls for somebody."""


class Pace(msgspec.Struct, frozen=True):
    """How long words must last before they stand, in seconds."""

    settle: float = 2
    """From first sight to the first word, and from one word to another."""
    scalable: float = 2
    """The same for a first word that an autoscaler may be about to undo."""
    fit: float = 30
    """It must fit this long without a break before GPUs are said not to be the cause. So long a
    full cluster must look fragmented or broken, too, before that is said."""
    restless: float = 60
    """In place of ``settle`` for a pod whose words keep changing."""
    quiet: float = 600
    """A restless pod is restless until nothing has stirred for so long."""
    refresh: float = 600
    """The message alone changes once in this time."""


class _Doubt(msgspec.Struct):
    """What has been there instead of the word, or the detail, that stands."""

    what: Cause | Detail
    since: float
    away: float
    """Since when it is anything but what stands."""


class Settling(msgspec.Struct):
    """One pod's settled word and detail, and what speaks against them. All times by the clock."""

    seen: float
    """When it was first seen waiting."""
    cause: Cause | None = None
    """The word that stands; None before the first."""
    detail: Detail | None = None
    restless: bool = False
    stirred: float = -math.inf
    """When the raw words last were others than those that stand."""
    fits: float | None = None
    """Since when it fits without a break."""
    other: _Doubt | None = None
    """Another word. Moments in which the pod fits leave it as it is: they are told by ``fits``."""
    finer: _Doubt | None = None
    """Another detail."""
    changes: list[float] = []
    """When words or details have changed, the last few."""

    def take(self, cause: Cause, detail: Detail, pace: Pace, clock: float) -> float:
        """Takes the raw words of the moment.

        Args:
            cause: the raw word.
            detail: its detail.
            pace: how long words must last.
            clock: seconds that never go back.

        Returns:
            From when on these words stand if they last; now or earlier where they do.
        """
        ripe = self._ripe(cause, detail, pace, clock)
        if ripe <= clock:
            if self.cause is not None and (cause, detail) != (self.cause, self.detail):
                self._change(pace, clock)
            self.cause, self.detail, self.other, self.finer = cause, detail, None, None
        return ripe

    def _ripe(self, cause: Cause, detail: Detail, pace: Pace, clock: float) -> float:
        fits = self._fitting_since(cause, clock)
        if detail is Detail.TERMINATING:
            return clock
        if self.cause is None:
            return self._first(cause, detail, pace, clock, fits)
        delay = self._delay(pace, clock)
        if cause is self.cause:
            self.other = None
            if detail is self.detail:
                self.finer = None
                return clock
            self.stirred = clock
            self.finer = _doubt(self.finer, detail, clock)
            if self._alarms(detail):
                delay = max(delay, pace.fit)
            return _believed(self.finer, delay, pace)
        if cause is Cause.NOT_GPU:
            return fits + max(pace.fit, delay)
        self.stirred = clock
        self.other = _doubt(self.other, cause, clock)
        return _believed(self.other, delay, pace)

    def _alarms(self, detail: Detail) -> bool:
        """Whether a detail calls for someone where the one that stands does not.

        A GPU that is freed makes a full cluster look fragmented until the scheduler has taken it,
        and a plugin that restarts makes its node look lost: neither is worth a Warning.
        """
        return detail in ALARMS and self.detail in _PATIENT

    def _first(self, cause: Cause, detail: Detail, pace: Pace, clock: float, fits: float) -> float:
        if cause is not Cause.NOT_GPU:
            self.other = _doubt(self.other, cause, clock)
            delay = pace.scalable if cause in SCALABLE else pace.settle
            return self.seen + delay
        if self.other is not None or detail in _UNTOLD:
            return max(self.seen + pace.settle, fits + pace.fit)
        return self.seen + pace.settle

    def _fitting_since(self, cause: Cause, clock: float) -> float:
        if cause is not Cause.NOT_GPU:
            self.fits = None
            return clock
        if self.fits is None:
            self.fits = clock
        return self.fits

    def _delay(self, pace: Pace, clock: float) -> float:
        if self.restless and clock - self.stirred >= pace.quiet:
            self.restless = False
        return max(pace.settle, pace.restless) if self.restless else pace.settle

    def _change(self, pace: Pace, clock: float) -> None:
        self.stirred = clock
        self.changes = [*self.changes, clock][-CHANGES:]
        if len(self.changes) == CHANGES and clock - self.changes[0] <= pace.quiet:
            self.restless = True


def _doubt(before: _Doubt | None, what: Cause | Detail, clock: float) -> _Doubt:
    if before is None:
        return _Doubt(what, clock, clock)
    if before.what is not what:
        before.what, before.since = what, clock
    return before


def _believed(doubt: _Doubt, delay: float, pace: Pace) -> float:
    """When a doubt has lasted long enough.

    Where several others take turns, what stands is wrong all the same: one of them is taken then.
    """
    return min(doubt.since + delay, doubt.away + max(delay, pace.restless))
