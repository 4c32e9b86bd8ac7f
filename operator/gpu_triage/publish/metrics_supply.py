"""Metrics of the nodes and their GPUs: one function a metric."""

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily, Metric

from gpu_triage.cluster.fleet import STATES, Fleet, Lost, Missing


def gpus(fleet: Fleet) -> Metric:
    """The sum over all nodes, for each resource that one names."""
    family = GaugeMetricFamily(
        "gpu_triage_gpus",
        "GPUs; free counts those on nodes that are ready and not cordoned.",
        labels=["resource", "state"],
    )
    for resource in fleet.resources:
        for state in STATES:
            family.add_metric([resource, state], fleet.amount(resource, state))
    return family


def unhealthy_gpus(missing: Iterable[Missing]) -> Metric:
    """Devices that nodes should have and that are not allocatable, where there are any."""
    family = GaugeMetricFamily(
        "gpu_triage_unhealthy_gpus",
        "GPUs that a node should have and that are not allocatable.",
        labels=["node", "resource"],
    )
    for each in missing:
        family.add_metric([each.node, each.resource], each.devices)
    return family


def node_offer_lost(lost: Iterable[Lost]) -> Metric:
    """Nodes that should offer a resource and give none of it."""
    family = GaugeMetricFamily(
        "gpu_triage_node_offer_lost",
        "Nodes that have GPUs and give none: they say 0, or have GPU labels and offer nothing.",
        labels=["node", "resource", "detail"],
    )
    for each in lost:
        family.add_metric([each.node, each.resource, each.detail], 1)
    return family
