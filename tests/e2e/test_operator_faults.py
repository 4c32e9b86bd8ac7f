"""What the operator does when it may not read, cannot reach the API server, or is told nonsense."""

import json

import pytest
import yaml

from tests import builders
from tests.e2e import laboratory
from tests.e2e.account import Account, wait_until_held
from tests.e2e.operator_process import (
    ACCOUNT,
    RIGHTS,
    OperatorProcess,
    give_rights,
    own_kubeconfig,
    published,
    take_rights,
    wait_for_word,
)


@pytest.fixture
def waiting_pod(cluster, namespace, add_node):
    """The namespace of a pod "train" that asks for more than its node has."""
    node = add_node(1)
    pod = builders.pod(gpus=2, namespace=namespace, selector={"kubernetes.io/hostname": node})
    laboratory.apply(cluster, {**pod, "metadata": {"name": "train", "namespace": namespace}})
    laboratory.wait_for("it is tried", lambda: laboratory.tried(cluster, namespace, "train"))
    return namespace


def shipped_rules():
    """Return the rules of the shipped ClusterRole."""
    return yaml.safe_load((RIGHTS / "clusterrole.yaml").read_text())["rules"]


def grant(cluster, namespace, rules):
    laboratory.add_account(cluster, namespace, "operator", rules, everywhere=True)


def test_a_missing_right_is_named_and_not_guessed_around(
    cluster, waiting_pod, kubeconfig_for, tmp_path
):
    grant(
        cluster, waiting_pod, [each for each in shipped_rules() if each["resources"] != ["nodes"]]
    )
    kubeconfig = kubeconfig_for(waiting_pod, "operator")
    with OperatorProcess(kubeconfig, tmp_path, node_starting_seconds=0) as operator:
        said = wait_for_word(cluster, waiting_pod, "train", "unknown/forbidden", timeout=30)
        assert "nodes" in said["message"]
        assert operator.get("readyz") == (
            503,
            "nodes: the right to list and watch them is missing\n",
        )
        assert operator.get("healthz") == (200, "ok\n")
        assert [line for line in operator.lines() if "WARNING" in line] == [
            "WARNING Right is missing verb=list resource=nodes group='' "
            "meaning='words that rest on it become unknown/forbidden' "
            "fix='let the operator list and watch nodes: kubectl apply -f deploy/rbac'"
        ]
        grant(cluster, waiting_pod, shipped_rules())
        wait_for_word(cluster, waiting_pod, "train", "exhausted/never-fits", timeout=40)
        operator.wait_ready()
        assert operator.stop() == 0
    assert "Traceback" not in operator.log.read_text()
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{waiting_pod}-operator")


def test_the_right_to_write_is_named_once(cluster, waiting_pod, kubeconfig_for, tmp_path):
    reading = [each for each in shipped_rules() if each["verbs"] == ["list", "watch"]]
    grant(cluster, waiting_pod, reading)
    with OperatorProcess(kubeconfig_for(waiting_pod, "operator"), tmp_path) as operator:
        sample = 'gpu_triage_writes_total{kind="annotation",result="refused"}'
        laboratory.wait_for("a write is refused", lambda: operator.metric(sample) >= 1)
        assert operator.stop() == 0
        warnings = [line for line in operator.lines() if "WARNING" in line]
    assert len(warnings) == 1
    assert "let the operator patch pods/status" in warnings[0]
    assert published(cluster, waiting_pod, "train") == {}
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{waiting_pod}-operator")


def test_a_policy_that_denies_is_named_once_and_asked_seldom(cluster, waiting_pod, tmp_path):
    """The policy knows one domain and the setting names another: a slip that is easily made."""
    give_rights(cluster)
    token = cluster.kubectl("create", "token", ACCOUNT, "-n", "gpu-triage").strip()
    wait_until_held(Account(cluster, token), waiting_pod, "train")
    crowd = [
        builders.pod(f"crowd-{number}", namespace=waiting_pod, selector={"no": "such"})
        for number in range(20)
    ]
    laboratory.apply(cluster, *crowd)
    kubeconfig = laboratory.write_kubeconfig(cluster, token, tmp_path / "kubeconfig")
    settings = {"annotation_domain": "triage.example.com", "settle_seconds": 0}
    with OperatorProcess(kubeconfig, tmp_path, **settings) as operator:
        sample = 'gpu_triage_writes_total{kind="annotation",result="refused"}'
        laboratory.wait_for("writes are refused", lambda: operator.metric(sample) >= 5)
        warnings = [line for line in operator.lines() if "WARNING" in line]
        # It needs no restart: one write is tried now and again, and then all go.
        for name in ("gpu-triage-pods", "gpu-triage-events"):
            cluster.kubectl("delete", "validatingadmissionpolicybinding", name)

        def annotated():
            listing = cluster.kubectl("get", "pods", "-n", waiting_pod, "-o", "json")
            pods = json.loads(listing)["items"]
            return all(
                "triage.example.com/cause" in pod["metadata"].get("annotations", {}) for pod in pods
            )

        laboratory.wait_for("all are annotated", annotated, 60, seen=operator.log.read_text)
        tried = operator.metric(sample)
        assert operator.stop() == 0
    assert tried < 20  # fewer than there are pods
    assert len(warnings) == 1
    assert "ValidatingAdmissionPolicy" in warnings[0]
    assert "gpu-triage-pods" in warnings[0]
    assert "fix='the policy that it names must let this account write" in warnings[0]
    take_rights(cluster)


