"""The second word: which of a word's details holds, looked for in the vocabulary's order."""

from collections import Counter

from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.condition import said
from gpu_triage.core.facts import NodeFacts, PodFacts
from gpu_triage.core.fit import ALLOCATABLE, LABEL, OFFERS, TOLERATED
from gpu_triage.core.obstacles import (
    fits_when_healthy,
    is_lost,
    is_starting,
    missing_kind,
    taint_kind,
)
from gpu_triage.core.picture import Picture
from gpu_triage.core.survey import Survey

_TAINT_KINDS = (Detail.NOT_READY, Detail.CORDONED, Detail.PRESSURE, Detail.UNTOLERATED)


def ok_detail(pod: PodFacts) -> Detail:
    """What became of a placed pod."""
    if pod.rejected:
        return Detail.REJECTED
    if pod.ended:
        return Detail.ENDED
    return Detail.RUNNING if pod.phase in ("Running", "Unknown") else Detail.STARTING


def not_gpu_detail(pod: PodFacts, picture: Picture) -> Detail:
    """What a pod waits for that GPUs would not help, as its scheduler told."""
    if pod.scheduler not in picture.rules.kube_schedulers:
        return Detail.OTHER_SCHEDULER
    if not pod.tried:
        return Detail.NOT_TRIED
    heard = said(pod.scheduler_says)
    if heard.preempts or pod.nominated in picture.nodes:
        return Detail.PREEMPTING
    return heard.detail(picture.rules)


def detail(cause: Cause, seen: Survey, now: float) -> Detail:
    """The detail of a word that rests on nodes: label-mismatch to exhausted."""
    if not seen.codes:
        return Detail.NO_NODES
    if cause is not Cause.ALLOCATABLE_ZERO and _scaling_up(seen):
        return Detail.SCALING_UP
    if any(is_starting(seen, node, now) for node in seen.nodes(0)):
        return Detail.NODE_STARTING
    match cause:
        case Cause.LABEL_MISMATCH:
            return missing_kind(seen)
        case Cause.TAINT:
            return _taint(seen)
        case Cause.NO_GPU_NODE:
            return _no_gpu_node(seen)
        case Cause.ALLOCATABLE_ZERO:
            return _allocatable_zero(seen)
        case _:
            return _exhausted(seen)


def _scaling_up(seen: Survey) -> bool:
    """An autoscaler nominates the pod to a node before that node exists."""
    return bool(seen.pod.nominated) and seen.pod.nominated not in seen.codes


def _taint(seen: Survey) -> Detail:
    kinds: Counter[Detail] = Counter()
    for node in seen.candidates():
        kind = taint_kind(seen, node)
        if kind is Detail.UNTOLERATED and seen.codes[node.name] & ALLOCATABLE:
            return Detail.UNTOLERATED
        kinds[kind] += 1
    return max(_TAINT_KINDS, key=lambda kind: kinds[kind])


def _no_gpu_node(seen: Survey) -> Detail:
    candidates = seen.candidates(TOLERATED)
    if any(node.gpu_label and not node.living() for node in candidates):
        return Detail.PLUGIN_MISSING
    wanted = set(seen.resources())
    if any(set(node.living()) - wanted for node in candidates):
        return Detail.OTHER_RESOURCE_NAME
    if seen.nodes(OFFERS, without=LABEL):
        return Detail.SELECTOR_EXCLUDES_GPU_NODES
    if any(node.capacity or node.allocatable for node in seen.picture.nodes.values()):
        return Detail.NEVER_ADVERTISED
    return Detail.NOT_ADVERTISED


def _allocatable_zero(seen: Survey) -> Detail:
    known = any(
        node.allocatable.get(resource, 0) <= 0 < node.capacity.get(resource, 0)
        for node in seen.candidates(TOLERATED | OFFERS)
        for resource in seen.resources()
    )
    return Detail.ALL_UNHEALTHY if known else Detail.PLUGIN_GONE


def _exhausted(seen: Survey) -> Detail:
    usable = seen.candidates(TOLERATED | OFFERS | ALLOCATABLE)
    if any(fits_when_healthy(seen, node) for node in usable):
        return Detail.UNHEALTHY_DEVICES
    if any(is_lost(seen, node) for node in seen.nodes(LABEL)):
        return Detail.NODES_LOST
    if not any(_fits_when_empty(seen, node) for node in usable):
        return Detail.NEVER_FITS
    if any(_fits_without_nominations(seen, node) for node in usable):
        return Detail.RESERVED
    if seen.fits(lambda name: sum(max(0, seen.free(node, name)) for node in usable)):
        return Detail.FRAGMENTED
    return Detail.BUSY


def _fits_when_empty(seen: Survey, node: NodeFacts) -> bool:
    return seen.fits(lambda name: node.allocatable.get(name, 0))


def _fits_without_nominations(seen: Survey, node: NodeFacts) -> bool:
    used = seen.picture.used_on(node.name)
    return seen.fits(lambda name: node.allocatable.get(name, 0) - used.get(name, 0))
