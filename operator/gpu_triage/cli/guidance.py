"""What to tell somebody who asks about a pod that is not there."""

import difflib
from collections.abc import Iterator

from gpu_triage.cli.evidence import Evidence
from gpu_triage.cli.lists import Event, Quota
from gpu_triage.core.objects import seconds
from gpu_triage.core.quantity import QuantityError, count
from gpu_triage.core.rules import Rules
from gpu_triage.core.wording import cut, listing
from gpu_triage.publish.ages import age

_MOST = 5


def pod_missing(
    evidence: Evidence, namespace: str | None, name: str, rules: Rules, now: float
) -> list[str]:
    """Lines that say what may have become of a pod; the first names it.

    Args:
        evidence: where to look.
        namespace: None: it was looked for in all of them.
        name: the pod's.
        rules: what counts as a GPU.
        now: seconds since 1970, for ages.
    """
    if namespace is None:
        return [f"there is no pod {name}.", _never_came()]
    every = evidence.namespaces()
    if every is not None and namespace not in every:
        lines = [f"there is no namespace {namespace}, so no pod {namespace}/{name}."]
        close = difflib.get_close_matches(namespace, every, n=1)
        return (
            lines
            + [f"The nearest name is {close[0]}." for _ in close]
            + _elsewhere(evidence, namespace, name)
        )
    lines = [f"there is no pod {namespace}/{name}.", *_elsewhere(evidence, namespace, name)]
    lines.append(_never_came())
    return lines + list(_traces(evidence, namespace, rules, now))


def namespace_missing(evidence: Evidence, namespace: str) -> list[str]:
    """Lines for a namespace that is not there."""
    every = evidence.namespaces() or []
    close = difflib.get_close_matches(namespace, every, n=1)
    known = f" There are: {listing(every, most=_MOST)}." if every else ""
    near = f" The nearest name is {close[0]}." if close else ""
    return [f"there is no namespace {namespace}.{near}{known}"]


def _elsewhere(evidence: Evidence, namespace: str, name: str) -> list[str]:
    found = evidence.pods_named(name)
    if found is None:
        return ["Whether another namespace has a pod of that name may not be read."]
    others = [each for each in found if each != namespace]
    if not others:
        return ["No other namespace has a pod of that name."]
    noun = "namespace" if len(others) == 1 else "namespaces"
    return [f"A pod of that name is in {noun} {listing(others, most=_MOST)}."]


def _never_came() -> str:
    return (
        "A pod that is refused at admission leaves no object: what made it was told why (the answer"
        " of kubectl, or an Event of the ReplicaSet, Job or StatefulSet)."
    )


def _traces(evidence: Evidence, namespace: str, rules: Rules, now: float) -> Iterator[str]:
    unreadable = []
    events = evidence.refusals(namespace)
    if events is None:
        unreadable.append("events")
    elif events:
        yield _refusal(max(events, key=_time), now)
    else:
        yield f"No FailedCreate Event in {namespace}."
    quotas = evidence.quotas(namespace)
    if quotas is None:
        unreadable.append("resourcequotas")
    else:
        yield from _quotas(quotas, namespace, rules)
    classes = evidence.runtime_classes()
    if classes is None:
        unreadable.append("runtimeclasses")
    elif classes:
        yield f"RuntimeClasses there are: {listing(classes, most=_MOST)}."
    else:
        yield "There is no RuntimeClass: a pod that names one is refused."
    if unreadable:
        yield f"Not readable here: {listing(unreadable)}."


def _time(event: Event) -> float:
    told = (event.last_timestamp, event.event_time, event.metadata.creation_timestamp)
    return max(seconds(each) or 0.0 for each in told)


def _refusal(event: Event, now: float) -> str:
    about = event.involved_object or {}
    owner = f"{about.get('kind', '?')} {about.get('name', '?')}"
    text = cut(" ".join((event.message or "").split()), 400)
    when = age(now - _time(event)) if now and _time(event) else "some time"
    return f"Newest FailedCreate Event, {when} ago, {owner}: {text}"


def _quotas(quotas: list[Quota], namespace: str, rules: Rules) -> Iterator[str]:
    found = False
    for quota in quotas:
        hard = (quota.status.hard if quota.status is not None else None) or {}
        used = (quota.status.used if quota.status is not None else None) or {}
        for key in sorted(hard):
            prefix, _, resource = key.partition(".")
            if prefix == "requests" and rules.is_gpu(resource):
                yield (
                    f"Quota {quota.metadata.name}: {_amount(used.get(key, 0))} of"
                    f" {_amount(hard[key])} {key} used."
                )
                found = True
            elif rules.is_gpu(key) or (prefix == "limits" and rules.is_gpu(resource)):
                yield (
                    f"Quota {quota.metadata.name} names {key}, which is never counted: only"
                    f" requests.{key.removeprefix('limits.')} would be."
                )
                found = True
    if not found:
        yield f"No quota of {namespace} names a GPU."


def _amount(value: str | int | float) -> str:
    try:
        return str(count(value))
    except QuantityError:
        return str(value)
