"""Which nodes a selector chooses, and of which kinds they are: the same for all who have it."""

from collections import Counter

import msgspec

from gpu_triage.cluster.batch import Batch
from gpu_triage.cluster.sites import Kind, Site
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import Selector

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

    def take(self, batch: Batch, places: int) -> list[Difference]:
        """Takes nodes as they are now; returns what is different, and nothing else.

        Args:
            batch: what became of them.
            places: how many there are in all.
        """
        looks = self._looks
        looks.extend(bytes(places - len(looks)))
        left = [(kind, looks[place]) for kind, place in batch.left]
        new = batch.looks(self._selector, self._rules)
        for place, look in zip(batch.places, new, strict=True):
            looks[place] = look
        groups = list(zip(batch.kinds, new, strict=True))
        counts = Counter(groups)
        for group in left:
            counts[group] -= 1
        examples = dict(zip(groups, batch.sites, strict=True))
        return [Difference(group, n, examples.get(group)) for group, n in counts.items() if n]

    def group(self, place: int, site: Site) -> Group:
        """The group of the node in a place."""
        return site.kind, self._looks[place]
