"""Why a pod is not running, in one word: the steps in their fixed order.

Breaking the order sends people to delete healthy taints: an earlier step that holds leaves the
later ones nothing to look at.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from gpu_triage.core.causes import NODES, Cause, Detail
from gpu_triage.core.detail import Finding, detail, finding, not_gpu_detail, ok_detail
from gpu_triage.core.funnel import decide
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.survey import Survey, Verdict, survey
from gpu_triage.core.tally import tally
from gpu_triage.core.vocabulary import VOCABULARY


class Raw(msgspec.Struct, frozen=True):
    """The words of a moment, without what they were worked out from."""

    cause: Cause
    detail: Detail
    unread: tuple[str, ...] = ()
    """The kinds of objects for lack of which the word is ``unknown``."""


def classify(pod: PodFacts, picture: Picture, now: float) -> Verdict:
    """The word and detail for a pod, and what they rest on.

    Args:
        pod: the pod.
        picture: the cluster; what could not be read is named in it.
        now: seconds since 1970: some details expire without an event.
    """
    raw, seen = at_sight(pod, picture), None
    if raw is None:
        seen = survey(pod, picture)
        found = partial(_finding, seen, now)
        raw = with_nodes(pod, picture, decide(seen.counts), found, now)
    return Verdict(pod, raw.cause, raw.detail, seen, raw.unread)


def at_sight(pod: PodFacts, picture: Picture) -> Raw | None:
    """The words for a pod that need no look at the nodes, or can have none."""
    if pod.intent is not None:
        return Raw(Cause.NO_REQUEST, pod.intent.detail)
    if pod.node:
        return Raw(Cause.OK, ok_detail(pod))
    if pod.ended:
        return Raw(Cause.NOT_GPU, Detail.ENDED)
    if pod.terminating:
        return Raw(Cause.NOT_GPU, Detail.TERMINATING)
    if pod.gates:
        return Raw(Cause.GATED, Detail.SCHEDULING_GATES)
    if NODES in picture.unread:
        return Raw(Cause.UNKNOWN, picture.unread[NODES], (NODES,))
    return None


def with_nodes(
    pod: PodFacts, picture: Picture, cause: Cause, found: Callable[[], Finding], now: float
) -> Raw:
    """The words for a pod, once the nodes have decided.

    Args:
        pod: the pod.
        picture: the cluster.
        cause: what the nodes decide.
        found: what else they say; asked for only where it matters.
        now: seconds since 1970.
    """
    unread = tuple(kind for kind in VOCABULARY[cause].rests_on if kind in picture.unread)
    if unread:
        return Raw(Cause.UNKNOWN, picture.unread[unread[0]], unread)
    if cause is Cause.NOT_GPU:
        return Raw(cause, not_gpu_detail(pod, picture))
    return Raw(cause, detail(found(), pod, picture, now))


def _finding(seen: Survey, now: float) -> Finding:
    return finding(tally(seen, now), seen.picture)
