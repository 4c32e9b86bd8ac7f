"""The raw words of all waiting pods, kept as the cluster changes.

Asking the classifier for each pod anew costs pods times nodes. Here a change of one node is looked
at once for each shape of pods, and a pod only when what the nodes say to it has changed. The rules
are the classifier's: both call the same functions, and come to the same words.

Where much has changed, or shapes are many, that takes seconds. So it is done in steps, and others
get a turn between them.
"""

import math
from collections.abc import Generator, Mapping, Set

from gpu_triage.cluster.agenda import Agenda
from gpu_triage.cluster.census import Census
from gpu_triage.cluster.fleet import Fleet
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.patience import Patience
from gpu_triage.cluster.queues import Queues
from gpu_triage.cluster.sites import Sites
from gpu_triage.core.causes import Detail
from gpu_triage.core.classify import Raw, at_sight, with_nodes
from gpu_triage.core.detail import awaits_start
from gpu_triage.core.obstacles import end_of_start
from gpu_triage.core.patience import end_of_scaling, end_of_waiting
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.survey import Verdict

NODES_AT_ONCE = 250
"""So many nodes are looked at in one step."""

Steps = Generator[None, None, set[str]]


class Engine:
    """Follows an inventory."""

    def __init__(self, inventory: Inventory) -> None:
        self.fleet = Fleet(inventory.picture.rules)
        """The GPUs of all nodes as of the last refresh."""
        self._inventory = inventory
        self._picture = inventory.picture
        self._sites = Sites(self._picture)
        self._census = Census()
        self._queues = Queues(self._picture, self._sites)
        self._nominated: set[str] = set()
        """Nodes to which pods are nominated."""
        self._words: dict[str, Raw] = {}
        self._patience = Patience(inventory)
        self._ends = Agenda()
        """When a pod has waited too long for a node that is to come."""
        self._now = 0.0

    @property
    def words(self) -> Mapping[str, Raw]:
        """The words of all waiting pods as of the last refresh, by uid."""
        return self._words

    @property
    def next(self) -> float:
        """When to refresh if nothing changes before, in seconds since 1970."""
        return min(self._sites.next, self._ends.next)

    def refresh(self, now: float) -> set[str]:
        """Takes in what has changed in the inventory.

        Args:
            now: seconds since 1970.

        Returns:
            The uids of pods that have changed, are gone, or have other words than before.
        """
        steps = self.steps(now)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                told: set[str] = end.value
                return told

    def steps(self, now: float) -> Steps:
        """The same in steps of a few milliseconds.

        Until the last one has been made the inventory must stay as it is, no other refresh may
        begin, and each pod's words are either those of before or the new ones.
        """
        changes = self._inventory.take_changes()
        names, due = set(changes.nodes), set(changes.pods)
        set_back, self._now = now < self._now, now
        if set_back:  # what had grown old may be young again
            names.update(self._picture.nodes)
        if set_back or changes.unread or changes.classes:
            due.update(self._inventory.pods)
        if changes.classes:  # every code may be another one
            self._queues = Queues(self._picture, self._sites)
        self._patience.look(changes.pods, names, now)
        due |= yield from self._take_nodes(names.union(self._sites.aged(now)), now)
        due.update(self._ends.take(now))
        for uid in due:
            pod = self._waiting(uid)
            if pod is not None and at_sight(pod, self._picture) is None:
                self._queues.put(pod)
            else:
                self._queues.drop(uid)
            yield
        due.update((yield from self._queues.renew(self._census)))
        told = changes.pods
        for uid in due:
            if self._judge(uid, now):
                told.add(uid)
            yield
        return told

    def verdict(self, uid: str) -> Verdict:
        """The words of a waiting pod and what they rest on, as of the last refresh.

        It costs a look at every node, and holds only until the inventory changes.
        """
        pod, raw = self._inventory.pods[uid], self._words[uid]
        return Verdict(pod, raw.cause, raw.detail, self._queues.survey(pod), raw.unread)

    def _take_nodes(self, names: Set[str], now: float) -> Steps:
        """Takes nodes as they are now; returns pods that are nominated to one that came or went."""
        moves, left = [], list(names)
        while left:
            moves += self._sites.update(left[:NODES_AT_ONCE], now)
            del left[:NODES_AT_ONCE]
            yield
        there = self._picture.nominated
        concerned: set[str] = set()
        for move in moves:
            before = move.before.node if move.before else None
            after = move.after.node if move.after else None
            self._census.move(before, after)
            self.fleet.move(move.before, move.after)
            for one, other in ((before, after), (after, before)):
                if one is not None and other is None:
                    concerned.update(there.get(one.name, ()))
        changed = {name for name in names if name in there or name in self._nominated}
        self._nominated = (self._nominated - changed) | (changed & there.keys())
        yield from self._queues.take(moves, changed)
        return concerned

    def _waiting(self, uid: str) -> PodFacts | None:
        pod = self._inventory.pods.get(uid)
        return pod if pod is not None and pod.pending else None

    def _judge(self, uid: str, now: float) -> bool:
        """Finds a pod's words; returns whether they are other ones than before."""
        pod, ends = self._waiting(uid), math.inf
        raw = at_sight(pod, self._picture) if pod is not None else None
        if pod is not None and raw is None:
            found = self._queues.told(pod)
            self._patience.note(pod, awaits_start(found, pod, self._picture, now), now)
            raw = with_nodes(pod, self._picture, found.cause, lambda: found, now)
            ends = self._end(pod, raw.detail, young=found.young, now=now)
        self._ends.put(uid, ends)
        if raw is None:
            return self._words.pop(uid, None) is not None
        changed = self._words.get(uid) != raw
        self._words[uid] = raw
        return changed

    def _end(self, pod: PodFacts, detail: Detail, *, young: bool, now: float) -> float:
        """When a pod has waited too long for what it is told to wait for; infinity: never."""
        match detail:
            case Detail.SCALING_UP:
                return end_of_scaling(pod, self._picture)
            case Detail.NODE_STARTING:
                marked = math.inf if young else end_of_start(pod.created, self._picture.rules, now)
                return min(marked, end_of_waiting(pod, self._picture))
        return math.inf
