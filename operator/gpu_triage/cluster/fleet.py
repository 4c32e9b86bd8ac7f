"""The GPUs of all nodes together, and the nodes that owe some: kept as nodes change."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from gpu_triage.cluster.sites import Site
from gpu_triage.core.causes import Detail
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import NOT_READY, UNREACHABLE
from gpu_triage.core.offer import lost_detail, missing, offer_lost, owed
from gpu_triage.core.rules import Rules
from gpu_triage.core.toleration import UNSCHEDULABLE

STATES = ("capacity", "allocatable", "used", "free")
_CLOSED = (NOT_READY, UNREACHABLE, UNSCHEDULABLE)
"""Taints of nodes whose free GPUs nobody can get now."""


class Missing(msgspec.Struct, frozen=True):
    """Devices that a node should have and that are not allocatable."""

    node: str
    resource: str
    devices: int


class Lost(msgspec.Struct, frozen=True):
    """A node that should offer a resource and gives none of it."""

    node: str
    resource: str
    detail: Detail


class Fleet:
    """Sums over nodes, so that nobody has to walk them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._offering: Counter[str] = Counter()
        """Nodes by the resource that stands in their status."""
        self._sums: Counter[tuple[str, str]] = Counter()
        self._suspects: dict[str, Site] = {}
        """Nodes that owe something, unless Dynamic Resource Allocation explains it."""

    def move(self, before: Site | None, after: Site | None) -> None:
        """Takes a node as it is now in place of what it was."""
        if before is not None:
            self._count(before, -1)
            self._suspects.pop(before.node.name, None)
        if after is not None:
            self._count(after, 1)
            if any(True for _ in self._missing(after, {})) or any(
                True for _ in self._lost(after, {})
            ):
                self._suspects[after.node.name] = after

    @property
    def resources(self) -> list[str]:
        """What some node names in its status, sorted."""
        return sorted(name for name, nodes in self._offering.items() if nodes)

    def amount(self, resource: str, state: str) -> int:
        """Devices of a resource in one of the ``STATES``.

        Free are those on nodes that are ready and not cordoned, and never below 0 on any.
        """
        return self._sums[resource, state]

    def missing(self, classes: Mapping[str, str]) -> list[Missing]:
        """Every node on which fewer devices are allocatable than it should have.

        Args:
            classes: resources that Dynamic Resource Allocation serves, as in ``Picture.classes``.
        """
        return [
            each
            for _, site in sorted(self._suspects.items())
            for each in self._missing(site, classes)
        ]

    def lost(self, classes: Mapping[str, str]) -> list[Lost]:
        """Every node whose offer is lost.

        Args:
            classes: resources that Dynamic Resource Allocation serves, as in ``Picture.classes``.
        """
        return [
            each for _, site in sorted(self._suspects.items()) for each in self._lost(site, classes)
        ]

    def _count(self, site: Site, sign: int) -> None:
        node, used = site.node, site.used
        is_open = not any(taint.key in _CLOSED for taint in node.taints)
        for resource, n in used.items():
            self._sums[resource, "used"] += sign * n
        for resource in node.capacity.keys() | node.allocatable.keys():
            allocatable = node.allocatable.get(resource, 0)
            self._offering[resource] += sign
            self._sums[resource, "capacity"] += sign * node.capacity.get(resource, 0)
            self._sums[resource, "allocatable"] += sign * allocatable
            if is_open:
                free = max(0, allocatable - used.get(resource, 0))
                self._sums[resource, "free"] += sign * free

    def _missing(self, site: Site, classes: Mapping[str, str]) -> Iterable[Missing]:
        node = site.node
        for resource in self._owed(site):
            if devices := missing(node, resource, classes):
                yield Missing(node.name, resource, devices)

    def _lost(self, site: Site, classes: Mapping[str, str]) -> Iterable[Lost]:
        node = site.node
        for resource in self._owed(site):
            if offer_lost(node, resource, classes):
                yield Lost(node.name, resource, lost_detail(node, resource))

    def _owed(self, site: Site) -> list[str]:
        """What a node should offer by now: one that comes up first has its labels, then GPUs."""
        return [] if site.young and not _has_offered(site.node) else owed(site.node, self._rules)


def _has_offered(node: NodeFacts) -> bool:
    return node.advertises or bool(node.seen)
