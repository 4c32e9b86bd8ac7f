"""How numbers, names and lists read in a sentence."""

from collections.abc import Iterable, Mapping, Sequence

LIMIT = 512
"""Characters that a message may have: it is an annotation's value."""


def count_of(n: int, noun: str, plural: str = "") -> str:
    """``1 node``, ``3 nodes``."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def listing(parts: Sequence[str], most: int = 3, noun: str = "other") -> str:
    """``a, b and c``; what goes beyond ``most`` is counted."""
    shown = list(parts[:most])
    if len(parts) > most:
        shown.append(count_of(len(parts) - most, f"more {noun}" if noun != "other" else noun))
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def amounts(request: Mapping[str, int]) -> str:
    """``2 nvidia.com/gpu and 1 nvidia.com/mig-1g.5gb``."""
    return listing([f"{n} {name}" for name, n in request.items()], most=4)


def names(resources: Iterable[str]) -> str:
    """Resource names in a sentence."""
    return listing(list(resources), most=4)


def cut(text: str, limit: int = LIMIT) -> str:
    """The text, shortened at a word where it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    return text[: limit - 2].rsplit(" ", 1)[0] + " …"
