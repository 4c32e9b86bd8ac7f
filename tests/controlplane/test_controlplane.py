"""The harness keeps its promises: it starts, it works, and nothing stays behind."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.controlplane import Cluster, ControlPlane, ControlPlaneError, open_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def alive() -> Iterator[ControlPlane]:
    """One control plane for the tests that leave it in order."""
    with ControlPlane() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def still() -> Iterator[ControlPlane]:
    """One control plane in still mode for the tests that leave it in order."""
    with ControlPlane("still") as cluster:
        yield cluster


def eventually(condition: Callable[[], object], what: str, timeout: float = 20.0) -> None:
    """Wait for a condition, and say in plain words what did not come."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"after {timeout:.0f} s not yet: {what}"
        time.sleep(0.1)


def apply(cluster: Cluster, *objects: dict[str, Any]) -> None:
    """Apply objects given as dictionaries."""
    listing = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(listing))


def node(name: str) -> dict[str, Any]:
    """Return a node without any status."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def pod(name: str, gpus: int, node_name: str | None = None) -> dict[str, Any]:
    """Return a pod that wants GPUs."""
    amount = {"nvidia.com/gpu": str(gpus)}
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": "none", "resources": {"limits": amount}}]
    }
    if node_name:
        spec["nodeName"] = node_name
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def condition(item: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a condition of a node or pod, {} if it has none of this type."""
    conditions = item.get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == kind), {})


def listens(url: str) -> bool:
    """Tell whether somebody listens on the port of a URL."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(url).port or 0)) == 0


def is_gone(pid: int) -> bool:
    """Tell whether no living process has this pid; a zombie is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.slow
def test_a_node_becomes_ready_and_a_bound_pod_runs(alive: ControlPlane) -> None:
    apply(alive, node("living"))
    eventually(
        lambda: condition(alive.get("/api/v1/nodes/living"), "Ready").get("status") == "True",
        "the node is Ready",
    )
    apply(alive, pod("bound", 0, node_name="living"))
    eventually(
        lambda: alive.get("/api/v1/namespaces/default/pods/bound")["status"]["phase"] == "Running",
        "the pod runs",
    )
    alive.kubectl("delete", "pod/bound", "node/living")


@pytest.mark.slow
def test_a_service_account_gets_a_token_with_its_own_rights(alive: ControlPlane) -> None:
    token = alive.kubectl("create", "token", "default").strip()
    refusal = alive.kubectl("auth", "whoami", "-o", "json", f"--token={token}", check=False)
    assert "system:serviceaccount:default:default" in refusal
    refusal = alive.kubectl("get", "nodes", f"--token={token}", check=False)
    assert "forbidden" in refusal


@pytest.mark.slow
def test_the_api_server_comes_back_on_its_port(alive: ControlPlane) -> None:
    assert alive.apiserver is not None
    before = alive.apiserver.pid
    alive.apiserver.restart(grace=1.0)
    alive.wait_ready()
    assert alive.apiserver.pid != before
    assert alive.get("/api/v1/namespaces/default")["metadata"]["name"] == "default"
    assert all(process.running for process in alive.processes)


@pytest.mark.slow
def test_a_paused_process_answers_nobody_until_it_resumes(alive: ControlPlane) -> None:
    assert alive.apiserver is not None
    alive.apiserver.pause()
    try:
        answer = alive.kubectl("get", "--raw", "/readyz", "--request-timeout=1s", check=False)
        assert answer != "ok"
    finally:
        alive.apiserver.resume()
    alive.wait_ready()


@pytest.mark.slow
def test_two_run_side_by_side_and_stop_leaves_nothing(alive: ControlPlane) -> None:
    with open_cluster(provider="own") as second:
        apply(second, node("mine"))
        eventually(
            lambda: condition(second.get("/api/v1/nodes/mine"), "Ready").get("status") == "True",
            "the node of the second one is Ready",
        )
        assert "NotFound" in alive.kubectl("get", "node", "mine", check=False)
        processes, url, directory = second.processes, second.url, second.directory
        assert directory.is_dir()
    assert processes
    assert not any(process.running for process in processes)
    assert not listens(url)
    assert not directory.exists()
    second.stop()


@pytest.mark.slow
def test_still_mode_keeps_a_status_and_the_scheduler_answers(still: ControlPlane) -> None:
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "1"}
    apply(still, node("quiet"))
    patch = json.dumps({"status": {"allocatable": amounts, "capacity": amounts}})
    still.kubectl("patch", "node", "quiet", "--subresource=status", "--type=merge", "-p", patch)
    apply(still, pod("greedy", 2))
    path = "/api/v1/namespaces/default/pods/greedy"
    eventually(
        lambda: condition(still.get(path), "PodScheduled").get("message"), "the scheduler answers"
    )
    answer = condition(still.get(path), "PodScheduled")["message"]
    assert answer.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    quiet = still.get("/api/v1/nodes/quiet")
    assert quiet["status"]["allocatable"] == amounts
    assert "taints" not in quiet["spec"]
    still.kubectl("delete", "pod/greedy", "node/quiet")


@pytest.mark.slow
def test_a_killed_owner_leaves_no_process_and_the_next_run_sweeps_its_folder() -> None:
    command = [sys.executable, "-m", "tests.controlplane", "--mode=still"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        shown = ""
        while "Ctrl-C" not in shown:
            line = owner.stdout.readline()
            assert line, f"it ended early: {shown}"
            shown += line
        pids = [
            int(line.split("pid")[1].split()[0]) for line in shown.splitlines() if "pid" in line
        ]
        kubeconfig = Path(shown.split("export KUBECONFIG=")[1].split()[0])
        owner.kill()
    assert len(pids) == 3
    eventually(lambda: all(is_gone(pid) for pid in pids), "the servers are gone")
    assert kubeconfig.exists()
    with ControlPlane("still"):
        assert not kubeconfig.parent.exists()


@pytest.mark.slow
def test_a_server_that_ends_early_shows_its_log_and_leaves_nothing() -> None:
    cluster = ControlPlane("still", apiserver_flags=["--no-such-flag"])
    with pytest.raises(ControlPlaneError, match=r"(?s)kube-apiserver ended .*no-such-flag"):
        cluster.start()
    assert cluster.etcd is not None
    assert not cluster.etcd.running
    assert not cluster.kubeconfig.parent.exists()


@pytest.mark.slow
def test_an_existing_cluster_keeps_its_real_nodes_and_is_not_stopped(
    still: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USE_EXISTING_CLUSTER", "1")
    monkeypatch.setenv("KUBECONFIG", str(still.kubeconfig))
    fake = node("fake")
    fake["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
    with open_cluster() as cluster:
        assert cluster.provider == "existing"
        assert (cluster.url, cluster.token) == (still.url, still.token)
        assert [process.name for process in cluster.processes] == ["kwok"]
        apply(cluster, node("real"), fake)
        eventually(
            lambda: condition(cluster.get("/api/v1/nodes/fake"), "Ready").get("status") == "True",
            "the fake node is Ready",
        )
        assert not condition(cluster.get("/api/v1/nodes/real"), "Ready")
    still.wait_ready()
    still.kubectl("delete", "node/real", "node/fake")
    with pytest.raises(ControlPlaneError, match="mode still does not work"):
        open_cluster("still")
