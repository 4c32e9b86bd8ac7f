"""What all nodes have taken together: which labels with which values, which names, any GPU name."""

from collections.abc import Collection

from gpu_triage.core.node_facts import NodeFacts


class Census:
    """Counts over the nodes, kept as they come and go, so that nobody has to walk them."""

    def __init__(self) -> None:
        self.version = 0
        """Another one whenever an answer from here may be another one."""
        self._names: dict[str, None] = {}
        self._values: dict[str, dict[str, int]] = {}
        self._advertising = 0

    @property
    def names(self) -> Collection[str]:
        """The names of all nodes."""
        return self._names.keys()

    @property
    def advertised(self) -> bool:
        """Whether some node names a GPU resource in its status, 0 of it too."""
        return self._advertising > 0

    def values(self, key: str) -> Collection[str]:
        """The values that nodes have for a label."""
        return self._values.get(key, {}).keys()

    def lacks(self, key: str) -> bool:
        """Whether some node lacks a label."""
        return sum(self._values.get(key, {}).values()) < len(self._names)

    def move(self, before: NodeFacts | None, after: NodeFacts | None) -> None:
        """Takes a node as it is now in place of what it was."""
        if before is None or after is None or before.labels != after.labels:
            self.version += 1
            if before is not None:
                self._forget(before)
            if after is not None:
                self._note(after)
        known = self.advertised
        self._advertising += int(after is not None and after.advertises)
        self._advertising -= int(before is not None and before.advertises)
        if known is not self.advertised:
            self.version += 1

    def _note(self, node: NodeFacts) -> None:
        self._names[node.name] = None
        for key, value in node.labels.items():
            counts = self._values.setdefault(key, {})
            counts[value] = counts.get(value, 0) + 1

    def _forget(self, node: NodeFacts) -> None:
        del self._names[node.name]
        for key, value in node.labels.items():
            counts = self._values[key]
            counts[value] -= 1
            if not counts[value]:
                del counts[value]
                if not counts:
                    del self._values[key]
