"""The cluster as the classifier sees it: read here, changed only by its owner in ``cluster``."""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import msgspec

from gpu_triage.core.autoscaler import NOTHING_SAID, Said
from gpu_triage.core.causes import Detail
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.rules import Rules

NOTHING: Mapping[str, int] = {}
NEVER: Mapping[str, float] = {}


class Claim(Protocol):
    """What decides which nominations go before a pod: a waiting pod has all of it."""

    @property
    def uid(self) -> str:
        """The pod's own, so that its own nomination does not stand in its way."""

    @property
    def priority(self) -> int:
        """Nominations of a lower one do not count."""

    @property
    def scheduler(self) -> str:
        """A scheduler honours its own nominations only."""


class Picture(msgspec.Struct, frozen=True):
    """All that an answer can rest on.

    ``unread`` names the kinds (``nodes``, ``pods``, ``deviceclasses``) that could not be read, and
    why: what stands here of them is then not to be trusted.
    """

    rules: Rules
    nodes: Mapping[str, NodeFacts]
    holders: Mapping[str, Mapping[str, PodFacts]]
    """Pods that are placed, have not ended and hold GPUs; by node, then uid."""
    used: Mapping[str, Mapping[str, int]]
    """What the holders hold; by node, then resource."""
    nominated: Mapping[str, Mapping[str, PodFacts]]
    """Pods that wait and are nominated to a node; by node, then uid."""
    classes: Mapping[str, str]
    """GPU resources that Dynamic Resource Allocation serves, and the DeviceClass of each."""
    unread: Mapping[str, Detail]
    said: Mapping[str, Said] = NOTHING_SAID
    """What an autoscaler last said, by the uid of the pod; nothing where Events are not read."""
    missing: Mapping[str, float] = NEVER
    """Since when the node to which a pod is nominated is not there, by the pod's uid; for somebody
    who looks once there is nothing here."""
    starting: Mapping[str, float] = NEVER
    """Since when nodes are starting for a pod, by its uid; likewise."""

    def used_on(self, node: str) -> Mapping[str, int]:
        """GPUs that placed pods hold on a node, by resource."""
        return self.used.get(node, NOTHING)

    def reserved_for_others(self, pod: Claim, node: str) -> list[PodFacts]:
        """The nominated pods that the scheduler lets go before this one on a node.

        Source: ``addGENominatedPods`` in kube-scheduler: pods of the same scheduler with an equal
        or higher priority; a pod's own nomination never stands in its way.
        """
        return [
            other
            for uid, other in self.nominated.get(node, {}).items()
            if uid != pod.uid
            and other.priority >= pod.priority
            and self.rules.same_scheduler(other.scheduler, pod.scheduler)
        ]

    def taken_from(self, pod: Claim, node: str) -> Mapping[str, int]:
        """What is not free for this pod on a node: used, or reserved for others."""
        others = self.reserved_for_others(pod, node)
        return add(self.used_on(node), others) if others else self.used_on(node)

    def staying_on(self, node: str) -> Mapping[str, int]:
        """What is held on a node by pods that are not being deleted, by resource."""
        held = self.holders.get(node)
        if held is None:
            return NOTHING
        staying = [pod for pod in held.values() if not pod.terminating]
        return self.used_on(node) if len(staying) == len(held) else add({}, staying)

    @property
    def names(self) -> Collection[str]:
        """The names of all nodes."""
        return self.nodes.keys()

    def values(self, key: str) -> Collection[str]:
        """The values that nodes have for a label."""
        return {node.labels[key] for node in self.nodes.values() if key in node.labels}

    def lacks(self, key: str) -> bool:
        """Whether some node lacks a label."""
        return any(key not in node.labels for node in self.nodes.values())

    @property
    def advertised(self) -> bool:
        """Whether some node names a GPU resource in its status, 0 of it too."""
        return any(node.advertises for node in self.nodes.values())


def add(amounts: Mapping[str, int], pods: Iterable[PodFacts]) -> dict[str, int]:
    """Amounts by resource, and what these pods ask for on top."""
    total = dict(amounts)
    for pod in pods:
        for resource, n in pod.shape.request:
            total[resource] = total.get(resource, 0) + n
    return total
