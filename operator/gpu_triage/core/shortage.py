"""The sentence for GPUs that are taken: what is needed, what is left, who holds the rest."""

from gpu_triage.core.causes import Detail
from gpu_triage.core.facts import NodeFacts, PodFacts
from gpu_triage.core.fit import ALLOCATABLE, OFFERS, TOLERATED
from gpu_triage.core.reasons import free_of
from gpu_triage.core.survey import Survey
from gpu_triage.core.wording import amounts, count_of, listing


def exhausted(detail: Detail, seen: Survey) -> str:
    """Needed, best node, holders; or why waiting does not help."""
    usable = seen.candidates(TOLERATED | OFFERS | ALLOCATABLE)
    wanted = amounts(seen.pod.request)
    short, needed = _short(seen, usable)
    best = max(usable, key=lambda node: seen.free(node, short))
    match detail:
        case Detail.UNHEALTHY_DEVICES:
            return _unhealthy(seen, usable, wanted)
        case Detail.NEVER_FITS:
            largest = max(usable, key=lambda node: node.allocatable.get(short, 0))
            which = "the only candidate" if len(usable) == 1 else f"the largest of {len(usable)}"
            return (
                f"Needs {needed} {short} on one node; {which}, {largest.name}, offers"
                f" {largest.allocatable.get(short, 0)}: waiting will not help."
            )
        case Detail.FRAGMENTED:
            total = sum(max(0, seen.free(node, short)) for node in usable)
            most = max(0, seen.free(best, short))
            return (
                f"Needs {needed} {short} on one node; {total} are free on"
                f" {count_of(len(usable), 'node')}, at most {most} on one ({best.name})."
            )
    sentence = f"Needs {wanted} on one node; best of {len(usable)}: {best.name} has"
    sentence += f" {free_of(seen, best)}{_ailing(best, short)}."
    there = " there" if len(usable) > 1 else ""
    if reserved := seen.picture.reserved_for_others(seen.pod, best.name):
        sentence += f" Reserved{there} for {_who(seen.pod, reserved, short)}."
    held = [
        pod for pod in seen.picture.holders.get(best.name, {}).values() if pod.request.get(short, 0)
    ]
    if held:
        sentence += f" Held{there} by {_who(seen.pod, held, short)}."
    return sentence


def _short(seen: Survey, usable: list[NodeFacts]) -> tuple[str, int]:
    """The resource that is short on most nodes, and how much of it the pod asks for."""
    return max(
        seen.pod.shape.request,
        key=lambda pair: sum(seen.free(node, pair[0]) < pair[1] for node in usable),
    )


def _unhealthy(seen: Survey, usable: list[NodeFacts], wanted: str) -> str:
    parts = []
    for node in usable:
        for resource in seen.resources():
            gone = node.expected(resource) - node.allocatable.get(resource, 0)
            if gone > 0:
                verb = "device is" if gone == 1 else "devices are"
                parts.append(
                    f"{node.name} should have {node.expected(resource)} and has allocatable"
                    f" {node.allocatable.get(resource, 0)}: {gone} {verb} unhealthy"
                )
    return f"Needs {wanted} on one node; {listing(parts)}."


def _ailing(node: NodeFacts, resource: str) -> str:
    gone = node.expected(resource) - node.allocatable.get(resource, 0)
    return f" ({gone} of {node.expected(resource)} devices unhealthy)" if gone > 0 else ""


def _who(pod: PodFacts, others: list[PodFacts], resource: str) -> str:
    """Pods of the own namespace by name with what they have, largest first; the rest counted."""
    own = [other for other in others if other.namespace == pod.namespace]
    own.sort(key=lambda other: (-other.request.get(resource, 0), other.name))
    parts = [f"{other.key} ({other.request.get(resource, 0)})" for other in own[:3]]
    rest = own[3:]
    if rest:
        held = sum(other.request.get(resource, 0) for other in rest)
        parts.append(f"{count_of(len(rest), 'more pod')} of this namespace ({held})")
    foreign = [other for other in others if other.namespace != pod.namespace]
    if foreign:
        held = sum(other.request.get(resource, 0) for other in foreign)
        parts.append(f"{count_of(len(foreign), 'pod')} of other namespaces ({held})")
    return listing(parts, most=5)
