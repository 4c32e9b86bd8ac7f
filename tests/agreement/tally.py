"""What comes out of a comparison: counts of what agreed, and everything that did not."""

from collections import Counter

import msgspec

from .record import Asked


class Disagreement(msgspec.Struct, frozen=True):
    """One question to which we and the scheduler give different answers."""

    asked: Asked | None
    """None where an object says something else as it was written than as it is stored."""
    ours: str
    theirs: str


class Tally(msgspec.Struct):
    """What was compared, and what came out."""

    answers: Counter[str] = msgspec.field(default_factory=Counter)
    """Texts and bindings that were compared, by measure."""
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)
    """Pods times nodes that the answers speak of, by measure; narrowed variants count once."""
    steps: Counter[str] = msgspec.field(default_factory=Counter)
    """Narrowed verdicts by the first of our steps that the node fails."""
    words: Counter[str] = msgspec.field(default_factory=Counter)
    """Pods by the word that follows from the narrowed answers."""
    texts: Counter[str] = msgspec.field(default_factory=Counter)
    """Pods by that word and by what the scheduler says of most nodes: they may differ."""
    differences: Counter[str] = msgspec.field(default_factory=Counter)
    """Verdicts in which a declared difference between versions decides."""
    disagreements: list[Disagreement] = []
