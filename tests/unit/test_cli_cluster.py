"""Reports and answers from a live cluster: what is read, what is said where a right is missing."""

import json

import pytest

from gpu_triage.cli import source
from gpu_triage.cli.main import run
from tests.builders import GPU_TAINT, node, pod
from tests.fake_api import DRA, NODES, PODS, FakeApi

HOLDING = "status.phase!=Succeeded,status.phase!=Failed"
SPACES = [{"kind": "Namespace", "metadata": {"name": name}} for name in ("default", "else")]
PUBLISHED = {
    "gpu-triage.io/cause": "taint",
    "gpu-triage.io/detail": "untolerated",
    "gpu-triage.io/message": "Told.",
    "gpu-triage.io/since": "2026-01-10T10:00:02Z",
}


@pytest.fixture
def ask(monkeypatch, capsys):
    """A function (api, arguments) that runs the command; the API server is the only stand-in."""

    def call(api, *arguments):
        monkeypatch.setattr(source, "Connection", lambda kubeconfig, context: api)
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_a_report_is_on_the_contexts_namespace(ask):
    api = FakeApi(pod(gpus=9), pod(gpus=9, namespace="else"), node(), namespace="else")
    assert ask(api, "-o", "word") == (0, "train exhausted\n", "")
    assert api.reads == [f"{PODS} {HOLDING}", NODES, f"{DRA}/deviceclasses"]


def test_all_namespaces_are_named_in_every_line(ask):
    api = FakeApi(pod(gpus=9, namespace="else"), node())
    assert ask(api, "-A", "-o", "word") == (0, "else/train exhausted\n", "")


def test_where_nothing_waits_no_device_class_is_read(ask):
    api = FakeApi(pod(node="gpu-a"), node())
    code, out, _ = ask(api)
    assert (code, out.splitlines()[0]) == (0, "No pod in namespace default waits for a GPU.")
    assert (
        api.reads
        == [f"{PODS} {HOLDING}", NODES, "/api/v1/namespaces/default"][:2] + (api.reads[2:])
    )
    assert f"{DRA}/deviceclasses" not in api.reads


def test_a_namespace_that_is_not_there_is_no_answer(ask):
    code, out, err = ask(FakeApi(*SPACES, node()), "-n", "elso")
    assert (code, out) == (1, "")
    assert err == (
        "gpu-triage: there is no namespace elso. The nearest name is else. There are: default and"
        " else.\n"
    )


def test_a_report_without_the_right_to_all_pods_is_on_those_of_the_namespace(ask):
    waiting = [
        pod("free", gpus=1),
        pod("told", annotations=PUBLISHED),
        pod("big", selector={"a": "b"}),
    ]
    api = FakeApi(*waiting, node(), forbidden=[PODS])
    code, out, err = ask(api, "-o", "word")
    assert code == 0
    assert out.splitlines() == ["big label-mismatch", "told taint", "free unknown"]
    assert err.splitlines() == [
        "gpu-triage: may not list pods (cluster-wide): what is free on nodes is not known. Ask for"
        " the verb list on pods.",
        "gpu-triage: 1 word is published by the operator, not computed here (-o wide shows which).",
    ]
    _, out, _ = ask(api)
    assert [line.split() for line in out.splitlines()][-1] == ["nvidia.com/gpu", *"188??"]


def test_all_namespaces_need_the_right_to_all_pods(ask):
    code, out, err = ask(FakeApi(pod(), forbidden=[PODS]), "-A")
    assert (code, out) == (3, "")
    assert "may not list pods (cluster-wide)" in err
    assert "-n" in err


def test_without_nodes_every_word_that_rests_on_them_is_unknown(ask):
    api = FakeApi(pod(), pod("plain", 0), node(), forbidden=[NODES])
    code, out, err = ask(api, "--all", "-o", "word")
    assert (code, out) == (0, "plain no-request\ntrain unknown\n")
    assert err.startswith("gpu-triage: may not list nodes (cluster-wide): ")

    code, out, err = ask(api, "--nodes")
    assert (code, out) == (3, "")
    assert "may not list nodes (cluster-wide)" in err


def test_nodes_are_shown_without_holders_where_pods_may_not_be_read(ask):
    code, out, _ = ask(FakeApi(node(), forbidden=[PODS]), "--nodes", "-o", "json")
    assert code == 0
    (shown,) = json.loads(out)["items"]
    assert (shown["used"], shown["free"], shown["holders"]) == (None, None, None)


def test_device_classes_that_may_not_be_read_are_said_once_and_stand_in_json(ask):
    api = FakeApi(pod(), node(taints=[GPU_TAINT]), forbidden=[f"{DRA}/deviceclasses"])
    code, out, err = ask(api, "train", "-o", "json")
    assert (code, json.loads(out)["cause"], json.loads(out)["dra"]) == (0, "taint", "not-read")
    assert len(err.splitlines()) == 1
    assert "may not list deviceclasses.resource.k8s.io (cluster-wide): taken as absent." in err

    code, out, err = ask(api, "train", "-o", "json", "--dra", "on")
    assert (json.loads(out)["cause"], json.loads(out)["dra"]) == ("unknown", None)
    assert "may not list deviceclasses (cluster-wide)" in err

    code, out, err = ask(api, "train", "-o", "json", "--dra", "off")
    assert (json.loads(out)["cause"], json.loads(out)["dra"], err) == ("taint", None, "")


def test_numbers_of_nodes_whose_pods_were_not_read_are_null(ask):
    nodes = [node("gpu-a", labels={"pool": "a"}), node("gpu-b")]
    api = FakeApi(pod(gpus=9, selector={"pool": "a"}), *nodes)
    _, out, _ = ask(api, "train", "-o", "json")
    told = {each["name"]: each["used"] for each in json.loads(out)["nodes"]}
    assert told == {"gpu-a": {"nvidia.com/gpu": 0}, "gpu-b": None}


def test_an_answer_that_is_no_list_is_one_line(ask):
    class Broken(FakeApi):
        def get(self, path, query=None):
            return b"<html>" if path == NODES else super().get(path, query)

    code, out, err = ask(Broken(pod(), node()), "train")
    assert (code, out) == (3, "")
    assert err.startswith("gpu-triage: /api/v1/nodes: what the API server sent cannot be read: ")
    assert len(err.splitlines()) == 1
