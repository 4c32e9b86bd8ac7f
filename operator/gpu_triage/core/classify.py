"""Why a pod is not running, in one word: the steps in their fixed order.

Breaking the order sends people to delete healthy taints: an earlier step that holds leaves the
later ones nothing to look at.
"""

from gpu_triage.core.causes import NODES, Cause, Detail
from gpu_triage.core.detail import detail, not_gpu_detail, ok_detail
from gpu_triage.core.facts import PodFacts
from gpu_triage.core.funnel import decide
from gpu_triage.core.picture import Picture
from gpu_triage.core.survey import Verdict, survey
from gpu_triage.core.vocabulary import VOCABULARY


def classify(pod: PodFacts, picture: Picture, now: float) -> Verdict:
    """The word and detail for a pod.

    Args:
        pod: the pod.
        picture: the cluster; what could not be read is named in it.
        now: seconds since 1970: some details expire without an event.
    """
    if pod.intent is not None:
        return Verdict(pod, Cause.NO_REQUEST, pod.intent.detail)
    if pod.node:
        return Verdict(pod, Cause.OK, ok_detail(pod))
    if pod.ended:
        return Verdict(pod, Cause.NOT_GPU, Detail.ENDED)
    if pod.terminating:
        return Verdict(pod, Cause.NOT_GPU, Detail.TERMINATING)
    if pod.gates:
        return Verdict(pod, Cause.GATED, Detail.SCHEDULING_GATES)
    if NODES in picture.unread:
        return Verdict(pod, Cause.UNKNOWN, picture.unread[NODES], unread=(NODES,))
    seen = survey(pod, picture)
    cause = decide(seen.counts)
    unread = tuple(kind for kind in VOCABULARY[cause].rests_on if kind in picture.unread)
    if unread:
        return Verdict(pod, Cause.UNKNOWN, picture.unread[unread[0]], seen, unread)
    if cause is Cause.UNKNOWN:
        return Verdict(pod, cause, Detail.DRA, seen)
    if cause is Cause.NOT_GPU:
        return Verdict(pod, cause, not_gpu_detail(pod, picture), seen)
    return Verdict(pod, cause, detail(cause, seen, now), seen)
