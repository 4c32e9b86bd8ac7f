"""Whether our codes and the scheduler's answers agree, question by question."""

from collections import Counter
from collections.abc import Iterator

import msgspec

from gpu_triage.core import fit
from gpu_triage.core.causes import Cause
from gpu_triage.core.classify import classify
from gpu_triage.core.facts import PodFacts
from gpu_triage.core.funnel import decide

from . import text
from .clusters import pinned
from .manifests import changed
from .narrowing import Variant, conflicts, named_only, narrow
from .predict import EVERY, Known, difference
from .record import Asked, Measure, Record
from .versions import Difference, Version
from .word import truth, word

NOW = 1_800_000_000.0


class Disagreement(msgspec.Struct, frozen=True):
    """One question to which we and the scheduler give different answers."""

    asked: Asked | None
    """None where an object says something else as it was written than as it is stored."""
    ours: str
    theirs: str


class Tally(msgspec.Struct):
    """What was compared, and what came out."""

    answers: Counter[str] = msgspec.field(default_factory=Counter)
    """Texts and bindings that were compared, by measure."""
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)
    """Pods times nodes that the answers speak of, by measure; narrowed variants count once."""
    steps: Counter[str] = msgspec.field(default_factory=Counter)
    """Narrowed verdicts by the first of our steps that the node fails."""
    words: Counter[str] = msgspec.field(default_factory=Counter)
    """Pods by the word that follows from the narrowed answers."""
    texts: Counter[str] = msgspec.field(default_factory=Counter)
    """Pods by that word and by what the scheduler says of most nodes: they may differ."""
    differences: Counter[str] = msgspec.field(default_factory=Counter)
    """Verdicts in which a declared difference between versions decides."""
    disagreements: list[Disagreement] = []


