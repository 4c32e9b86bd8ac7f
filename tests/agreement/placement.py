"""Random choices of nodes and tolerations: every form that the API server accepts."""

from random import Random

from . import vocabulary as words


def choice(rng: Random, names: list[str]) -> dict:
    """The part of a pod's spec that chooses nodes.

    Args:
        rng: decides everything.
        names: nodes that matchFields may name.
    """
    spec: dict = {}
    if rng.random() < 0.2:
        keys = rng.sample(list(words.LABELS), rng.choices((1, 2), (80, 20))[0])
        spec["nodeSelector"] = {key: rng.choice(words.LABELS[key]) for key in keys}
    affinity: dict = {}
    if rng.random() < 0.4:
        terms = [_term(rng, names) for _ in range(rng.choices((1, 2, 3), (60, 28, 12))[0])]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if rng.random() < 0.1:
        preference = {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": 1, "preference": preference}
        ]
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    return spec


def tolerations(rng: Random) -> list[dict]:
    """Tolerations of every form; now and then one that tolerates everything."""
    if rng.random() < 0.25:
        return [{"operator": "Exists"}]
    return [_toleration(rng) for _ in range(rng.choices((0, 1, 2, 3), (35, 30, 20, 15))[0])]


def _toleration(rng: Random) -> dict:
    toleration: dict = {"key": rng.choice(words.TAINT_KEYS)}
    match rng.choice(("Exists", "Exists", "Equal", "Equal", "", "", "Gt", "Lt")):
        case "Gt" | "Lt" as operator:
            # Behind the gate TaintTolerationComparisonOperators; numbers without leading zeros.
            numbers = rng.choice(words.TAINT_NUMBERS)
            toleration = {"key": "size", "operator": operator, "value": numbers}
        case "Exists":
            toleration["operator"] = "Exists"
            # An empty key with Exists tolerates everything of the effect.
            if rng.random() < 0.15:
                del toleration["key"]
        case operator:
            if operator:
                toleration["operator"] = operator
            if value := rng.choice(words.TAINT_VALUES):
                toleration["value"] = value
    if rng.random() < 0.5:
        toleration["effect"] = rng.choice(words.EFFECTS)
    if toleration.get("effect") == "NoExecute" and rng.random() < 0.3:
        toleration["tolerationSeconds"] = 60
    return toleration


def _term(rng: Random, names: list[str]) -> dict:
    term: dict = {}
    # Without both the term is empty, which is legal and matches nothing.
    if count := rng.choices((0, 1, 2), (20, 60, 20))[0]:
        term["matchExpressions"] = [_expression(rng) for _ in range(count)]
    if count := rng.choices((0, 1, 2), (78, 18, 4))[0]:
        term["matchFields"] = [
            {
                "key": "metadata.name",
                "operator": rng.choice(("In", "NotIn")),
                "values": [rng.choice([*names, "no-such-node"])],
            }
            for _ in range(count)
        ]
    return term


def _expression(rng: Random) -> dict:
    operator = rng.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    key = rng.choice([*words.LABELS, "no-such-label"])
    match operator:
        case "In" | "NotIn":
            known = words.LABELS.get(key, ("x", ""))
            values = rng.sample(known, rng.randint(1, min(2, len(known))))
            return {"key": key, "operator": operator, "values": values}
        case "Gt" | "Lt":
            # Mostly numbers with numbers: elsewhere both are just false.
            key = "count" if rng.random() < 0.85 else key
            return {"key": key, "operator": operator, "values": [rng.choice(words.BOUNDS)]}
        case _:
            return {"key": key, "operator": operator}
