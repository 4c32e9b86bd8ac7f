"""Which waiting pods are to be told the same.

A message costs a look at every node, and a Job's pods differ in nothing that it speaks of.
"""

from collections.abc import Hashable

from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.classify import Raw
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts


def likeness(pod: PodFacts, raw: Raw, picture: Picture) -> Hashable:
    """Equal for two waiting pods of which ``explain`` says the same at one time.

    Args:
        pod: the pod.
        raw: its words of the moment.
        picture: the cluster.
    """
    own: Hashable = None
    if pod.nominated or pod.uid in picture.said:  # what an autoscaler does is for it alone
        own = pod.uid
    elif raw.cause is Cause.EXHAUSTED:  # the text names who of its own has the GPUs
        own = pod.namespace, pod.workload
    # Its patience with nodes that start ends by its age.
    age = pod.created if raw.detail is Detail.NODE_STARTING else None
    asked = pod.shape, pod.asks, pod.scheduler, pod.priority, pod.gates
    told = pod.phase, pod.reason, pod.tried, pod.scheduler_says, pod.waiting
    return raw.cause, raw.detail, raw.unread, own, age, asked, told
