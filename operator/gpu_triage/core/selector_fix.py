"""The change of a selector that lets a node with usable GPUs match: a value, or a requirement."""

import difflib
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from gpu_triage.core.change import Edit, Fix, Json, change, furthest
from gpu_triage.core.facts import NodeFacts
from gpu_triage.core.fit import ALLOCATABLE, OFFERS, Step
from gpu_triage.core.selector import REQUIRED, Requirement, Selector
from gpu_triage.core.survey import Survey

_PLAIN = "spec.nodeSelector["
_ALIKE = 0.6
"""How alike two values must be, from 0 to 1, to ask "did you mean"."""


def selector_fix(seen: Survey) -> Fix | None:
    """The change that gets furthest; None where more than one requirement stands in the way.

    Nodes that the changed pod would not tolerate are passed over: one change does not get it there.
    """
    shape = seen.pod.shape
    found = []
    for node in seen.nodes(OFFERS | ALLOCATABLE):
        for at, number in _single_failures(shape.selector, node):
            for likeness, edit, selector in _edits(shape.selector, at, number, node):
                changed = msgspec.structs.replace(shape, selector=selector)
                fix = change(seen, changed, node, edit)
                if fix.reaches != Step.TAINT:
                    found.append((likeness, fix))
    return furthest(found)


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


def _edits(
    selector: Selector, at: int, number: int, node: NodeFacts
) -> Iterator[tuple[float, Edit, Selector]]:
    """Likeness, edit and the selector afterwards, for each way to let the node pass."""
    alternative, paths = selector.alternatives[at], selector.paths[at]
    wrong, path = alternative[number], paths[number]
    has = node.name if wrong.field else node.labels.get(wrong.key)
    if wrong.operator == "In" and has is not None:
        likeness = max(_likeness(value, has) for value in wrong.values)
        if likeness >= _ALIKE:
            right = Requirement(wrong.key, "In", (has,), wrong.field)
            says = f"select {right} instead of {', '.join(wrong.values)}"
            edit = Edit(path, _written(wrong, path), _written(right, path), says)
            yield likeness, edit, _with(selector, at, number, (right,))
            return
    says = f"drop {wrong}, if any node will do"
    own = [each for each in paths if not each.startswith(_PLAIN)]
    if own != [path]:
        edit = Edit(path, _written(wrong, path), None, says)
        yield 0.0, edit, _with(selector, at, number, ())
    elif len(selector.alternatives) == 1:
        # A term without requirements would match nothing: the affinity goes with its last one.
        field = "matchFields" if wrong.field else "matchExpressions"
        whole = {"nodeSelectorTerms": [{field: [_written(wrong, path)]}]}
        edit = Edit(REQUIRED, whole, None, says)
        rest = len(paths) - 1
        yield 0.0, edit, Selector((alternative[:rest],), (paths[:rest],))


def _written(requirement: Requirement, path: str) -> Json:
    """A requirement as it stands at its path of the manifest."""
    if path.startswith(_PLAIN):
        return requirement.values[0]
    written: Json = {"key": requirement.key, "operator": requirement.operator}
    return {**written, "values": list(requirement.values)} if requirement.values else written


def _with(selector: Selector, at: int, number: int, instead: tuple[Requirement, ...]) -> Selector:
    """A selector with one requirement replaced; the nodeSelector's stand in every alternative."""
    shared = selector.paths[at][number].startswith(_PLAIN)
    changed = tuple(
        (*each[:number], *instead, *each[number + 1 :]) if shared or index == at else each
        for index, each in enumerate(selector.alternatives)
    )
    return Selector(changed, selector.paths)


@lru_cache(maxsize=4096)
def _likeness(wanted: str, has: str) -> float:
    return difflib.SequenceMatcher(None, wanted, has).ratio()
