"""One waiting pod held against every node: what detail and message are worked out from."""

from collections import Counter

import msgspec

from gpu_triage.core import fit
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.funnel import Funnel, funnel, passes_through
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.outlook import Outlook
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts


class Survey(Outlook, frozen=True):
    """A pod, the cluster, and the code of every node for this pod."""

    pod: PodFacts
    codes: dict[str, int]
    counts: Counter[int]

    def nodes(self, needed: int, without: int = 0) -> list[NodeFacts]:
        """Nodes whose code has all bits of ``needed`` and none of ``without``, by name."""
        return [
            self.picture.nodes[name]
            for name, code in sorted(self.codes.items())
            if code & needed == needed and not code & without
        ]

    def candidates(self, bits: int = 0) -> list[NodeFacts]:
        """Nodes that remain candidates (step 2 of the semantics) and pass ``bits`` too, by name."""
        return self.nodes(passes_through(self.counts) | bits)


class Verdict(msgspec.Struct, frozen=True):
    """The answer for one pod."""

    pod: PodFacts
    cause: Cause
    detail: Detail
    survey: Survey | None = None
    """None where the word needs no look at the nodes, or they could not be read."""
    unread: tuple[str, ...] = ()
    """The kinds of objects for lack of which the word is ``unknown``."""

    @property
    def funnel(self) -> Funnel | None:
        """The remainders after each step, where nodes were looked at."""
        return funnel(self.survey.counts) if self.survey is not None else None


def survey(pod: PodFacts, picture: Picture) -> Survey:
    """The code of every node for this pod, with what is reserved for others taken into account."""
    codes = {
        name: fit.node_code(pod.shape, node, picture.taken_from(pod, name), picture.classes)
        for name, node in picture.nodes.items()
    }
    return Survey(pod.shape, picture, pod, pod, codes, Counter(codes.values()))
