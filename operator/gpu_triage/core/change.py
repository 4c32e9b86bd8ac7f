"""A change of the waiting pod, judged by the same rule as the pod itself."""

from typing import Any

import msgspec

from gpu_triage.core.causes import PODS
from gpu_triage.core.facts import NodeFacts, Shape
from gpu_triage.core.fit import Step, node_code, step
from gpu_triage.core.survey import Survey

RUNS = "runs"
CHANGE = "change"
ADVICE = "advice"
_ORDER = (RUNS, Step.UNKNOWN, Step.FREE, Step.ALLOCATABLE, Step.OFFERS, Step.TAINT, Step.LABEL)

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
    """The step that the changed pod gets to on that node; ``runs`` where no step stops it there."""


class Edit(msgspec.Struct, frozen=True):
    """One place of a manifest, what stands there, what should, and the same in words."""

    path: str
    before: Json
    after: Json
    says: str


def change(seen: Survey, shape: Shape, node: NodeFacts, edit: Edit) -> Fix:
    """An edit that gives the pod another shape, with what it reaches on a node."""
    taken = seen.picture.taken_from(seen.pod, node.name)
    reached = step(node_code(shape, node, taken, seen.picture.classes))
    if reached is Step.FITS and PODS in seen.picture.unread:
        reached = Step.FREE  # it gets there; whether enough is left cannot be told
    return Fix(
        CHANGE,
        f"pod {seen.pod.key}",
        edit.says,
        edit.path,
        edit.before,
        edit.after,
        node.name,
        RUNS if reached is Step.FITS else str(reached),
    )


def furthest(found: list[tuple[float, Fix]]) -> Fix | None:
    """The change that gets furthest; of equal ones that with the higher rank, then by node."""
    return min(
        found,
        key=lambda pair: (_ORDER.index(pair[1].reaches or ""), -pair[0], pair[1].node or ""),
        default=(0.0, None),
    )[1]
