"""The words and details that the product says, and the forms in which their meaning is kept.

What each means stands in vocabulary.py. The words are API: changing one breaks alerts and scripts
of others.
"""

from enum import StrEnum

import msgspec


class Cause(StrEnum):
    """Why a pod that asks for GPUs is not running, in one word."""

    NO_REQUEST = "no-request"
    OK = "ok"
    LABEL_MISMATCH = "label-mismatch"
    TAINT = "taint"
    NO_GPU_NODE = "no-gpu-node"
    ALLOCATABLE_ZERO = "allocatable-zero"
    EXHAUSTED = "exhausted"
    GATED = "gated"
    NOT_GPU = "not-gpu"
    UNKNOWN = "unknown"


class Detail(StrEnum):
    """The bounded second word."""

    LOOKALIKE_NAME = "lookalike-name"
    RESOURCE_CLAIM = "resource-claim"
    VENDOR_ANNOTATION = "vendor-annotation"
    INTENT_ONLY = "intent-only"
    NONE = "none"
    REJECTED = "rejected"
    ENDED = "ended"
    STARTING = "starting"
    RUNNING = "running"
    SCALING_UP = "scaling-up"
    NODE_STARTING = "node-starting"
    UNKNOWN_KEY = "unknown-key"
    UNKNOWN_VALUE = "unknown-value"
    NO_NODE_HAS_ALL = "no-node-has-all"
    UNTOLERATED = "untolerated"
    NOT_READY = "not-ready"
    CORDONED = "cordoned"
    PRESSURE = "pressure"
    NO_NODES = "no-nodes"
    PLUGIN_MISSING = "plugin-missing"
    OTHER_RESOURCE_NAME = "other-resource-name"
    SELECTOR_EXCLUDES_GPU_NODES = "selector-excludes-gpu-nodes"
    NEVER_ADVERTISED = "never-advertised"
    NOT_ADVERTISED = "not-advertised"
    ALL_UNHEALTHY = "all-unhealthy"
    PLUGIN_GONE = "plugin-gone"
    UNHEALTHY_DEVICES = "unhealthy-devices"
    NODES_LOST = "nodes-lost"
    NEVER_FITS = "never-fits"
    RESERVED = "reserved"
    FRAGMENTED = "fragmented"
    BUSY = "busy"
    SCHEDULING_GATES = "scheduling-gates"
    TERMINATING = "terminating"
    OTHER_SCHEDULER = "other-scheduler"
    NOT_TRIED = "not-tried"
    PREEMPTING = "preempting"
    CPU = "cpu"
    MEMORY = "memory"
    EPHEMERAL_STORAGE = "ephemeral-storage"
    PODS = "pods"
    OTHER_RESOURCE = "other-resource"
    VOLUME = "volume"
    POD_AFFINITY = "pod-affinity"
    TOPOLOGY_SPREAD = "topology-spread"
    PORTS = "ports"
    OTHER = "other"
    FORBIDDEN = "forbidden"
    NOT_SYNCED = "not-synced"
    DRA = "dra"


class Audience(StrEnum):
    """Who can do something about it."""

    PLATFORM = "platform"
    USER = "user"


class EventType(StrEnum):
    """How an Event is shown: Warning when somebody must act, Normal when it resolves by itself."""

    WARNING = "Warning"
    NORMAL = "Normal"


class Sense(msgspec.Struct, frozen=True):
    """What a word with one of its details says."""

    meaning: str
    advice: str
    event: EventType | None = EventType.WARNING
    """None: no Event is made."""
    audience: Audience = Audience.USER


class Word(msgspec.Struct, frozen=True):
    """What a word says, and the details that refine it, in the order they are looked for."""

    title: str
    meaning: str
    reason: str
    """The Event's reason; empty where the word is never published."""
    details: dict[Detail, Sense]
    rests_on: tuple[str, ...] = ()
    """The kinds of objects besides the pod without which the word cannot be told."""


NODES = "nodes"
PODS = "pods"
DEVICE_CLASSES = "deviceclasses"
EVENTS = "events"
"""Read only if asked for; no word rests on them."""
KINDS = (NODES, PODS, DEVICE_CLASSES)
"""What words rest on: it can be read, and may be forbidden or not read yet."""
NAMESPACES = "namespaces"
"""They can ask to be left alone; no word rests on them."""

PENDING = tuple(cause for cause in Cause if cause not in (Cause.NO_REQUEST, Cause.OK))
"""The words that a pod can have while it asks for GPUs and is not placed."""
