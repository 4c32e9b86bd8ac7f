"""What a node's code leaves open and a detail asks for, as further bits of the same number.

A trait is worked out only where a detail can ask for it: at the step that the node fails. So a
node's code with its traits fits 16 bits, and a cluster is told by how many nodes have which.
"""

from gpu_triage.core.causes import Detail
from gpu_triage.core.fit import ALLOCATABLE, FREE, LABEL, OFFERS, TOLERATED
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.obstacles import (
    fits_when_healthy,
    helps_once_up,
    is_lost,
    is_marked,
    taint_kind,
)
from gpu_triage.core.outlook import Outlook

YOUNG = 1 << 6
"""Would help once it is up, and may still be starting by its age."""
MARKED = 1 << 7
"""Would help once it is up, and says itself that it is starting."""
LOST = 1 << 8
"""Would help, or could, if it came back or its GPUs did; a young node has not been there yet."""
BARE = 1 << 9
"""Has a GPU label and offers no GPU resource."""
OTHER_NAME = 1 << 10
"""Offers GPUs, and under a name that is not asked for."""
UNHEALTHY = 1 << 11
"""What is missing are devices that it has and that are not healthy."""
LARGE_ENOUGH = 1 << 12
"""Would fit if it were empty."""
RESERVED = 1 << 13
"""Would fit if nobody were nominated to it."""
_KIND = 14
_KINDS = (Detail.NOT_READY, Detail.CORDONED, Detail.PRESSURE, Detail.UNTOLERATED)

USABLE = LABEL | TOLERATED | OFFERS | ALLOCATABLE


def kind(cell: int) -> Detail:
    """The kind of taint that stops the pod; means something only where one does."""
    return _KINDS[cell >> _KIND]


def is_short(cell: int) -> bool:
    """Whether a node fails at the last step: it has usable GPUs, and not enough are left."""
    return cell & (USABLE | FREE) == USABLE


def with_traits(code: int, seen: Outlook, node: NodeFacts, *, young: bool) -> int:
    """A node's code and its traits.

    Args:
        code: which steps the node passes.
        seen: for whom.
        node: the node.
        young: whether it may still be starting by its age.
    """
    marked = bool(node.taints) and is_marked(node, seen.picture.rules)
    if (young or marked) and helps_once_up(seen, node):
        code |= (YOUNG if young else 0) | (MARKED if marked else 0)
    if not code & LABEL:
        return code
    if not code & TOLERATED:
        code |= _KINDS.index(taint_kind(seen, node)) << _KIND
    elif not code & OFFERS:
        code |= _of_no_offer(seen, node)
    elif not code & ALLOCATABLE:
        code |= UNHEALTHY if _had_some(seen, node) else 0
    elif not code & FREE:
        return code | _of_shortage(seen, node)
    if not young and not (code & FREE and code & TOLERATED):
        code |= LOST if is_lost(seen, node) else 0
    return code


def _of_no_offer(seen: Outlook, node: NodeFacts) -> int:
    living = node.living()
    if not living:
        return BARE if node.gpu_label else 0
    return OTHER_NAME if set(living) - set(seen.resources()) else 0


def _had_some(seen: Outlook, node: NodeFacts) -> bool:
    return any(
        node.allocatable.get(resource, 0) <= 0 < node.capacity.get(resource, 0)
        for resource in seen.resources()
    )


def _of_shortage(seen: Outlook, node: NodeFacts) -> int:
    used, there = seen.picture.used_on(node.name), node.allocatable
    traits = UNHEALTHY if fits_when_healthy(seen, node) else 0
    if seen.fits(lambda name: there.get(name, 0)):
        traits |= LARGE_ENOUGH
    if seen.fits(lambda name: there.get(name, 0) - used.get(name, 0)):
        traits |= RESERVED
    return traits
