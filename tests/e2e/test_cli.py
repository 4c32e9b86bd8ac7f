"""The command on a real cluster: the lab's words, what is read, pods that never came to be."""

import json
import os
import subprocess
import sys

import pytest

from gpu_triage.core.causes import Cause
from tests import builders
from tests.e2e import laboratory
from tests.e2e.recorder import recorder

ROOT = laboratory.ROOT
HOLDING = "status.phase!=Succeeded,status.phase!=Failed"
NOMINATED = "/api/v1/pods spec.nodeName=,status.nominatedNodeName!="


@pytest.fixture
def reads(cluster, tmp_path):
    """A kubeconfig of the admin through a recording proxy, and the list of what was read."""
    if cluster.token is None:
        pytest.skip("the proxy needs a bearer token, and this cluster's kubeconfig has none")
    with recorder(cluster) as (address, recorded):
        path = tmp_path / "recorded.kubeconfig"
        yield laboratory.write_kubeconfig(cluster, cluster.token, path, server=address), recorded


def test_the_lab_gives_the_seven_words(cluster, lab, cli):
    for pod, word in laboratory.LAB_WORDS.items():
        done = cli(lab, pod)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{word}\n", "")

    listed = cli("-n", lab, "--all", "-o", "word").stdout.splitlines()
    assert dict(line.split() for line in listed) == laboratory.LAB_WORDS

    report = cli("-A").stdout
    words = set(laboratory.LAB_WORDS.values()) - {"ok", "no-request"}
    assert [line.split()[0] for line in report.splitlines() if f" {lab} " in line] == [
        word for word in Cause if word in words
    ]
    supply = next(line for line in report.splitlines() if line.startswith("nvidia.com/gpu"))
    assert supply.split() == ["nvidia.com/gpu", "2", "6", "2", "1", "1"]

    # What a live cluster answers is what its own snapshot answers.
    snapshot = cluster.kubectl("get", "pods,nodes", "-A", "-o", "json")
    for pod in laboratory.LAB_WORDS:
        live = json.loads(cli(lab, pod, "-o", "json").stdout)
        filed = json.loads(cli("-f", "-", lab, pod, "-o", "json", stdin=snapshot).stdout)
        for field in ("uid", "cause", "detail", "message", "request", "node", "funnel"):
            assert live[field] == filed[field], (pod, field)


def test_the_lab_is_read_no_more_than_each_word_needs(lab, cli, reads):
    kubeconfig, recorded = reads
    node_0 = f"/api/v1/pods spec.nodeName=lab-node-0,{HOLDING}"
    classes = "/apis/resource.k8s.io/v1/deviceclasses"
    expected = {
        "case-ok": [],
        "case-norequest": [],
        "case-label": ["/api/v1/nodes"],
        "case-taint": ["/api/v1/nodes", classes],
        "case-nogpunode": ["/api/v1/nodes", classes],
        "case-alloc0": ["/api/v1/nodes", classes],
        "case-exhaust": ["/api/v1/nodes", classes, NOMINATED, node_0],
    }
    for pod, reads_of_others in expected.items():
        recorded.clear()
        assert cli(lab, pod, kubeconfig=kubeconfig).returncode == 0
        assert recorded == [f"/api/v1/namespaces/{lab}/pods/{pod}", *reads_of_others], pod


def test_reading_stops_at_the_first_node_that_fits(cluster, namespace, add_node, cli, reads):
    kubeconfig, recorded = reads
    nodes = sorted(add_node(gpus=1, labels={"pool": namespace}) for _ in range(3))
    laboratory.apply(
        cluster, builders.pod("holder", namespace=namespace, selector=hostname(nodes[0]))
    )
    laboratory.wait_for("holder runs", lambda: laboratory.placed(cluster, namespace, "holder"))
    waiting = builders.pod(
        "waiting", namespace=namespace, selector={"pool": namespace}, schedulerName="nobody"
    )
    laboratory.apply(cluster, waiting)

    done = cli(namespace, "waiting", kubeconfig=kubeconfig)
    assert (done.stdout, done.stderr) == ("not-gpu\n", "")
    of_pods = [read for read in recorded if read.startswith("/api/v1/pods")]
    assert of_pods == [
        NOMINATED,
        f"/api/v1/pods spec.nodeName={nodes[0]},{HOLDING}",
        f"/api/v1/pods spec.nodeName={nodes[1]},{HOLDING}",
    ]

    # The sentence counts the nodes that fit, so it looks at all of them.
    told = json.loads(cli(namespace, "waiting", "-o", "json").stdout)
    assert told["detail"] == "other-scheduler"
    own = {node["name"]: node for node in told["nodes"] if node["name"] in nodes}
    gpu = builders.GPU
    assert [own[name]["step"] for name in nodes] == ["free", "fits", "fits"]
    assert [own[name]["free"] for name in nodes] == [{gpu: 0}, {gpu: 1}, {gpu: 1}]


