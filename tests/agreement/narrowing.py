"""How the scheduler is asked about one node: a pod that names it in every term of its affinity.

The scheduler stops at a node's first obstacle, so several variants of a pod show what an earlier
one hides.
"""

from enum import StrEnum

from . import vocabulary as words
from .text import CORDON, LABEL, TAINT, Told


class Variant(StrEnum):
    """What is left of the pod's own placement."""

    AS_IS = "as it is"
    TOLERANT = "tolerating everything"
    ANYWHERE = "without a selector"
    RESOURCE = "tolerating everything, without a selector"

    @property
    def tolerant(self) -> bool:
        """Whether no taint stops it."""
        return self in (Variant.TOLERANT, Variant.RESOURCE)

    @property
    def anywhere(self) -> bool:
        """Whether its own selector and affinity are gone."""
        return self in (Variant.ANYWHERE, Variant.RESOURCE)


def hidden(told: Told) -> list[Variant]:
    """The variants that show what an answer about the pod as it is leaves in the dark.

    The scheduler looks at taints, then at the selector, then at resources. Where all terms name
    other nodes, it rejects the pod before it looks at anything else.
    """
    if told.whole:
        return [Variant.ANYWHERE, Variant.RESOURCE]
    if told.reasons.keys() & {CORDON, TAINT}:
        return [Variant.TOLERANT, Variant.RESOURCE]
    if LABEL in told.reasons:
        return [Variant.RESOURCE]
    return []


def narrow(pod: dict, node: str, variant: Variant) -> dict:
    """The variant of a pod that can go to this node only, and never fits it."""
    spec = dict(blocked(pod)["spec"])
    if variant.tolerant:
        spec["tolerations"] = [{"operator": "Exists"}]
    if variant.anywhere:
        spec.pop("nodeSelector", None)
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = [{}] if variant.anywhere else _terms(pod)
    if terms is None:
        terms = [{}]
    elif not variant.anywhere:
        # An empty term matches nothing; with a field added it would match.
        terms = [term for term in terms if term] or [_never()]
    narrowed = [{**term, "matchFields": [*term.get("matchFields", ()), here]} for term in terms]
    node_affinity = {
        **spec["affinity"].get("nodeAffinity", {}),
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": narrowed},
    }
    spec["affinity"] = {**spec["affinity"], "nodeAffinity": node_affinity}
    # Looking for victims costs time and changes nothing of the counts.
    spec["preemptionPolicy"] = "Never"
    return {**pod, "spec": spec}


def blocked(pod: dict) -> dict:
    """The pod with an affinity that no node satisfies and that is looked at after the resources."""
    nobody = {
        "labelSelector": {"matchLabels": {words.NOBODY: "x"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    never = {"requiredDuringSchedulingIgnoredDuringExecution": [nobody]}
    affinity = {**pod["spec"].get("affinity", {}), "podAffinity": never}
    return {**pod, "spec": {**pod["spec"], "affinity": affinity}}


def named_only(pod: dict) -> set[str] | None:
    """The nodes that the scheduler narrows its look to; None where it looks at all of them.

    It does so where every term names nodes: the union over the terms of the names that a term
    allows. Empty: the terms contradict themselves and the pod is rejected as a whole.
    """
    terms = _terms(pod)
    if not terms:
        return None
    names: set[str] = set()
    for term in terms:
        allowed = [
            set(field["values"])
            for field in term.get("matchFields", ())
            if field["key"] == "metadata.name" and field["operator"] == "In"
        ]
        if not allowed:
            return None
        names |= set.intersection(*allowed)
    return names


def conflicts(pod: dict) -> bool:
    """Whether every term names nodes and none of them can be meant."""
    return named_only(pod) == set()


def _terms(pod: dict) -> list[dict] | None:
    required = (
        pod["spec"]
        .get("affinity", {})
        .get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution")
    )
    return None if required is None else required["nodeSelectorTerms"]


def _never() -> dict:
    return {"matchExpressions": [{"key": words.NOBODY, "operator": "Exists"}]}
