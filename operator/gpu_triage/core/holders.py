"""Who holds the GPUs that a pod waits for: largest and longest first, with what is wrong."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from gpu_triage.core.facts import NodeFacts, PodFacts
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


def who(waiting: PodFacts, others: list[PodFacts], resource: str, most: int = 3) -> str:
    """Pods of the waiting pod's namespace by name, with what they hold; the rest counted."""
    own = largest((each for each in others if each.namespace == waiting.namespace), resource)
    parts = [f"{each.key} ({_holds(each, resource)})" for each in own[:most]]
    foreign = [each for each in others if each.namespace != waiting.namespace]
    for rest, whose in ((own[most:], "of this namespace"), (foreign, "of other namespaces")):
        if rest:
            held = sum(each.request.get(resource, 0) for each in rest)
            noun = "more pod" if whose == "of this namespace" else "pod"
            parts.append(f"{count_of(len(rest), noun)} {whose} ({held})")
    return listing(parts, most=most + 2)


def _holds(pod: PodFacts, resource: str) -> str:
    since = f" since {_since(pod)}" if _since(pod) else ""
    trouble = f", {pod.trouble}" if pod.trouble else ""
    return f"{pod.request.get(resource, 0)}{since}{trouble}"


def _since(pod: PodFacts) -> str:
    """The minute since when a pod holds, in UTC."""
    moment = pod.started if pod.started is not None else pod.created
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%MZ}" if moment is not None else ""
