"""Every node in its place, with what is taken on it, and which nodes are alike.

Thousands of nodes are of few kinds. What is worked out for one node holds for all that are like it,
so an answer from nothing costs as many evaluations as there are kinds.
"""

import math
from collections.abc import Collection, Hashable, Iterator, Mapping

import msgspec

from gpu_triage.cluster.agenda import Agenda
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import end_of_start, is_marked, is_young
from gpu_triage.core.picture import Picture


class Kind(msgspec.Struct, eq=False):
    """Nodes that no rule tells apart but by their labels and names."""

    likeness: Hashable
    example: NodeFacts
    used: Mapping[str, int]
    nodes: int = 0


class Site(msgspec.Struct, frozen=True, eq=False):
    """A node as it was at one moment."""

    node: NodeFacts
    used: Mapping[str, int]
    staying: Mapping[str, int]
    """What is held by pods that are not being deleted."""
    young: bool
    starting: bool
    """It may be starting, by its age or because it says so."""
    kind: Kind


class Move(msgspec.Struct, frozen=True, eq=False):
    """What became of one place."""

    place: int
    before: Site | None
    after: Site | None


class Sites:
    """All nodes, each in a place of its own for as long as it exists."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._places: dict[str, int] = {}
        self._sites: list[Site | None] = []
        self._order: list[str] | None = None
        self._empty: list[int] = []
        self._kinds: dict[Hashable, Kind] = {}
        self._ages = Agenda()

    def __len__(self) -> int:
        """How many places there are, empty ones among them."""
        return len(self._sites)

    def at(self, name: str) -> tuple[int, Site]:
        """A node's place, and the node in it."""
        place = self._places[name]
        site = self._sites[place]
        assert site is not None  # a place that has a name is taken
        return place, site

    def named(self) -> Iterator[tuple[str, int, Site]]:
        """Every node with its place, by name."""
        if self._order is None:
            self._order = sorted(self._places)
        for name in self._order:
            place = self._places[name]
            site = self._sites[place]
            if site is not None:
                yield name, place, site

    def all(self) -> list[Move]:
        """Every node, as if it had just come."""
        return [Move(place, None, site) for place, site in enumerate(self._sites) if site]

    @property
    def next(self) -> float:
        """When the first node is no longer young."""
        return self._ages.next

    def aged(self, now: float) -> list[str]:
        """Nodes that are no longer young, each told once."""
        return self._ages.take(now)

    def update(self, names: Collection[str], now: float) -> list[Move]:
        """Takes nodes as they are now; returns those that are different, the gone ones first."""
        there = self._picture.nodes
        gone = [self._leave(name) for name in names if name not in there and name in self._places]
        seen = [self._look(there[name], now) for name in names if name in there]
        return gone + [move for move in seen if move is not None]

    def _leave(self, name: str) -> Move:
        place, before = self.at(name)
        del self._places[name]
        self._order = None
        self._sites[place] = None
        self._empty.append(place)
        self._ages.put(name, math.inf)
        self._unkind(before)
        return Move(place, before, None)

    def _look(self, node: NodeFacts, now: float) -> Move | None:
        rules, name = self._picture.rules, node.name
        young = is_young(node, rules, now)
        self._ages.put(name, end_of_start(node.created, rules, now) if young else math.inf)
        used, staying = self._picture.used_on(name), self._picture.staying_on(name)
        before = None
        if name in self._places:
            place, before = self.at(name)
            was = before.node, before.young, before.used, before.staying
            if was == (node, young, used, staying):
                return None
        else:
            place = self._settle(name)
        starting = young or is_marked(node, rules)
        kind = self._kind(node, used, staying, young)
        after = Site(node, used, staying, young, starting, kind)
        self._sites[place] = after
        if before is not None:
            self._unkind(before)
        return Move(place, before, after)

    def _settle(self, name: str) -> int:
        if not self._empty:
            self._empty.append(len(self._sites))
            self._sites.append(None)
        self._places[name] = self._empty.pop()
        self._order = None
        return self._places[name]

    def _kind(
        self, node: NodeFacts, used: Mapping[str, int], staying: Mapping[str, int], young: bool
    ) -> Kind:
        likeness = (node.likeness, _sorted(used), _sorted(staying), young)
        kind = self._kinds.get(likeness)
        if kind is None:
            kind = self._kinds[likeness] = Kind(likeness, node, used)
        kind.nodes += 1
        return kind

    def _unkind(self, site: Site) -> None:
        site.kind.nodes -= 1
        if not site.kind.nodes:
            del self._kinds[site.kind.likeness]


def _sorted(amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(amounts.items()))
