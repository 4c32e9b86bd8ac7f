"""Waiting pods of one shape that a scheduler treats alike, and what the nodes say to them.

Nominated pods go before others of the same scheduler that have no higher priority. They are on few
nodes: those are looked at again for each queue, on top of the row that all queues of a shape share.
"""

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from gpu_triage.cluster.census import Census
from gpu_triage.cluster.row import Row, cell
from gpu_triage.cluster.sites import Site, Sites
from gpu_triage.core.detail import Finding, finding
from gpu_triage.core.fit import CODE
from gpu_triage.core.outlook import Outlook
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.survey import Survey
from gpu_triage.core.tally import Tally


class Claimant(msgspec.Struct, frozen=True):
    """Any pod of a queue that is nominated nowhere itself."""

    scheduler: str
    priority: int
    uid: str = ""


class _Reserved(msgspec.Struct, frozen=True):
    """A node that is kept for others who go before, as it was when it was looked at."""

    code: int
    taken: Mapping[str, int]
    shared: int
    """The code in the row, which knows no nominations."""
    site: Site

    def into(self, tally: Tally, times: int) -> None:
        """Counts what is different on the node; -1 takes it out again."""
        tally.add(self.shared, self.site.node, self.site.used, -times)
        tally.add(self.code, self.site.node, self.taken, times)


class Queue:
    """Pods of one shape, one scheduler and one priority."""

    def __init__(self, row: Row, sites: Sites, claimant: Claimant) -> None:
        self.row = row
        self.pods: dict[str, PodFacts] = {}
        """By uid."""
        self._sites = sites
        self._claimant = claimant
        self._outlook = Outlook(row.outlook.shape, row.outlook.picture, claimant)
        self._reserved: dict[str, _Reserved] = {}
        self._difference = Tally(row.outlook.shape)
        """What the reserved nodes change in the row's tally."""
        self._found: Finding | None = None
        self._found_in: tuple[int, int] | None = None
        self._own: dict[str, Finding] = {}
        """What is found for pods that are nominated themselves, by uid."""

    def put(self, pod: PodFacts) -> None:
        """Takes a pod as it is now."""
        self.pods[pod.uid] = pod
        self._own.pop(pod.uid, None)
        if pod.nominated:
            self._found_in = None

    def drop(self, uid: str) -> None:
        """Forgets a pod."""
        del self.pods[uid]
        self._own.pop(uid, None)

    def reserve(self, names: Collection[str]) -> None:
        """Takes the nominations to these nodes, and the nodes, as they are now."""
        picture = self._outlook.picture
        for name in names:
            before = self._reserved.pop(name, None)
            if before is not None:
                before.into(self._difference, -1)
                self._found_in = None
            if name in picture.nodes and picture.reserved_for_others(self._claimant, name):
                place, site = self._sites.at(name)
                code, taken = cell(self._outlook, site), self._outlook.taken(name)
                after = _Reserved(code, taken, self.row.code(place, site), site)
                after.into(self._difference, 1)
                self._reserved[name] = after
                self._found_in = None

    def told(self, pod: PodFacts) -> Finding:
        """What the nodes say to a pod of this queue, as of the last renewal."""
        found = self._own.get(pod.uid, self._found)
        assert found is not None  # a queue is renewed before it is asked
        return found

    def renew(self, census: Census) -> list[str]:
        """Asks the nodes again where something has changed; returns the pods it matters to."""
        versions = self.row.version, census.version
        if self._found_in == versions:
            return []
        tally = self._tally()
        found = finding(tally, census) if self._reserved else self.row.found(census)
        differs = found != self._found
        self._found, self._found_in = found, versions
        changed = []
        for uid, pod in self.pods.items():
            before = self._own.pop(uid, None)
            if pod.nominated in self._outlook.picture.nodes:
                self._own[uid] = self._own_finding(pod, tally, census)
            if differs or before != self._own.get(uid):
                changed.append(uid)
        return changed

    def survey(self, pod: PodFacts) -> Survey:
        """A pod of this queue held against every node."""
        shape, picture = self._outlook.shape, self._outlook.picture
        codes = self.row.codes(self._sites)
        codes.update({name: each.code & CODE for name, each in self._reserved.items()})
        if pod.nominated in codes:
            _, site = self._sites.at(pod.nominated)
            codes[pod.nominated] = cell(Outlook(shape, picture, pod), site) & CODE
        return Survey(shape, picture, pod, pod, codes, Counter(codes.values()))

    def _tally(self) -> Tally:
        if not self._reserved:
            return self.row.tally
        return self.row.tally.plus(self._difference)

    def _own_finding(self, pod: PodFacts, tally: Tally, census: Census) -> Finding:
        """A pod's own nomination does not stand in its way, as it does in that of the others."""
        name = pod.nominated
        place, site = self._sites.at(name)
        own = Outlook(self._outlook.shape, self._outlook.picture, pod)
        tally = tally.copy()
        if (kept := self._reserved.get(name)) is not None:
            tally.add(kept.code, site.node, kept.taken, -1)
        else:
            tally.add(self.row.code(place, site), site.node, site.used, -1)
        tally.add(cell(own, site), site.node, own.taken(name))
        return finding(tally, census)
