"""The metrics, worked out from the current state whenever they are scraped."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import PENDING
from gpu_triage.core.facts import NodeFacts
from gpu_triage.core.picture import Picture
from gpu_triage.core.vocabulary import VOCABULARY
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.write import Kind, Result

UNUSABLE = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
)
"""Taints of nodes whose free GPUs nobody can get now."""


class StateCollector(Collector):
    """Reads verdicts, picture and counters; holds nothing of its own."""

    def __init__(
        self,
        standing: Callable[[], Mapping[str, Standing]],
        picture: Picture,
        counters: Counters,
        synced: Callable[[], bool],
        ages: Callable[[], Mapping[str, float]],
        version: str,
    ) -> None:
        self._standing = standing
        self._picture = picture
        self._counters = counters
        self._synced = synced
        self._ages = ages
        self._version = version

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry would otherwise collect once to learn the names."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Every metric as of now."""
        standing = self._standing().values()
        yield _pending_pods(standing)
        yield _pending_gpus(standing, self._picture)
        yield _gpus(self._picture)
        yield _gauge("synced", "1 once every watched kind has been read.", float(self._synced()))
        yield _watch_ages(self._ages())
        yield _writes(self._counters)
        yield _gauge("write_queue", "Pods with a write that waits.", float(self._counters.queued))
        info = GaugeMetricFamily(
            "gpu_triage_build_info", "The version that runs.", labels=["version"]
        )
        info.add_metric([self._version], 1)
        yield info


def registry(collector: StateCollector) -> CollectorRegistry:
    """A registry that holds this collector and nothing else."""
    own = CollectorRegistry()
    own.register(collector)
    return own


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gpu_triage_{name}", text, value=value)


def _pending_pods(standing: Iterable[Standing]) -> Metric:
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


def _pending_gpus(standing: Iterable[Standing], picture: Picture) -> Metric:
    family = GaugeMetricFamily(
        "gpu_triage_pending_gpus",
        "GPUs that pods ask for which are not placed, by cause.",
        labels=["cause", "resource"],
    )
    asked: Counter[tuple[str, str]] = Counter()
    for each in standing:
        for resource, amount in each.pod.shape.request:
            asked[each.cause, resource] += amount
    for resource in sorted({resource for _, resource in asked} | _offered(picture)):
        for cause in PENDING:
            family.add_metric([cause, resource], asked[cause, resource])
    return family


def _gpus(picture: Picture) -> Metric:
    family = GaugeMetricFamily(
        "gpu_triage_gpus",
        "GPUs; free counts those on nodes that are ready and not cordoned.",
        labels=["resource", "state"],
    )
    for resource in sorted(_offered(picture)):
        sums: Counter[str] = Counter()
        for node in picture.nodes.values():
            allocatable = node.allocatable.get(resource, 0)
            used = picture.used_on(node.name).get(resource, 0)
            sums["capacity"] += node.capacity.get(resource, 0)
            sums["allocatable"] += allocatable
            sums["used"] += used
            sums["free"] += max(0, allocatable - used) if _usable(node) else 0
        for state in ("capacity", "allocatable", "used", "free"):
            family.add_metric([resource, state], sums[state])
    return family


def _watch_ages(ages: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(
        "gpu_triage_watch_age_seconds",
        "Seconds since the API server last said anything about a watched kind.",
        labels=["kind"],
    )
    for kind, age in sorted(ages.items()):
        family.add_metric([kind], age)
    return family


def _writes(counters: Counters) -> Metric:
    family = CounterMetricFamily(
        "gpu_triage_writes",
        "Requests that change something, by what they are for and what became of them.",
        labels=["kind", "result"],
    )
    for kind in Kind:
        for result in Result:
            family.add_metric([kind, result], counters.writes[kind, result])
    return family


def _offered(picture: Picture) -> set[str]:
    return {
        resource
        for node in picture.nodes.values()
        for resource in (*node.capacity, *node.allocatable)
    }


def _usable(node: NodeFacts) -> bool:
    return not any(taint.key in UNUSABLE for taint in node.taints)
