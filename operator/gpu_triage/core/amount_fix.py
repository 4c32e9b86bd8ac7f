"""Changes of what the pod asks for: another resource name, or fewer devices."""

from collections.abc import Iterator
from functools import partial

import msgspec

from gpu_triage.core.change import Edit, Fix, Option, furthest
from gpu_triage.core.fit import ALLOCATABLE, FREE, OFFERS, TOLERATED, node_code
from gpu_triage.core.request import Ask
from gpu_triage.core.survey import Survey


def rename_fix(seen: Survey) -> Fix | None:
    """Ask for the GPU resource that the nodes offer instead of the one that none offers."""
    ask = _only(seen)
    return furthest(seen, _renamed(seen, ask)) if ask is not None else None


def fewer_fix(seen: Survey) -> Fix | None:
    """Ask for as many as fit: what is free on one node now, else what a node has in all."""
    ask = _only(seen)
    return furthest(seen, _fewer(seen, ask)) if ask is not None else None


def _renamed(seen: Survey, ask: Ask) -> Iterator[Option]:
    asking = {
        name: msgspec.structs.replace(seen.pod.shape, request=((name, ask.amount),))
        for node in seen.candidates(TOLERATED)
        for name in node.living()
    }
    for node in seen.candidates(TOLERATED):
        taken = seen.picture.taken_from(seen.pod, node.name)
        for name, amount in node.allocatable.items():
            if name != ask.resource and amount > 0:
                code = node_code(asking[name], node, taken, seen.picture.classes)
                edit = partial(Edit, ask.path, ask.resource, name, f"ask for {name}")
                yield Option(node, code, edit, rank=amount)


def _fewer(seen: Survey, ask: Ask) -> Iterator[Option]:
    for node in seen.candidates(TOLERATED | OFFERS | ALLOCATABLE):
        code = seen.codes[node.name]
        free, most = seen.free(node, ask.resource), node.allocatable.get(ask.resource, 0)
        if free > 0:
            code, most = code | FREE, free
        if 0 < most < ask.amount:
            yield Option(node, code, partial(_asking_for, ask, most), rank=most)


def _asking_for(ask: Ask, amount: int) -> Edit:
    says = f"ask for {amount} instead of {ask.amount}"
    return Edit(f"{ask.path}[{ask.resource}]", ask.amount, amount, says)


def _only(seen: Survey) -> Ask | None:
    """The one container that asks for GPUs, where it alone makes up the pod's request."""
    if len(seen.pod.asks) != 1:
        return None
    ask = seen.pod.asks[0]
    return ask if seen.pod.request == {ask.resource: ask.amount} else None
