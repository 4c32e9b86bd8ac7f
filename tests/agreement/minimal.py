"""A disagreement as a file for `gpu-triage -f`: found again alone, shrunk, written down."""

import msgspec
import yaml

from gpu_triage.core import objects
from gpu_triage.core.request import request

from . import vocabulary as words
from .api import RefusedError
from .batch import Batch
from .clusters import pinned
from .judge import Disagreement, Judge
from .narrowing import Variant
from .record import Asked, Measure, Record
from .shrinking import Case, shrink

HISTOGRAM = Measure.HISTOGRAM


class Minimal(msgspec.Struct, frozen=True):
    """A minimal case and what is said of it."""

    case: Case
    found: Disagreement


def minimal(batch: Batch, record: Record, disagreement: Disagreement) -> Minimal | None:
    """The minimal case of a disagreement; None where it does not show again on its own."""
    asked = disagreement.asked
    if asked is None:
        return None
    last: list[Disagreement] = []

    def disagrees(case: Case) -> bool:
        if not request(objects.pod(case.pod).spec, words.RULES):
            # A pod that asks for nothing is no question any more.
            return False
        question = Asked(_measure(asked), asked.group, case.pod)
        try:
            answered = batch.single(case.objects, question)
        except (RefusedError, TimeoutError):
            return False
        found = [] if answered.refused else list(Judge(answered).all())
        if found:
            last[:] = found[:1]
        return bool(found)

    for case in _starts(record, asked):
        if disagrees(case):
            smallest = shrink(case, disagrees)
            # The last question may have been one too many.
            disagrees(smallest)
            return Minimal(smallest, last[0])
    return None


def as_yaml(found: Minimal) -> str:
    """A v1 List, with what both say of it in front."""
    answer = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": found.found.theirs,
    }
    pod = {**found.case.pod, "status": {**found.case.pod["status"], "conditions": [answer]}}
    listing = {"apiVersion": "v1", "kind": "List", "items": [*found.case.objects, pod]}
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    head = (
        f"# {name}\n# we predict:    {found.found.ours}\n# scheduler says: {found.found.theirs}\n"
    )
    return head + yaml.safe_dump(listing, sort_keys=False)


def _measure(asked: Asked) -> Measure:
    """How it is asked again: a narrowed question is the histogram of a cluster of one node."""
    return asked.measure if asked.measure in (Measure.NOMINATED, Measure.BOUND) else HISTOGRAM


def _starts(record: Record, asked: Asked) -> list[Case]:
    """Cases in which the disagreement may show again, the smallest first."""
    earlier = [
        each.stored
        for each in record.asked
        if each.measure is Measure.BOUND
        and each.node
        and each.stored is not None
        and each.stored["metadata"]["name"] < asked.pod["metadata"]["name"]
        and asked.measure is Measure.BOUND
    ]
    pods = [*record.pods, *earlier]
    own = [node for node in record.nodes if _group(node) == asked.group]
    if asked.measure is Measure.NARROWED:
        pod = _materialized(asked)
        here = [node for node in own if node["metadata"]["name"] == asked.node]
        return [_around(record, pod, here, pods), _around(record, pod, own, pods)]
    pod = pinned(asked.pod) if asked.measure is Measure.BOUND else asked.pod
    return [_around(record, pod, own, pods), _around(record, pod, record.nodes, pods)]


def _materialized(asked: Asked) -> dict:
    """The pod with what a variant changes of it, but for the name of the node."""
    variant = Variant(asked.variant)
    spec = dict(asked.pod["spec"])
    if variant.tolerant:
        spec["tolerations"] = [{"operator": "Exists"}]
    if variant.anywhere:
        spec.pop("nodeSelector", None)
        spec.pop("affinity", None)
    return {**asked.pod, "spec": spec}


def _around(record: Record, pod: dict, nodes: list[dict], pods: list[dict]) -> Case:
    """These nodes and the pods that hold or reserve anything there."""
    names = {node["metadata"]["name"] for node in nodes}
    there = [
        each
        for each in pods
        if (each["spec"].get("nodeName") or each["status"].get("nominatedNodeName")) in names
    ]
    return Case(pod, [*record.classes, *nodes, *there])


def _group(item: dict) -> str:
    return str(item["metadata"]["labels"][words.GROUP])
