"""What kube-scheduler said about a pod: the PodScheduled condition, read as counts by reason.

The text never chooses a word; it tells what besides GPUs keeps a pod that no GPU step keeps. Its
grammar is that of ``FitError.Error`` in kube-scheduler's framework/types.go, the same from 1.34 to
1.37: a histogram over nodes or one reason for all of them, then what preemption would do. That last
part can repeat a reason, so it is cut off.
"""

import re

import msgspec

from gpu_triage.core.causes import Detail
from gpu_triage.core.rules import Rules

_TAIL = (
    r"(?:no new claims to deallocate|plugin disabled|deallocation of ResourceClaim|"
    r"deletion of ResourceClaim|still not schedulable|All PostFilter|preemption:|"
    r"pod group preemption:|not found)"
)
_TEXT = re.compile(
    rf"0/(?P<nodes>\d+) nodes are available:(?: (?P<reasons>.*?)\.)?(?: (?P<tail>{_TAIL}.*))?",
    re.DOTALL,
)
_ITEM = re.compile(r"(\d+) (.+?)(?=, \d+ |$)", re.DOTALL)
_PREEMPTS = "preemption: found a potential placement"
_INSUFFICIENT = "Insufficient "

_GPU_STEPS = (
    "node(s) were unschedulable",
    "node(s) had untolerated taint",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "pod affinity terms conflict",
)
_INSUFFICIENT_DETAILS = {
    "cpu": Detail.CPU,
    "memory": Detail.MEMORY,
    "ephemeral-storage": Detail.EPHEMERAL_STORAGE,
    "pods": Detail.PODS,
}
# In this order: several texts contain a shorter one.
_DETAILS = (
    ("Too many pods", Detail.PODS),
    ("PersistentVolume", Detail.VOLUME),
    ("persistentvolumeclaim", Detail.VOLUME),
    ("persistent volume", Detail.VOLUME),
    ("volume", Detail.VOLUME),
    ("pvc(s)", Detail.VOLUME),
    ("no available disk", Detail.VOLUME),
    ("enough free storage", Detail.VOLUME),
    ("topology spread", Detail.TOPOLOGY_SPREAD),
    ("anti-affinity", Detail.POD_AFFINITY),
    ("pod affinity rules", Detail.POD_AFFINITY),
    ("free ports", Detail.PORTS),
)
_ORDER = (
    Detail.CPU,
    Detail.MEMORY,
    Detail.EPHEMERAL_STORAGE,
    Detail.PODS,
    Detail.OTHER_RESOURCE,
    Detail.VOLUME,
    Detail.POD_AFFINITY,
    Detail.TOPOLOGY_SPREAD,
    Detail.PORTS,
    Detail.OTHER,
)


class Said(msgspec.Struct, frozen=True):
    """A scheduler's text, taken apart."""

    nodes: int | None
    """How many nodes the scheduler knew; None where the text does not say."""
    reasons: tuple[tuple[int, str], ...]
    """Nodes by reason; a reason that holds for the whole pod counts for every node."""
    preempts: bool
    """Others are being evicted for the pod."""

    def detail(self, rules: Rules) -> Detail:
        """The reason on most nodes that is no GPU step; the vocabulary's first when equal."""
        counts: dict[Detail, int] = {}
        for n, reason in self.reasons:
            what = _detail(reason, rules)
            if what is not None:
                counts[what] = counts.get(what, 0) + n
        return max(_ORDER, key=lambda each: counts.get(each, 0)) if counts else Detail.OTHER

    def only_gpu_steps(self, rules: Rules) -> bool:
        """Whether every reason is a GPU step: then the text is older than a node that fits."""
        return bool(self.reasons) and all(_detail(each, rules) is None for _, each in self.reasons)


def said(text: str) -> Said:
    """A scheduler's text as counts by reason; what follows no known form is one reason."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return Said(None, ((1, text),) if text else (), preempts=False)
    nodes, reasons = int(match["nodes"]), match["reasons"] or ""
    items = tuple((int(n), reason) for n, reason in _ITEM.findall(reasons))
    if not items and reasons:
        items = ((nodes, reasons),)
    return Said(nodes, items, preempts=_PREEMPTS in (match["tail"] or ""))


def _detail(reason: str, rules: Rules) -> Detail | None:
    """What a reason is about; None for a GPU step."""
    if reason.startswith(_GPU_STEPS):
        return None
    if reason.startswith(_INSUFFICIENT):
        resource = reason.removeprefix(_INSUFFICIENT)
        if rules.is_gpu(resource):
            return None
        return _INSUFFICIENT_DETAILS.get(resource, Detail.OTHER_RESOURCE)
    return next((what for text, what in _DETAILS if text in reason), Detail.OTHER)
