"""The second word: which of a word's details holds, looked for in the vocabulary's order.

What the nodes decide is a *finding*, the same for all pods that look alike to them; what else a
detail hangs on stands in the pod itself.
"""

from collections import Counter
from typing import Protocol

import msgspec

from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.condition import said
from gpu_triage.core.fit import ALLOCATABLE, LABEL, OFFERS, TOLERATED
from gpu_triage.core.funnel import decide, passes_through
from gpu_triage.core.obstacles import is_recent, missing_kind
from gpu_triage.core.patience import end_of_scaling, end_of_waiting
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.selector import Values
from gpu_triage.core.tally import Tally
from gpu_triage.core.traits import (
    BARE,
    LARGE_ENOUGH,
    LOST,
    MARKED,
    OTHER_NAME,
    RESERVED,
    UNHEALTHY,
    USABLE,
    YOUNG,
    kind,
)

_TAINT_KINDS = (Detail.NOT_READY, Detail.CORDONED, Detail.PRESSURE, Detail.UNTOLERATED)


class Cluster(Values, Protocol):
    """What a detail asks of all nodes taken together."""

    @property
    def advertised(self) -> bool:
        """Whether some node names a GPU resource in its status, 0 of it too."""


class Finding(msgspec.Struct, frozen=True):
    """What the nodes say: the word, and its detail as far as it hangs on them."""

    cause: Cause
    detail: Detail
    """Means nothing where the cause is ``not-gpu``."""
    young: bool
    """A young node would help once it is up."""
    marked: bool
    """A node that says that it is starting would help once it is up."""


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


def finding(seen: Tally, cluster: Cluster) -> Finding:
    """What the nodes say, from how many of them are alike."""
    cause = decide(seen.counts)
    detail = _detail(cause, seen, cluster)
    return Finding(cause, detail, young=seen.any(YOUNG), marked=seen.any(MARKED))


def detail(found: Finding, pod: PodFacts, picture: Picture, now: float) -> Detail:
    """The detail for a pod to which the nodes say this, where they are what stops it."""
    if found.cause is Cause.UNKNOWN or found.detail is Detail.NO_NODES:
        return found.detail
    if found.cause is not Cause.ALLOCATABLE_ZERO and now < end_of_scaling(pod, picture):
        return Detail.SCALING_UP
    if awaits_start(found, pod, picture, now) and now < end_of_waiting(pod, picture):
        return Detail.NODE_STARTING
    return found.detail


def awaits_start(found: Finding, pod: PodFacts, picture: Picture, now: float) -> bool:
    """Whether a node is starting that would help the pod."""
    return found.young or (found.marked and is_recent(pod.created, picture.rules, now))


def _detail(cause: Cause, seen: Tally, cluster: Cluster) -> Detail:
    if not seen.counts:
        return Detail.NO_NODES
    match cause:
        case Cause.LABEL_MISMATCH:
            return missing_kind(seen.shape.selector, cluster)
        case Cause.TAINT:
            return _taint(seen)
        case Cause.NO_GPU_NODE:
            return _no_gpu_node(seen, cluster)
        case Cause.ALLOCATABLE_ZERO:
            stopped = LABEL | TOLERATED | OFFERS
            return Detail.ALL_UNHEALTHY if seen.any(stopped | UNHEALTHY) else Detail.PLUGIN_GONE
        case Cause.EXHAUSTED:
            return _exhausted(seen)
        case Cause.UNKNOWN:
            return Detail.DRA
    return Detail.OTHER


def _taint(seen: Tally) -> Detail:
    kinds: Counter[Detail] = Counter()
    for cell, n in seen.having(passes_through(seen.counts)).items():
        if kind(cell) is Detail.UNTOLERATED and cell & ALLOCATABLE:
            return Detail.UNTOLERATED
        kinds[kind(cell)] += n
    return max(_TAINT_KINDS, key=lambda each: kinds[each])


def _no_gpu_node(seen: Tally, cluster: Cluster) -> Detail:
    if seen.any(LABEL | TOLERATED | BARE):
        return Detail.PLUGIN_MISSING
    if seen.any(LABEL | TOLERATED | OTHER_NAME):
        return Detail.OTHER_RESOURCE_NAME
    if seen.any(OFFERS, without=LABEL):
        return Detail.SELECTOR_EXCLUDES_GPU_NODES
    return Detail.NEVER_ADVERTISED if cluster.advertised else Detail.NOT_ADVERTISED


def _exhausted(seen: Tally) -> Detail:
    if seen.any(USABLE | UNHEALTHY):
        return Detail.UNHEALTHY_DEVICES
    if seen.any(LOST):
        return Detail.NODES_LOST
    if not seen.any(USABLE | LARGE_ENOUGH):
        return Detail.NEVER_FITS
    if seen.any(USABLE | RESERVED):
        return Detail.RESERVED
    if all(seen.free.get(name, 0) >= n for name, n in seen.shape.request):
        return Detail.FRAGMENTED
    return Detail.BUSY
