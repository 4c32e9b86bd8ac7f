"""Outages of nodes and work on them, as the operator's words and metrics show them."""

import contextlib
import json
import re
import uuid

import pytest

from tests import builders
from tests.e2e import laboratory
from tests.e2e.operator_process import (
    running_operator,
    wait_for_word,
    wait_until_bare,
)
from tests.e2e.test_operator import events

GPU, MIG, SHARED = builders.GPU, "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"


@pytest.fixture(scope="module")
def operator(cluster, tmp_path_factory):
    """The operator with its own rights."""
    settings = {"node_starting_seconds": 0, "settle_seconds": 1, "fit_seconds": 3}
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), **settings) as running:
        yield running


@pytest.fixture
def pool(cluster):
    """A label that this test's nodes have, as a pair; they are deleted afterwards."""
    value = f"pool-{uuid.uuid4().hex[:8]}"
    yield "example.com/pool", value
    cluster.kubectl("delete", "nodes", "-l", f"example.com/pool={value}", "--ignore-not-found")


def pod(namespace, name, gpus, pool, **rest):
    """A pod for the nodes of a pool, as it is applied."""
    raw = builders.pod(name, gpus, namespace=namespace, selector=dict([pool]), **rest)
    return {**raw, "metadata": {"name": name, "namespace": namespace}, "status": {}}


def owing(operator, name):
    """What the metrics say that nodes of a pool owe: {"unhealthy RESOURCE" or "lost DETAIL": n}."""
    text = operator.get("metrics")[1]
    found = {}
    for line in text.splitlines():
        labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
        if labels.get("node") == name:
            value = float(line.rsplit(" ", 1)[1])
            if line.startswith("gpu_triage_unhealthy_gpus"):
                found[f"unhealthy {labels['resource']}"] = value
            if line.startswith("gpu_triage_node_offer_lost"):
                found[f"lost {labels['resource']} {labels['detail']}"] = value
    return found


def wait_owing(operator, name, **expected):
    wanted = {key.replace("_", " ", 1).replace("GPU", GPU): n for key, n in expected.items()}
    laboratory.wait_for(
        f"{name} owes {wanted}",
        lambda: owing(operator, name) == wanted,
        seen=lambda: owing(operator, name),
    )


@contextlib.contextmanager
def not_ready(cluster, *nodes):
    """Nodes as they look when their kubelets are gone, by the taint that Kubernetes sets then.

    Something plays these kubelets and never stops; whoever sets and removes the taint does.
    """
    if cluster.controller_manager is None:
        pytest.skip("the controller manager of this cluster is not ours to pause")
    cluster.controller_manager.pause()
    try:
        cluster.kubectl("taint", "nodes", *nodes, "node.kubernetes.io/not-ready:NoSchedule")
        yield
    finally:
        cluster.controller_manager.resume()


def test_nine_of_ten_nodes_not_ready_and_the_tenth_full(cluster, operator, namespace, pool):
    full, *down = [f"{pool[1]}-{number}" for number in range(10)]
    nodes = [
        builders.node(name, labels=dict([pool]), annotations=laboratory.KWOK)
        for name in (full, *down)
    ]
    laboratory.apply(cluster, *nodes)
    for name in (full, *down):
        laboratory.wait_for(
            f"{name} is Ready", lambda name=name: laboratory.is_ready(cluster, name)
        )
    laboratory.apply(cluster, pod(namespace, "holds", 8, pool, nodeName=full))
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "holds"))
    with not_ready(cluster, *down):
        laboratory.apply(cluster, pod(namespace, "train", 1, pool))
        said = wait_for_word(cluster, namespace, "train", "exhausted/nodes-lost")
        assert "not ready" in said["message"]
        told = laboratory.wait_for("it has an Event", lambda: events(cluster, namespace, "train"))
        assert [(each["type"], each["reason"]) for each in told] == [("Warning", "GPUExhausted")]
        assert all(owing(operator, name) == {} for name in (full, *down))
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "train"))
    wait_until_bare(cluster, namespace, "train")


def test_a_plugin_that_dies_and_work_on_the_node(cluster, operator, namespace, pool):
    name = f"{pool[1]}-one"
    laboratory.add_node(cluster, name, 8, labels=dict([pool]))
    laboratory.add_node(cluster, f"{pool[1]}-full", 8, labels=dict([pool]))
    laboratory.apply(cluster, pod(namespace, "holds", 8, pool, nodeName=f"{pool[1]}-full"))
    laboratory.patch_status(cluster, name, allocatable={GPU: "0"})
    wait_owing(operator, name, unhealthy_GPU=8, **{"lost_GPU all-unhealthy": 1})
    laboratory.apply(cluster, pod(namespace, "train", 1, pool))
    wait_for_word(cluster, namespace, "train", "exhausted/nodes-lost")
    # The kubelet gives the plugin up; what was seen is remembered.
    laboratory.patch_status(cluster, name, capacity={GPU: "0"})
    wait_owing(operator, name, unhealthy_GPU=8, **{"lost_GPU plugin-gone": 1})
    laboratory.patch_status(cluster, name, capacity={GPU: "8"}, allocatable={GPU: "8"})
    wait_owing(operator, name)
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "train"))

    def label(**labels):
        named = {f"nvidia.com/{key.replace('_', '.')}": value for key, value in labels.items()}
        patch = json.dumps({"metadata": {"labels": named}})
        cluster.kubectl("patch", "node", name, "--type=merge", "-p", patch)

    label(mig_config="all-1g.5gb", gpu_count="8")
    laboratory.patch_status(cluster, name, allocatable={GPU: "0"})
    wait_owing(operator, name, unhealthy_GPU=8, **{"lost_GPU all-unhealthy": 1})
    mig = {GPU: "0", MIG: "56"}
    laboratory.patch_status(cluster, name, capacity=mig, allocatable=mig)
    wait_owing(operator, name)
    # Back to whole GPUs, each shared by four under another name, then by two under its own.
    shared = {GPU: "0", MIG: "0", SHARED: "32"}
    label(mig_config="all-disabled", gpu_replicas="4")
    laboratory.patch_status(cluster, name, capacity=shared, allocatable=shared)
    own = {GPU: "16", MIG: "0", SHARED: "0"}
    label(gpu_replicas="2")
    laboratory.patch_status(cluster, name, capacity=own, allocatable=own)
    # What comes after shows that all that was taken in.
    broken = {GPU: "15"}
    laboratory.patch_status(cluster, name, allocatable=broken)
    wait_owing(operator, name, unhealthy_GPU=1)
    laboratory.patch_status(cluster, name, capacity=broken)
    wait_owing(operator, name)
