"""Metrics of what has happened to waiting pods since the process began: one function a metric."""

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from gpu_triage.cluster.history import BOUNDS, History, Waits
from gpu_triage.core.causes import PENDING
from gpu_triage.publish.buckets import buckets


def cause_changes(history: History) -> Metric:
    """Words that began to stand, each word from 0 on."""
    family = CounterMetricFamily(
        "gpu_triage_cause_changes",
        "Causes that began to stand for a pod: its first, and each other one after it.",
        labels=["cause"],
    )
    for cause in PENDING:
        family.add_metric([cause], history.words_begun[cause])
    return family


def pending_seconds(history: History) -> Metric:
    """How long pods had waited when they were placed, by their last word, each from 0 on."""
    family = HistogramMetricFamily(
        "gpu_triage_pending_seconds",
        "How long pods had waited when they were placed, by their last cause.",
        labels=["cause"],
    )
    for cause in PENDING:
        waits = history.placed.get(cause, Waits())
        family.add_metric([cause], buckets(BOUNDS, waits.counts), waits.seconds)
    return family
