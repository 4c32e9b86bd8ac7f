"""The answer as programs read it: the JSON of the CLI. Additive changes only."""

from collections.abc import Collection
from typing import Literal

import msgspec

from gpu_triage.core.causes import PODS, Cause, Detail
from gpu_triage.core.change import Fix
from gpu_triage.core.explain import message
from gpu_triage.core.fit import ALLOCATABLE, OFFERS, TOLERATED, Step, step
from gpu_triage.core.fix import smallest_fix
from gpu_triage.core.holders import Holder, holders
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.reasons import node_reason
from gpu_triage.core.survey import Survey, Verdict
from gpu_triage.core.vocabulary import VOCABULARY

API_VERSION: Literal["gpu-triage.io/v1"] = "gpu-triage.io/v1"


class Funnel(msgspec.Struct, rename="camel", kw_only=True):
    """Nodes that remain after each step; free is null where pods could not be read."""

    nodes: int
    label: int
    offering: int
    taint: int
    offers: int
    allocatable: int
    free: int | None


class NodeTriage(msgspec.Struct, rename="camel", kw_only=True):
    """What one node does for the pod."""

    name: str
    step: Step
    """The first step that it fails; ``fits``; or ``unknown`` where DRA decides."""
    reason: str
    capacity: dict[str, int]
    """GPU resources only, as in the three that follow."""
    allocatable: dict[str, int]
    used: dict[str, int] | None
    """Null where the pods of this node were not read."""
    free: dict[str, int] | None
    """For this pod: without what is reserved for others. May be below 0."""


class Triage(msgspec.Struct, rename="camel", kw_only=True):
    """Why one pod is not running."""

    api_version: Literal["gpu-triage.io/v1"] = API_VERSION
    kind: Literal["Triage"] = "Triage"
    namespace: str
    name: str
    uid: str
    cause: Cause
    detail: Detail
    message: str
    since: str | None
    """When this word began, by the operator; null where the operator does not say this word."""
    request: dict[str, int]
    node: str | None
    """Where it is placed."""
    workload: str | None = None
    """Whose pod it is, such as ``Deployment/web``."""
    funnel: Funnel | None
    """Null where the nodes did not matter or could not be read."""
    nodes: list[NodeTriage] | None
    """Given for a single pod, or with --explain."""
    source: Literal["computed", "published"]
    fix: Fix | None = None
    """The smallest change that gets the pod further, or what to do instead."""
    holders: list[Holder] | None = None
    """Of an exhausted pod: who holds the GPUs of the nodes that would do, largest first."""
    dra: Literal["not-read"] | None = None
    """``not-read``: DeviceClasses may not be read and were taken as absent."""


class TriageList(msgspec.Struct, rename="camel", kw_only=True):
    """Many answers."""

    api_version: Literal["gpu-triage.io/v1"] = API_VERSION
    kind: Literal["TriageList"] = "TriageList"
    items: list[Triage]


def triage(
    verdict: Verdict,
    now: float,
    *,
    with_nodes: bool,
    read: Collection[str] | None = None,
    dra_unread: bool = False,
) -> Triage:
    """The answer for a verdict.

    A word that cannot be told for want of a right gives way to the one that the operator wrote on
    the pod.

    Args:
        verdict: the classifier's.
        now: seconds since 1970.
        with_nodes: whether every node's own verdict is wanted.
        read: the nodes whose pods were read; None for all.
        dra_unread: whether DeviceClasses were taken as absent for want of a right.
    """
    pod, seen = verdict.pod, verdict.survey
    answer = Triage(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        cause=verdict.cause,
        detail=verdict.detail,
        message=message(verdict, now),
        since=None,
        request=pod.request,
        node=pod.node or None,
        workload=pod.workload or None,
        funnel=_funnel(verdict),
        nodes=_nodes(seen, read) if seen is not None and with_nodes else None,
        source="computed",
        fix=smallest_fix(verdict),
        holders=_holders(verdict),
        dra="not-read" if dra_unread and seen is not None else None,
    )
    if verdict.unread and _published(pod):
        answer.source = "published"
        answer.fix = None
        answer.cause = Cause(pod.published["cause"])
        answer.detail = Detail(pod.published["detail"])
        answer.message = pod.published.get("message", "")
    if pod.published.get("cause") == answer.cause:
        answer.since = pod.published.get("since")
    return answer


def _published(pod: PodFacts) -> bool:
    """Whether the operator's annotations hold a word and a detail of the vocabulary."""
    cause, detail = pod.published.get("cause", ""), pod.published.get("detail", "")
    return any(cause == each and detail in VOCABULARY[each].details for each in Cause)


def _funnel(verdict: Verdict) -> Funnel | None:
    left = verdict.funnel
    if left is None or verdict.survey is None:
        return None
    counted = PODS not in verdict.survey.picture.unread
    return Funnel(
        nodes=left.nodes,
        label=left.label,
        offering=left.offering,
        taint=left.taint,
        offers=left.offers,
        allocatable=left.allocatable,
        free=left.free if counted or not left.allocatable else None,
    )


def _holders(verdict: Verdict) -> list[Holder] | None:
    if verdict.cause is not Cause.EXHAUSTED or verdict.survey is None:
        return None
    return holders(verdict.survey, verdict.survey.candidates(TOLERATED | OFFERS | ALLOCATABLE))


def _nodes(seen: Survey, read: Collection[str] | None) -> list[NodeTriage]:
    pods_read = PODS not in seen.picture.unread
    return [
        _node(seen, node, pods_read and (read is None or name in read))
        for name, node in sorted(seen.picture.nodes.items())
    ]


def _node(seen: Survey, node: NodeFacts, counted: bool) -> NodeTriage:
    names = sorted({*node.capacity, *node.allocatable})
    used = seen.picture.used_on(node.name)
    return NodeTriage(
        name=node.name,
        step=step(seen.codes[node.name]),
        reason=node_reason(seen, node),
        capacity=dict(sorted(node.capacity.items())),
        allocatable=dict(sorted(node.allocatable.items())),
        used={name: used.get(name, 0) for name in names} if counted else None,
        free={name: seen.free(node, name) for name in names} if counted else None,
    )
