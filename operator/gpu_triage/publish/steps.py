"""The next step as it can be done: a change of the manifest, or a command that only looks."""

from collections.abc import Iterable, Sequence

from gpu_triage.core.change import ADVICE, CHANGE, Fix
from gpu_triage.core.holders import Holder
from gpu_triage.core.wording import amounts
from gpu_triage.publish.columns import Cell, Paint, table

MOST_HOLDERS = 5
"""Holders that the text shows; all are in the JSON."""


def how(fix: Fix | None, workload: str) -> list[str]:
    """Lines that say how to take a step; none where there is nothing to do.

    Args:
        fix: the step.
        workload: whose pod it is, such as ``Deployment/web``; empty for a bare pod.
    """
    if fix is None:
        return []
    if fix.kind == CHANGE:
        whose = f"the pod template of {workload}" if workload else "its manifest, and make it anew"
        return [f"changes the pod: in {whose}, at {fix.path}", *_difference(fix)]
    if fix.kind == ADVICE and fix.after == "look":
        return [f"only looks: {command}" for command in _commands(fix)]
    return []


def held(holders: Sequence[Holder], paint: Paint) -> list[str]:
    """A table of who holds the GPUs."""
    rows: list[Sequence[str]] = [
        (
            f"{each.namespace}/{each.name}",
            amounts(each.gpus),
            each.node,
            each.since or "-",
            each.workload or "-",
            Cell(_note(each), "bad"),
        )
        for each in holders[:MOST_HOLDERS]
    ]
    lines = table(("HELD BY", "GPUS", "NODE", "SINCE", "WORKLOAD", ""), rows, paint)
    if rest := len(holders) - MOST_HOLDERS:
        lines += [f"{rest} more (all of them: -o json)"] if rest > 0 else []
    return lines


def _note(holder: Holder) -> str:
    own = "of the same workload" if holder.own else ""
    return ", ".join(part for part in (holder.trouble, own) if part)


def _difference(fix: Fix) -> Iterable[str]:
    if fix.path is not None and fix.path.endswith(".resources.limits"):
        yield f"- {fix.before}: (the amount stays)"
        yield f"+ {fix.after}:"
        return
    for sign, value in (("-", fix.before), ("+", fix.after)):
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                yield f"{sign} {'- ' if isinstance(value, list) else ''}{_flow(each)}"


def _flow(value: object) -> str:
    """A value in YAML's short form."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_flow(each) for each in value)}]"
    return str(value)


def _commands(fix: Fix) -> Iterable[str]:
    yield f"kubectl describe node {fix.node}"
    if fix.object.startswith("device plugin"):
        yield f"kubectl get pods -A -o wide --field-selector spec.nodeName={fix.node}"
