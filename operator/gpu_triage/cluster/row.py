"""How all nodes look to the pods of one shape: a code for each node, and how many have which."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

from gpu_triage.cluster.census import Census
from gpu_triage.cluster.sites import Kind, Move, Site, Sites
from gpu_triage.core.detail import Finding, finding
from gpu_triage.core.facts import Shape
from gpu_triage.core.fit import node_code
from gpu_triage.core.outlook import Outlook
from gpu_triage.core.picture import Picture
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import Selector
from gpu_triage.core.tally import Tally
from gpu_triage.core.traits import is_short, with_traits


def alike(selector: Selector, site: Site, rules: Rules) -> int:
    """A number that is the same for nodes that have the same code for all who choose so."""
    node = site.node
    if selector.matches(node.labels, node.name):
        look = 2
    elif site.starting:
        look = int(selector.would_match(node.labels, node.name, rules.is_gpu_label))
    else:
        look = 0
    return site.kind.number * 3 + look


def cell(outlook: Outlook, site: Site) -> int:
    """A node's code and traits."""
    taken = outlook.taken(site.node.name)
    code = node_code(outlook.shape, site.node, taken, outlook.picture.classes)
    return with_traits(code, outlook, site.node, young=site.young)


class Row:
    """The nodes for one shape, as if nobody were nominated to any."""

    def __init__(self, shape: Shape, picture: Picture) -> None:
        self.outlook = Outlook(shape, picture, None)
        self.tally = Tally(shape)
        self.cells = array("H")
        """By place; that of an empty place means nothing."""
        self.users = 0
        self.version = 0
        """Another one whenever the tally is another one."""
        self._found: Finding | None = None
        self._found_in = (0, 0)
        self._asks = frozenset(self.outlook.resources())

    def take(self, moves: Sequence[Move], keys: Sequence[int], places: int) -> None:
        """Takes nodes as they are now.

        Args:
            moves: what became of them.
            keys: for each the number that ``alike`` gives to the node that is there now.
            places: how many there are in all.
        """
        cells = self.cells
        cells.extend([0] * (places - len(cells)))
        known: dict[int, int] = {}
        differences: Counter[tuple[int, Kind]] = Counter()
        for move, key in zip(moves, keys, strict=True):
            before, after = move.before, move.after
            if move.resources is not None and self._asks.isdisjoint(move.resources):
                continue
            old = new = cells[move.place]
            if after is not None:
                if key not in known:
                    known[key] = cell(self.outlook, after)
                new = cells[move.place] = known[key]
                if before is not None and old == new and not is_short(new):
                    continue
                differences[new, after.kind] += 1
            if before is not None:
                differences[old, before.kind] -= 1
        for (code, kind), times in differences.items():
            if times:
                self.tally.add(code, kind.example, kind.used, times)
                self.version += 1

    def found(self, census: Census) -> Finding:
        """What the nodes say to pods in whose way no nomination stands."""
        versions = self.version, census.version
        if self._found is None or self._found_in != versions:
            self._found, self._found_in = finding(self.tally, census), versions
        return self._found


class Rows:
    """A row for every shape that is asked for, kept as nodes change."""

    def __init__(self, picture: Picture, sites: Sites) -> None:
        self._picture = picture
        self._sites = sites
        self._rows: dict[Selector, dict[Shape, Row]] = {}
        self._new: list[Row] = []

    def take_up(self, shape: Shape) -> Row:
        """The row of a shape, for one more to use; a new one means something once it is filled."""
        same = self._rows.setdefault(shape.selector, {})
        if shape not in same:
            same[shape] = Row(shape, self._picture)
            self._new.append(same[shape])
        same[shape].users += 1
        return same[shape]

    def leave(self, row: Row) -> None:
        """One less uses a row; one that nobody uses is forgotten."""
        row.users -= 1
        if row.users:
            return
        shape = row.outlook.shape
        del self._rows[shape.selector][shape]
        if not self._rows[shape.selector]:
            del self._rows[shape.selector]

    def update(self, moves: Sequence[Move]) -> None:
        """Takes nodes as they are now into every row."""
        if moves:
            for selector, rows in self._rows.items():
                self._take(selector, rows.values(), moves)

    def fill(self) -> None:
        """Takes all nodes into the rows that are new."""
        by_selector: dict[Selector, list[Row]] = {}
        for row in self._new:
            if row.users:
                by_selector.setdefault(row.outlook.shape.selector, []).append(row)
        self._new = []
        moves = self._sites.all() if by_selector else []
        for selector, rows in by_selector.items():
            self._take(selector, rows, moves)

    def _take(self, selector: Selector, rows: Iterable[Row], moves: Sequence[Move]) -> None:
        """Nodes that are alike to one selector are so to every row that has it."""
        rules, places = self._picture.rules, len(self._sites)
        keys = [alike(selector, move.after, rules) if move.after else -1 for move in moves]
        for row in rows:
            row.take(moves, keys, places)
