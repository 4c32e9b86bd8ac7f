"""The next step as a sentence, with the node that it leads to and what is left there."""

from gpu_triage.core.change import CHANGE, RUNS, Fix
from gpu_triage.core.fit import Step
from gpu_triage.core.reasons import free_of
from gpu_triage.core.survey import Survey


def next_step(fix: Fix | None, seen: Survey) -> str:
    """A sentence for a fix; empty where there is none, or where waiting is all there is to do."""
    if fix is None or fix.kind != CHANGE:
        return fix.says if fix is not None else ""
    node = seen.picture.nodes[fix.node or ""]
    if (fix.path or "").endswith(".resources.limits"):
        name = str(fix.after)
        left = max(0, seen.free(node, name))
        free = f"{left} of {node.allocatable.get(name, 0)} {name} free"
    else:
        free = free_of(seen, node)
    waits = "" if fix.reaches in (RUNS, Step.UNKNOWN) else ", so it would still wait"
    return f"Smallest fix: {fix.says} ({node.name} has {free}{waits})."
