"""What we say of every node, and what a version is declared to say where it differs."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from gpu_triage.core.pod_facts import PodFacts

from .predict import Known
from .record import Record
from .versions import Difference, Version


class Codes(msgspec.Struct, frozen=True):
    """The codes of every node for one pod."""

    ours: dict[str, int]
    theirs: dict[str, int]
    """With everything that is declared of the version."""
    alone: dict[Difference, dict[str, int]]
    """With one difference only."""

    def decisive(self, names: Iterable[str]) -> Counter[Difference]:
        """On how many of these nodes each difference decides; both, where only both together do."""
        found: Counter[Difference] = Counter()
        for name in names:
            if self.ours[name] != self.theirs[name]:
                some = [
                    each for each, codes in self.alone.items() if codes[name] != self.ours[name]
                ]
                found.update(some or list(self.alone))
        return found


class Sides:
    """A record's cluster as we know it, and as the scheduler of its version does."""

    def __init__(self, record: Record) -> None:
        differences = Version(record.version).differences(
            restarted=record.restarted, classes=bool(record.classes)
        )
        self.ours = Known(record)
        self.theirs = Known(record, differences) if differences else self.ours
        self._alone = {each: Known(record, [each]) for each in differences}
        self._known: dict[str, tuple[PodFacts, Codes]] = {}

    def codes(self, facts: PodFacts) -> Codes:
        """The codes of every node for a pod, as everything stands now."""
        ours = self.ours.codes(facts)
        if self.theirs is self.ours:
            return Codes(ours, ours, {})
        alone = {each: known.codes(facts) for each, known in self._alone.items()}
        return Codes(ours, self.theirs.codes(facts), alone)

    def known(self, pod: dict) -> tuple[PodFacts, Codes]:
        """The facts and codes of an asking pod, worked out once, before anything is bound."""
        name = pod["metadata"]["name"]
        if name not in self._known:
            facts = self.ours.facts(pod)
            self._known[name] = facts, self.codes(facts)
        return self._known[name]

    def put(self, facts: PodFacts) -> None:
        """Lets a pod stand."""
        for known in self._all():
            known.inventory.put_pod(facts)

    def drop(self, facts: PodFacts) -> None:
        """Lets a pod stand no more."""
        for known in self._all():
            known.inventory.drop_pod(facts.uid)

    def _all(self) -> list[Known]:
        if self.theirs is self.ours:
            return [self.ours]
        return [self.ours, self.theirs, *self._alone.values()]