def test_an_api_server_that_restarts_is_found_again(cluster, waiting_pod, tmp_path):
    if cluster.apiserver is None:
        pytest.skip("only our own API server may be restarted")
    give_rights(cluster)
    kubeconfig = own_kubeconfig(cluster, tmp_path)
    with OperatorProcess(kubeconfig, tmp_path, node_starting_seconds=0) as operator:
        wait_for_word(cluster, waiting_pod, "train", "exhausted/never-fits")
        cluster.apiserver.restart(grace=1)
        cluster.wait_ready()
        cluster.kubectl("delete", "pod", "train", "-n", waiting_pod, "--grace-period=0", "--force")
        pod = builders.pod(name="next", gpus=1, namespace=waiting_pod, selector={"no": "such"})
        laboratory.apply(cluster, {**pod, "metadata": {"name": "next", "namespace": waiting_pod}})
        wait_for_word(cluster, waiting_pod, "next", "label-mismatch", timeout=60)
        operator.wait_ready()
        assert operator.stop() == 0
    log = operator.log.read_text()
    assert "Traceback" not in log
    assert log.count("API server does not answer") == log.count("API server answers again") == 1
    take_rights(cluster)
    cluster.kubectl("delete", "namespace", "gpu-triage")


def test_a_wrong_address_is_one_line(cluster, tmp_path):
    kubeconfig = laboratory.write_kubeconfig(
        cluster, "token", tmp_path / "kubeconfig", server="https://127.0.0.1:1"
    )
    with OperatorProcess(kubeconfig, tmp_path) as operator:
        assert operator.exit_code() == 3
    assert operator.lines()[-1] == (
        f"ERROR Found no way to the cluster: kubeconfig {kubeconfig}, context test: "
        "https://127.0.0.1:1 does not answer (Connection refused); "
        "check that it runs, and that this is the right address"
    )


def test_a_wrong_token_is_one_line(cluster, tmp_path):
    kubeconfig = laboratory.write_kubeconfig(cluster, "nonsense", tmp_path / "kubeconfig")
    with OperatorProcess(kubeconfig, tmp_path) as operator:
        assert operator.exit_code() == 3
    assert operator.lines()[-1] == (
        f"ERROR Found no way to the cluster: kubeconfig {kubeconfig}, context test: "
        f"{cluster.url} refuses our credentials; renew the token or certificate"
    )


def test_bad_settings_are_told_all_at_once(tmp_path):
    with OperatorProcess(
        "none", tmp_path, dra="perhaps", fit_seconds="soon", kube_scheduler="x"
    ) as operator:
        assert operator.exit_code() == 2
    assert operator.log.read_text().splitlines() == [
        "gpu-triage-operator: GPU_TRIAGE_DRA=perhaps: choose one of auto, on, off",
        "gpu-triage-operator: GPU_TRIAGE_FIT_SECONDS=soon: give a number of seconds from 0 to 3600",
        "gpu-triage-operator: GPU_TRIAGE_KUBE_SCHEDULER: there is no such setting; "
        "did you mean GPU_TRIAGE_KUBE_SCHEDULERS?",
    ]


def test_an_address_that_is_taken_is_one_line(cluster, tmp_path):
    kubeconfig = laboratory.write_kubeconfig(cluster, "token", tmp_path / "kubeconfig")
    host = cluster.url.removeprefix("https://")
    with OperatorProcess(kubeconfig, tmp_path, http_address=host) as operator:
        assert operator.exit_code() == 2
    assert operator.lines()[-1] == (
        f"ERROR Cannot serve GPU_TRIAGE_HTTP_ADDRESS={host}: Address already in use; "
        "choose another address"
    )
