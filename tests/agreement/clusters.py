"""A random small cluster from a seed: the same seed gives the same cluster, on every machine.

Its objects are valid as they are: `gpu-triage -f` reads them, and laying.py makes a real API server
hold them with the status that is written here.
"""

from random import Random

import msgspec

from . import vocabulary as words
from .nodes import node
from .pods import asking, standing

ASKING = 6
"""Pods of each cluster that the scheduler is asked about."""


class Cluster(msgspec.Struct, frozen=True):
    """A few nodes, the pods that stand on them, and the pods that wait."""

    name: str
    nodes: list[dict]
    standing: list[dict]
    asking: list[dict]
    nominated: dict
    """One of the asking pods again, nominated itself: that must not stand in its own way."""

    @property
    def objects(self) -> list[dict]:
        """Everything but the pods that ask."""
        return [*self.nodes, *self.standing]


def cluster(seed: int, index: int, *, parked: bool = True) -> Cluster:
    """The cluster of this index from a seed.

    Args:
        seed: of the whole run.
        index: which of the run's clusters.
        parked: whether nominated pods may be held by having failed before; they would not survive
            a restart of the scheduler.
    """
    rng = Random(f"{seed}/{index}")
    name = f"c{seed}-{index}"
    nodes = [node(rng, f"{name}-n{i}", name) for i in range(rng.choice((2, 3, 4, 4, 5, 6)))]
    names = [each["metadata"]["name"] for each in nodes]
    stand = [
        standing(rng, f"{name}-s{i}", name, names, parked=parked)
        for i in range(rng.randint(2, 2 * len(nodes)))
    ]
    ask = [asking(rng, f"{name}-a{i}", name, names) for i in range(ASKING)]
    return Cluster(name, nodes, stand, ask, _nominated(rng, ask, names))


def pinned(pod: dict) -> dict:
    """The pod, kept to the nodes of its own group: it meets nothing of the clusters beside it."""
    group = pod["metadata"]["labels"][words.GROUP]
    selector = {**pod["spec"].get("nodeSelector", {}), words.GROUP: group}
    return {**pod, "spec": {**pod["spec"], "nodeSelector": selector}}


def _nominated(rng: Random, ask: list[dict], names: list[str]) -> dict:
    """A pod with few demands on a node, so that its own nomination could stand in its way."""
    pod = pinned(rng.choice(ask))
    metadata = {**pod["metadata"], "name": f"{pod['metadata']['name']}-nominated"}
    metadata["uid"] = f"uid-{metadata['name']}"
    spec = {key: value for key, value in pod["spec"].items() if key != "affinity"}
    spec["nodeSelector"] = {words.GROUP: metadata["labels"][words.GROUP]}
    spec["tolerations"] = [{"operator": "Exists"}]
    status = {"phase": "Pending", "nominatedNodeName": rng.choice(names)}
    return {**pod, "metadata": metadata, "spec": spec, "status": status}
