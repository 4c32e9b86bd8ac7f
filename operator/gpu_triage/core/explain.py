"""One or two sentences for a verdict: numbers, names, the nearest node.

What is published is read by anyone who may read the pod, so pods are named only if they are of the
pod's own namespace; others are counted.
"""

from collections import Counter

from gpu_triage.core.autoscaler import Said
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.change import CHANGE, Fix
from gpu_triage.core.fit import ALLOCATABLE, FREE, LABEL, OFFERS, TOLERATED
from gpu_triage.core.fix import smallest_fix
from gpu_triage.core.message import ITSELF, Message, compose
from gpu_triage.core.mismatch import label_mismatch
from gpu_triage.core.next_step import next_step
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import is_starting, lost, taint_kind
from gpu_triage.core.reasons import free_of, taint_reason
from gpu_triage.core.shortage import exhausted
from gpu_triage.core.survey import Survey, Verdict
from gpu_triage.core.told import gated, heard, no_request, placed
from gpu_triage.core.wording import amounts, count_of, cut, listing, names

QUOTED = 160
"""Characters of an autoscaler's text: it may list every pool with its reason."""


def message(verdict: Verdict, now: float) -> str:
    """What the verdict says and what to do next, in at most 512 characters."""
    return explain(verdict, now).text


def explain(verdict: Verdict, now: float) -> Message:
    """The same, with what in it is what."""
    fix = smallest_fix(verdict)
    sentence, taken = _sentence(verdict, now)
    if verdict.survey is None:
        return compose(sentence)
    if verdict.cause is Cause.TAINT and (fix is None or fix.kind != CHANGE):
        sentence += _nearest(verdict.survey)
    gist = "itself" if ITSELF in taken else _gist(fix)
    return compose(sentence, taken, next_step(fix, verdict.survey), gist)


def _gist(fix: Fix | None) -> str:
    """What a next step is about, without the node that is best for it just now."""
    if fix is None:
        return ""
    if fix.kind == CHANGE:
        return f"{fix.path}: {fix.before} -> {fix.after}"
    what = "pod" if fix.object.startswith("pod ") else fix.object  # it is told of itself
    return f"{fix.after} {what}"


def _sentence(verdict: Verdict, now: float) -> tuple[str, str]:
    """The sentence, and the part of it that says who has the GPUs."""
    if verdict.cause is Cause.EXHAUSTED:
        assert verdict.survey is not None  # it comes from a look at the nodes
        sentence, taken = exhausted(verdict.detail, verdict.survey)
        more = _cordoned(verdict.survey) + _hope(verdict.detail, verdict.survey, now)
        return sentence + more, taken
    return _untaken(verdict, now), ""


def _untaken(verdict: Verdict, now: float) -> str:
    pod, seen = verdict.pod, verdict.survey
    match verdict.cause:
        case Cause.NO_REQUEST:
            return no_request(pod, verdict.detail)
        case Cause.OK:
            return placed(pod, verdict.detail)
        case Cause.GATED:
            return gated(pod)
        case Cause.UNKNOWN:
            return _unknown(verdict)
        case Cause.NOT_GPU:
            return _not_gpu(verdict)
    assert seen is not None  # the words that remain come from a look at the nodes
    if verdict.detail is Detail.NO_NODES:
        return f"Needs {amounts(pod.request)}; the cluster has no node."
    return _of_nodes(verdict.cause, verdict.detail, seen) + _hope(verdict.detail, seen, now)


def _of_nodes(cause: Cause, detail: Detail, seen: Survey) -> str:
    match cause:
        case Cause.LABEL_MISMATCH:
            return label_mismatch(seen)
        case Cause.TAINT:
            return _taint(seen)
        case Cause.NO_GPU_NODE:
            return _no_gpu_node(detail, seen)
        case _:
            return _allocatable_zero(seen) + _cordoned(seen)


