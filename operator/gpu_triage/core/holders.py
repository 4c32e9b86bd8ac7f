"""Who holds the GPUs that a pod waits for: largest and longest first, with what is wrong."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.survey import Survey
from gpu_triage.core.wording import count_of, listing


class Holder(msgspec.Struct, frozen=True):
    """A pod that holds GPUs."""

    namespace: str
    name: str
    node: str
    gpus: dict[str, int]
    workload: str = ""
    since: str = ""
    trouble: str = ""
    own: bool = False
    """It belongs to the waiting pod's own workload."""


def holders(seen: Survey, nodes: Iterable[NodeFacts]) -> list[Holder]:
    """Every holder of what the pod asks for on these nodes."""
    found = [
        pod
        for node in nodes
        for pod in seen.picture.holders.get(node.name, {}).values()
        if any(resource in pod.request for resource in seen.resources())
    ]
    return [holder(pod, seen.pod) for pod in largest(found, *seen.resources())]


def holder(pod: PodFacts, waiting: PodFacts | None = None) -> Holder:
    """What a pod holds, as one who waits for it sees it."""
    return Holder(
        pod.namespace,
        pod.name,
        pod.node,
        pod.request,
        pod.workload,
        _since(pod),
        str(pod.trouble or ""),
        waiting is not None and same_workload(pod, waiting),
    )


def same_workload(one: PodFacts, other: PodFacts) -> bool:
    """Whether two pods belong to one Deployment, Job or the like."""
    return bool(one.workload) and (one.namespace, one.workload) == (
        other.namespace,
        other.workload,
    )


def largest(pods: Iterable[PodFacts], *resources: str) -> list[PodFacts]:
    """Those that hold most first; of equal ones those that hold longest, then by name."""
    return sorted(
        pods,
        key=lambda pod: (
            -sum(pod.request.get(resource, 0) for resource in resources),
            pod.started or pod.created or 0.0,
            pod.key,
        ),
    )


def who(
    waiting: PodFacts, others: list[PodFacts], resource: str, which: str = "own", most: int = 3
) -> str:
    """Pods by name, with what they hold; the rest counted.

    Args:
        waiting: the pod that waits for them.
        others: the pods.
        resource: what they hold.
        which: are named: ``own``, those of the waiting pod's namespace; ``all``; ``none``.
        most: how many are named.
    """
    named = [pod for pod in others if which == "all" or _is_own(pod, waiting, which)]
    named = largest(named, resource)[:most]
    parts = [f"{each.key} ({_holds(each, resource)})" for each in named]
    shown = {pod.uid for pod in named}
    rest = [pod for pod in others if pod.uid not in shown]
    own = [pod for pod in rest if pod.namespace == waiting.namespace]
    foreign = [pod for pod in rest if pod.namespace != waiting.namespace]
    more = "more pod" if named else "pod"
    for counted, noun, whose in (
        (own, more, "of this namespace"),
        (foreign, more if which == "all" else "pod", "of other namespaces"),
    ):
        if counted:
            held = sum(each.request.get(resource, 0) for each in counted)
            parts.append(f"{count_of(len(counted), noun)} {whose} ({held})")
    return listing(parts, most=most + 2)


def _is_own(pod: PodFacts, waiting: PodFacts, which: str) -> bool:
    return which == "own" and pod.namespace == waiting.namespace


def _holds(pod: PodFacts, resource: str) -> str:
    since = f" since {_since(pod)}" if _since(pod) else ""
    trouble = f", {pod.trouble}" if pod.trouble else ""
    return f"{pod.request.get(resource, 0)}{since}{trouble}"


def _since(pod: PodFacts) -> str:
    """The minute since when a pod holds, in UTC."""
    moment = pod.started if pod.started is not None else pod.created
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%MZ}" if moment is not None else ""
