"""One answer as a person reads it: a word, or all there is to say."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gpu_triage.core.causes import Cause, Detail, EventType
from gpu_triage.core.change import Fix
from gpu_triage.core.fit import Step
from gpu_triage.core.vocabulary import VOCABULARY, sense
from gpu_triage.core.wording import amounts
from gpu_triage.publish.ages import age
from gpu_triage.publish.columns import Cell, Paint, plain, table, wrapped
from gpu_triage.publish.steps import held, how
from gpu_triage.publish.triage import NodeTriage, Triage

MOST_NODES = 15
"""Nodes that the text shows of one pod; all are in the JSON."""
_UNKNOWN = "?"
_NEAREST = (
    Step.FITS,
    Step.UNKNOWN,
    Step.FREE,
    Step.ALLOCATABLE,
    Step.OFFERS,
    Step.TAINT,
    Step.LABEL,
)


class Answer(msgspec.Struct, frozen=True):
    """An answer, and how long the pod has been there."""

    triage: Triage
    age: float | None
    """Seconds since the pod was made; None where that is not known."""


def word(answers: Iterable[Triage], *, namespaces: bool) -> list[str]:
    """Lines of POD WORD, or NAMESPACE/POD WORD."""
    return [
        f"{f'{each.namespace}/' if namespaces else ''}{each.name} {each.cause}" for each in answers
    ]


def one(
    answer: Answer, *, width: int | None = None, paint: Paint = plain, wide: bool = False
) -> list[str]:
    """Everything about one pod: the sentence, what it asks for, the funnel, each node's step.

    Args:
        answer: with nodes.
        width: of the screen, in characters; None: lines as long as they get.
        paint: see columns.Paint.
        wide: whether every node is shown, with numbers.
    """
    it = answer.triage
    told = sense(it.cause, it.detail)
    lines = [
        f"{it.namespace}/{it.name}: {paint(it.cause, style_of(it.cause, it.detail))} ({it.detail})",
        *wrapped(f"{VOCABULARY[it.cause].title}: {told.meaning}.", width),
        "",
        *wrapped(it.message, width),
        "",
        *_facts(answer, told.advice, width, paint),
    ]
    if it.holders:
        lines += ["", *held(it.holders, paint)]
    if it.funnel is not None:
        lines += ["", *_funnel(it, paint)]
    if it.nodes:
        lines += ["", *_nodes(it.nodes, list(it.request), paint, wide=wide)]
    return lines


def _facts(answer: Answer, advice: str, width: int | None, paint: Paint) -> Iterator[str]:
    it = answer.triage
    pairs = [("Asks for", amounts(it.request) or "no GPU")]
    if it.node:
        pairs.append(("Node", it.node))
    if answer.age is not None:
        pairs.append(("Age", age(answer.age)))
    if it.since:
        pairs.append(("Since", f"{it.since} ({it.cause}, by the operator)"))
    if it.source == "published":
        pairs.append(("Source", "the operator's annotation; nodes or pods could not be read here"))
    if it.dra:
        pairs.append(("DRA", "DeviceClasses may not be read: taken as absent"))
    pairs.append(("Next step", _step(it.fix) or advice))
    for name, text in pairs:
        first, *rest = wrapped(text, width - 11 if width else None)
        yield f"{paint(name, 'heading')}{' ' * (11 - len(name))}{first}"
        yield from (f"{' ' * 11}{line}" for line in rest)
    yield from (f"{' ' * 11}{line}" for line in how(it.fix, it.workload or ""))


def _step(fix: Fix | None) -> str:
    """What a fix says, as a sentence of its own."""
    if fix is None or not fix.says:
        return ""
    return fix.says if fix.says.endswith(".") else f"{fix.says[0].upper()}{fix.says[1:]}."


def _funnel(it: Triage, paint: Paint) -> list[str]:
    assert it.funnel is not None
    left = it.funnel
    resources = " and ".join(it.request)
    steps: list[tuple[int | None, str, str]] = [
        (left.nodes, "nodes", "all of the cluster"),
        (left.label, "label", "its nodeSelector and required affinity hold"),
        (left.offering, "offering", f"only those that offer {resources}, if any of them does"),
        (left.taint, "taint", "no taint that it does not tolerate"),
        (left.offers, "offers", f"{resources} stands in their status"),
        (left.allocatable, "allocatable", "above 0"),
        (left.free, "free", f"enough left for {amounts(it.request)}"),
    ]
    rows = []
    for n, step, text in steps:
        stop = n == 0
        style = "bad" if stop else ""
        told = f"{text}  <-- {it.cause}" if stop else text
        rows.append((Cell(number(n), style), Cell(step, style), Cell(told, style)))
        if stop or n is None:
            break
    return table(("LEFT>", "AFTER STEP", "THAT IS"), rows, paint)


def _nodes(
    nodes: Sequence[NodeTriage], resources: Sequence[str], paint: Paint, *, wide: bool
) -> list[str]:
    ordered = sorted(nodes, key=lambda node: _nearness(node, resources))
    shown = ordered if wide else ordered[:MOST_NODES]
    header = ["NODE", "STEP", "WHY"]
    if wide:
        header[2:2] = ["RESOURCE", "CAPACITY>", "ALLOCATABLE>", "USED>", "FREE>"]
    rows: list[Sequence[str]] = []
    for node in shown:
        step = Cell(node.step, "good" if node.step is Step.FITS else "")
        if not wide:
            rows.append((node.name, step, node.reason))
            continue
        for index, resource in enumerate(resources):
            rows.append(
                (
                    "" if index else node.name,
                    "" if index else step,
                    resource,
                    number_of(node.capacity, resource),
                    number_of(node.allocatable, resource),
                    number_of(node.used, resource),
                    number_of(node.free, resource),
                    "" if index else node.reason,
                )
            )
    lines = table(header, rows, paint)
    if rest := ordered[len(shown) :]:
        by_step = Counter(node.step for node in rest)
        parts = ", ".join(f"{by_step[step]} at {step}" for step in _NEAREST if by_step[step])
        lines.append(f"{len(rest)} more nodes: {parts} (all of them: -o wide or -o json)")
    return lines


def _nearness(node: NodeTriage, resources: Sequence[str]) -> tuple[int, int, int, str]:
    """Nodes that got furthest first; of those alike, the ones with most GPUs of the kind."""
    usable = sum(node.allocatable.get(resource, 0) for resource in resources)
    known = sum(node.capacity.get(resource, 0) for resource in resources)
    return _NEAREST.index(node.step), -usable, -known, node.name


def style_of(cause: Cause, detail: Detail | None = None) -> str:
    """The look of a word: good, bad where somebody must act, wait where time helps."""
    if cause in (Cause.OK, Cause.NO_REQUEST):
        return "good" if cause is Cause.OK else "faint"
    if detail is not None and sense(cause, detail).event is not EventType.WARNING:
        return "wait"
    return "bad"


def number_of(amounts: dict[str, int] | None, resource: str) -> str:
    """One of several amounts; ``?`` where they are not known."""
    return _UNKNOWN if amounts is None else str(amounts.get(resource, "-"))


def number(n: int | None) -> str:
    """An amount; ``?`` where it is not known."""
    return _UNKNOWN if n is None else str(n)