def _cordoned(seen: Survey) -> str:
    """Cordoned nodes that would take the pod: named, for nobody knows why they are missed."""
    would = seen.nodes(LABEL | OFFERS | ALLOCATABLE | FREE, without=TOLERATED)
    cordoned = [node for node in would if taint_kind(seen, node) is Detail.CORDONED]
    if not cordoned:
        return ""
    shown = listing([node.name for node in cordoned], noun="node")
    return f" It would fit on {shown}, cordoned now."


def _hope(detail: Detail, seen: Survey, now: float) -> str:
    """What is on its way, or would help if it came back."""
    match detail:
        case Detail.SCALING_UP:
            return f" {_promise(seen)}"
        case Detail.NODE_STARTING:
            starting = [node.name for node in seen.nodes(0) if is_starting(seen, node, now)]
            verb = "is" if len(starting) == 1 else "are"
            return f" {listing(starting)} {verb} starting."
        case Detail.NODES_LOST:
            node = lost(seen)
            why = taint_reason(seen, node)
            why = f"is {why}" if why else "has lost its GPUs or never offered them"
            return f" {node.name} could take it, but {why}."
    return _refusal(seen, now)


def _promise(seen: Survey) -> str:
    """What an autoscaler does for the pod."""
    pod, said = seen.pod, seen.picture.said.get(seen.pod.uid)
    if said is not None and said.coming:
        return f"An autoscaler has taken it on: {_quoted(said)}."
    return f"An autoscaler makes node {pod.nominated} for it."


def _refusal(seen: Survey, now: float) -> str:
    """That an autoscaler has lately turned the pod down; empty where none has."""
    said = seen.picture.said.get(seen.pod.uid)
    if said is None or said.coming or now >= said.at + seen.picture.rules.scaling_up_seconds:
        return ""
    return f" The autoscaler makes no node for it: {_quoted(said)}."


def _quoted(said: Said) -> str:
    return cut(said.text, QUOTED).rstrip(" .:") or "it does not say why"


def _unknown(verdict: Verdict) -> str:
    kinds = names(verdict.unread)
    match verdict.detail:
        case Detail.FORBIDDEN:
            return f"Cannot be told: reading {kinds} is forbidden (verb list, all namespaces)."
        case Detail.NOT_SYNCED:
            return f"Cannot be told yet: {kinds} have not been read."
    assert verdict.survey is not None  # only a look at the nodes finds some left to DRA
    mapped = [name for name in verdict.survey.resources() if name in verdict.survey.picture.classes]
    classes = sorted({verdict.survey.picture.classes[name] for name in mapped})
    every = LABEL | TOLERATED | OFFERS | ALLOCATABLE | FREE
    left = len(verdict.survey.nodes(every))
    return (
        f"Cannot be told: {names(mapped)} is served by DeviceClass {listing(classes)}, and Dynamic"
        f" Resource Allocation decides on {count_of(left, 'node')}."
    )


def _not_gpu(verdict: Verdict) -> str:
    pod = verdict.pod
    if verdict.detail is Detail.ENDED:
        return f"Ended without being placed: {pod.phase}{': ' if pod.reason else ''}{pod.reason}."
    if verdict.detail is Detail.TERMINATING or verdict.survey is None:
        return "Is being deleted."
    seen = verdict.survey
    fitting = seen.nodes(LABEL | TOLERATED | OFFERS | ALLOCATABLE | FREE)
    best = _best(seen, fitting)
    there = f"{best.name} has {free_of(seen, best)}" + (
        f" (one of {len(fitting)} nodes that fit)" if len(fitting) > 1 else ""
    )
    match verdict.detail:
        case Detail.OTHER_SCHEDULER:
            return f"GPUs are not the cause: {there}. It waits for scheduler {pod.scheduler}."
        case Detail.NOT_TRIED:
            return f"GPUs are not the cause: {there}. No scheduler has tried it yet."
    return f"GPUs are not the cause: {there}. {heard(pod, seen)}"


