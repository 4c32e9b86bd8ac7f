"""What people see while GPUs are freed every second and nodes are made, beside a real scheduler."""

import json
import time

import pytest

from tests import builders
from tests.e2e import laboratory
from tests.e2e.operator_process import (
    ACCOUNT,
    NAMESPACE,
    History,
    OperatorProcess,
    own_kubeconfig,
    published,
    running_operator,
    wait_for_word,
    wait_until_bare,
)

WAITING = 200
FREED = 15


@pytest.fixture(scope="module")
def operator(cluster, tmp_path_factory):
    """The operator with its default settings, running through all tests of this file."""
    with running_operator(cluster, tmp_path_factory.mktemp("operator")) as running:
        yield running


def made(name, namespace, selector, gpus=1):
    """A pod as one creates it."""
    pod = builders.pod(name, gpus, namespace=namespace, selector=selector)
    for field in ("uid", "creationTimestamp"):
        del pod["metadata"][field]
    del pod["status"]
    return pod


def running(cluster, namespace):
    """The names of the pods that run."""
    pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Running"}


@pytest.mark.usefixtures("operator")
def test_no_word_changes_while_a_gpu_is_freed_each_second(cluster, namespace, add_node, tmp_path):
    node = add_node(FREED)
    selector = {"kubernetes.io/hostname": node}
    holders = [f"holder-{n}" for n in range(FREED)]
    waiting = [f"waiting-{n}" for n in range(WAITING)]
    laboratory.apply(cluster, *(made(name, namespace, selector) for name in holders))
    laboratory.wait_for("all GPUs are held", lambda: running(cluster, namespace) == set(holders))
    with History(cluster, namespace, tmp_path / "history") as history:
        laboratory.apply(cluster, *(made(name, namespace, selector) for name in waiting))
        laboratory.wait_for(
            "every pod has its word",
            lambda: all(history.causes(name)[-1] == "exhausted" for name in waiting),
            timeout=60,
        )
        for name in holders:
            cluster.kubectl("delete", "pod", name, "-n", namespace, "--grace-period=0", "--force")
            time.sleep(1)
        placed = laboratory.wait_for(
            "as many pods run as GPUs were freed",
            lambda: len(now := running(cluster, namespace) & set(waiting)) == FREED and now,
        )
        for name in placed:
            wait_until_bare(cluster, namespace, name)
        laboratory.wait_for(
            "it is seen", lambda: all(history.causes(name)[-1] == "" for name in placed)
        )
        for name in waiting:
            left = [""] if name in placed else []
            assert history.words(name) == ["", "exhausted/busy", *left], name
    # All at once: the namespace's end would take them one by one.
    cluster.kubectl("delete", "--raw", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")


def test_a_pool_at_zero_makes_a_node(cluster, namespace, add_node, tmp_path, operator):
    if cluster.kwok is None:
        pytest.skip("only our own KWOK, which makes every node Ready, may be held back")
    add_node(1)  # of another pool
    name, pool = f"pool-{namespace}", {"example.com/pool": namespace}
    node = builders.node(name, None, labels=pool)
    node["status"]["conditions"][0].update(status="False", reason="KubeletNotReady")
    node["metadata"].pop("creationTimestamp")
    with History(cluster, namespace, tmp_path / "history") as history:
        laboratory.apply(cluster, made("train", namespace, pool))
        wait_for_word(cluster, namespace, "train", "label-mismatch/unknown-key")
        cluster.kwok.pause()
        try:
            laboratory.apply(cluster, node)
            wait_for_word(cluster, namespace, "train", "taint/node-starting")
            cluster.kwok.resume()
            laboratory.wait_for("it is Ready", lambda: laboratory.is_ready(cluster, name))
            said = wait_for_word(cluster, namespace, "train", "no-gpu-node/node-starting")
            assert f"{name} is starting." in said["message"]
            gpus = {builders.GPU: "1"}
            laboratory.patch_status(cluster, name, capacity=gpus, allocatable=gpus)
            laboratory.wait_for(
                "it runs", lambda: laboratory.placed(cluster, namespace, "train") == name
            )
            wait_until_bare(cluster, namespace, "train")
            laboratory.wait_for("it is seen", lambda: history.words("train")[-1] == "")
        finally:
            cluster.kwok.resume()
            cluster.kubectl("delete", "node", name, "--ignore-not-found")
        assert history.words("train") == [
            "",
            "label-mismatch/unknown-key",
            "taint/node-starting",
            "no-gpu-node/node-starting",
            "",
        ]
    events = cluster.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]
    own = [each for each in events if each["reportingController"] == "gpu-triage.io/operator"]
    warnings = [each["reason"] for each in own if each["type"] == "Warning"]
    assert warnings == ["GPULabelMismatch"], operator.log.read_text()


def test_what_an_autoscaler_says_is_read_where_it_may_be(
    cluster, namespace, add_node, tmp_path, operator
):
    """With the setting alone nothing is read and nothing breaks; with the right it counts."""
    add_node(1)
    assert operator.stop() == 0
    kubeconfig = own_kubeconfig(cluster, tmp_path)
    pool = {"example.com/pool": namespace}
    laboratory.apply(cluster, made("train", namespace, pool))
    try:
        with OperatorProcess(kubeconfig, tmp_path, read_events="true") as reading:
            laboratory.wait_for(
                "it says what it lacks",
                lambda: "resource=events" in reading.log.read_text(),
                seen=reading.log.read_text,
            )
            wait_for_word(cluster, namespace, "train", "label-mismatch/unknown-key", timeout=40)
            assert reading.get("readyz")[0] == 200
            give_right_to_events(cluster)
            say(cluster, namespace, "TriggeredScaleUp", "pod triggered scale-up: [{a 0->1}]")
            said = wait_for_word(
                cluster, namespace, "train", "label-mismatch/scaling-up", timeout=60
            )
            assert "pod triggered scale-up: [{a 0->1}]." in said["message"]
            say(cluster, namespace, "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 x")
            wait_for_word(cluster, namespace, "train", "label-mismatch/unknown-key")
            assert published(cluster, namespace, "train")["since"] == said["since"]
            assert reading.stop() == 0
    finally:
        cluster.kubectl("delete", "clusterrole", "reads-events", "--ignore-not-found")
        cluster.kubectl("delete", "clusterrolebinding", "reads-events", "--ignore-not-found")
        operator.start()
        operator.wait_ready()


def give_right_to_events(cluster):
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["events"], "verbs": ["list", "watch"]}]
    laboratory.apply(
        cluster,
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "reads-events"},
            "rules": rules,
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "reads-events"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "reads-events"},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
        },
    )


def say(cluster, namespace, reason, text):
    """Make an Event about the pod as an autoscaler does."""
    uid = laboratory.get_pod(cluster, namespace, "train")["metadata"]["uid"]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    event = builders.event(reason, text, uid=uid, at=at)
    event["metadata"] = {"generateName": "train.", "namespace": namespace}
    event["involvedObject"]["namespace"] = namespace
    event["source"] = {"component": "cluster-autoscaler"}
    cluster.kubectl("create", "-f", "-", input=json.dumps(event))
