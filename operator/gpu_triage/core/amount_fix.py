"""Changes of what the pod asks for: another resource name, or fewer devices."""

import msgspec

from gpu_triage.core.change import Edit, Fix, change, furthest
from gpu_triage.core.facts import Shape
from gpu_triage.core.fit import ALLOCATABLE, OFFERS, TOLERATED
from gpu_triage.core.request import Ask
from gpu_triage.core.survey import Survey


def rename_fix(seen: Survey) -> Fix | None:
    """Ask for the GPU resource that the nodes offer instead of the one that none offers."""
    ask = _only(seen)
    if ask is None:
        return None
    found = []
    for node in seen.candidates(TOLERATED):
        for name in node.living():
            offered = node.allocatable.get(name, 0)
            if name != ask.resource and offered > 0:
                shape = _asking(seen, name, ask.amount)
                edit = Edit(ask.path, ask.resource, name, f"ask for {name}")
                found.append((float(offered), change(seen, shape, node, edit)))
    return furthest(found)


def fewer_fix(seen: Survey) -> Fix | None:
    """Ask for as many as fit: what is free on one node now, else what a node has in all."""
    ask = _only(seen)
    if ask is None:
        return None
    found = []
    for node in seen.candidates(TOLERATED | OFFERS | ALLOCATABLE):
        free = seen.free(node, ask.resource)
        most = free if free > 0 else node.allocatable.get(ask.resource, 0)
        if 0 < most < ask.amount:
            says = f"ask for {most} instead of {ask.amount}"
            edit = Edit(f"{ask.path}[{ask.resource}]", ask.amount, most, says)
            shape = _asking(seen, ask.resource, most)
            found.append((float(most), change(seen, shape, node, edit)))
    return furthest(found)


def _only(seen: Survey) -> Ask | None:
    """The one container that asks for GPUs, where it alone makes up the pod's request."""
    if len(seen.pod.asks) != 1:
        return None
    ask = seen.pod.asks[0]
    return ask if seen.pod.request == {ask.resource: ask.amount} else None


def _asking(seen: Survey, resource: str, amount: int) -> Shape:
    return msgspec.structs.replace(seen.pod.shape, request=((resource, amount),))