def _taint(seen: Survey) -> str:
    candidates = seen.candidates()
    usable = [node for node in candidates if seen.codes[node.name] & ALLOCATABLE]
    wanted = amounts(seen.pod.request)
    if len(candidates) == 1:
        only = candidates[0]
        stop = f"the only matching node, {only.name}, is {taint_reason(seen, only)}"
    else:
        groups = Counter(taint_reason(seen, node) for node in candidates).most_common()
        parts = [f"{n} {'is' if n == 1 else 'are'} {reason}" for reason, n in groups]
        stop = f"{len(candidates)} nodes match and none is tolerated: {listing(parts)}"
    if not usable:
        return f"No matching node has a usable GPU for {wanted}; {stop}."
    return f"Needs {wanted}; {stop}."


def _nearest(seen: Survey) -> str:
    """What the best of the nodes that keep the pod off has left."""
    usable = seen.candidates(ALLOCATABLE)
    if not usable:
        return ""
    best = _best(seen, usable)
    return f" {best.name} has {free_of(seen, best)}."


def _no_gpu_node(detail: Detail, seen: Survey) -> str:
    candidates = seen.candidates(TOLERATED)
    sentence = _none_offers(seen, candidates)
    match detail:
        case Detail.PLUGIN_MISSING:
            bare = [node.name for node in candidates if node.gpu_label and not node.living()]
            have = "has a GPU by its labels" if len(bare) == 1 else "have GPUs by their labels"
            return f"{sentence}. {listing(bare)} {have}."
        case Detail.OTHER_RESOURCE_NAME:
            node = next(node for node in candidates if node.living())
            offer = {name: node.allocatable.get(name, 0) for name in node.living()}
            return f"{sentence}. {node.name} offers {amounts(offer)} instead."
        case Detail.SELECTOR_EXCLUDES_GPU_NODES:
            others = seen.nodes(OFFERS, without=LABEL)
            # Not the one with the most free, which is another after each pod that ends.
            first = min(others, key=lambda node: node.name)
            does = "does" if len(others) == 1 else "do"
            which = first.name if len(others) == 1 else f"such as {first.name}"
            return (
                f"{sentence}. {count_of(len(others), 'node')} that the pod's selector excludes"
                f" {does}, {which}."
            )
        case Detail.NEVER_ADVERTISED:
            nodes = seen.picture.nodes.values()
            known = sorted({name for node in nodes for name in (*node.capacity, *node.allocatable)})
            return f"{sentence}. The GPU resources of this cluster are {names(known)}."
        case Detail.NOT_ADVERTISED:
            return f"{sentence}. No node of the cluster offers any GPU."
    return f"{sentence}."


def _none_offers(seen: Survey, candidates: list[NodeFacts]) -> str:
    wanted = names(seen.resources())
    every = len(candidates) == len(seen.codes)
    if len(candidates) == 1:
        only = "the only node" if every else "the only matching node"
        return f"{candidates[0].name}, {only}, does not offer {wanted}"
    if every:
        return f"None of the cluster's {len(candidates)} nodes offers {wanted}"
    return f"None of {len(candidates)} matching nodes offers {wanted}"


def _allocatable_zero(seen: Survey) -> str:
    candidates = seen.candidates(TOLERATED | OFFERS)
    parts = []
    for node in candidates:
        for resource in seen.resources():
            if node.allocatable.get(resource, 0) <= 0:
                had = node.capacity.get(resource, 0)
                parts.append(
                    f"{node.name} has capacity {had} and allocatable 0: no device is healthy"
                    if had
                    else f"{node.name} reports 0 of 0: its device plugin is gone"
                )
    return f"Needs {amounts(seen.pod.request)}; {listing(parts, noun='node')}."


def _best(seen: Survey, nodes: list[NodeFacts]) -> NodeFacts:
    """The node with most left of what the pod asks for first; by name when equal."""
    first = seen.pod.shape.request[0][0]
    return max(nodes, key=lambda node: seen.free(node, first))
