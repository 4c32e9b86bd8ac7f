"""Sentences that the pod alone tells: what it wishes for, what became of it, what it was told."""

from gpu_triage.core.causes import Detail
from gpu_triage.core.condition import said
from gpu_triage.core.intent import Intent
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.survey import Survey
from gpu_triage.core.wording import amounts, listing


def no_request(pod: PodFacts, detail: Detail) -> str:
    """What a pod without a request shows of a wish for a GPU, and why it waits if it does."""
    return _wish(pod, detail) + (f" {heard(pod)}" if pod.tried else "")


def _wish(pod: PodFacts, detail: Detail) -> str:
    """What a pod without a request shows of a wish for a GPU."""
    sign = pod.intent if pod.intent is not None else Intent(Detail.NONE)
    match detail:
        case Detail.LOOKALIKE_NAME:
            meant = f" Did you mean {sign.meant}?" if sign.meant else ""
            return f"Asks for {sign.evidence}, which is no GPU resource here.{meant}"
        case Detail.RESOURCE_CLAIM:
            return (
                f"Asks for no GPU resource, but by ResourceClaim {sign.evidence}:"
                " that claim's status tells."
            )
        case Detail.VENDOR_ANNOTATION:
            return (
                f"Asks for no GPU resource; annotation {sign.evidence} is read by its own"
                f" scheduler only ({pod.scheduler})."
            )
        case Detail.INTENT_ONLY:
            return f"Asks for no GPU: it {sign.evidence}, but no container requests one."
    return "Asks for no GPU: no container requests one."


def placed(pod: PodFacts, detail: Detail) -> str:
    """What became of a placed pod."""
    match detail:
        case Detail.REJECTED:
            return f"Placed on {pod.node}, whose kubelet refused it: {pod.reason}."
        case Detail.ENDED:
            return f"Was placed on {pod.node} and has ended: {pod.phase}."
        case Detail.STARTING:
            waits = f" ({pod.waiting})" if pod.waiting else ""
            return f"Placed on {pod.node}; not all of its containers have started{waits}."
    return f"Runs on {pod.node} with {amounts(pod.request)}."


def gated(pod: PodFacts) -> str:
    """Which gates hold it."""
    noun = "gate" if len(pod.gates) == 1 else "gates"
    return f"Held by scheduling {noun} {listing(list(pod.gates))}: no scheduler looks at it yet."


def heard(pod: PodFacts, seen: Survey | None = None) -> str:
    """What the scheduler said last, and whether that is older than what it would see now."""
    text = said(pod.scheduler_says)
    reasons = "; ".join(f"{n} {reason}" for n, reason in text.reasons)
    if text.nodes is None:
        reasons = pod.scheduler_says
    if text.preempts:
        return f"The scheduler is evicting others for it: {reasons}."
    if seen is not None and text.only_gpu_steps(seen.picture.rules):
        return f"The scheduler has not tried again since; it last said: {reasons}."
    grown = ""
    if seen is not None and text.nodes not in (None, len(seen.codes)):
        grown = f" (of {text.nodes} nodes; now {len(seen.codes)})"
    return f"The scheduler says{grown}: {reasons.rstrip('.')}."
