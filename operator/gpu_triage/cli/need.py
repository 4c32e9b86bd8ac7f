"""Which nodes' pods an answer hangs on: those of the others need not be read."""

from gpu_triage.core import fit
from gpu_triage.core.causes import Cause
from gpu_triage.core.fit import ALLOCATABLE, DRA, FREE, LABEL, OFFERS, TOLERATED
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import is_lost, is_starting
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.selector_fix import one_change_away
from gpu_triage.core.survey import Survey, Verdict

_EVERY = LABEL | TOLERATED | OFFERS | ALLOCATABLE | FREE


def in_question(verdict: Verdict, now: float, *, explain: bool) -> list[str]:
    """Names of nodes whose pods decide word and detail, by name.

    Args:
        verdict: reached as if no pod held anything, which is the best case for every node.
        now: seconds since 1970.
        explain: whether the detail is wanted too; it looks at more nodes than the word.
    """
    seen = verdict.survey
    if seen is None or verdict.unread:
        return []
    if not explain:
        return _names(_for_word(verdict.cause, seen))
    starting = [node for node in seen.nodes(0) if is_starting(seen, node, now)]
    return _names(_for_detail(verdict.cause, seen) + starting)


def in_sentence(verdict: Verdict) -> list[str]:
    """Names of nodes of which the sentence and the next step say what is free."""
    seen = verdict.survey
    if seen is None or verdict.unread:
        return []
    match verdict.cause:
        case Cause.TAINT:
            return _names(seen.candidates(ALLOCATABLE))
        case Cause.NO_GPU_NODE:
            offering = [node for node in seen.candidates(TOLERATED) if node.living()]
            return _names(offering + one_change_away(seen))
        case Cause.LABEL_MISMATCH:
            return _names(one_change_away(seen))
        case Cause.ALLOCATABLE_ZERO:
            return _names(seen.nodes(_EVERY & ~TOLERATED, without=TOLERATED))
    return []


def _names(nodes: list[NodeFacts]) -> list[str]:
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


def _for_detail(cause: Cause, seen: Survey) -> list[NodeFacts]:
    if cause not in (Cause.EXHAUSTED, Cause.NOT_GPU, Cause.UNKNOWN):
        return []
    lost = [node for node in seen.nodes(LABEL) if is_lost(seen, node)]
    # Cordoned nodes that would fit are named, for nobody knows why they are missed.
    closed = seen.nodes(_EVERY & ~TOLERATED, without=TOLERATED)
    return seen.candidates(TOLERATED | OFFERS | ALLOCATABLE) + lost + closed
