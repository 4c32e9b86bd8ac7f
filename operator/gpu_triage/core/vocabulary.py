"""The vocabulary: what every word and detail means, and what to do about it.

Annotation values, Event reasons and types, metric labels, audiences and docs/causes.md all come
from here.
"""

from gpu_triage.core.causes import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    Audience,
    Cause,
    Detail,
    EventType,
    Sense,
    Word,
)

_SCALING_UP = Sense(
    "an autoscaler has taken the pod on: it is nominated to a node that does not exist yet, or the"
    " autoscaler says so in an Event",
    "Wait for the node: this turns into another detail if none comes within 15 minutes; then read"
    " the autoscaler's log.",
    EventType.NORMAL,
)
_NODE_STARTING = Sense(
    "a GPU node that would help is still starting: its taints, labels or GPUs are not there yet",
    "Wait: this turns into another word if the node does not come up within 15 minutes.",
    EventType.NORMAL,
)


def _quiet(meaning: str, advice: str) -> Sense:
    return Sense(meaning, advice, event=None)


def _platform(meaning: str, advice: str) -> Sense:
    return Sense(meaning, advice, audience=Audience.PLATFORM)


VOCABULARY: dict[Cause, Word] = {
    Cause.NO_REQUEST: Word(
        "The pod asks for no GPU",
        "no container requests a GPU resource, so no GPU is given to it, wherever it runs",
        "",
        {
            Detail.LOOKALIKE_NAME: _quiet(
                "it asks for a resource whose name is close to a GPU's",
                "Ask for the name that the nodes offer, such as nvidia.com/gpu.",
            ),
            Detail.RESOURCE_CLAIM: _quiet(
                "it asks by a ResourceClaim (Dynamic Resource Allocation)",
                "Look at the status of that ResourceClaim.",
            ),
            Detail.VENDOR_ANNOTATION: _quiet(
                "it asks for a part of a GPU by an annotation that only its own scheduler reads",
                "Look at that scheduler's log and queues.",
            ),
            Detail.INTENT_ONLY: _quiet(
                "it tolerates a GPU taint, selects a GPU label or names a GPU runtime, and asks for"
                " nothing",
                "Add resources.limits with the GPU resource to a container.",
            ),
            Detail.NONE: _quiet(
                "nothing in it mentions GPUs",
                "If it should have one, check the indentation under resources.limits.",
            ),
        },
    ),
    Cause.OK: Word(
        "The pod is placed on a node",
        "spec.nodeName is set: scheduling is over, whatever became of the pod",
        "",
        {
            Detail.REJECTED: _quiet(
                "its node's kubelet refused it (OutOf…, UnexpectedAdmissionError,"
                " TopologyAffinityError)",
                "Look at the node: it promised devices that it could not give.",
            ),
            Detail.ENDED: _quiet("it has finished", "Nothing: look at its logs if it failed."),
            Detail.STARTING: _quiet(
                "its containers have not started yet", "See the Events in kubectl describe pod."
            ),
            Detail.RUNNING: _quiet("it runs", "Nothing."),
        },
    ),
    Cause.LABEL_MISMATCH: Word(
        "No node matches the pod's selector",
        "no node satisfies the pod's nodeSelector and required node affinity",
        "GPULabelMismatch",
        {
            Detail.SCALING_UP: _SCALING_UP,
            Detail.NODE_STARTING: _NODE_STARTING,
            Detail.UNKNOWN_KEY: Sense(
                "no node has a label that is asked for",
                "Compare with kubectl get nodes --show-labels; GPU labels come from GPU Feature"
                " Discovery.",
            ),
            Detail.UNKNOWN_VALUE: Sense(
                "nodes have the label, but none with the value that is asked for",
                "Use a value that exists (the message names the nearest).",
            ),
            Detail.NO_NODE_HAS_ALL: Sense(
                "each requirement is met by some node, all of them by none",
                "Drop or change one requirement.",
            ),
        },
        (NODES,),
    ),
    Cause.TAINT: Word(
        "The matching nodes keep the pod off",
        "of the nodes that match, none has all its taints tolerated by the pod",
        "GPUTaint",
        {
            Detail.SCALING_UP: _SCALING_UP,
            Detail.NODE_STARTING: _NODE_STARTING,
            Detail.UNTOLERATED: Sense(
                "a node with GPUs is closed to this pod by a taint that somebody set on purpose",
                "If the taint is the GPUs' own, tolerate it; else ask the owner of the nodes.",
            ),
            Detail.NOT_READY: _platform(
                "the nodes are not ready or cannot be reached",
                "Mend the nodes: kubectl describe node, then the kubelet's log.",
            ),
            Detail.CORDONED: _platform(
                "the nodes are cordoned", "Ask who cordoned them and why before changing anything."
            ),
            Detail.PRESSURE: _platform(
                "the nodes are short of memory, disk or process ids",
                "Free what is short on the nodes; the taint then goes by itself.",
            ),
        },
        (NODES, DEVICE_CLASSES),
    ),
    Cause.NO_GPU_NODE: Word(
        "No node offers the GPU resource",
        "of the nodes that match and are tolerated, none offers the resource at all",
        "GPUNoGPUNode",
        {
            Detail.NO_NODES: _platform(
                "the cluster has no node", "Add nodes, or look at the autoscaler."
            ),
            Detail.SCALING_UP: _SCALING_UP,
            Detail.NODE_STARTING: _NODE_STARTING,
            Detail.PLUGIN_MISSING: _platform(
                "a node has GPUs by its labels and offers none",
                "Look at the device plugin and driver pods of that node.",
            ),
            Detail.OTHER_RESOURCE_NAME: Sense(
                "a node offers GPUs under another name: MIG, time-slicing, another vendor",
                "Ask for the name that the node offers.",
            ),
            Detail.SELECTOR_EXCLUDES_GPU_NODES: Sense(
                "nodes that offer it exist; the pod's own selector excludes them",
                "Change the selector.",
            ),
            Detail.NEVER_ADVERTISED: Sense(
                "the cluster offers GPUs, but none under this name",
                "Check the spelling of the resource, or have the nodes configured for it.",
            ),
            Detail.NOT_ADVERTISED: _platform(
                "no node of the cluster offers any GPU",
                "Look at the device plugin's DaemonSet; without GPU machines, add some.",
            ),
        },
        (NODES, DEVICE_CLASSES),
    ),
    Cause.ALLOCATABLE_ZERO: Word(
        "The GPUs are there and none can be used",
        "of the nodes that offer the resource, all have an allocatable of 0",
        "GPUAllocatableZero",
        {
            Detail.NODE_STARTING: _NODE_STARTING,
            Detail.ALL_UNHEALTHY: _platform(
                "the node knows its GPUs and calls none of them healthy",
                "Look at the device plugin's log on the node, then for Xids in its kernel log.",
            ),
            Detail.PLUGIN_GONE: _platform(
                "the node offered GPUs once; its device plugin is gone",
                "Look at the device plugin's pod on the node.",
            ),
        },
        (NODES, DEVICE_CLASSES),
    ),
    Cause.EXHAUSTED: Word(
        "The GPUs are taken",
        "of the nodes with usable GPUs, none has enough left",
        "GPUExhausted",
        {
            Detail.SCALING_UP: _SCALING_UP,
            Detail.NODE_STARTING: _NODE_STARTING,
            Detail.UNHEALTHY_DEVICES: _platform(
                "it would fit if all devices of a node were healthy",
                "Mend the unhealthy devices of the node that the message names.",
            ),
            Detail.NODES_LOST: _platform(
                "it would fit on a node that is not ready, or whose GPUs have vanished",
                "Mend the node that the message names.",
            ),
            Detail.NEVER_FITS: Sense(
                "it asks for more on one node than any matching node has",
                "Ask for less per pod: waiting for others to finish will not help.",
            ),
            Detail.RESERVED: Sense(
                "the GPUs are held for pods that are about to be placed",
                "Wait.",
                EventType.NORMAL,
            ),
            Detail.FRAGMENTED: Sense(
                "enough GPUs are free in all, not enough on any one node",
                "Ask for fewer per pod, or wait until one node empties.",
            ),
            Detail.BUSY: Sense(
                "it fits once others finish",
                "Wait, or see who holds them: gpu-triage --nodes.",
                EventType.NORMAL,
            ),
        },
        (NODES, PODS, DEVICE_CLASSES),
    ),
    Cause.GATED: Word(
        "A scheduling gate holds the pod",
        "spec.schedulingGates is not empty, so no scheduler looks at the pod yet",
        "GPUGated",
        {
            Detail.SCHEDULING_GATES: _quiet(
                "whoever set the gate (Kueue and others) has not lifted it",
                "Look at the queue or controller that the gate names.",
            ),
        },
    ),
    Cause.NOT_GPU: Word(
        "GPUs are not what it waits for",
        "a node passes every GPU check; something else keeps the pod",
        "GPUNotTheCause",
        {
            Detail.ENDED: _quiet("it ended without ever being placed", "Look at its status."),
            Detail.TERMINATING: _quiet("it is being deleted", "Nothing."),
            Detail.OTHER_SCHEDULER: Sense(
                "it waits for a scheduler with rules of its own",
                "Look at that scheduler's log and queues.",
            ),
            Detail.NOT_TRIED: _quiet("no scheduler has tried it yet", "Wait a moment."),
            Detail.PREEMPTING: Sense(
                "the scheduler is evicting others for it", "Wait.", EventType.NORMAL
            ),
            Detail.CPU: Sense("not enough CPU beside the GPUs", "Ask for less CPU."),
            Detail.MEMORY: Sense("not enough memory beside the GPUs", "Ask for less memory."),
            Detail.EPHEMERAL_STORAGE: Sense(
                "not enough ephemeral storage", "Ask for less ephemeral storage."
            ),
            Detail.PODS: Sense("the nodes hold as many pods as they may", "Wait, or add nodes."),
            Detail.OTHER_RESOURCE: Sense(
                "another resource is short", "See the scheduler's text in kubectl describe pod."
            ),
            Detail.VOLUME: Sense("a volume cannot be used there", "Look at its claims."),
            Detail.POD_AFFINITY: Sense(
                "pod affinity or anti-affinity forbids it", "Look at the pod's affinity."
            ),
            Detail.TOPOLOGY_SPREAD: Sense(
                "its topology spread constraints forbid it", "Look at those constraints."
            ),
            Detail.PORTS: Sense("a host port is taken", "Look at hostPort."),
            Detail.OTHER: Sense(
                "another reason", "See the scheduler's text in kubectl describe pod."
            ),
        },
        (NODES, PODS, DEVICE_CLASSES),
    ),
    Cause.UNKNOWN: Word(
        "It cannot be told",
        "something that the answer rests on could not be read",
        "GPUCauseUnknown",
        {
            Detail.FORBIDDEN: _platform(
                "a right is missing", "Grant the right that the message names."
            ),
            Detail.NOT_SYNCED: _platform(
                "not everything has been read yet", "Wait a moment; add what the files lack."
            ),
            Detail.DRA: Sense(
                "a driver of Dynamic Resource Allocation decides, and its slices are not read",
                "Look at the pod's ResourceClaims.",
            ),
        },
    ),
}


def sense(cause: Cause, detail: Detail) -> Sense:
    """What a word says with one of its details."""
    return VOCABULARY[cause].details[detail]
