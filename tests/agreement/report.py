"""What a run says at its end: how many verdicts, how fast, what was declared, what disagreed."""

import re
from collections import Counter
from collections.abc import Iterable

from .mutating import Outcome as Survival
from .record import Measure
from .run import Outcome
from .tally import Disagreement


def summary(outcomes: list[Outcome]) -> list[str]:
    """The verdicts and rates of each measure, and all that is no plain agreement."""
    lines = [f"{'measure':<12}{'verdicts':>10}{'answers':>10}{'seconds':>10}{'verdicts/s':>12}"]
    for measure in Measure:
        verdicts = sum(each.tally.verdicts[measure] for each in outcomes)
        answers = sum(each.tally.answers[measure] for each in outcomes)
        seconds = sum(each.record.seconds.get(measure, 0.0) for each in outcomes)
        rate = verdicts / seconds if seconds else 0.0
        lines.append(f"{measure:<12}{verdicts:>10}{answers:>10}{seconds:>10.1f}{rate:>12.0f}")
    steps = _sum(each.tally.steps for each in outcomes)
    first = ", ".join(f"{step} {count}" for step, count in steps.most_common())
    lines.append(f"narrowed verdicts by first failed step: {first}")
    words = _sum(each.tally.words for each in outcomes)
    lines.append(f"pods by word: {', '.join(f'{w} {n}' for w, n in words.most_common())}")
    differences = _sum(each.tally.differences for each in outcomes)
    lines.append(f"decided by a declared difference between versions: {differences.total()}")
    lines += [f"  {count} {what}" for what, count in sorted(differences.items())]
    refused = Counter(_why(text) for each in outcomes for text in each.record.refused)
    lines.append(f"refused by the API server and not asked: {refused.total()}")
    lines += [f"  {count} {why}" for why, count in refused.most_common()]
    lines.append(f"disagreements: {sum(len(each.tally.disagreements) for each in outcomes)}")
    return lines


def described(disagreement: Disagreement) -> str:
    """One disagreement in three lines."""
    asked = disagreement.asked
    what = "an object as it was written and as it is stored"
    if asked is not None:
        where = f" on {asked.node} {asked.variant}" if asked.variant else ""
        what = f"{asked.measure} {asked.pod['metadata']['name']}{where}"
    return f"{what}\n  we predict:     {disagreement.ours}\n  scheduler says: {disagreement.theirs}"


def texts(outcomes: list[Outcome]) -> list[str]:
    """A Markdown table: for each word, what the scheduler says of most nodes."""
    counts = _sum(each.tally.texts for each in outcomes)
    lines = ["| word | what the scheduler says of most nodes | pods |", "|---|---|---|"]
    for pair, count in sorted(counts.items(), key=lambda each: (each[0].split(":")[0], -each[1])):
        word, _, said = pair.partition(": ")
        lines.append(f"| `{word}` | {said} | {count} |")
    return lines


def table(survivals: Iterable[Survival]) -> list[str]:
    """The breakages as a Markdown table: which answers show each."""
    lines = ["| breakage of the classifier | caught by |", "|---|---|"]
    for each in survivals:
        caught = each.measure or f"**survives**: {each.breakage.hidden or 'not explained'}"
        lines.append(f"| {each.breakage.what} | {caught} |")
    return lines


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in counters:
        total.update(each)
    return total


def _why(text: str) -> str:
    """The server's first reason: what it is about, without names, places and values."""
    reason = text.partition("is invalid: ")[2].lstrip("[") or text
    return re.sub(r"\[\d+\]", "[]", reason.split(": ")[0]) + ": " + reason.split(": ")[1]
