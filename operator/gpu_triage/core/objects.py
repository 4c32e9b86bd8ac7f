"""The parts of Kubernetes objects that a rule reads, as typed structs.

Field names follow the API (``nodeSelector`` is ``node_selector`` here). Everything that the API
may leave out or send as null may be None. Decoding checks the types and names the path of what is
wrong, so a broken manifest is told apart from an answer. Quantities stay as they were written:
``quantity.count`` reads them.
"""

from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

Quantities = dict[str, str | int | float]
T = TypeVar("T")


class _Object(msgspec.Struct, rename="camel", frozen=True):
    pass


class OwnerReference(_Object, frozen=True):
    """Who made an object: a ReplicaSet, a Job."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(_Object, frozen=True):
    """Names, labels and times of any object."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] | None = None


class Requirement(_Object, frozen=True):
    """One expression or field of a node selector term."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class SelectorTerm(_Object, frozen=True):
    """Requirements that must all hold; terms are alternatives."""

    match_expressions: list[Requirement] | None = None
    match_fields: list[Requirement] | None = None


class NodeSelector(_Object, frozen=True):
    """Required node affinity."""

    node_selector_terms: list[SelectorTerm] | None = None


class NodeAffinity(_Object, frozen=True):
    """Only the required part filters nodes."""

    required: NodeSelector | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(_Object, frozen=True):
    """Node affinity; the other kinds are no GPU matter."""

    node_affinity: NodeAffinity | None = None


class Toleration(_Object, frozen=True):
    """Which taints a pod puts up with."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Taint(_Object, frozen=True):
    """What keeps pods off a node."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class Resources(_Object, frozen=True):
    """What a container asks for."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class Container(_Object, frozen=True):
    """An app or init container."""

    name: str = ""
    resources: Resources | None = None
    restart_policy: str | None = None


class SchedulingGate(_Object, frozen=True):
    """A named reason for which no scheduler looks at the pod yet."""

    name: str = ""


class ResourceClaim(_Object, frozen=True):
    """A claim of Dynamic Resource Allocation."""

    name: str = ""


class PodSpec(_Object, frozen=True):
    """What a pod wants."""

    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Quantities | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[SchedulingGate] | None = None
    resource_claims: list[ResourceClaim] | None = None
    runtime_class_name: str | None = None
    priority: int | None = None


class Condition(_Object, frozen=True):
    """One condition of a pod or node."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class ContainerWaiting(_Object, frozen=True):
    """Why a container does not run."""

    reason: str | None = None


class ContainerTerminated(_Object, frozen=True):
    """How a container ended."""

    exit_code: int = 0


class ContainerState(_Object, frozen=True):
    """What a container does now."""

    waiting: ContainerWaiting | None = None
    terminated: ContainerTerminated | None = None


class ContainerStatus(_Object, frozen=True):
    """One container as its kubelet sees it."""

    name: str = ""
    state: ContainerState | None = None


class PodStatus(_Object, frozen=True):
    """What became of a pod."""

    phase: str | None = None
    reason: str | None = None
    conditions: list[Condition] | None = None
    nominated_node_name: str | None = None
    start_time: str | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(_Object, frozen=True):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec | None = None
    status: PodStatus | None = None


class NodeSpec(_Object, frozen=True):
    """How a node is set."""

    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class NodeStatus(_Object, frozen=True):
    """What a node has and offers."""

    capacity: Quantities | None = None
    allocatable: Quantities | None = None


class Node(_Object, frozen=True):
    """A node."""

    metadata: Metadata = Metadata()
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class DeviceClassSpec(_Object, frozen=True):
    """The extended resource that a DeviceClass serves, if any."""

    extended_resource_name: str | None = None


class DeviceClass(_Object, frozen=True):
    """A class of devices of Dynamic Resource Allocation."""

    metadata: Metadata = Metadata()
    spec: DeviceClassSpec | None = None


class Namespace(_Object, frozen=True):
    """What pods are in; it may ask to be left alone."""

    metadata: Metadata = Metadata()


class InvolvedObject(_Object, frozen=True):
    """What an Event is about."""

    kind: str = ""
    uid: str = ""


class EventSeries(_Object, frozen=True):
    """That an Event goes on."""

    last_observed_time: str | None = None


class Event(_Object, frozen=True):
    """An Event, as the core group has it."""

    metadata: Metadata = Metadata()
    involved_object: InvolvedObject | None = None
    reason: str | None = None
    message: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: EventSeries | None = None


class ObjectError(ValueError):
    """An object does not have the shape that Kubernetes gives it; says where."""


def pod(raw: Any) -> Pod:
    """A pod from parsed JSON or YAML, or as it is. Raises ObjectError."""
    return _convert(raw, Pod)


def node(raw: Any) -> Node:
    """A node from parsed JSON or YAML, or as it is. Raises ObjectError."""
    return _convert(raw, Node)


def device_class(raw: Any) -> DeviceClass:
    """A DeviceClass from parsed JSON or YAML, or as it is. Raises ObjectError."""
    return _convert(raw, DeviceClass)


def namespace(raw: Any) -> Namespace:
    """A namespace from parsed JSON or YAML. Raises ObjectError."""
    return _convert(raw, Namespace)


def event(raw: Any) -> Event:
    """An Event of the core group from parsed JSON or YAML. Raises ObjectError."""
    return _convert(raw, Event)


def _convert(raw: Any, kind: type[T]) -> T:
    if isinstance(raw, kind):
        return raw
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise ObjectError(str(error)) from None


def seconds(timestamp: str | None) -> float | None:
    """Seconds since 1970 of an RFC 3339 time; None where there is none or it is no time."""
    if not timestamp:
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()
