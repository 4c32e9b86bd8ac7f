"""Nodes that are looked at together: a requirement is asked once for each value they have."""

from collections.abc import Sequence

from gpu_triage.cluster.sites import Move
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import Requirement, Selector


class Batch:
    """What became of some nodes, and which of those that are there now a selector chooses."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self.left = [(move.before.kind, move.place) for move in moves if move.before]
        """What was in the places that are another's or nobody's now, or look different."""
        self.sites = [move.after for move in moves if move.after]
        self.kinds = [site.kind for site in self.sites]
        self.places = [move.place for move in moves if move.after]
        self._columns: dict[str | None, tuple[list[str | None], set[str | None]]] = {}
        self._met: dict[Requirement, int] = {}
        self._starting = [at for at, site in enumerate(self.sites) if site.starting]

    def looks(self, selector: Selector, rules: Rules) -> bytes:
        """For each site: 2 where the selector chooses it, 1 where it may once it is up, else 0."""
        every = int.from_bytes(bytes([1]) * len(self.sites))
        looks = bytearray((2 * (selector.choose(self._meeting) & every)).to_bytes(len(self.sites)))
        for at in self._starting:
            node = self.sites[at].node
            if not looks[at] and selector.would_match(node.labels, node.name, rules.is_gpu_label):
                looks[at] = 1
        return bytes(looks)

    def _meeting(self, requirement: Requirement) -> int:
        """The sites that meet a requirement: a byte for each, 1 or 0, read as one number."""
        met = self._met.get(requirement)
        if met is None:
            values, distinct = self._column(None if requirement.field else requirement.key)
            accepted = {value for value in distinct if requirement.accepts(value)}
            met = self._met[requirement] = int.from_bytes(map(accepted.__contains__, values))
        return met

    def _column(self, key: str | None) -> tuple[list[str | None], set[str | None]]:
        """What the sites have for a label, or as their name where no key is given."""
        column = self._columns.get(key)
        if column is None:
            values = [
                site.node.name if key is None else site.node.labels.get(key) for site in self.sites
            ]
            column = self._columns[key] = values, set(values)
        return column
