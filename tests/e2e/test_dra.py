"""A resource that Dynamic Resource Allocation serves: what is said where slices are not read."""

import json

import pytest

from tests import builders
from tests.controlplane import ControlPlane
from tests.e2e import laboratory
from tests.e2e.operator_process import OperatorProcess, give_rights, take_rights, wait_for_word

READS = [{"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list"]}]
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {"extendedResourceName": builders.GPU},
}
ABSENT = (
    "gpu-triage: may not list deviceclasses.resource.k8s.io (cluster-wide): taken as absent."
    " Where Dynamic Resource Allocation serves GPUs, use --dra on.\n"
)


@pytest.fixture
def served(cluster, namespace, add_node):
    """A namespace with a pod "train" on whose node only a DeviceClass could give it a GPU."""
    host = add_node(None)
    laboratory.apply(cluster, CLASS, waiting(namespace, host))
    yield namespace
    cluster.kubectl("delete", "deviceclass", CLASS["metadata"]["name"])


def waiting(namespace, host):
    """A pod that asks for a GPU on one node."""
    raw = builders.pod("train", namespace=namespace, selector={"kubernetes.io/hostname": host})
    return {**raw, "metadata": {"name": "train", "namespace": namespace}}


def test_the_command_leaves_it_to_dra_as_far_as_it_is_told(cluster, served, cli, kubeconfig_for):
    assert cli(served, "train").stdout == "unknown\n"
    told = json.loads(cli(served, "train", "-o", "json").stdout)
    assert (told["detail"], told["dra"], told["fix"]) == ("dra", None, None)
    assert cli(served, "train", "--dra", "off").stdout == "no-gpu-node\n"

    laboratory.add_account(cluster, served, "reader", READS, everywhere=True)
    reader = kubeconfig_for(served, "reader")
    done = cli(served, "train", kubeconfig=reader)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no-gpu-node\n", ABSENT)
    told = json.loads(cli(served, "train", "-o", "json", kubeconfig=reader).stdout)
    assert (told["cause"], told["dra"]) == ("no-gpu-node", "not-read")
    done = cli(served, "train", "--dra", "on", kubeconfig=reader)
    assert (done.returncode, done.stdout) == (0, "unknown\n")
    assert "may not list deviceclasses" in done.stderr
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{served}-reader")


def test_the_operator_leaves_it_to_dra_and_follows_the_class(
    cluster, served, kubeconfig_for, tmp_path
):
    laboratory.add_namespace(cluster, "gpu-triage")
    give_rights(cluster)
    kubeconfig = kubeconfig_for("gpu-triage", "gpu-triage")
    try:
        with OperatorProcess(kubeconfig, tmp_path, node_starting_seconds=0) as operator:
            wait_for_word(cluster, served, "train", "unknown/dra")
            mapped = {"spec": {"extendedResourceName": None}}
            name = CLASS["metadata"]["name"]
            cluster.kubectl("patch", "deviceclass", name, "--type=merge", "-p", json.dumps(mapped))
            wait_for_word(cluster, served, "train", "no-gpu-node")
            assert operator.stop() == 0
    finally:
        take_rights(cluster)
        laboratory.clear_namespace(cluster, "gpu-triage", wait=True)


def test_where_dra_is_not_installed_a_missing_right_to_it_is_no_matter(tmp_path, cli):
    off = "--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta1=false"
    with ControlPlane("still", apiserver_flags=[off]) as plane:
        laboratory.apply(plane, builders.node("cpu-1", None), waiting("default", "cpu-1"))
        laboratory.add_account(plane, "default", "reader", READS, everywhere=True)
        token = plane.kubectl("create", "token", "reader").strip()
        reader = laboratory.write_kubeconfig(plane, token, tmp_path / "reader")
        done = cli("train", kubeconfig=reader)
        assert (done.returncode, done.stdout, done.stderr) == (0, "no-gpu-node\n", "")
        told = json.loads(cli("train", "-o", "json", kubeconfig=reader).stdout)
        assert told["dra"] is None
