"""The operator as it is installed: its image, by Helm, under a real kubelet.

The tests share one installation and stand in the order in which a person would try it out.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e import laboratory
from tests.e2e.operator_process import published, wait_for_word, wait_until_bare

from .cluster import NODE, NodeCluster
from .gpus import devices, pod, set_sick, start_device_plugin, stop_device_plugin
from .images import IDLE
from .release import NAME, NAMESPACE, Release

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = {
    name: word for name, word in laboratory.LAB_WORDS.items() if word not in ("ok", "no-request")
}
SECONDS = 120.0
"""How long a step may take; on a quiet machine it takes two."""
CROWD = 200
DOMAIN = "gpu-triage.io/"
CLUSTER_KINDS = (
    "clusterroles",
    "clusterrolebindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
)
SITUATION = """
import os
print(os.getuid(), os.getgid())
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(*(int(status[key], 16) for key in ("CapEff", "NoNewPrivs", "Seccomp")))
try:
    open("/trial", "w")
except OSError as error:
    print(error.strerror)
"""
"""Who the operator is, what it may, and whether it can write."""


@pytest.fixture(scope="module")
def cluster(machine: None) -> Iterator[NodeCluster]:
    with NodeCluster() as opened:
        yield opened


@pytest.fixture(scope="module")
def before(cluster: NodeCluster) -> set[str]:
    """What there is of the kinds that the chart makes in the whole cluster."""
    return cluster_objects(cluster)


@pytest.fixture(scope="module")
def release(cluster: NodeCluster, before: set[str]) -> Release:
    """The operator, installed. That the node is new and that words settle is no subject here."""
    release = Release(cluster, nodeStartingSeconds=0, settleSeconds=1, restlessSeconds=1)
    release.make_namespace()
    begun = time.monotonic()
    release.install()
    print(f"helm install --wait: {time.monotonic() - begun:.1f} s")
    return release


@pytest.fixture
def namespace(cluster: NodeCluster) -> Iterator[str]:
    laboratory.add_namespace(cluster, "team")
    yield "team"
    cluster.kubectl("delete", "namespace", "team", "--wait")


def cluster_objects(cluster: NodeCluster) -> set[str]:
    return set(cluster.kubectl("get", ",".join(CLUSTER_KINDS), "-o", "name").split())


def marked(cluster: NodeCluster) -> set[str]:
    """Return every pod of the cluster that carries a key of ours."""
    return {
        f"{meta['namespace']}/{meta['name']}"
        for meta in (item["metadata"] for item in cluster.get("/api/v1/pods")["items"])
        if any(key.startswith(DOMAIN) for key in meta.get("annotations", {}))
    }


def test_it_becomes_ready_where_only_restricted_pods_may_run(
    cluster: NodeCluster, release: Release
) -> None:
    refused = cluster.kubectl(
        *("run", "trial", f"--image={IDLE}", f"--namespace={NAMESPACE}", "--dry-run=server"),
        check=False,
    )
    assert 'violates PodSecurity "restricted' in refused
    assert release.is_ready()
    assert release.python(SITUATION).splitlines() == [
        "65532 65532",
        "0 1 2",
        "Read-only file system",
    ]
    assert release.metric("gpu_triage_synced") == 1


def test_the_lab_gets_its_words(cluster: NodeCluster, release: Release) -> None:
    laboratory.lay_lab(cluster)
    for name, word in WORDS.items():
        assert wait_for_word(cluster, laboratory.LAB, name, word, SECONDS)["message"]
    for name in laboratory.LAB_WORDS.keys() - WORDS.keys():
        assert published(cluster, laboratory.LAB, name) == {}
    described = cluster.kubectl("describe", "pod", "case-alloc0", "-n", laboratory.LAB)
    assert "GPUAllocatableZero" in described
    print(f"operator: {release.peak_mebibytes():.0f} MiB at most")


@pytest.mark.timeout(600)
def test_the_words_follow_the_devices_of_a_real_node(
    cluster: NodeCluster, release: Release, namespace: str
) -> None:
    def says(name: str, word: str) -> None:
        wait_for_word(cluster, namespace, name, word, SECONDS)

    def runs(name: str) -> None:
        laboratory.wait_for(
            f"{name} runs", lambda: laboratory.placed(cluster, namespace, name) == NODE, SECONDS
        )
        wait_until_bare(cluster, namespace, name)

    laboratory.apply(cluster, pod(namespace, "train", 2))
    says("train", "no-gpu-node")
    assert devices(cluster) == (None, None)
    start_device_plugin(cluster)
    runs("train")
    laboratory.apply(cluster, pod(namespace, "notebook", 2))
    says("notebook", "exhausted/busy")

    set_sick(cluster, 1)
    # Else the scheduler, which has not heard of it yet, places notebook on what train has left.
    laboratory.wait_for("the node tells", lambda: devices(cluster) == ("2", "1"), SECONDS)
    cluster.kubectl("delete", "pod", "train", "-n", namespace, "--wait")
    says("notebook", "exhausted/unhealthy-devices")
    set_sick(cluster, 2)
    says("notebook", "allocatable-zero/all-unhealthy")
    assert devices(cluster) == ("2", "0")
    set_sick(cluster, 0)
    runs("notebook")

    laboratory.apply(cluster, pod(namespace, "next", 1))
    says("next", "exhausted/busy")
    # The kubelet cannot tell a plugin that has gone from one that is being replaced.
    stop_device_plugin(cluster)
    says("next", "allocatable-zero/all-unhealthy")
    assert devices(cluster) == ("2", "0")
    assert cluster.kubelet is not None
    cluster.kubelet.restart()
    says("next", "allocatable-zero/plugin-gone")
    assert devices(cluster) == ("0", "0")
    assert laboratory.placed(cluster, namespace, "notebook") == NODE
    start_device_plugin(cluster)
    says("next", "exhausted/busy")
    cluster.kubectl("delete", "pod", "notebook", "-n", namespace, "--wait")
    runs("next")


def test_an_upgrade_changes_a_setting_and_nothing_else(
    cluster: NodeCluster, release: Release
) -> None:
    def versions() -> dict[str, object]:
        names = [each for each in sorted(cluster_objects(cluster)) if f"/{NAME}" in each]
        texts = [cluster.kubectl("get", *names, "-o", "json")] + [
            cluster.kubectl("get", kind, "-n", NAMESPACE, "-o", "json")
            for kind in ("serviceaccounts", "services", "rolebindings", "roles")
        ]
        metas = [item["metadata"] for text in texts for item in json.loads(text)["items"]]
        # A policy's status is Kubernetes' own to write.
        return {meta["uid"]: meta.get("generation", meta["resourceVersion"]) for meta in metas}

    was, said = versions(), published(cluster, laboratory.LAB, "case-alloc0")
    assert "log_level=info" in release.log()
    release.upgrade(logLevel="debug")
    laboratory.wait_for("one pod is ready", release.is_ready, SECONDS)
    assert "log_level=debug" in release.log()
    assert versions() == was
    assert published(cluster, laboratory.LAB, "case-alloc0") == said
    laboratory.wait_for(
        "it has looked again", lambda: release.metric("gpu_triage_synced") == 1, SECONDS
    )


def test_killed_it_comes_back_and_says_the_same(cluster: NodeCluster, release: Release) -> None:
    def said(name: str) -> list[str]:
        found = published(cluster, laboratory.LAB, name)
        return [found["cause"], found["detail"], found["since"]]

    before = {name: said(name) for name in WORDS}
    cluster.inside("pkill", "-KILL", "-f", "gpu-triage-operator")
    laboratory.wait_for(
        "its container was started anew",
        lambda: release.pod()["status"]["containerStatuses"][0]["restartCount"] == 1,
        SECONDS,
    )
    laboratory.wait_for("it is ready", release.is_ready, SECONDS)
    name = release.pod()["metadata"]["name"]
    cluster.kubectl("delete", "pod", name, "-n", NAMESPACE, "--wait")
    laboratory.wait_for("another is ready", release.is_ready, SECONDS)
    assert release.pod()["metadata"]["name"] != name
    cluster.kubectl("delete", "pod", "case-alloc0", "-n", laboratory.LAB, "--force")
    cluster.kubectl("apply", "-f", str(laboratory.MANIFESTS))
    wait_for_word(cluster, laboratory.LAB, "case-alloc0", "allocatable-zero", SECONDS)
    for other in WORDS.keys() - {"case-alloc0"}:
        assert said(other) == before[other]


def test_uninstalled_it_leaves_nothing(
    cluster: NodeCluster, release: Release, before: set[str], namespace: str
) -> None:
    laboratory.apply(cluster, *(pod(namespace, f"crowd-{number}", 8) for number in range(CROWD)))
    laboratory.wait_for(
        "all of the crowd are marked", lambda: len(marked(cluster)) == CROWD + len(WORDS), SECONDS
    )
    release.uninstall()
    assert marked(cluster) == set()
    assert cluster_objects(cluster) == before
    kinds = cluster.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    kinds = [kind for kind in kinds if not kind.startswith(("events", "pods.metrics"))]
    left = cluster.kubectl("get", ",".join(kinds), "-n", NAMESPACE, "-o", "name").split()
    assert sorted(left) == ["configmap/kube-root-ca.crt", "serviceaccount/default"]
