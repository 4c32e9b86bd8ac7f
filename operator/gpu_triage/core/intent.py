"""Signs that a pod which requests no GPU was meant to have one."""

import difflib
from collections.abc import Iterator

import msgspec

from gpu_triage.core import objects
from gpu_triage.core.causes import Detail
from gpu_triage.core.quantity import QuantityError, count
from gpu_triage.core.request import named
from gpu_triage.core.rules import Rules
from gpu_triage.core.selector import selector


class Intent(msgspec.Struct, frozen=True):
    """The clearest sign: its detail, and what in the pod shows it."""

    detail: Detail
    evidence: str = ""
    meant: str = ""
    """The GPU resource whose name is nearest."""


def intent(pod: objects.Pod, rules: Rules) -> Intent:
    """The first sign, in the vocabulary's order, that a pod without a request wants a GPU."""
    spec = pod.spec or objects.PodSpec()
    if lookalikes := sorted(name for name in named(spec) if _lookalike(name, rules)):
        return Intent(Detail.LOOKALIKE_NAME, lookalikes[0], _nearest(lookalikes[0], rules))
    if spec.resource_claims:
        return Intent(Detail.RESOURCE_CLAIM, spec.resource_claims[0].name)
    annotations = pod.metadata.annotations or {}
    for key in sorted(annotations):
        if _fraction(key, annotations[key], rules):
            return Intent(Detail.VENDOR_ANNOTATION, f"{key}={annotations[key]}")
    for sign in _signs(spec, rules):
        return Intent(Detail.INTENT_ONLY, sign)
    return Intent(Detail.NONE)


def _lookalike(name: str, rules: Rules) -> bool:
    """A resource that is no GPU by the rules, though its name says GPU or its vendor sells them."""
    if rules.is_gpu(name):
        return False
    domain = name.partition("/")[0] + "/"
    folded = name.lower()
    return (
        "gpu" in folded
        or "nvidia" in folded
        or any(pattern.startswith(domain) for pattern in rules.resources)
    )


def _nearest(name: str, rules: Rules) -> str:
    whole = [pattern for pattern in rules.resources if "*" not in pattern]
    return next(iter(difflib.get_close_matches(name, whole, n=1, cutoff=0)), "")


def _fraction(key: str, value: str, rules: Rules) -> bool:
    """An annotation that names a GPU and gives an amount: how fractions are asked for."""
    domain, _, name = key.rpartition("/")
    if "gpu" not in name.lower() or domain == rules.domain:
        return False
    try:
        return count(value) > 0
    except QuantityError:
        return False


def _signs(spec: objects.PodSpec, rules: Rules) -> Iterator[str]:
    for toleration in spec.tolerations or ():
        if toleration.key and rules.is_gpu(toleration.key):
            yield f"tolerates {toleration.key}"
    for requirement in (each for terms in selector(spec).alternatives for each in terms):
        if requirement.wants_label and rules.is_gpu_label(requirement.key):
            yield f"selects {requirement}"
    runtime = spec.runtime_class_name or ""
    if "nvidia" in runtime.lower() or "gpu" in runtime.lower():
        yield f"names runtime class {runtime}"
