"""Which pods may have to do with GPUs, told from their bytes: most have not; parsing is dear."""

import re
from collections.abc import Collection

from gpu_triage.core.rules import Rules

_WILD = re.compile(r"\[!?\]?[^\]]*\]|[*?\[]")


def tokens(rules: Rules) -> tuple[bytes, ...]:
    """Byte strings of which every pod holds one that asks for a GPU or carries our annotations.

    Names of resources and annotations are keys in JSON, where none of their letters is escaped.
    """
    domains = (rules.domain, *rules.old_domains)
    found = {*(f'"{each}/' for each in domains), *map(_literal, rules.resources)}
    needed = (each for each in found if not any(o in each for o in found if o != each))
    return tuple(sorted(each.encode() for each in needed))


def mentions(text: bytes, tokens: Collection[bytes]) -> bool:
    """Whether an object's JSON holds one of the tokens; without any, every object does."""
    return not tokens or any(token in text for token in tokens)


def _literal(pattern: str) -> str:
    """What every name that a glob matches holds, with the quote that begins a name in JSON."""
    first, *rest = _WILD.split(pattern)
    return max([f'"{first}' if first else "", *rest], key=len) or '"'
