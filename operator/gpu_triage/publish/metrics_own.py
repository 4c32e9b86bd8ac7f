"""Metrics of the operator's own health: one function a metric."""

from collections.abc import Mapping

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from gpu_triage.publish.buckets import buckets
from gpu_triage.publish.counters import TURN_BOUNDS, Turns
from gpu_triage.publish.write import Kind, Result


def synced(is_synced: bool) -> Metric:
    """Whether the words rest on everything."""
    return GaugeMetricFamily(
        "gpu_triage_synced", "1 once every watched kind has been read.", value=float(is_synced)
    )


def watch_age(ages: Mapping[str, float]) -> Metric:
    """How long ago each kind was heard of."""
    family = GaugeMetricFamily(
        "gpu_triage_watch_age_seconds",
        "Seconds since the API server last said anything about a watched kind.",
        labels=["kind"],
    )
    for kind, age in sorted(ages.items()):
        family.add_metric([kind], age)
    return family


def recompute_seconds(turns: Turns) -> Metric:
    """How long it took to bring the words up to date, each time."""
    family = HistogramMetricFamily(
        "gpu_triage_recompute_seconds",
        "How long it took to bring all words up to date after a change.",
        labels=[],
    )
    family.add_metric([], buckets(TURN_BOUNDS, turns.counts), turns.seconds)
    return family


def writes(counts: Mapping[tuple[str, str], int]) -> Metric:
    """Requests that change something; every pair is there, at 0 too."""
    family = CounterMetricFamily(
        "gpu_triage_writes",
        "Requests that change something, by what they are for and what became of them.",
        labels=["kind", "result"],
    )
    for kind in Kind:
        for result in Result:
            family.add_metric([kind, result], counts.get((kind, result), 0))
    return family


def write_queue(pods: int) -> Metric:
    """What is still to be written."""
    return GaugeMetricFamily("gpu_triage_write_queue", "Pods with a write that waits.", value=pods)


def leader(leads: bool) -> Metric:
    """Whether this replica is the one that writes."""
    return GaugeMetricFamily(
        "gpu_triage_leader", "1 on the replica that writes.", value=float(leads)
    )


def build_info(version: str) -> Metric:
    """Which version runs."""
    family = GaugeMetricFamily(
        "gpu_triage_build_info", "The version that runs.", labels=["version"]
    )
    family.add_metric([version], 1)
    return family
