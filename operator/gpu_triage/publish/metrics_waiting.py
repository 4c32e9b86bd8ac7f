"""Metrics of the pods that wait, by the word that stands for each: one function a metric."""

from collections import Counter
from collections.abc import Iterable, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import PENDING, Cause
from gpu_triage.core.vocabulary import VOCABULARY


def pending_pods(standing: Iterable[Standing]) -> Metric:
    """Pods by word and detail; every pair is there, at 0 too."""
    family = GaugeMetricFamily(
        "gpu_triage_pending_pods",
        "Pods that ask for GPUs and are not placed, by cause.",
        labels=["cause", "detail"],
    )
    counts = Counter((each.cause, each.detail) for each in standing)
    for cause in PENDING:
        for detail in VOCABULARY[cause].details:
            family.add_metric([cause, detail], counts[cause, detail])
    return family


def pending_gpus(standing: Iterable[Standing], offered: Iterable[str]) -> Metric:
    """What those pods ask for; every word is there for each resource asked for or offered."""
    family = GaugeMetricFamily(
        "gpu_triage_pending_gpus",
        "GPUs that pods ask for which are not placed, by cause.",
        labels=["cause", "resource"],
    )
    asked: Counter[tuple[str, str]] = Counter()
    for each in standing:
        for resource, amount in each.pod.shape.request:
            asked[each.cause, resource] += amount
    for resource in sorted({resource for _, resource in asked}.union(offered)):
        for cause in PENDING:
            family.add_metric([cause, resource], asked[cause, resource])
    return family


def namespace_pending_pods(standing: Iterable[Standing]) -> Metric:
    """Pods by namespace and word, where there are any."""
    family = GaugeMetricFamily(
        "gpu_triage_namespace_pending_pods",
        "Pods that ask for GPUs and are not placed, by namespace.",
        labels=["namespace", "cause"],
    )
    counts = Counter((each.pod.namespace, each.cause) for each in standing)
    for (namespace, cause), pods in sorted(counts.items()):
        family.add_metric([namespace, cause], pods)
    return family


def pod_cause_info(standing: Iterable[Standing]) -> Metric:
    """A row for each pod."""
    family = GaugeMetricFamily(
        "gpu_triage_pod_cause_info",
        "Why a pod that asks for GPUs is not placed.",
        labels=["namespace", "pod", "cause"],
    )
    for namespace, name, cause in sorted(
        (each.pod.namespace, each.pod.name, each.cause) for each in standing
    ):
        family.add_metric([namespace, name, cause], 1)
    return family


def oldest_pending(standing: Mapping[str, Standing], since: Mapping[str, float]) -> Metric:
    """When the pod that waits longest began to, by word, where one waits.

    Args:
        standing: the words, by the pods' uids.
        since: when each pod began to wait, by uid; those that a gate holds are not in it.
    """
    family = GaugeMetricFamily(
        "gpu_triage_oldest_pending_timestamp_seconds",
        "When the pod that waits longest began to wait, by cause.",
        labels=["cause"],
    )
    oldest: dict[Cause, float] = {}
    for uid, each in standing.items():
        if uid in since:
            oldest[each.cause] = min(since[uid], oldest.get(each.cause, since[uid]))
    for cause in PENDING:
        if cause in oldest:
            family.add_metric([cause], oldest[cause])
    return family
