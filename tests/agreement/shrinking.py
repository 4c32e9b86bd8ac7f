"""How a disagreement becomes a minimal case: what can go without ending it, goes.

Pure: whether a smaller case still disagrees is asked of the caller, who has a scheduler.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

KEPT = {
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("metadata", "labels"),
    ("spec",),
    ("spec", "containers"),
    ("status",),
    ("status", "phase"),
}
"""Without these an object is none, or cannot be laid."""
KEPT_NAMES = ("name", "image", "key", "operator", "effect", "pods", "nominatedNodeName")
"""Fields without which a container, a requirement, a taint or a node is refused."""
KEPT_LABELS = "agreement.gpu-triage.io/"

Path = tuple[str | int, ...]


class Case(msgspec.Struct, frozen=True):
    """A pod and the objects around it."""

    pod: dict
    objects: list[dict]


def shrink(case: Case, disagrees: Callable[[Case], bool], budget: int = 250) -> Case:
    """The smallest case found that still disagrees.

    Args:
        case: one that does.
        disagrees: whether a smaller one does too; may be slow.
        budget: how often it may be asked.
    """
    left = [budget]

    def still(smaller: Case) -> bool:
        left[0] -= 1
        return left[0] >= 0 and disagrees(smaller)

    before = None
    while case != before and left[0] > 0:
        before = case
        case = _fields(_objects(case, still), still)
    return case


def _objects(case: Case, still: Callable[[Case], bool]) -> Case:
    """Leaves out objects, halves of them first."""
    size = len(case.objects)
    while size:
        start = 0
        while start < len(case.objects):
            rest = case.objects[:start] + case.objects[start + size :]
            smaller = Case(case.pod, rest)
            if still(smaller):
                case = smaller
            else:
                start += size
        size //= 2
    return case


def _fields(case: Case, still: Callable[[Case], bool]) -> Case:
    """Leaves out fields and items, whole branches first."""
    for index in range(-1, len(case.objects)):
        tried: set[Path] = set()
        while True:
            item = case.pod if index < 0 else case.objects[index]
            path = next((path for path in branches(item) if path not in tried), None)
            if path is None:
                break
            tried.add(path)
            smaller = _with(case, index, without(item, path))
            if still(smaller):
                case = smaller
                # Items behind a removed one have moved up.
                tried = {each for each in tried if each[: len(path) - 1] != path[:-1]}
    return case


def branches(item: Any, path: Path = ()) -> Iterator[Path]:
    """Every field and list item of an object that may be left out, from the outside in."""
    inside = item.items() if isinstance(item, dict) else enumerate(item)
    found = [((*path, key), value) for key, value in inside]
    for each, _ in found:
        name = each[-1]
        kept = each in KEPT or (
            isinstance(name, str) and (name in KEPT_NAMES or name.startswith(KEPT_LABELS))
        )
        if not kept:
            yield each
    for each, value in found:
        if isinstance(value, dict | list):
            yield from branches(value, each)


def without(item: dict, path: Path) -> dict:
    """The object without one branch."""
    smaller = copy.deepcopy(item)
    place: Any = smaller
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return smaller


def _with(case: Case, index: int, item: dict) -> Case:
    if index < 0:
        return Case(item, case.objects)
    return Case(case.pod, [*case.objects[:index], item, *case.objects[index + 1 :]])
