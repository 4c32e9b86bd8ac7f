"""Which waiting pods are to be told the same.

A message costs a look at every node, and a Job's pods differ in nothing that it speaks of.
"""

from collections.abc import Hashable

from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.classify import Raw
from gpu_triage.core.facts import PodFacts
from gpu_triage.core.picture import Picture

_BY_AGE = (Detail.NODE_STARTING, Detail.SCALING_UP)


def likeness(pod: PodFacts, raw: Raw, picture: Picture) -> Hashable:
    """Equal for two waiting pods of which ``explain`` says the same at one time.

    Args:
        pod: the pod.
        raw: its words of the moment.
        picture: the cluster.
    """
    own: Hashable = None
    if pod.nominated or pod.uid in picture.said or pod.intent is not None:
        own = pod.uid
    elif raw.cause is Cause.EXHAUSTED:  # the text names who of its own has the GPUs
        own = pod.namespace, pod.workload
    age = pod.created if raw.detail in _BY_AGE else None
    asked = pod.shape, pod.asks, pod.scheduler, pod.priority, pod.gates
    told = pod.phase, pod.reason, pod.tried, pod.scheduler_says, pod.waiting
    return raw.cause, raw.detail, raw.unread, own, age, asked, told
