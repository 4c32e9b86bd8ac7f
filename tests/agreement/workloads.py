"""Random containers: how a pod comes to ask for GPUs."""

from random import Random

from . import vocabulary as words
from .nodes import written

POLICIES = (None, None, "Always", "Always", "OnFailure", "Never")


def asks(rng: Random, *, most: int) -> dict:
    """The part of a pod's spec that asks for GPUs.

    Args:
        rng: decides everything.
        most: the largest number that one container asks for.
    """
    resources = rng.sample(words.RESOURCES, rng.choices((1, 2), (85, 15))[0])
    if rng.random() < 0.6 and words.GPU not in resources:
        resources[0] = words.GPU
    spec: dict = {
        "containers": [
            _container(rng, f"main-{index}", resources, most, certain=index == 0)
            for index in range(rng.choices((1, 2, 3), (75, 18, 7))[0])
        ]
    }
    if rng.random() < 0.3:
        spec["initContainers"] = [
            _init_container(rng, f"init-{index}", resources, most)
            for index in range(rng.randint(1, 3))
        ]
    if rng.random() < 0.08:
        spec["overhead"] = {rng.choice(resources): written(rng, rng.randint(1, 2))}
    return spec


def _init_container(rng: Random, name: str, resources: list[str], most: int) -> dict:
    container = _container(rng, name, resources, most, certain=False)
    if policy := rng.choice(POLICIES):
        container["restartPolicy"] = policy
    return container


def _container(rng: Random, name: str, resources: list[str], most: int, *, certain: bool) -> dict:
    amounts = {
        resource: written(rng, rng.randint(1 if certain else 0, most))
        for resource in resources
        if certain or rng.random() < 0.6
    }
    if rng.random() < 0.02:
        amounts[resources[0]] = rng.choice(("1k", "1Ki", "1e3"))
    if rng.random() < 0.06:
        amounts[words.NETWORK] = "1"
    container: dict = {"name": name, "image": "none"}
    if not amounts:
        return container
    # The API server copies a limit into a missing request.
    container["resources"] = {"limits": amounts}
    if rng.random() < 0.5:
        container["resources"]["requests"] = dict(amounts)
    return container
