"""What the scheduler's text says: the reasons and on how many nodes each holds.

Written apart from the product's own reading of this text: it is what the product is held against.
"""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from . import vocabulary as words

CORDON = "node(s) were unschedulable"
TAINT = "node(s) had untolerated taint(s)"
LABEL = "node(s) didn't match Pod's node affinity/selector"
ABSENT = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
"""Said of nodes that no term names, without a look at them."""
CONFLICT = "pod affinity terms conflict"
"""Said of the pod as a whole: every term names nodes that cannot be meant."""
NO_NODES = "no nodes available to schedule pods"
PODS = "Too many pods"
AFFINITY = "node(s) didn't match pod affinity rules"
"""The obstacle that every asking pod carries: all else of the node is passed."""
DEVICES = "cannot allocate all claims"
CLAIM_LIMIT = "exceeds the claim limit of 32"
"""Said of the pod as a whole, as an error, once a node is reached where so many are left to DRA."""

_TAIL = (
    "no new claims to deallocate|plugin disabled|deallocation of ResourceClaim"
    "|deletion of ResourceClaim|still not schedulable|All PostFilter|preemption:|not found"
)
_MESSAGE = re.compile(rf"0/(\d+) nodes are available:(?: (.*?)\.)?(?: (?:{_TAIL}).*)?", re.DOTALL)
_ITEM = re.compile(r"(\d+) (.+?)(?=, \d+ |$)")
_OLD_TAINT = re.compile(r"node\(s\) had untolerated taint \{.*\}")


class Told(msgspec.Struct, frozen=True):
    """A text, taken apart."""

    nodes: int
    """How many nodes the scheduler knew."""
    reasons: Counter[str]
    whole: str = ""
    """The reason for which the pod is rejected as a whole."""
    old_taint_text: int = 0
    """Nodes whose taint is named, as 1.34.0 and 1.34.1 do."""


def insufficient(resource: str) -> str:
    """The reason for a resource of which a node has not enough."""
    return f"Insufficient {resource}"


def is_gpu(reason: str) -> bool:
    """Whether a reason is that a GPU resource is short."""
    resource = reason.removeprefix("Insufficient ")
    return resource != reason and words.RULES.is_gpu(resource)


def read(text: str) -> Told:
    """Take a text apart; a text of another form rejects the pod as a whole."""
    match = _MESSAGE.fullmatch(text)
    if match is None:
        return Told(0, Counter(), text)
    items = _ITEM.findall(match[2] or "")
    if not items:
        return Told(int(match[1]), Counter(), match[2] or text)
    reasons: Counter[str] = Counter()
    named = 0
    for count, reason in items:
        if _OLD_TAINT.fullmatch(reason):
            named += int(count)
            reasons[TAINT] += int(count)
        else:
            reasons[reason] += int(count)
    return Told(int(match[1]), reasons, "", named)


def most(said: Iterable[Told]) -> str:
    """The reason that most nodes have, GPU resources without their names."""
    counts: Counter[str] = Counter()
    for told in said:
        reasons = {"Insufficient GPU" if is_gpu(each) else each for each in told.reasons}
        counts.update({told.whole} if told.whole else reasons - {ABSENT})
    return counts.most_common(1)[0][0]


def listing(reasons: Counter[str]) -> str:
    """Reasons and counts in one line."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
