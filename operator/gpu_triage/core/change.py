"""A change of the waiting pod, judged by the same rule as the pod itself."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from gpu_triage.core.causes import PODS
from gpu_triage.core.fit import Step, step
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.survey import Survey

RUNS = "runs"
CHANGE = "change"
ADVICE = "advice"
_ORDER = (Step.FITS, Step.UNKNOWN, Step.FREE, Step.ALLOCATABLE, Step.OFFERS, Step.TAINT, Step.LABEL)

Json = Any
"""A value as a manifest has it."""


class Fix(msgspec.Struct, frozen=True, rename={"before": "from", "after": "to"}):
    """One next step.

    ``kind`` is ``change`` (of the pod: ``path`` from ``from`` to ``to``, as the manifest has them;
    null means absent) or ``advice`` (``to`` is ``wait``, ``look``, ``ask`` or ``never``).
    """

    kind: str
    object: str
    """What it is about: ``pod default/train``, ``node gpu-a``, ``taint team=a:NoSchedule``."""
    says: str
    """The step in words; empty for waiting."""
    path: str | None = None
    before: Json = None
    after: Json = None
    node: str | None = None
    reaches: str | None = None
    """The step that the changed pod gets to on that node; ``runs`` where no step stops it there.

    The steps are about GPUs: whether CPU or a volume then stops it is the scheduler's to say.
    """


class Edit(msgspec.Struct, frozen=True):
    """One place of a manifest, what stands there, what should, and the same in words."""

    path: str
    before: Json
    after: Json
    says: str


class Option(msgspec.Struct, frozen=True):
    """A change that helps at one node."""

    node: NodeFacts
    code: int
    """The node's code for the changed pod."""
    edit: Callable[[], Edit]
    """Worked out only for the option that is taken: there may be one for each of many nodes."""
    rank: float = 0
    """Which of several that get as far is the better one."""
    keeps_aim: bool = False
    """The pod still asks for what it wants: better than another thing, even if all of it is taken
    now. What is free changes by the second, and advice must not change with it."""

    @property
    def reach(self) -> int:
        """How far it gets, 0 being the furthest."""
        reached = step(self.code)
        return _ORDER.index(Step.FITS if self.keeps_aim and reached is Step.FREE else reached)


def furthest(seen: Survey, options: Iterable[Option]) -> Fix | None:
    """The change that gets furthest; of equal ones that with the higher rank, then by node."""
    best = min(
        options,
        key=lambda option: (
            option.reach,
            -option.rank,
            _ORDER.index(step(option.code)),
            option.node.name,
        ),
        default=None,
    )
    if best is None:
        return None
    edit, reached = best.edit(), step(best.code)
    if reached is Step.FITS and PODS in seen.picture.unread:
        reached = Step.FREE  # it gets there; whether enough is left cannot be told
    return Fix(
        CHANGE,
        f"pod {seen.pod.key}",
        edit.says,
        edit.path,
        edit.before,
        edit.after,
        best.node.name,
        RUNS if reached is Step.FITS else str(reached),
    )
