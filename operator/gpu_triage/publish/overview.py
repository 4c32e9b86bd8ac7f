"""Many answers as a person reads them: pods by cause, the sums, the GPUs of the nodes."""

from collections import Counter
from collections.abc import Iterable, Sequence

from gpu_triage.core.causes import Cause
from gpu_triage.core.wording import amounts
from gpu_triage.publish.ages import age
from gpu_triage.publish.columns import Cell, Paint, plain, table, wrapped
from gpu_triage.publish.render import Answer, number, number_of, style_of
from gpu_triage.publish.supply import GPUNode, Supply

_WORDS = {"unschedulable": "cordoned"}


def sorted_by_cause(answers: Iterable[Answer]) -> list[Answer]:
    """By cause in the vocabulary's order, then oldest first."""
    return sorted(answers, key=_order)


def report(
    answers: Sequence[Answer],
    *,
    namespaces: bool,
    width: int | None = None,
    paint: Paint = plain,
    wide: bool = False,
) -> list[str]:
    """Many pods in the order given, then the sum by cause."""
    if wide:
        lines = _wide_rows(answers, paint, namespaces=namespaces)
    else:
        lines = _rows(answers, width, paint, namespaces=namespaces)
    return [*lines, "", *sums(answers, paint)]


def sums(answers: Sequence[Answer], paint: Paint = plain) -> list[str]:
    """How many pods, and what they ask for together, by cause."""
    rows = []
    for cause in Cause:
        asked: Counter[str] = Counter()
        pods = 0
        for each in answers:
            if each.triage.cause is cause:
                asked.update(each.triage.request)
                pods += 1
        if pods:
            rows.append((Cell(cause, style_of(cause)), str(pods), amounts(asked) or "none"))
    return table(("CAUSE", "PODS>", "GPUS ASKED FOR"), rows, paint)


def supply(sums: Sequence[Supply], paint: Paint = plain) -> list[str]:
    """The GPUs of the cluster, by resource."""
    if not sums:
        return ["No node offers a GPU."]
    header = ("GPU SUPPLY", "NODES>", "CAPACITY>", "ALLOCATABLE>", "USED>", "FREE>")
    rows = [
        (
            each.resource,
            str(each.nodes),
            str(each.capacity),
            str(each.allocatable),
            number(each.used),
            number(each.free),
        )
        for each in sums
    ]
    return table(header, rows, paint)


def nodes(found: Sequence[GPUNode], paint: Paint = plain) -> list[str]:
    """Every GPU node and resource, who holds what, and what keeps pods off."""
    header = ("NODE", "RESOURCE", "CAPACITY>", "ALLOCATABLE>", "USED>", "FREE>", "KEEPS PODS OFF")
    rows = []
    for node in found:
        resources: list[str] = sorted({*node.capacity, *node.allocatable})
        first = True
        for resource in resources or ["none offered"]:
            rows.append(
                (
                    node.name if first else "",
                    resource,
                    number_of(node.capacity, resource),
                    number_of(node.allocatable, resource),
                    number_of(node.used, resource),
                    number_of(node.free, resource),
                    ", ".join(_taint(taint) for taint in node.taints) if first else "",
                )
            )
            first = False
    lines = table(header, rows, paint)
    held = [
        (node.name, f"{holder.namespace}/{holder.name}", amounts(holder.gpus))
        for node in found
        for holder in node.holders or ()
    ]
    if held:
        lines += ["", *table(("NODE", "HELD BY", "GPUS"), held, paint)]
    return lines


def _order(answer: Answer) -> tuple[int, float, str, str]:
    it = answer.triage
    oldest = -answer.age if answer.age is not None else 0.0
    return list(Cause).index(it.cause), oldest, it.namespace, it.name


def _rows(
    ordered: Sequence[Answer], width: int | None, paint: Paint, *, namespaces: bool
) -> list[str]:
    header = ["CAUSE", "DETAIL", "POD", "AGE>", "ASKS FOR"]
    if namespaces:
        header.insert(2, "NAMESPACE")
    rows = [_row(each, namespaces=namespaces) for each in ordered]
    head, *lines = table(header, rows, paint)
    told = [head]
    for index, line in enumerate(lines):
        told.append(line)
        following = ordered[index + 1].triage.message if index + 1 < len(ordered) else None
        # Pods of one kind have one message: it stands once, under the last of them.
        if ordered[index].triage.message != following:
            text = wrapped(ordered[index].triage.message, width, "    ")
            told += [paint(part, "faint") for part in text]
    return told


def _wide_rows(ordered: Sequence[Answer], paint: Paint, *, namespaces: bool) -> list[str]:
    header = ["CAUSE", "DETAIL", "POD", "AGE>", "ASKS FOR", "NODE", "SINCE", "SOURCE", "MESSAGE"]
    if namespaces:
        header.insert(2, "NAMESPACE")
    rows = [
        [
            *_row(each, namespaces=namespaces),
            each.triage.node or "-",
            each.triage.since or "-",
            each.triage.source,
            each.triage.message,
        ]
        for each in ordered
    ]
    return table(header, rows, paint)


def _row(answer: Answer, *, namespaces: bool) -> list[str]:
    it = answer.triage
    row = [
        Cell(it.cause, style_of(it.cause, it.detail)),
        str(it.detail),
        it.name,
        age(answer.age) if answer.age is not None else "-",
        amounts(it.request) or "none",
    ]
    if namespaces:
        row.insert(2, it.namespace)
    return row


def _taint(text: str) -> str:
    """A taint as kubectl writes it; what Kubernetes itself sets, in words."""
    key = text.rpartition(":")[0]
    if not key.startswith("node.kubernetes.io/"):
        return text
    kind = key.removeprefix("node.kubernetes.io/")
    return _WORDS.get(kind, kind.replace("-", " "))
