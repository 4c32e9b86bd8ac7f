"""From a question to what is printed."""

import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from gpu_triage.cli import draw
from gpu_triage.cli.failure import NOT_THERE, USAGE, AnswerError
from gpu_triage.cli.guidance import namespace_missing, pod_missing
from gpu_triage.cli.question import Question
from gpu_triage.cli.source import Source, source
from gpu_triage.core.causes import NODES
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.survey import Verdict
from gpu_triage.publish import overview, render
from gpu_triage.publish.supply import GPUNodeList, gpu_nodes, supply
from gpu_triage.publish.triage import Triage, TriageList, triage


def answer(question: Question) -> None:
    """Prints the answer to stdout, and what else there is to say to stderr. Raises AnswerError."""
    asked = source(question)
    if question.nodes:
        lines = _nodes(question, asked)
    elif question.pod is not None:
        lines = _pod(question, asked, question.pod)
    else:
        lines = _report(question, asked)
    draw.write(lines)


def _pod(question: Question, asked: Source, name: str) -> Iterable[str]:
    found = asked.find(name)
    if not found:
        lines = pod_missing(asked.evidence, asked.namespace, name, question.rules, asked.now)
        raise AnswerError("\n".join(lines), NOT_THERE)
    if len(found) > 1:
        several = ", ".join(sorted(pod.namespace for pod in found))
        raise AnswerError(
            f"pod {name} is in several namespaces: {several}. Choose one with -n.", USAGE
        )
    told = _triage(question, asked, asked.judge(found[0]), with_nodes=question.output != "word")
    if told.source == "published":
        draw.note(f"published by the operator, since {told.since or 'an unknown time'}.")
    match question.output:
        case "word":
            return [str(told.cause)]
        case "json" | "yaml":
            return _serialised(told, question.output)
    return render.one(
        _aged(told, found[0], asked),
        width=draw.width_of(sys.stdout),
        paint=draw.paint_for(sys.stdout),
        wide=question.output == "wide",
    )


def _report(question: Question, asked: Source) -> Iterable[str]:
    pods = asked.survey(everything=question.everything)
    if not pods and asked.namespace is not None and not asked.exists(asked.namespace):
        raise AnswerError("\n".join(namespace_missing(asked.evidence, asked.namespace)), NOT_THERE)
    verdicts = asked.judge_all(pods)
    answers = overview.sorted_by_cause(
        _aged(_triage(question, asked, verdict, with_nodes=question.explain), verdict.pod, asked)
        for verdict in verdicts
    )
    _note_published(answers)
    told = [each.triage for each in answers]
    match question.output:
        case "word":
            return render.word(told, namespaces=asked.several)
        case "json" | "yaml":
            return _serialised(TriageList(items=told), question.output)
    return _text(question, asked, answers)


def _text(question: Question, asked: Source, answers: list[render.Answer]) -> Iterable[str]:
    paint, width = draw.paint_for(sys.stdout), draw.width_of(sys.stdout)
    wide = question.output == "wide"
    if not answers:
        where = f"in namespace {asked.namespace}" if asked.namespace else "in any namespace"
        yield f"No pod {where} {'is there' if question.everything else 'waits for a GPU'}."
    elif question.explain:
        for each in answers:
            yield from render.one(each, width=width, paint=paint, wide=wide)
            yield ""
        yield from overview.sums(answers, paint)
    else:
        yield from overview.report(
            answers, namespaces=asked.several, width=width, paint=paint, wide=wide
        )
    if NODES not in asked.picture.unread:
        yield ""
        yield from overview.supply(supply(asked.picture), paint)


def _nodes(question: Question, asked: Source) -> Iterable[str]:
    asked.survey_nodes()
    found = gpu_nodes(asked.picture)
    if question.output in ("json", "yaml"):
        return _serialised(GPUNodeList(items=found), question.output)
    paint = draw.paint_for(sys.stdout)
    shown = overview.nodes(found, paint) if found else []
    return [*shown, *([""] if shown else []), *overview.supply(supply(asked.picture), paint)]


def _triage(question: Question, asked: Source, verdict: Verdict, *, with_nodes: bool) -> Triage:
    return triage(
        verdict,
        asked.now,
        with_nodes=with_nodes,
        read=asked.read,
        dra_unread=asked.dra_unread,
    )


def _aged(told: Triage, pod: PodFacts, asked: Source) -> render.Answer:
    known = pod.created is not None and asked.now > 0
    return render.Answer(told, asked.now - (pod.created or 0.0) if known else None)


def _note_published(answers: list[render.Answer]) -> None:
    n = sum(each.triage.source == "published" for each in answers)
    if n:
        words = "1 word is" if n == 1 else f"{n} words are"
        draw.note(f"{words} published by the operator, not computed here (-o wide shows which).")


def _serialised(told: Any, output: str) -> list[str]:
    if output == "json":
        return [msgspec.json.format(msgspec.json.encode(told), indent=2).decode()]
    import yaml  # noqa: PLC0415  (costs 30 ms)

    text: str = yaml.safe_dump(
        msgspec.to_builtins(told), sort_keys=False, allow_unicode=True, width=100
    )
    return [text.rstrip("\n")]
