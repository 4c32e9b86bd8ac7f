"""How all nodes look to the pods of one shape: a code for each group, and how many have which."""

from collections.abc import Iterable

from gpu_triage.cluster.census import Census
from gpu_triage.cluster.choice import Choice, Difference, Group
from gpu_triage.cluster.sites import Site, Sites
from gpu_triage.core.detail import Finding, finding
from gpu_triage.core.fit import CODE, node_code
from gpu_triage.core.outlook import Outlook
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import Shape
from gpu_triage.core.tally import Tally
from gpu_triage.core.traits import with_traits


def cell(outlook: Outlook, site: Site) -> int:
    """A node's code and traits."""
    taken = outlook.taken(site.node.name)
    code = node_code(outlook.shape, site.node, taken, outlook.picture.classes)
    return with_traits(code, outlook, site.node, young=site.young)


class Row:
    """The nodes for one shape, as if nobody were nominated to any."""

    def __init__(self, shape: Shape, choice: Choice, picture: Picture) -> None:
        self.outlook = Outlook(shape, picture, None)
        self.tally = Tally(shape)
        self.users = 0
        self.version = 0
        """Another one whenever the tally is another one."""
        self._choice = choice
        self._codes: dict[Group, int] = {}
        self._found: Finding | None = None
        self._found_in = (0, 0)

    def take(self, differences: Iterable[Difference]) -> None:
        """Takes groups of nodes as they are now."""
        for each in differences:
            code = self._codes.get(each.group)
            if code is None:
                assert each.example is not None  # a group that was never there cannot get smaller
                code = self._codes[each.group] = cell(self.outlook, each.example)
            kind, _ = each.group
            self.tally.add(code, kind.example, kind.used, each.nodes)
            self.version += 1
            if not kind.nodes:  # it does not come back: its like will be a new kind
                del self._codes[each.group]

    def code(self, place: int, site: Site) -> int:
        """The code and traits of the node in a place."""
        return self._codes[self._choice.group(place, site)]

    def codes(self, sites: Sites) -> dict[str, int]:
        """The code of every node, without traits, by name."""
        return {name: self.code(place, site) & CODE for name, place, site in sites.named()}

    def found(self, census: Census) -> Finding:
        """What the nodes say to pods in whose way no nomination stands."""
        versions = self.version, census.version
        if self._found is None or self._found_in != versions:
            self._found, self._found_in = finding(self.tally, census), versions
        return self._found
