"""Raw Kubernetes objects that are valid as they are, and can be overridden where a test cares.

They can be given to the classifier, written to a file, or applied to a real API server.
"""

GPU = "nvidia.com/gpu"
CREATED = "2026-01-10T10:00:00Z"
GPU_TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
GPU_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}


def pod(
    name="train",
    gpus=1,
    *,
    namespace="default",
    resource=GPU,
    node=None,
    phase=None,
    selector=None,
    tolerations=(),
    annotations=None,
    created=CREATED,
    status=None,
    **spec,
):
    """Return a pod that asks for GPUs (0: for none) and waits, or runs where `node` is given.

    Further keyword arguments are fields of the spec, as the API names them.
    """
    amount = {resource: str(gpus)} if gpus else {}
    container = {"name": "main", "image": "example/app:1"}
    if amount:
        container["resources"] = {"limits": amount, "requests": dict(amount)}
    whole = {"schedulerName": "default-scheduler", "containers": [container], **spec}
    if node:
        whole["nodeName"] = node
    if selector:
        whole["nodeSelector"] = selector
    if tolerations:
        whole["tolerations"] = list(tolerations)
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "creationTimestamp": created,
    }
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": whole,
        "status": {"phase": phase or ("Running" if node else "Pending"), **(status or {})},
    }


def node(
    name="gpu-a",
    gpus=8,
    *,
    capacity=None,
    resources=None,
    labels=None,
    taints=(),
    unschedulable=False,
    annotations=None,
    created="2025-06-01T08:00:00Z",
):
    """Return a node that offers GPUs.

    Args:
        name: also its kubernetes.io/hostname.
        gpus: allocatable; None: the name is not offered.
        capacity: as allocatable where not given.
        resources: allocatable and capacity of further resources.
        labels: beside the hostname.
        taints: as the API has them.
        unschedulable: cordoned.
        annotations: None: without any.
        created: RFC 3339.
    """
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110", **(resources or {})}
    allocatable, total = dict(amounts), dict(amounts)
    if gpus is not None:
        allocatable[GPU] = str(gpus)
        total[GPU] = str(gpus if capacity is None else capacity)
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "creationTimestamp": created,
        "labels": {"kubernetes.io/hostname": name, **(labels or {})},
    }
    if annotations:
        metadata["annotations"] = annotations
    spec = {}
    if taints:
        spec["taints"] = list(taints)
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": {
            "capacity": total,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def event(reason, message, *, kind="Pod", uid="uid-default-train", at=CREATED):
    """Return an Event of the core group about a pod, as an autoscaler makes it."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"train.{reason}.{at}".lower(), "namespace": "default"},
        "involvedObject": {"kind": kind, "namespace": "default", "name": "train", "uid": uid},
        "reason": reason,
        "message": message,
        "type": "Normal",
        "lastTimestamp": at,
    }