def test_a_missing_runtime_class_leaves_no_pod_and_guidance(cluster, namespace, cli):
    laboratory.apply(
        cluster, owner("job", namespace, builders.pod(runtimeClassName="nvidia")["spec"])
    )
    wait_for_refusal(cluster, namespace)

    done = cli(namespace, "job-0")
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert lines[0] == f"gpu-triage: there is no pod {namespace}/job-0."
    assert "gpu-triage: No other namespace has a pod of that name." in lines
    assert "refused at admission leaves no object" in done.stderr
    assert 'Job job: Error creating: pods "job-' in done.stderr
    assert 'RuntimeClass "nvidia" not found' in done.stderr
    assert "gpu-triage: There is no RuntimeClass: a pod that names one is refused." in lines
    assert f"gpu-triage: No quota of {namespace} names a GPU." in lines


def test_a_quota_on_gpus_is_named_with_its_numbers(cluster, namespace, cli):
    hard = {"requests.nvidia.com/gpu": "1"}
    laboratory.apply(
        cluster,
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "gpu-quota", "namespace": namespace},
            "spec": {"hard": hard},
        },
    )
    laboratory.wait_for(
        "the quota is counted",
        lambda: (
            "used"
            in json.loads(
                cluster.kubectl("get", "resourcequota", "gpu-quota", "-n", namespace, "-o", "json")
            )["status"]
        ),
    )
    laboratory.apply(cluster, owner("greedy", namespace, builders.pod(gpus=3)["spec"]))
    wait_for_refusal(cluster, namespace)

    done = cli("greedy", "-n", namespace)
    assert (done.returncode, done.stdout) == (1, "")
    assert "exceeded quota: gpu-quota, requested: requests.nvidia.com/gpu=3" in done.stderr
    assert "Quota gpu-quota: 0 of 1 requests.nvidia.com/gpu used." in done.stderr


def test_a_pod_of_another_namespace_is_pointed_at(cluster, namespace, cli):
    laboratory.apply(cluster, builders.pod("here", namespace=namespace, selector={"no": "node"}))
    done = cli("default", "here")
    assert done.returncode == 1
    assert f"A pod of that name is in namespace {namespace}." in done.stderr

    done = cli(f"{namespace}x", "here")
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == [
        f"gpu-triage: there is no namespace {namespace}x, so no pod {namespace}x/here.",
        f"gpu-triage: The nearest name is {namespace}.",
    ]
    assert cli("-n", f"{namespace}x").returncode == 1


def test_a_dump_of_the_cluster_answers_as_the_cluster_does(cluster, lab, cli, tmp_path):
    stream = cluster.kubectl("cluster-info", "dump", "-A")
    done = cli("-f", "-", lab, "case-exhaust", stdin=stream)
    assert (done.returncode, done.stdout) == (0, "exhausted\n")

    cluster.kubectl("cluster-info", "dump", "-A", f"--output-directory={tmp_path / 'dump'}")
    listed = cli("-f", str(tmp_path / "dump"), "-n", lab, "--all", "-o", "word").stdout
    assert dict(line.split() for line in listed.splitlines()) == laboratory.LAB_WORDS


def test_kubectl_runs_it_as_a_plugin(cluster, lab, tmp_path):
    plugin = tmp_path / "kubectl-gpu_triage"
    plugin.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT / 'operator')!r})\n"
        "from gpu_triage.cli.main import main\nmain()\n"
    )
    plugin.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "KUBECONFIG": str(cluster.kubeconfig),
    }

    def kubectl(*arguments):
        command = [str(cluster.binaries["kubectl"]), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert kubectl("gpu-triage", lab, "case-taint").stdout == "taint\n"
    assert kubectl("gpu-triage", "--help").stdout.startswith("Usage: kubectl gpu-triage ")


def hostname(node):
    return {"kubernetes.io/hostname": node}


def owner(name, namespace, pod_spec):
    """Return a Job whose pods have this spec."""
    template = {"spec": {**pod_spec, "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": template},
    }


def wait_for_refusal(cluster, namespace):
    selector = "--field-selector=reason=FailedCreate"
    laboratory.wait_for(
        "a FailedCreate Event",
        lambda: json.loads(
            cluster.kubectl("get", "events", "-n", namespace, selector, "-o", "json")
        )["items"],
    )
