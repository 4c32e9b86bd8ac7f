"""The real scheduler's texts, a situation each: what the reading of its condition is tested on.

python -m tests.e2e.scheduler_texts             prints those of the control plane that is built here
python -m tests.e2e.scheduler_texts 1.36.3      builds and asks another version

Every situation has a node of its own with free GPUs, so that something else keeps its pod.
"""

import json
import sys

from tests.builders import GPU, node, pod
from tests.controlplane import ControlPlane
from tests.e2e import laboratory

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ALIKE = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": HOST}
SPREAD = {
    "maxSkew": 1,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "x"}},
}
PORT = {
    "containers": [{"name": "p", "image": "x", "ports": [{"hostPort": 80, "containerPort": 80}]}]
}


def asks(**requests):
    """A pod spec with these requests beside a GPU."""
    amounts = {name.replace("_", "-"): amount for name, amount in requests.items()} | {GPU: "1"}
    limits = {name: amount for name, amount in amounts.items() if "/" in name}
    return {
        "containers": [
            {"name": "c", "image": "x", "resources": {"requests": amounts, "limits": limits}}
        ]
    }


def volume(claim):
    """A pod spec with a claim."""
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}


def affinity(kind, term):
    """A pod spec with a required affinity to pods."""
    return {"affinity": {kind: {REQUIRED: [term]}}}


SITUATIONS = {
    # name: (spec of the pod that asks, what else is on its node, resources of the node)
    "cpu": (asks(cpu="64"), [], {}),
    "memory": (asks(memory="1Ti"), [], {}),
    "ephemeral-storage": (asks(ephemeral_storage="1Ti"), [], {}),
    "pods": ({}, [{}], {"pods": "1"}),
    "other-resource": (asks(**{"example.com/fpga": "1"}), [], {}),
    "ports": (PORT | {}, [PORT], {}),
    "affinity": (affinity("podAffinity", ALIKE), [], {}),
    "anti-affinity": (affinity("podAntiAffinity", ALIKE), [{"labels": {"app": "x"}}], {}),
    "existing-anti-affinity": (
        {"labels": {"app": "x"}},
        [affinity("podAntiAffinity", ALIKE)],
        {},
    ),
    "spread-key-missing": (
        {"topologySpreadConstraints": [{**SPREAD, "topologyKey": "none"}]},
        [],
        {},
    ),
    "claim-missing": (volume("ghost"), [], {}),
    "claim-unbound": (volume("unbound"), [], {}),
    "claim-waits-for-a-volume": (volume("waits"), [], {}),
    "gpu": ({}, [{"gpus": 8}], {}),
    "taint": ({}, [], {}),
    "cordon": ({}, [], {}),
    "label": ({"nodeSelector": {"pool": "none"}}, [], {}),
}


def record(cluster):
    """The scheduler's text for every situation."""
    objects = [_class(), _claim("unbound", None), _claim("waits", "waits")]
    waiting = []
    for name, (spec, others, resources) in SITUATIONS.items():
        host = f"node-{name}"
        raw = node(host, 8, resources=resources, unschedulable=name == "cordon")
        if name == "taint":
            raw["spec"]["taints"] = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
        objects.append(raw)
        objects += [_pod(f"{name}-{n}", each, node=host) for n, each in enumerate(others)]
        waiting.append(_pod(name, {"gpus": 1, **spec}, selector={HOST: host}))
    _create(cluster, objects)
    for raw in objects:
        if raw["kind"] == "Node":
            status = raw["status"]
            laboratory.patch_status(
                cluster,
                raw["metadata"]["name"],
                capacity=status["capacity"],
                allocatable=status["allocatable"],
            )
    _create(cluster, waiting)
    return {
        name: laboratory.wait_for(
            f"{name} is tried", lambda name=name: _text(cluster, name), timeout=30
        )
        for name in SITUATIONS
    }


def _pod(name, spec, **more):
    spec = dict(spec)
    labels = spec.pop("labels", None)
    selector = {**(more.pop("selector", None) or {}), **spec.pop("nodeSelector", {})} or None
    raw = pod(name, spec.pop("gpus", 0), selector=selector, **more, **spec)
    if labels:
        raw["metadata"]["labels"] = labels
    return raw


def _class():
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "waits"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _claim(name, storage_class):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **({"storageClassName": storage_class} if storage_class else {}),
        },
    }


def _create(cluster, objects):
    listing = {"apiVersion": "v1", "kind": "List", "items": objects}
    cluster.kubectl("create", "-f", "-", input=json.dumps(listing))


def _text(cluster, name):
    raw = laboratory.get_pod(cluster, "default", name)
    return laboratory.condition(raw, "PodScheduled").get("message", "")


if __name__ == "__main__":
    version = {"version": sys.argv[1]} if len(sys.argv) > 1 else {}
    with ControlPlane("still", **version) as plane:
        json.dump(record(plane), sys.stdout, indent=2)
        print()
