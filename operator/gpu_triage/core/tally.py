"""How many nodes of a cluster are alike to a pod: all that word and detail are worked out from."""

from collections.abc import Mapping

import msgspec

from gpu_triage.core import traits
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import is_young
from gpu_triage.core.pod_facts import Shape
from gpu_triage.core.survey import Survey


class Tally(msgspec.Struct):
    """Nodes by code and traits, and what is left on those where it is not enough."""

    shape: Shape
    counts: dict[int, int] = {}
    free: dict[str, int] = {}
    """Of what is asked for, over the nodes that are short of it; none counts below 0."""

    def add(self, cell: int, node: NodeFacts, taken: Mapping[str, int], times: int = 1) -> None:
        """Counts a node, or several that are alike.

        Args:
            cell: the node's code and traits.
            node: the node.
            taken: what is not free on it, by resource.
            times: how many; below 0 takes them out again.
        """
        left = self.counts.get(cell, 0) + times
        if left:
            self.counts[cell] = left
        else:
            del self.counts[cell]
        if traits.is_short(cell):
            for name, _ in self.shape.request:
                free = node.allocatable.get(name, 0) - taken.get(name, 0)
                if free > 0:
                    self.free[name] = self.free.get(name, 0) + free * times

    def copy(self) -> "Tally":
        """A tally that can be changed by itself."""
        return Tally(self.shape, dict(self.counts), dict(self.free))

    def plus(self, other: "Tally") -> "Tally":
        """This and what another, which may count below 0, changes in it."""
        sum_ = self.copy()
        for cell, n in other.counts.items():
            if left := sum_.counts.get(cell, 0) + n:
                sum_.counts[cell] = left
            else:
                del sum_.counts[cell]
        for name, n in other.free.items():
            sum_.free[name] = sum_.free.get(name, 0) + n
        return sum_

    def having(self, needed: int, without: int = 0) -> dict[int, int]:
        """Those that have all bits of ``needed`` and none of ``without``."""
        return {
            cell: n
            for cell, n in self.counts.items()
            if cell & needed == needed and not cell & without
        }

    def any(self, bits: int, without: int = 0) -> bool:
        """Whether a node has all of these bits and none of those."""
        return any(cell & bits == bits and not cell & without for cell in self.counts)


def tally(seen: Survey, now: float) -> Tally:
    """The nodes of a survey, counted."""
    counted = Tally(seen.shape)
    rules = seen.picture.rules
    for name, code in seen.codes.items():
        node = seen.picture.nodes[name]
        cell = traits.with_traits(code, seen, node, young=is_young(node, rules, now))
        counted.add(cell, node, seen.taken(name) if traits.is_short(cell) else {})
    return counted
