"""How many GPUs each node was seen with: what tells a node that has lost one from a small one."""

from collections.abc import Mapping

import msgspec

from gpu_triage.core.node_facts import NodeFacts

SETTLE_SECONDS = 900
"""After its configuration has changed, a node's numbers are believed as they come for so long: the
label and the numbers that follow from it change minutes apart, in either order."""

_CONFIGURATION = (
    "nvidia.com/mig.config",
    "nvidia.com/mig.config.state",
    "nvidia.com/mig.strategy",
    "nvidia.com/gpu.replicas",
    "nvidia.com/gpu.sharing-strategy",
)


class _Memory(msgspec.Struct):
    """One node as it was."""

    configuration: tuple[str | None, ...]
    names: list[str]
    """The resources that it offered when it last offered any."""
    most: Mapping[str, int]
    until: float = 0.0
    """Till when numbers are believed as they come, by the clock."""


class Devices:
    """Remembers for each node the most devices that a living device plugin has told of it."""

    def __init__(self) -> None:
        self._memories: dict[str, _Memory] = {}

    def recall(self, node: NodeFacts, clock: float) -> NodeFacts:
        """A node as it is now, with what it was seen with before where that is more.

        What was seen is forgotten when the node is configured otherwise, or offers other resources
        than before. A node that offers nothing for a while does not offer others: a plugin that was
        gone and comes back with fewer devices has lost some.

        Args:
            node: the node as it is now.
            clock: seconds that no correction of the time of day touches.
        """
        configuration = tuple(node.labels.get(key) for key in _CONFIGURATION)
        names, told = node.living(), _told(node)
        memory = self._memories.get(node.name)
        if memory is None:
            self._memories[node.name] = _Memory(configuration, names, told)
            return node
        if memory.configuration != configuration:
            memory.configuration, memory.until = configuration, clock + SETTLE_SECONDS
        if clock < memory.until or (names and names != memory.names):
            memory.most = told
        else:
            memory.most = {
                name: max(memory.most.get(name, 0), told.get(name, 0))
                for name in memory.most.keys() | told.keys()
            }
        memory.names = names or memory.names
        seen = {name: n for name, n in memory.most.items() if n > node.capacity.get(name, 0)}
        return msgspec.structs.replace(node, seen=seen) if seen else node

    def forget(self, name: str) -> None:
        """Forgets a node that is gone: another may come under its name."""
        self._memories.pop(name, None)


def _told(node: NodeFacts) -> dict[str, int]:
    """The devices of a plugin that lives: those of a dead one stand in the capacity for minutes."""
    return {
        name: max(n, node.capacity.get(name, 0)) for name, n in node.allocatable.items() if n > 0
    }
