"""The change of a selector that lets a node with usable GPUs match: a value, or a requirement."""

import difflib
from collections.abc import Iterator
from functools import lru_cache, partial

from gpu_triage.core.change import Edit, Fix, Json, Option, furthest
from gpu_triage.core.fit import ALLOCATABLE, LABEL, OFFERS, TOLERATED
from gpu_triage.core.node_facts import NodeFacts
from gpu_triage.core.selector import REQUIRED, Requirement, Selector
from gpu_triage.core.survey import Survey

_PLAIN = "spec.nodeSelector["
_ALIKE = 0.6
"""How alike two values must be, from 0 to 1, to ask "did you mean"."""


def selector_fix(seen: Survey) -> Fix | None:
    """The change that gets furthest; None where more than one requirement stands in the way.

    Nodes that the changed pod would not tolerate are passed over: one change does not get it there.
    """
    return furthest(seen, _options(seen))


def _options(seen: Survey) -> Iterator[Option]:
    selector = seen.pod.shape.selector
    for node in seen.nodes(OFFERS | ALLOCATABLE | TOLERATED):
        # All that the change does at this node is that it matches now.
        code = seen.codes[node.name] | LABEL
        for at, number in _single_failures(selector, node):
            wrong, path = selector.alternatives[at][number], selector.paths[at][number]
            has = node.name if wrong.field else node.labels.get(wrong.key)
            likeness = _best_likeness(wrong, has)
            if has is not None and likeness >= _ALIKE:
                corrected = partial(_corrected, wrong, has, path)
                yield Option(node, code, corrected, rank=likeness, keeps_aim=True)
            elif _can_be_dropped(selector, at, path):
                yield Option(node, code, partial(_dropped, wrong, path, selector.paths[at]))


def one_change_away(seen: Survey) -> list[NodeFacts]:
    """Nodes with usable GPUs that the selector misses by one requirement."""
    selector = seen.pod.shape.selector
    nodes = seen.nodes(OFFERS | ALLOCATABLE)
    return [node for node in nodes if any(_single_failures(selector, node))]


def _single_failures(selector: Selector, node: NodeFacts) -> Iterator[tuple[int, int]]:
    """Alternative and number of a requirement that alone keeps the node from matching."""
    for at, alternative in enumerate(selector.alternatives):
        failing = [
            number
            for number, each in enumerate(alternative)
            if not each.holds(node.labels, node.name)
        ]
        if len(failing) == 1:
            yield at, failing[0]


def _can_be_dropped(selector: Selector, at: int, path: str) -> bool:
    """Whether the pod asks for less without it: a term that becomes empty matches nothing."""
    return _own(selector.paths[at]) != [path] or len(selector.alternatives) == 1


def _own(paths: tuple[str, ...]) -> list[str]:
    """The requirements of a term itself, without the nodeSelector's."""
    return [each for each in paths if not each.startswith(_PLAIN)]


def _corrected(wrong: Requirement, has: str, path: str) -> Edit:
    right = Requirement(wrong.key, "In", (has,), wrong.field)
    says = f"select {right} instead of {', '.join(wrong.values)}"
    return Edit(path, _written(wrong, path), _written(right, path), says)


def _dropped(wrong: Requirement, path: str, paths: tuple[str, ...]) -> Edit:
    says = f"drop {wrong}, if any node will do"
    if _own(paths) != [path]:
        return Edit(path, _written(wrong, path), None, says)
    # The affinity goes with its last requirement.
    field = "matchFields" if wrong.field else "matchExpressions"
    whole = {"nodeSelectorTerms": [{field: [_written(wrong, path)]}]}
    return Edit(REQUIRED, whole, None, says)


def _written(requirement: Requirement, path: str) -> Json:
    """A requirement as it stands at its path of the manifest."""
    if path.startswith(_PLAIN):
        return requirement.values[0]
    written: Json = {"key": requirement.key, "operator": requirement.operator}
    return {**written, "values": list(requirement.values)} if requirement.values else written


def _best_likeness(wrong: Requirement, has: str | None) -> float:
    if wrong.operator != "In" or has is None:
        return 0.0
    return max(_likeness(value, has) for value in wrong.values)


@lru_cache(maxsize=4096)
def _likeness(wanted: str, has: str) -> float:
    return difflib.SequenceMatcher(None, wanted, has).ratio()
