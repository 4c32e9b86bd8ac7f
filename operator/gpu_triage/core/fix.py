"""The next step for a waiting pod: the smallest change of it that helps, or what to do instead.

People on call follow advice when tired, so it is narrow. A change touches only the waiting pod,
and ``reaches`` is worked out by the rule that judged the pod. Never: uncordon, remove a taint,
tolerate what Kubernetes or a team set, free somebody's GPUs.
"""

from collections.abc import Iterator
from functools import partial

from gpu_triage.core.amount_fix import fewer_fix, rename_fix
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.change import ADVICE, Edit, Fix, Option, furthest
from gpu_triage.core.fit import ALLOCATABLE, OFFERS, TOLERATED
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import blockers, fits_when_healthy, lost, taint_kind
from gpu_triage.core.selector_fix import selector_fix
from gpu_triage.core.survey import Survey, Verdict
from gpu_triage.core.toleration import Taint, Toleration
from gpu_triage.core.wording import listing

WAIT, LOOK, ASK = "wait", "look", "ask"


def smallest_fix(verdict: Verdict) -> Fix | None:
    """The next step for a verdict; None where there is none that is safe to name."""
    seen = verdict.survey
    if seen is None or verdict.unread:
        return None
    if verdict.detail in (Detail.SCALING_UP, Detail.NODE_STARTING):
        return _wait(seen)
    match verdict.cause:
        case Cause.LABEL_MISMATCH:
            return _grow(seen) or selector_fix(seen)
        case Cause.TAINT:
            return _tolerate(seen) or _closed(seen)
        case Cause.NO_GPU_NODE:
            return _no_gpu_node(verdict.detail, seen)
        case Cause.ALLOCATABLE_ZERO:
            return _look_at_plugin(seen.candidates(TOLERATED | OFFERS)[0])
        case Cause.EXHAUSTED:
            return _exhausted(verdict.detail, seen)
    return None


def _wait(seen: Survey) -> Fix:
    return Fix(ADVICE, f"pod {seen.pod.key}", "", after=WAIT)


def _grow(seen: Survey) -> Fix | None:
    """Where nodes are made when pods ask for them, what is not there now is no mistake of the pod.

    None where they are not; without words where an autoscaler has turned the pod down.
    """
    if not seen.picture.rules.autoscaling:
        return None
    said = seen.picture.said.get(seen.pod.uid)
    refused = said is not None and not said.coming
    says = "" if refused else "No such node now; if a pool can make one, wait."
    return Fix(ADVICE, f"pod {seen.pod.key}", says, after=WAIT)


def _look(node: NodeFacts) -> Fix:
    what = f"node {node.name}"
    return Fix(ADVICE, what, f"Look at {what}.", after=LOOK, node=node.name)


def _look_at_plugin(node: NodeFacts) -> Fix:
    what = f"device plugin on {node.name}"
    return Fix(ADVICE, what, f"Look at the {what}.", after=LOOK, node=node.name)


def _tolerate(seen: Survey) -> Fix | None:
    """Tolerate the GPUs' own taint, where nothing else stops the pod at a node with usable GPUs."""
    return furthest(seen, _tolerable(seen))


def _tolerable(seen: Survey) -> Iterator[Option]:
    for node in seen.candidates(ALLOCATABLE):
        taints = blockers(seen, node)
        if all(seen.picture.rules.may_tolerate(taint.key) for taint in taints):
            left = min(seen.free(node, name) - n for name, n in seen.pod.shape.request)
            code = seen.codes[node.name] | TOLERATED
            # One taint fewer to tolerate is worth more than any number of free GPUs.
            yield Option(node, code, partial(_tolerating, taints), rank=left - 1e6 * len(taints))


def _tolerating(taints: list[Taint]) -> Edit:
    added = [_written(Toleration(each.key, "Equal", each.value, each.effect)) for each in taints]
    says = f"tolerate {listing([str(taint) for taint in taints])}"
    return Edit("spec.tolerations", None, added, says)


def _written(toleration: Toleration) -> dict[str, str]:
    """A toleration as the manifest has it."""
    fields = {name: getattr(toleration, name) for name in toleration.__struct_fields__}
    return {name: value for name, value in fields.items() if value}


def _closed(seen: Survey) -> Fix | None:
    """Whom to ask, or where to look, when the nodes are closed for another reason."""
    for node in seen.candidates(ALLOCATABLE):
        if taint_kind(seen, node) is Detail.UNTOLERATED:
            may = seen.picture.rules.may_tolerate
            owned = next(taint for taint in blockers(seen, node) if not may(taint.key))
            says = f"{node.name} is reserved by {owned}: ask its owner."
            return Fix(ADVICE, f"taint {owned}", says, after=ASK, node=node.name)
    for node in seen.candidates():
        match taint_kind(seen, node):
            case Detail.CORDONED:
                says = f"Ask who cordoned {node.name} and why."
                return Fix(ADVICE, f"node {node.name}", says, after=ASK, node=node.name)
            case Detail.NOT_READY | Detail.PRESSURE:
                return _look(node)
    return None


def _no_gpu_node(detail: Detail, seen: Survey) -> Fix | None:
    match detail:
        case Detail.PLUGIN_MISSING:
            bare = [n for n in seen.candidates(TOLERATED) if n.gpu_label and not n.living()]
            return _look_at_plugin(bare[0])
        case Detail.OTHER_RESOURCE_NAME:
            return rename_fix(seen)
        case Detail.SELECTOR_EXCLUDES_GPU_NODES:
            return _grow(seen) or selector_fix(seen)
        case Detail.NEVER_ADVERTISED | Detail.NOT_ADVERTISED:
            return _grow(seen)
    return None


def _exhausted(detail: Detail, seen: Survey) -> Fix | None:
    match detail:
        case Detail.UNHEALTHY_DEVICES:
            usable = seen.candidates(TOLERATED | OFFERS | ALLOCATABLE)
            return _look_at_plugin(next(n for n in usable if fits_when_healthy(seen, n)))
        case Detail.NODES_LOST:
            node = lost(seen)
            return _look(node) if blockers(seen, node) else _look_at_plugin(node)
        case Detail.NEVER_FITS:
            never = Fix(ADVICE, f"pod {seen.pod.key}", "", after="never")
            return fewer_fix(seen) or _grow(seen) or never
        case Detail.FRAGMENTED:
            return fewer_fix(seen) or _wait(seen)
    return _wait(seen)
