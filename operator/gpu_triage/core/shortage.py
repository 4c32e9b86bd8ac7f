"""The sentence for GPUs that are taken: what is needed, what is left, who holds the rest."""

from gpu_triage.core.causes import Detail
from gpu_triage.core.fit import ALLOCATABLE, OFFERS, TOLERATED
from gpu_triage.core.holders import same_workload, who
from gpu_triage.core.message import HELD, ITSELF, RESERVED
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.reasons import free_of
from gpu_triage.core.survey import Survey
from gpu_triage.core.wording import amounts, count_of, listing


def exhausted(detail: Detail, seen: Survey) -> tuple[str, str]:
    """Needed, best node, holders; or why waiting does not help. And of that who has the GPUs."""
    usable = seen.candidates(TOLERATED | OFFERS | ALLOCATABLE)
    wanted = amounts(seen.pod.request)
    short, needed = _short(seen, usable)
    best = max(usable, key=lambda node: seen.free(node, short))
    match detail:
        case Detail.UNHEALTHY_DEVICES:
            return _unhealthy(seen, usable, wanted), ""
        case Detail.NEVER_FITS:
            largest = max(usable, key=lambda node: node.allocatable.get(short, 0))
            grows = seen.picture.rules.autoscaling
            vain = "no node type in use is large enough" if grows else "waiting will not help"
            which = "the only candidate" if len(usable) == 1 else f"the largest of {len(usable)}"
            each = [str(ask.amount) for ask in seen.pod.asks if ask.resource == short]
            over = f" ({' + '.join(each)} in its containers)" if len(each) > 1 else ""
            return (
                f"Needs {needed} {short} on one node{over}; {which}, {largest.name}, offers"
                f" {largest.allocatable.get(short, 0)}: {vain}."
            ), ""
        case Detail.FRAGMENTED:
            total = sum(max(0, seen.free(node, short)) for node in usable)
            most = max(0, seen.free(best, short))
            return (
                f"Needs {needed} {short} on one node; {total} are free on"
                f" {count_of(len(usable), 'node')}, at most {most} on one ({best.name})."
            ), ""
    sentence = f"Needs {wanted} on one node; best of {len(usable)}: {best.name} has"
    sentence += f" {free_of(seen, best)}{_ailing(best, short)}."
    taken = _taken(seen, best, short, " there" if len(usable) > 1 else "")
    return sentence + taken, taken


def _taken(seen: Survey, node: NodeFacts, resource: str, there: str) -> str:
    """For whom a node's GPUs are reserved and who holds them."""
    which, sentence = seen.picture.rules.name_holders, ""
    if reserved := seen.picture.reserved_for_others(seen.pod, node.name):
        sentence += f" {RESERVED}{there} for {who(seen.pod, reserved, resource, which)}."
    holders = seen.picture.holders.get(node.name, {}).values()
    if held := [pod for pod in holders if pod.request.get(resource, 0)]:
        sentence += f" {HELD}{there} by {who(seen.pod, held, resource, which)}."
    if own := [pod for pod in held if same_workload(pod, seen.pod)]:
        holder = own[0].name if which != "none" else "One"
        sentence += f" {holder} is of its own workload, {seen.pod.workload}: {ITSELF}."
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
