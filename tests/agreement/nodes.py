"""Random nodes: what they offer, in every form in which capacity and allocatable can disagree."""

from random import Random

from . import vocabulary as words


def written(rng: Random, number: int) -> str:
    """A whole number as a quantity; mostly plain, sometimes as only Kubernetes would write it."""
    if rng.random() < 0.7:
        return str(number)
    if not number:
        return rng.choice(("0", "0e3", "0k", "0.0"))
    return rng.choice((f"+{number}", f"{number}e0", f"{number}000m", f"{number}.0"))


def offer(rng: Random) -> tuple[str | None, str | None]:
    """Capacity and allocatable of one resource on one node; None: the key is absent."""
    number = rng.choice((1, 2, 2, 3, 4, 8))
    whole = rng.choice(("1k", "1Ki", "1e3")) if rng.random() < 0.02 else written(rng, number)
    less = written(rng, rng.randint(0, number - 1))
    forms: tuple[tuple[int, str | None, str | None], ...] = (
        (55, whole, whole),
        (10, whole, less),
        (9, whole, written(rng, 0)),
        (8, "0", written(rng, 0)),
        (5, whole, None),
        (5, None, whole),
        (4, "0", whole),
        (4, less, whole),
        (8, None, None),
    )
    return rng.choices([form[1:] for form in forms], [form[0] for form in forms])[0]


def node(rng: Random, name: str, group: str) -> dict:
    """A node of a group, with the status that it shall have."""
    capacity, allocatable = (
        {"cpu": "64", "memory": "512Gi", "pods": "0" if rng.random() < 0.03 else "500"}
        for _ in range(2)
    )
    allocatable["pods"] = capacity["pods"]
    if rng.random() < 0.5:
        capacity[words.NETWORK] = allocatable[words.NETWORK] = "100"
    for resource in _offered(rng):
        total, free = offer(rng)
        if total is not None:
            capacity[resource] = total
        if free is not None:
            allocatable[resource] = free
    status: dict = {"capacity": capacity}
    # The API server fills an absent or empty map with the capacity.
    match rng.choices(("whole", "absent", "empty"), (88, 6, 6))[0]:
        case "whole":
            status["allocatable"] = allocatable
        case "empty":
            status["allocatable"] = {}
    spec: dict = {}
    if taints := _taints(rng):
        spec["taints"] = taints
    if rng.random() < 0.12:
        spec["unschedulable"] = True
    labels = {"kubernetes.io/hostname": name, words.GROUP: group}
    for key, values in words.LABELS.items():
        if rng.random() < 0.6:
            labels[key] = rng.choice(values)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def _offered(rng: Random) -> list[str]:
    """Resources that a node may mention; the plain GPU most of the time."""
    chosen = [resource for resource in words.RESOURCES[1:] if rng.random() < 0.4]
    return ([words.GPU] if rng.random() < 0.85 else []) + chosen


def _taints(rng: Random) -> list[dict]:
    taints: dict[tuple[str, str], dict] = {}
    for _ in range(rng.choices((0, 1, 2, 3), (55, 27, 13, 5))[0]):
        taint = {"key": rng.choice(words.TAINT_KEYS), "effect": rng.choice(words.EFFECTS)}
        if value := rng.choice(words.TAINT_VALUES):
            taint["value"] = value
        # The API server refuses two taints of one key and effect.
        taints[taint["key"], taint["effect"]] = taint
    return list(taints.values())
