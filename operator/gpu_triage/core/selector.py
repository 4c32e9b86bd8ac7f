"""Which nodes a pod chooses: nodeSelector AND required node affinity.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity and apimachinery's pkg/labels. A
term that the scheduler cannot parse is skipped by it, so it is skipped here; the other terms still
decide.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import msgspec

from gpu_triage.core import objects

NAME_FIELD = "metadata.name"
REQUIRED = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,19}")
_INT64 = range(-(2**63), 2**63)
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


class Values(Protocol):
    """Which labels and names the nodes of a cluster have, all taken together."""

    @property
    def names(self) -> Collection[str]:
        """The names of all nodes."""

    def values(self, key: str) -> Collection[str]:
        """The values that nodes have for a label."""

    def lacks(self, key: str) -> bool:
        """Whether some node lacks a label."""


class Requirement(msgspec.Struct, frozen=True):
    """One requirement on one label, or on the node's name (key ``metadata.name``)."""

    key: str
    operator: str
    values: tuple[str, ...]
    field: bool = False

    def holds(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node with these labels and this name meets the requirement."""
        return self.accepts(name if self.field else labels.get(self.key))

    def accepts(self, actual: str | None) -> bool:
        """Whether a label's value, or a node's name, meets it; None: the label is not there."""
        match self.operator:
            case "In":
                return actual is not None and actual in self.values
            case "NotIn":
                return actual is None or actual not in self.values
            case "Exists":
                return actual is not None
            case "DoesNotExist":
                return actual is None
            case _:
                left = None if actual is None else _int64(actual)
                right = _int64(self.values[0])
                if left is None or right is None:
                    return False
                return left > right if self.operator == "Gt" else left < right

    def met(self, somewhere: "Values") -> bool:
        """Whether some node meets it, taken alone."""
        there = somewhere.names if self.field else somewhere.values(self.key)
        if self.operator == "In":  # one of several thousand names may be asked for
            return any(value in there for value in self.values)
        if any(self.accepts(value) for value in there):
            return True
        return not self.field and self.accepts(None) and somewhere.lacks(self.key)

    @property
    def wants_label(self) -> bool:
        """Whether only a node that has the label can meet it."""
        return not self.field and self.operator in ("In", "Exists", "Gt", "Lt")

    def __str__(self) -> str:
        """As kubectl writes selectors."""
        match self.operator:
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case "In" | "NotIn":
                return f"{self.key} {self.operator.lower()} ({', '.join(self.values)})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case _:
                return f"{self.key} {'>' if self.operator == 'Gt' else '<'} {self.values[0]}"


class Selector(msgspec.Struct, frozen=True):
    """A pod's choice of nodes.

    ``alternatives`` holds one conjunction of requirements per affinity term, the nodeSelector's
    included in each. None of them means that no node can match.
    """

    alternatives: tuple[tuple[Requirement, ...], ...] = ((),)
    paths: tuple[tuple[str, ...], ...] = ((),)
    """Where each requirement stands in the pod's manifest."""

    @property
    def empty(self) -> bool:
        """Whether every node matches because nothing is asked."""
        return self.alternatives == ((),)

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether a node passes."""
        return self.choose(lambda each: each.holds(labels, name)) != 0

    def choose(self, met: Callable[[Requirement], int]) -> int:
        """The nodes that pass, from those that meet a requirement: a bit for each.

        One node is 1 or 0. Where nothing is asked, all bits are set.
        """
        chosen = 0
        for alternative in self.alternatives:
            left = -1
            for requirement in alternative:
                left &= met(requirement)
                if not left:
                    break
            chosen |= left
        return chosen

    def would_match(
        self, labels: Mapping[str, str], name: str, coming: Callable[[str], bool]
    ) -> bool:
        """Whether a node would pass once the absent labels whose key is ``coming`` are there."""
        return any(
            all(
                requirement.holds(labels, name)
                or (
                    requirement.wants_label
                    and requirement.key not in labels
                    and coming(requirement.key)
                )
                for requirement in each
            )
            for each in self.alternatives
        )


def selector(spec: objects.PodSpec) -> Selector:
    """The choice of nodes that a pod's spec makes."""
    chosen = sorted((spec.node_selector or {}).items())
    pairs = tuple(Requirement(key, "In", (value,)) for key, value in chosen)
    at = tuple(f"spec.nodeSelector[{key}]" for key, _ in chosen)
    required = None
    if spec.affinity is not None and spec.affinity.node_affinity is not None:
        required = spec.affinity.node_affinity.required
    if required is None:
        return Selector((pairs,), (at,))
    terms = [
        (pairs + requirements, at + _paths(term, index))
        for index, term in enumerate(required.node_selector_terms or ())
        if (requirements := _term(term))
    ]
    return Selector(tuple(each for each, _ in terms), tuple(paths for _, paths in terms))


def _paths(term: objects.SelectorTerm, index: int) -> tuple[str, ...]:
    at = f"{REQUIRED}.nodeSelectorTerms[{index}]"
    expressions = range(len(term.match_expressions or ()))
    fields = range(len(term.match_fields or ()))
    return (
        *(f"{at}.matchExpressions[{number}]" for number in expressions),
        *(f"{at}.matchFields[{number}]" for number in fields),
    )


def _term(term: objects.SelectorTerm) -> tuple[Requirement, ...]:
    """The requirements of a term; none where it is empty or does not parse."""
    parsed = [_expression(each) for each in term.match_expressions or ()]
    parsed += [_field(each) for each in term.match_fields or ()]
    whole = tuple(each for each in parsed if each is not None)
    return whole if len(whole) == len(parsed) else ()


def _expression(raw: objects.Requirement) -> Requirement | None:
    values = tuple(raw.values or ())
    prefix, slash, label = raw.key.rpartition("/")
    if slash and not (len(prefix) <= 253 and _PREFIX.fullmatch(prefix)):
        return None
    if not _LABEL_NAME.fullmatch(label) or not all(_LABEL_VALUE.fullmatch(v) for v in values):
        return None
    match raw.operator:
        case "In" | "NotIn":
            valid = bool(values)
        case "Exists" | "DoesNotExist":
            valid = not values
        case "Gt" | "Lt":
            valid = len(values) == 1 and _int64(values[0]) is not None
        case _:
            valid = False
    return Requirement(raw.key, raw.operator, values) if valid else None


def _field(raw: objects.Requirement) -> Requirement | None:
    values = tuple(raw.values or ())
    if raw.key != NAME_FIELD or raw.operator not in ("In", "NotIn") or len(values) != 1:
        return None
    return Requirement(NAME_FIELD, raw.operator, values, field=True)


def _int64(text: str) -> int | None:
    """As strconv.ParseInt(text, 10, 64) reads it; None where it is no such integer."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None
