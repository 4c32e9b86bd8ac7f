"""Nodes of 12 KB and pods of 6 KB for load runs, made of a few templates while they are sent.

Their sizes are those of real ones with their managed fields, so what it costs to read them is real;
150,000 of them as bytes would take 900 MB.
"""

import json

from tests import builders

POD_BYTES, NODE_BYTES = 6_000, 12_000
GPU_NODES = 4
"""One node in so many has GPUs."""
PER_NODE = 8
FLIPPED = "flipped"
"""The pool of the one node that the load run flips, and of the pods that hang on it."""

Template = tuple[bytes, ...]


def pod_template(gpus: int, *, waits: bool = False, **rest) -> Template:
    """A pod that runs, or waits for GPUs; the keywords are those of builders.pod."""
    node = None if waits else "~NODE~"
    raw = builders.pod("~NAME~", gpus, namespace="~NAMESPACE~", node=node, **rest)
    raw["metadata"] |= {
        "uid": "~UID~",
        "resourceVersion": "~VERSION~",
        "labels": {"app": "~NAME~", "team": "~NAMESPACE~"},
        "annotations": {"checksum/config": "0" * 64, "~MARKS~": ""},
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "~NAME~", "uid": "0" * 36}
        ],
    }
    raw["spec"]["tolerations"] = [
        *rest.get("tolerations", ()),
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
    ]
    container = raw["spec"]["containers"][0]
    container["env"] = [{"name": f"SETTING_{n}", "value": f"value-{n}"} for n in range(12)]
    container.setdefault("resources", {}).setdefault("requests", {})["cpu"] = "500m"
    raw["status"]["conditions"] = [
        {
            "type": kind,
            "status": "False" if waits else "True",
            "lastTransitionTime": "~CHANGED~",
            "message": "since ~CHANGED~",
        }
        for kind in ("PodScheduled", "Initialized", "Ready", "ContainersReady")
    ]
    if waits:
        raw["status"]["conditions"][0] |= {
            "reason": "Unschedulable",
            "message": "0/5000 nodes are available: 3750 Insufficient nvidia.com/gpu, 1250 node(s) "
            "didn't match Pod's node affinity/selector.",
        }
    return _template(raw, POD_BYTES)


def node_template(gpus: int, *, unschedulable: bool = False, pool: str = "~POOL~") -> Template:
    """A node with or without GPUs."""
    raw = builders.node(
        "~NAME~",
        gpus or None,
        unschedulable=unschedulable,
        taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
        if unschedulable
        else (),
        labels={
            "pool": pool,
            **{f"feature.node.kubernetes.io/cpu-cpuid.F{n:02}": "true" for n in range(24)},
            **(
                {"nvidia.com/gpu.product": "NVIDIA-A100", "nvidia.com/gpu.count": "8"}
                if gpus
                else {}
            ),
        },
    )
    raw["metadata"] |= {"uid": "~UID~", "resourceVersion": "~VERSION~"}
    raw["status"]["images"] = [
        {"names": [f"registry.example/image-{n}@sha256:{n:064x}"], "sizeBytes": 10**6 + n}
        for n in range(30)
    ]
    return _template(raw, NODE_BYTES)


def filled(template: Template, fields: dict[bytes, bytes]) -> bytes:
    """The object; ``fields`` are by their names in the template."""
    return b"".join([fields.get(part, part) for part in template])


def _template(raw, size: int) -> Template:
    """Its JSON in parts, with managed fields up to the size."""
    fields: dict[str, object] = {}
    raw["metadata"]["managedFields"] = [
        {"manager": "kubelet", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}
    ]
    del raw["kind"], raw["apiVersion"]
    number = 0
    while len(text := json.dumps(raw, separators=(",", ":"))) < size:
        fields[f"f:field{number}"] = {"f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}
        number += 1
    return tuple(part.encode() for part in text.split("~"))
