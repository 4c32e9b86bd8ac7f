"""Which nodes' pods an answer hangs on: those of the others need not be read."""

from gpu_triage.core import fit
from gpu_triage.core.causes import Cause
from gpu_triage.core.facts import NodeFacts, PodFacts
from gpu_triage.core.fit import ALLOCATABLE, DRA, FREE, LABEL, OFFERS, TOLERATED
from gpu_triage.core.obstacles import is_lost, is_starting
from gpu_triage.core.picture import Picture
from gpu_triage.core.survey import Survey, Verdict

_EVERY = LABEL | TOLERATED | OFFERS | ALLOCATABLE | FREE


def in_question(verdict: Verdict, now: float, *, explain: bool) -> list[str]:
    """Names of nodes whose pods decide, by name.

    Args:
        verdict: reached as if no pod held anything, which is the best case for every node.
        now: seconds since 1970.
        explain: whether detail and message are wanted too; they look at more nodes than the word.
    """
    seen = verdict.survey
    if seen is None or verdict.unread:
        return []
    nodes = _for_message(verdict.cause, seen, now) if explain else _for_word(verdict.cause, seen)
    return sorted({node.name for node in nodes})


def certain_fit(pod: PodFacts, picture: Picture, name: str) -> bool:
    """Whether a node takes the pod for certain: then no other node changes the word."""
    taken = picture.taken_from(pod, name)
    code = fit.node_code(pod.shape, picture.nodes[name], taken, picture.classes)
    return code & _EVERY == _EVERY and not code & DRA


def _for_word(cause: Cause, seen: Survey) -> list[NodeFacts]:
    """Nodes that would fit if they were empty; what is exhausted when empty stays so."""
    if cause not in (Cause.NOT_GPU, Cause.UNKNOWN):
        return []
    return [node for node in seen.nodes(_EVERY) if _can_fill(seen, node)]


def _can_fill(seen: Survey, node: NodeFacts) -> bool:
    """Whether pods can use up what a node offers: not where DRA serves all that is asked for."""
    return any(node.allocatable.get(resource, 0) > 0 for resource in seen.resources())


def _for_message(cause: Cause, seen: Survey, now: float) -> list[NodeFacts]:
    match cause:
        case Cause.EXHAUSTED | Cause.NOT_GPU | Cause.UNKNOWN:
            nodes = seen.candidates(TOLERATED | OFFERS | ALLOCATABLE)
            nodes += [node for node in seen.nodes(LABEL) if is_lost(seen, node)]
        case Cause.TAINT:
            nodes = seen.candidates(ALLOCATABLE)
        case Cause.NO_GPU_NODE:
            nodes = seen.nodes(OFFERS, without=LABEL)
        case _:
            nodes = []
    return nodes + [node for node in seen.nodes(0) if is_starting(seen, node, now)]
