"""The one queue of all that waits to be written: what matters most to people comes first."""

from collections.abc import Container
from enum import IntEnum


class Rank(IntEnum):
    """What a write is worth; the lower, the sooner."""

    REMOVAL = 0
    """A word that is not true any more: it goes before all else."""
    WORD = 1
    """A first or another word or detail."""
    EVENT = 2
    """A new Event, whose word stands already."""
    FIX = 3
    """Another next step, the word being the same."""
    SERIES = 4
    """An Event that goes on."""
    NUMBERS = 5
    """Other numbers alone."""


EVENTS = (Rank.EVENT, Rank.SERIES)
"""What is written about Events; all else is about annotations."""


class Queue:
    """Pods by what is to be written on them; of equal rank, who came first."""

    def __init__(self) -> None:
        self._rows: tuple[dict[str, None], ...] = tuple({} for _ in Rank)
        self._ranks: dict[str, Rank] = {}

    def __len__(self) -> int:
        """How many pods wait."""
        return len(self._ranks)

    def put(self, uid: str, rank: Rank) -> None:
        """Puts a pod in its row; it keeps its place where it is there already."""
        if self._ranks.get(uid) is not rank:
            self.drop(uid)
            self._ranks[uid] = rank
            self._rows[rank][uid] = None

    def drop(self, uid: str) -> None:
        """Takes a pod out."""
        if (rank := self._ranks.pop(uid, None)) is not None:
            del self._rows[rank][uid]

    def first(self, closed: Container[Rank] = ()) -> tuple[str, Rank] | None:
        """Who is next, but for those of some ranks."""
        for rank, row in zip(Rank, self._rows, strict=True):
            if row and rank not in closed:
                return next(iter(row)), rank
        return None
