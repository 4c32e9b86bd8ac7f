"""How the nodes look to pods of one shape: what is free for them, and whether it is enough."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.picture import Claim, Picture
from gpu_triage.core.pod_facts import Shape


class Outlook(msgspec.Struct, frozen=True):
    """What the rules for one node need to know besides the node."""

    shape: Shape
    picture: Picture
    claim: Claim | None
    """Whose turn it is; None: nominations are left out of what is taken."""

    def taken(self, node: str) -> Mapping[str, int]:
        """What is not free on a node, by resource: used, or reserved for those who go before."""
        if self.claim is None:
            return self.picture.used_on(node)
        return self.picture.taken_from(self.claim, node)

    def free(self, node: NodeFacts, resource: str) -> int:
        """Devices left on a node; below 0 where more is held than is allocatable."""
        return node.allocatable.get(resource, 0) - self.taken(node.name).get(resource, 0)

    def fits(self, amount: Callable[[str], int]) -> bool:
        """Whether every resource that is asked for is covered by ``amount`` of it."""
        return all(amount(resource) >= n for resource, n in self.shape.request)

    def resources(self) -> Iterator[str]:
        """The resources that are asked for."""
        return (resource for resource, _ in self.shape.request)
