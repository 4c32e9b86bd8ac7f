"""Which nodes a selector chooses, and of which kinds they are: the same for all who have it."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from gpu_triage.cluster.sites import Kind, Move, Site
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import Selector

_NO, _COMING, _YES = range(3)


Group = tuple[Kind, int]
"""Nodes that no rule tells apart: of one kind, and chosen alike."""


class Difference(msgspec.Struct, frozen=True):
    """By how many a group is larger now."""

    group: Group
    nodes: int
    example: Site | None
    """One that has come; none where they have only become fewer."""


class Choice:
    """One selector and all nodes."""

    def __init__(self, selector: Selector, rules: Rules) -> None:
        self._selector = selector
        self._rules = rules
        self._looks = bytearray()
        """By place; that of an empty place means nothing."""

    def take(self, moves: Iterable[Move], places: int) -> list[Difference]:
        """Takes nodes as they are now; returns what is different, and nothing else.

        Args:
            moves: what became of them.
            places: how many there are in all.
        """
        looks = self._looks
        looks.extend(bytes(places - len(looks)))
        counts: Counter[Group] = Counter()
        examples: dict[Group, Site] = {}
        for move in moves:
            if move.before is not None:
                counts[move.before.kind, looks[move.place]] -= 1
            if move.after is not None:
                look = looks[move.place] = self._look(move.after)
                group = move.after.kind, look
                counts[group] += 1
                examples[group] = move.after
        return [Difference(group, n, examples.get(group)) for group, n in counts.items() if n]

    def group(self, place: int, site: Site) -> Group:
        """The group of the node in a place."""
        return site.kind, self._looks[place]

    def _look(self, site: Site) -> int:
        node = site.node
        if self._selector.matches(node.labels, node.name):
            return _YES
        if site.starting and self._selector.would_match(
            node.labels, node.name, self._rules.is_gpu_label
        ):
            return _COMING
        return _NO
