"""Times: the newest one in an object, and one that a person typed."""

import time
from typing import Any

from gpu_triage.cli.failure import USAGE, AnswerError
from gpu_triage.core.objects import seconds

_NAMES = ("time", "startedAt", "finishedAt", "timeAdded")
_ENDINGS = ("Timestamp", "Time")
_PLANNED = "deletionTimestamp"
"""Lies in the future by the grace period, so it does not say when something was seen."""


def newest(raw: dict[str, Any]) -> float:
    """The newest time in an object, in seconds since 1970; 0 where there is none.

    Creation, transitions, heartbeats, starts, ends and managedFields; not what is planned.
    """
    latest = 0.0
    # YAML aliases let one object stand in many places, even in itself.
    seen: set[int] = set()
    left: list[Any] = [raw]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        for key, value in each.items() if isinstance(each, dict) else enumerate(each):
            if isinstance(value, dict | list):
                left.append(value)
            elif isinstance(value, str) and isinstance(key, str) and _tells_time(key):
                latest = max(latest, seconds(value) or 0.0)
    return latest


def _tells_time(key: str) -> bool:
    return (key.endswith(_ENDINGS) or key in _NAMES) and key != _PLANNED


def typed(text: str) -> float:
    """Seconds since 1970 of a time that was typed. Raises AnswerError where it is none."""
    moment = seconds(text)
    if moment is None:
        raise AnswerError(
            f"--now {text}: no time as Kubernetes writes it, such as 2026-01-31T12:00:00Z.", USAGE
        )
    return moment


def now() -> float:
    """Seconds since 1970, by this machine's clock."""
    return time.time()
