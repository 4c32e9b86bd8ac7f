"""Random pods: those that stand in a cluster and hold or reserve GPUs, and those that ask."""

from random import Random

from . import placement, workloads
from . import vocabulary as words

HELD_BY_GATE, HELD_BY_CLAIM, HELD_BY_LABEL = "gate", "claim", "label"
"""Why the scheduler does not try a nominated pod, which would lose its nomination by that."""


def standing(rng: Random, name: str, group: str, nodes: list[str], *, parked: bool) -> dict:
    """A pod that holds GPUs of a node, held them, or is nominated to it; status as it shall be.

    Args:
        rng: decides everything.
        name: its name.
        group: the small cluster that it is part of.
        nodes: names of the group's nodes.
        parked: whether pods that failed before they were nominated may occur.
    """
    pod = _pod(rng, name, group, "standing")
    pod["spec"] |= workloads.asks(rng, most=2)
    if rng.random() < 0.3:
        _nominated(rng, pod, rng.choice(nodes), parked=parked)
        return pod
    node = rng.choice(nodes) if rng.random() < 0.95 else "node-that-left"
    pod["spec"]["nodeName"] = node
    phases = ("Running", "Pending", "Unknown", "Succeeded", "Failed")
    phase = rng.choices(phases, (45, 20, 5, 15, 15))[0]
    pod["status"] = {"phase": phase}
    if phase not in ("Succeeded", "Failed") and rng.random() < 0.15:
        pod["metadata"]["deletionTimestamp"] = "2026-01-10T10:00:00Z"
    return pod


def _nominated(rng: Random, pod: dict, node: str, *, parked: bool) -> None:
    """Nominates a pod to a node, held so that it keeps its nomination."""
    pod["status"] = {"phase": "Pending", "nominatedNodeName": node}
    holds = [HELD_BY_GATE, HELD_BY_GATE, HELD_BY_CLAIM]
    if parked:
        holds += [HELD_BY_LABEL] * 2
    match rng.choice(holds):
        case "gate":
            pod["spec"]["schedulingGates"] = [{"name": f"{words.DOMAIN}/waits"}]
        case "claim":
            pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "no-such-claim"}]
        case _:
            pod["spec"]["nodeSelector"] = {words.NOBODY: "x"}
    if rng.random() < 0.2:
        # Without a finalizer a pod that is not placed is gone at once.
        pod["metadata"]["deletionTimestamp"] = "2026-01-10T10:00:00Z"
        pod["metadata"]["finalizers"] = [words.FINALIZER]


def asking(rng: Random, name: str, group: str, nodes: list[str]) -> dict:
    """A pod that waits for a node."""
    pod = _pod(rng, name, group, "asking")
    pod["spec"] |= workloads.asks(rng, most=rng.choice((1, 2, 3)))
    pod["spec"] |= placement.choice(rng, nodes)
    if given := placement.tolerations(rng):
        pod["spec"]["tolerations"] = given
    # Nobody answers for a scheduler that does not run.
    pod["spec"]["schedulerName"] = rng.choice(words.PROFILES)
    pod["status"] = {"phase": "Pending"}
    return pod


def _pod(rng: Random, name: str, group: str, role: str) -> dict:
    namespace = rng.choice(words.NAMESPACES)
    schedulers = (*words.PROFILES, words.PROFILES[0], words.OTHER_SCHEDULER)
    spec: dict = {}
    # Who names no scheduler gets the default one.
    if rng.random() < 0.8:
        spec["schedulerName"] = rng.choice(schedulers)
    priority = rng.choice(words.PRIORITIES)
    if priority is not None:
        spec["priority"] = priority
    if rng.random() < 0.3:
        spec["preemptionPolicy"] = "Never"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "labels": {words.ROLE: role, words.GROUP: group},
        },
        "spec": spec,
    }
