"""Until when a pod is told to wait for a node that is to come: what comes never must end.

Who looks again and again knows since when it has been so; who looks once goes by what the pod
shows.
"""

import math

from gpu_triage.core import objects
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts


def end_of_scaling(pod: PodFacts, picture: Picture) -> float:
    """Until when an autoscaler counts as making a node for the pod, in seconds since 1970.

    It has nominated the pod to a node that is not there yet, or it said so. Minus infinity where it
    does neither.
    """
    lasts, ends = picture.rules.scaling_up_seconds, -math.inf
    if pod.nominated and pod.nominated not in picture.nodes:
        ends = picture.missing.get(pod.uid, nominated_since(pod)) + lasts
    said = picture.said.get(pod.uid)
    return max(ends, said.at + lasts) if said is not None and said.coming else ends


def end_of_waiting(pod: PodFacts, picture: Picture) -> float:
    """Until when the pod is told to wait for nodes that start, in seconds since 1970.

    They may come and fail for ever, each of them young.
    """
    return picture.starting.get(pod.uid, math.inf) + picture.rules.node_starting_seconds


def nominated_since(pod: PodFacts) -> float:
    """The earliest time since when a nomination, seen for the first time, may stand.

    A pod does not say since when: no longer than it exists, or than the word that is published on
    it, where an earlier life of the operator has seen it. Infinity where neither is known.
    """
    published = objects.seconds(pod.published.get("since"))
    return max((each for each in (pod.created, published) if each is not None), default=math.inf)