class Judge:
    """One record, judged."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.version = Version(record.version)
        self.difference = difference(record, self.version)
        self.ours = Known(record)
        self.theirs = Known(record, self.version) if self.difference else self.ours
        self._codes: dict[str, tuple[PodFacts, dict[str, int], dict[str, int]]] = {}
        self.tally = Tally()

    def all(self) -> Iterator[Disagreement]:
        """Every disagreement, as it is found; the tally is complete when all were taken."""
        for each in self._found():
            self.tally.disagreements.append(each)
            yield each

    def _found(self) -> Iterator[Disagreement]:
        for name, ours, theirs in changed(self.record):
            yield Disagreement(None, f"{name} as written: {ours}", f"as stored: {theirs}")
        bound = [each for each in self.record.asked if each.measure is Measure.BOUND]
        for asked in self.record.asked:
            if asked.measure is not Measure.BOUND:
                yield from self._compared(asked)
        # Before anything is bound, which changes what is free.
        yield from self._words()
        for asked in bound:
            yield from self._compared(asked)

    def _compared(self, asked: Asked) -> Iterator[Disagreement]:
        told = text.read(asked.text)
        self.tally.answers[asked.measure] += 1
        self.tally.differences[Difference.OLD_TAINT_TEXT] += told.old_taint_text
        match asked.measure:
            case Measure.NARROWED:
                yield from self._narrowed(asked, told)
            case Measure.HISTOGRAM:
                yield from self._histogram(asked, told)
            case Measure.NOMINATED:
                yield from self._nominated(asked, told)
            case _:
                yield from self._bound(asked, told)

    def _narrowed(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        facts, ours, theirs = self._known(asked.pod)
        variant, name = Variant(asked.variant), asked.node
        first = variant is Variant.AS_IS
        if first:
            self.tally.verdicts[asked.measure] += 1
            self.tally.steps[fit.step(ours[name])] += 1
        if ours[name] != theirs[name] and self.difference:
            self.tally.differences[self.difference] += first
        if conflicts(narrow(asked.pod, name, variant)) and not theirs[name] & fit.LABEL:
            expected = {text.CONFLICT}
        else:
            expected = set(
                self.theirs.reasons(
                    facts,
                    asked.pod,
                    name,
                    theirs[name],
                    tolerant=variant.tolerant,
                    anywhere=variant.anywhere,
                )
            ) or {text.AFFINITY}
        actual = {told.whole} if told.whole else set(told.reasons) - {text.ABSENT}
        if actual != expected or told.reasons[text.ABSENT] != max(0, told.nodes - 1) * (
            not told.whole
        ):
            yield Disagreement(asked, ", ".join(sorted(expected)), asked.text)

    def _words(self) -> Iterator[Disagreement]:
        """The word for each pod in its own cluster follows from what the scheduler says there."""
        nodes = {node["metadata"]["name"]: node for node in self.record.nodes}
        served = set(self.theirs.inventory.picture.classes)
        answers: dict[str, dict[str, dict[Variant, text.Told]]] = {}
        pods: dict[str, Asked] = {}
        for asked in self.record.asked:
            if asked.measure is Measure.NARROWED:
                name = asked.pod["metadata"]["name"]
                pods[name] = asked
                about = answers.setdefault(name, {}).setdefault(asked.node, {})
                about[Variant(asked.variant)] = text.read(asked.text)
        for name, asked in pods.items():
            pod = pinned(asked.pod)
            facts = self.ours.facts(pod)
            if self.difference and self.ours.codes(facts) != self.theirs.codes(facts):
                self.tally.differences[self.difference] += 1
                continue
            resources = [resource for resource, _ in facts.shape.request]
            truths = [
                truth(told, nodes[node], resources, served) for node, told in answers[name].items()
            ]
            theirs = word(truths)
            ours = classify(facts, self.ours.inventory.picture, NOW).cause
            self.tally.verdicts[Measure.WORD] += 1
            self.tally.words[theirs] += 1
            most = text.most(told[Variant.AS_IS] for told in answers[name].values())
            self.tally.texts[f"{theirs}: {most}"] += 1
            if ours is not theirs:
                plain = msgspec.structs.replace(asked, measure=Measure.WORD, pod=pod)
                yield Disagreement(plain, ours, theirs)

    def _histogram(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        facts, ours, theirs = self._known(asked.pod)
        yield from self._counts(asked, told, facts, (ours, theirs), text.AFFINITY)

    def _nominated(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        assert asked.stored is not None
        knowns = (self.ours,) if self.ours is self.theirs else (self.ours, self.theirs)
        facts = self.ours.facts(asked.stored)
        for known in knowns:
            known.inventory.put_pod(facts)
        codes = (self.ours.codes(facts), self.theirs.codes(facts))
        yield from self._counts(asked, told, facts, codes, text.AFFINITY)
        for known in knowns:
            known.inventory.drop_pod(facts.uid)

    def _bound(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        facts = self.ours.facts(asked.pod)
        ours, theirs = self.ours.codes(facts), self.theirs.codes(facts)
        self.tally.verdicts[asked.measure] += 1
        said = classify(facts, self.ours.inventory.picture, NOW).cause
        if ours != theirs and self.difference:
            self.tally.differences[self.difference] += 1
            said = decide(Counter(theirs.values()))
        fitting = [n for n, code in theirs.items() if code & EVERY == EVERY and not code & fit.DRA]
        free = [
            name
            for name in fitting
            if not self.theirs.reasons(
                facts, asked.pod, name, theirs[name], tolerant=False, anywhere=False
            )
        ]
        if asked.node:
            if said is not Cause.NOT_GPU or asked.node not in free:
                yield Disagreement(asked, f"{said}; room on {free}", f"bound to {asked.node}")
            assert asked.stored is not None
            for known in {id(each): each for each in (self.ours, self.theirs)}.values():
                known.inventory.put_pod(known.facts(asked.stored))
        elif free or (said is Cause.NOT_GPU and not fitting):
            yield Disagreement(asked, f"{said}; room on {free}", asked.text)
        elif (said is Cause.UNKNOWN) != (told.reasons[text.DEVICES] > 0 and not fitting):
            yield Disagreement(asked, said, asked.text)
        else:
            yield from self._counts(asked, told, facts, (ours, theirs), text.DEVICES, count=False)

    def _counts(
        self,
        asked: Asked,
        told: text.Told,
        facts: PodFacts,
        codes: tuple[dict[str, int], dict[str, int]],
        last: str,
        *,
        count: bool = True,
    ) -> Iterator[Disagreement]:
        """The counts by reason over all nodes; ``last`` is what nodes say that pass everything."""
        ours, theirs = codes
        if count:
            self.tally.verdicts[asked.measure] += len(ours)
            if self.difference:
                differing = sum(ours[name] != theirs[name] for name in ours)
                self.tally.differences[self.difference] += differing
        named = named_only(asked.pod)
        expected: Counter[str] = Counter()
        for name, code in theirs.items():
            if named is not None and name not in named:
                expected[text.ABSENT if not code & fit.LABEL else "nothing"] += 1
                continue
            found = self.theirs.reasons(
                facts, asked.pod, name, code, tolerant=False, anywhere=False
            )
            expected.update(found or (last,))
        if (named == set() or not theirs) and expected == Counter({text.ABSENT: len(theirs)}):
            agrees = told.whole == (text.CONFLICT if theirs else text.NO_NODES)
        else:
            agrees = not told.whole and told.reasons == expected
        if not agrees or told.nodes != len(theirs):
            yield Disagreement(asked, text.listing(expected), asked.text)

    def _known(self, pod: dict) -> tuple[PodFacts, dict[str, int], dict[str, int]]:
        """The facts of an asking pod and the codes of every node, worked out once."""
        name = pod["metadata"]["name"]
        if name not in self._codes:
            facts = self.ours.facts(pod)
            ours = self.ours.codes(facts)
            theirs = ours if self.theirs is self.ours else self.theirs.codes(facts)
            self._codes[name] = facts, ours, theirs
        return self._codes[name]


def judge(record: Record) -> Tally:
    """Everything that a record holds."""
    judged = Judge(record)
    for _ in judged.all():
        pass
    return judged.tally
