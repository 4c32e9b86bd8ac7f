"""A row for every shape that pods wait in, kept as nodes change."""

from collections.abc import Iterator, Sequence

import msgspec

from gpu_triage.cluster.batch import Batch
from gpu_triage.cluster.choice import Choice
from gpu_triage.cluster.row import Row
from gpu_triage.cluster.sites import Move, Sites
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import Shape
from gpu_triage.core.selector import Selector  # noqa: TC001


class _Family(msgspec.Struct):
    """Shapes that choose their nodes alike."""

    choice: Choice
    rows: dict[Shape, Row] = {}
    new: list[Row] = []


class Rows:
    """All rows. A new one means something once it is filled."""

    def __init__(self, picture: Picture, sites: Sites) -> None:
        self._picture = picture
        self._sites = sites
        self._families: dict[Selector, _Family] = {}
        self._growing: list[_Family] = []

    def take_up(self, shape: Shape) -> Row:
        """The row of a shape, for one more to use."""
        family = self._families.get(shape.selector)
        if family is None:
            family = _Family(Choice(shape.selector, self._picture.rules))
            self._families[shape.selector] = family
        row = family.rows.get(shape)
        if row is None:
            row = family.rows[shape] = Row(shape, family.choice, self._picture)
            if not family.new:
                self._growing.append(family)
            family.new.append(row)
        row.users += 1
        return row

    def leave(self, row: Row) -> None:
        """One less uses a row; one that nobody uses is forgotten."""
        row.users -= 1
        if not row.users:
            shape = row.outlook.shape
            family = self._families[shape.selector]
            del family.rows[shape]
            if not family.rows:
                del self._families[shape.selector]

    def update(self, moves: Sequence[Move]) -> Iterator[None]:
        """Takes nodes as they are now into every row, in steps."""
        if moves:
            batch = Batch(moves)
            for family in self._families.values():
                differences = family.choice.take(batch, len(self._sites))
                for row in family.rows.values():
                    row.take(differences)
                    yield

    def fill(self) -> Iterator[None]:
        """Takes all nodes into the rows that are new, in steps."""
        batch = Batch(self._sites.all() if self._growing else [])
        for family in self._growing:
            differences = family.choice.take(batch, len(self._sites))
            for row in family.new:
                row.take(differences)
                yield
            family.new = []
        self._growing = []
