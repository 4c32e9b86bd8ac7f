"""Which writes are not even tried, because all like them have been refused.

A right that is missing, or an admission policy that denies, refuses every pod alike. Then one pod
is tried now and again in place of thousands, and all go on once it is let through.
"""

import msgspec

from gpu_triage.publish.write import Kind

ENOUGH = 5
"""So many refusals in a row are no accident of single pods."""
ALL_SECONDS = 15.0
"""How often one write is tried while all are refused."""
NAMESPACE_SECONDS = 600.0
"""The same while those of one namespace are refused and others are not."""


class _Gate(msgspec.Struct):
    pause: float
    refusals: int = 0
    """In a row."""
    until: float = 0.0

    @property
    def closed(self) -> bool:
        return self.refusals >= ENOUGH


class Refusals:
    """What has been refused lately, by right and namespace."""

    def __init__(self) -> None:
        self.reopened = 0
        """How often all was let through again: what was refused before may be taken now."""
        self._all: dict[str, _Gate] = {}
        self._namespaces: dict[tuple[str, str], _Gate] = {}

    def until(self, kind: Kind) -> float:
        """From when on writes of a kind may be tried, by the clock; 0 where nothing hinders."""
        gate = self._all.get(_right(kind))
        return gate.until if gate is not None and gate.closed else 0.0

    def until_in(self, namespace: str, kind: Kind) -> float:
        """The same of a namespace that refuses while others do not."""
        gate = self._namespaces.get((_right(kind), namespace))
        return gate.until if gate is not None and gate.closed else 0.0

    def trying(self, kind: Kind, namespace: str, clock: float) -> None:
        """Notes that a write is on its way: no other like it before its answer."""
        right = _right(kind)
        for gate in (self._all.get(right), self._namespaces.get((right, namespace))):
            if gate is not None and gate.closed:
                gate.until = clock + gate.pause

    def refused(self, kind: Kind, namespace: str, clock: float, *, ending: bool = False) -> None:
        """Notes a refusal; that of a namespace that ends says nothing about others."""
        right = _right(kind)
        every = self._all.setdefault(right, _Gate(ALL_SECONDS))
        own = self._namespaces.setdefault((right, namespace), _Gate(NAMESPACE_SECONDS))
        for gate in (own,) if ending else (own, every):
            gate.refusals += 1
            gate.until = clock + gate.pause if gate.closed else 0.0
        if every.closed and not ending:
            own.refusals, own.until = 0, 0.0  # while all are refused, no namespace is to blame

    def taken(self, kind: Kind, namespace: str) -> bool:
        """Notes a write that was not refused; whether all is let through again by that."""
        right = _right(kind)
        every = self._all.pop(right, None)
        self._namespaces.pop((right, namespace), None)
        if every is None or not every.closed:
            return False
        self.reopened += 1
        for key in [key for key in self._namespaces if key[0] == right]:
            del self._namespaces[key]
        return True


def _right(kind: Kind) -> str:
    return "events" if kind in (Kind.EVENT, Kind.SERIES) else "annotations"
