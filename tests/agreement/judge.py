"""Whether our codes and the scheduler's answers agree, question by question."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpu_triage.core import fit
from gpu_triage.core.causes import Cause
from gpu_triage.core.classify import classify
from gpu_triage.core.funnel import decide
from gpu_triage.core.pod_facts import PodFacts

from . import text
from .clusters import pinned
from .manifests import changed
from .narrowing import Variant, conflicts, named_only, narrow
from .predict import EVERY
from .record import Asked, Measure, Record
from .sides import Codes, Sides
from .tally import Disagreement, Tally
from .versions import Difference
from .word import truth, word

NOW = 1_800_000_000.0


class Judge:
    """One record, judged."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.sides = Sides(record)
        self.theirs = self.sides.theirs
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
        self._declare(asked.measure, {Difference.OLD_TAINT_TEXT: told.old_taint_text})
        match asked.measure:
            case Measure.NARROWED:
                yield from self._narrowed(asked, told)
            case Measure.HISTOGRAM:
                yield from self._histogram(asked, told)
            case Measure.NOMINATED:
                yield from self._nominated(asked, told)
            case _:
                yield from self._bound(asked, told)

    def _declare(self, measure: Measure, verdicts: Mapping[Difference, int]) -> None:
        """Counts verdicts in which a declared difference decides."""
        for difference, count in verdicts.items():
            if count:
                self.tally.differences[f"{measure}: {difference}"] += count

    def _narrowed(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        facts, codes = self.sides.known(asked.pod)
        variant, name = Variant(asked.variant), asked.node
        theirs = codes.theirs
        if variant is Variant.AS_IS:
            self.tally.verdicts[asked.measure] += 1
            self.tally.steps[fit.step(codes.ours[name])] += 1
            self._declare(asked.measure, codes.decisive([name]))
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
            facts = self.sides.ours.facts(pod)
            resources = [resource for resource, _ in facts.shape.request]
            truths = [
                truth(told, nodes[node], resources, self.theirs.served(node))
                for node, told in answers[name].items()
            ]
            theirs = word(truths)
            ours = self._word(facts, answers[name], Measure.WORD)
            self.tally.verdicts[Measure.WORD] += 1
            self.tally.words[theirs] += 1
            most = text.most(told[Variant.AS_IS] for told in answers[name].values())
            self.tally.texts[f"{theirs}: {most}"] += 1
            if ours is not theirs:
                plain = msgspec.structs.replace(asked, measure=Measure.WORD, pod=pod)
                yield Disagreement(plain, ours, theirs)

    def _word(self, facts: PodFacts, nodes: Iterable[str], measure: Measure) -> Cause:
        """The classifier's word, or the declared one where the version differs on these nodes."""
        codes = self.sides.codes(facts)
        decisive = codes.decisive(name for name in nodes if codes.ours[name] & fit.LABEL)
        if not decisive:
            return classify(facts, self.sides.ours.inventory.picture, NOW).cause
        self._declare(measure, dict.fromkeys(decisive, 1))
        return decide(Counter(codes.theirs.values()))

    def _histogram(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        facts, codes = self.sides.known(asked.pod)
        self._count(asked.measure, codes)
        yield from self._counts(asked, told, facts, codes, text.AFFINITY)

    def _nominated(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        assert asked.stored is not None
        facts = self.sides.ours.facts(asked.stored)
        self.sides.put(facts)
        codes = self.sides.codes(facts)
        self._count(asked.measure, codes)
        yield from self._counts(asked, told, facts, codes, text.AFFINITY)
        self.sides.drop(facts)

    def _bound(self, asked: Asked, told: text.Told) -> Iterator[Disagreement]:
        facts = self.sides.ours.facts(asked.pod)
        codes = self.sides.codes(facts)
        theirs = codes.theirs
        self.tally.verdicts[asked.measure] += 1
        said = self._word(facts, theirs, asked.measure)
        passing = [
            name
            for name, code in theirs.items()
            if code & EVERY == EVERY
            and not self.theirs.reasons(
                facts, asked.pod, name, code, tolerant=False, anywhere=False
            )
        ]
        fitting = [n for n, code in theirs.items() if code & EVERY == EVERY and not code & fit.DRA]
        free = [name for name in fitting if name in passing]
        too_many = any(self.theirs.over_claim_limit(facts, name) for name in passing)
        if asked.node:
            if said is not Cause.NOT_GPU or asked.node not in free:
                yield Disagreement(asked, f"{said}; room on {free}", f"bound to {asked.node}")
            assert asked.stored is not None
            self.sides.put(self.sides.ours.facts(asked.stored))
        elif too_many and (text.CLAIM_LIMIT in told.whole or not free):
            # An error ends the attempt, perhaps before a node with room is looked at.
            if text.CLAIM_LIMIT not in told.whole:
                yield Disagreement(asked, text.CLAIM_LIMIT, asked.text)
        elif free or (said is Cause.NOT_GPU and not fitting):
            yield Disagreement(asked, f"{said}; room on {free}", asked.text)
        else:
            yield from self._counts(asked, told, facts, codes, text.DEVICES)

    def _count(self, measure: Measure, codes: Codes) -> None:
        """Counts one verdict a node."""
        self.tally.verdicts[measure] += len(codes.ours)
        self._declare(measure, codes.decisive(codes.ours))

    def _counts(
        self, asked: Asked, told: text.Told, facts: PodFacts, codes: Codes, last: str
    ) -> Iterator[Disagreement]:
        """The counts by reason over all nodes; ``last`` is what nodes say that pass everything."""
        theirs = codes.theirs
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


def judge(record: Record) -> Tally:
    """Everything that a record holds."""
    judged = Judge(record)
    for _ in judged.all():
        pass
    return judged.tally
