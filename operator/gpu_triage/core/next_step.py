"""The next step as a sentence, with the node that it leads to and what is left there."""

from gpu_triage.core.causes import PODS
from gpu_triage.core.change import CHANGE, RUNS, Fix
from gpu_triage.core.fit import Step
from gpu_triage.core.reasons import free_of
from gpu_triage.core.survey import Survey


def next_step(fix: Fix | None, seen: Survey) -> str:
    """A sentence for a fix; empty where there is none, or where waiting is all there is to do."""
    if fix is None or fix.kind != CHANGE:
        return fix.says if fix is not None else ""
    node = seen.picture.nodes[fix.node or ""]
    renamed = (fix.path or "").endswith(".resources.limits")
    free = free_of(seen, node, [str(fix.after)] if renamed else None)
    certain = fix.reaches in (RUNS, Step.UNKNOWN) or PODS in seen.picture.unread
    waits = "" if certain else ", so it would still wait"
    return f"Smallest fix: {fix.says} ({node.name} has {free}{waits})."
