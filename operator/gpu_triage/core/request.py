"""Which GPUs a pod asks for: the scheduler's sum over its containers.

Source: ``AggregateContainerRequests`` and ``PodRequests`` in
k8s.io/component-helpers/resource/helpers.go. The larger of what runs side by side and of what the
init containers need one after the other, plus the overhead of the pod's runtime.
"""

from collections.abc import Iterable

import msgspec

from gpu_triage.core import objects
from gpu_triage.core.quantity import QuantityError, count
from gpu_triage.core.rules import Rules


class Ask(msgspec.Struct, frozen=True):
    """One container's wish."""

    path: str
    """Of the resources' map; a limit alone is enough, since requests follow it."""
    resource: str
    amount: int


def request(spec: objects.PodSpec, rules: Rules) -> dict[str, int]:
    """Devices by GPU resource name, above 0, sorted by name.

    Raises:
        ObjectError: a quantity that is none, with the path of it.
    """
    return {name: n for name in gpu_names(spec, rules) if (n := _amount(spec, name)) > 0}


def gpu_names(spec: objects.PodSpec, rules: Rules) -> list[str]:
    """The GPU resource names that a pod mentions, sorted."""
    return sorted(name for name in named(spec) if rules.is_gpu(name))


def asks(spec: objects.PodSpec, rules: Rules) -> tuple[Ask, ...]:
    """Every place in a pod's manifest where GPUs are asked for, in order."""
    groups = (("containers", spec.containers), ("initContainers", spec.init_containers))
    return tuple(
        Ask(f"spec.{field}[{index}].resources.limits", name, amount)
        for field, containers in groups
        for index, container in enumerate(containers or ())
        for name in gpu_names(spec, rules)
        if (amount := _of(container, f"{field}[{index}]", name)) > 0
    )


def named(spec: objects.PodSpec) -> set[str]:
    """Every resource name that a pod's containers or overhead mention."""
    names: set[str] = set(spec.overhead or ())
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        if container.resources is not None:
            names.update(container.resources.requests or ())
            names.update(container.resources.limits or ())
    return names


def _amount(spec: objects.PodSpec, resource: str) -> int:
    running = _total(spec.containers or (), "containers", resource)
    sidecars = 0
    highest = 0
    for index, container in enumerate(spec.init_containers or ()):
        own = _of(container, f"initContainers[{index}]", resource)
        if container.restart_policy == "Always":
            sidecars += own
            highest = max(highest, sidecars)
        else:
            highest = max(highest, own + sidecars)
    overhead = (spec.overhead or {}).get(resource, 0)
    return max(running + sidecars, highest) + _count(overhead, f"overhead[{resource}]")


def _total(containers: Iterable[objects.Container], path: str, resource: str) -> int:
    return sum(
        _of(container, f"{path}[{index}]", resource) for index, container in enumerate(containers)
    )


def _of(container: objects.Container, path: str, resource: str) -> int:
    """What one container asks for; a limit without a request counts as one.

    The API server copies limits to requests on pods, but a file may hold what it never saw.
    """
    if container.resources is None:
        return 0
    for field in ("requests", "limits"):
        given: objects.Quantities | None = getattr(container.resources, field)
        if given is not None and resource in given:
            return _count(given[resource], f"{path}.resources.{field}[{resource}]")
    return 0


def _count(value: str | int | float, path: str) -> int:
    try:
        return count(value)
    except QuantityError as error:
        raise objects.ObjectError(f"{error} - at `$.spec.{path}`") from None
