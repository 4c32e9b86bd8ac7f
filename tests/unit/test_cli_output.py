"""What the command prints, in each form, and the schema that its JSON keeps to."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from gpu_triage.cli.main import run
from tests.builders import GPU_TAINT, node, pod
from tests.e2e.laboratory import LAB_WORDS, ROOT

LAB = ["-f", str(ROOT / "examples" / "lab.yaml")]
SCHEMA = json.loads((ROOT / "docs" / "triage.schema.json").read_text())
CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.yaml"))


@pytest.fixture
def cli(capsys):
    def call(*arguments):
        code = run(list(arguments))
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return call


@pytest.fixture
def snapshot(tmp_path):
    def write(*objects):
        path = tmp_path / "objects"
        path.write_text("\n".join(json.dumps(each) for each in objects))
        return ["-f", str(path)]

    return write


def valid(text):
    document = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


@pytest.mark.parametrize(("name", "word"), LAB_WORDS.items())
def test_the_lab_has_the_seven_words(name, word, cli):
    assert cli(*LAB, "gpu-triage", name) == f"{word}\n"


def test_the_manifests_are_the_lab_that_the_snapshot_shows():
    text = (ROOT / "examples" / "lab-manifests.yaml").read_text()
    applied = {each["metadata"]["name"]: each for each in yaml.safe_load_all(text)}
    shown = yaml.safe_load((ROOT / "examples" / "lab.yaml").read_text())["items"]
    assert [each["metadata"]["name"] for each in shown] == [
        name for name, each in applied.items() if each["kind"] != "Namespace"
    ]
    for item in shown:
        before = applied[item["metadata"]["name"]]
        assert before["kind"] == item["kind"]
        if item["kind"] == "Node":
            for part in ("capacity", "allocatable"):
                assert item["status"][part] == before["status"][part]
            assert item["spec"].get("taints") == before.get("spec", {}).get("taints")
        else:
            assert "status" not in before
            assert "nodeName" not in before["spec"]
            assert item["spec"]["nodeSelector"] == before["spec"]["nodeSelector"]
            own = [t for t in item["spec"]["tolerations"] if t["key"] == "nvidia.com/gpu"]
            assert own == before["spec"].get("tolerations", [])
            limits = before["spec"]["containers"][0].get("resources", {}).get("limits", {})
            given = item["spec"]["containers"][0]["resources"].get("limits", {})
            assert given == {key: str(value) for key, value in limits.items()}


def test_a_list_of_words_names_the_namespace_where_there_are_several(cli, snapshot):
    assert cli(*LAB, "-o", "word") == (
        "case-label label-mismatch\ncase-taint taint\ncase-nogpunode no-gpu-node\n"
        "case-alloc0 allocatable-zero\ncase-exhaust exhausted\n"
    )
    several = snapshot(pod(gpus=9), pod(gpus=9, namespace="else"), node())
    assert cli(*several, "-o", "word") == "default/train exhausted\nelse/train exhausted\n"
    assert cli(*several, "-o", "word", "-n", "else") == "train exhausted\n"


def test_the_report_leaves_out_what_needs_no_answer(cli, snapshot):
    files = snapshot(
        pod("waits", gpus=9),
        pod("placed", node="gpu-a"),
        pod("plain", 0),
        pod("ended", phase="Failed"),
        node(),
    )
    assert cli(*files, "-o", "word") == "waits exhausted\n"
    assert sorted(cli(*files, "-o", "word", "--all").splitlines()) == [
        "ended not-gpu",
        "placed ok",
        "plain no-request",
        "waits exhausted",
    ]


def test_a_report_on_nothing_says_so(cli, snapshot):
    files = snapshot(pod(node="gpu-a"), node())
    assert cli(*files, "-n", "default").splitlines()[0] == (
        "No pod in namespace default waits for a GPU."
    )
    assert cli(*files).splitlines()[0] == "No pod in any namespace waits for a GPU."
    assert cli(*files, "-o", "word") == ""
    assert valid(cli(*files, "-o", "json"))["items"] == []


def test_explain_alone_is_the_text(cli):
    one = [*LAB, "gpu-triage", "case-taint"]
    assert cli(*one, "--explain") == cli(*one, "-o", "text")
    report = cli(*LAB, "--explain")
    assert report.startswith("gpu-triage/case-label: label-mismatch (unknown-key)\n")
    assert cli(*one, "--explain") in report


HOLDER = {
    "namespace": "gpu-triage",
    "name": "case-ok",
    "node": "lab-node-0",
    "gpus": {"nvidia.com/gpu": 1},
    "workload": "",
    "since": "2026-01-20T10:00Z",
    "trouble": "",
    "own": False,
}


def test_json_of_one_pod(cli):
    told = valid(cli(*LAB, "gpu-triage", "case-exhaust", "-o", "json"))
    nodes = told.pop("nodes")
    assert told == {
        "apiVersion": "gpu-triage.io/v1",
        "kind": "Triage",
        "namespace": "gpu-triage",
        "name": "case-exhaust",
        "uid": "8d7f3a90-2b41-4e0c-8f6a-3c9d2e1b4a05",
        "cause": "exhausted",
        "detail": "busy",
        "message": "Needs 2 nvidia.com/gpu on one node; best of 1: lab-node-0 has 1 of 2"
        " nvidia.com/gpu free. Held by gpu-triage/case-ok (1 since 2026-01-20T10:00Z).",
        "since": None,
        "request": {"nvidia.com/gpu": 2},
        "node": None,
        "funnel": {
            "nodes": 3,
            "label": 1,
            "offering": 1,
            "taint": 1,
            "offers": 1,
            "allocatable": 1,
            "free": 0,
        },
        "source": "computed",
        "workload": None,
        "fix": {
            "kind": "advice",
            "object": "pod gpu-triage/case-exhaust",
            "says": "",
            "path": None,
            "from": None,
            "to": "wait",
            "node": None,
            "reaches": None,
        },
        "holders": [HOLDER],
        "dra": None,
    }
    assert [(each["name"], each["step"]) for each in nodes] == [
        ("lab-node-0", "free"),
        ("lab-node-1", "label"),
        ("lab-node-2", "label"),
    ]
    assert nodes[0] == {
        "name": "lab-node-0",
        "step": "free",
        "reason": "1 of 2 nvidia.com/gpu free, the pod needs 2",
        "capacity": {"nvidia.com/gpu": 2},
        "allocatable": {"nvidia.com/gpu": 2},
        "used": {"nvidia.com/gpu": 1},
        "free": {"nvidia.com/gpu": 1},
    }


def test_yaml_says_what_json_says(cli):
    for arguments in (["gpu-triage", "case-exhaust"], [], ["--nodes"]):
        told = yaml.safe_load(cli(*LAB, *arguments, "-o", "yaml"))
        assert told == json.loads(cli(*LAB, *arguments, "-o", "json"))


def test_nodes_are_given_in_a_list_only_where_they_are_asked_for(cli):
    for item in valid(cli(*LAB, "--all", "-o", "json"))["items"]:
        assert item["nodes"] is None
    items = valid(cli(*LAB, "--all", "--explain", "-o", "json"))["items"]
    told = {item["name"]: len(item["nodes"] or ()) for item in items}
    assert told == {name: 0 if name in ("case-ok", "case-norequest") else 3 for name in LAB_WORDS}


def test_json_of_nodes(cli):
    told = valid(cli(*LAB, "--nodes", "-o", "json"))
    assert told["kind"] == "GPUNodeList"
    assert told["items"][0] == {
        "name": "lab-node-0",
        "capacity": {"nvidia.com/gpu": 2},
        "allocatable": {"nvidia.com/gpu": 2},
        "used": {"nvidia.com/gpu": 1},
        "free": {"nvidia.com/gpu": 1},
        "taints": ["nvidia.com/gpu=present:NoSchedule"],
        "holders": [HOLDER],
    }


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_case_gives_its_word_and_json_that_keeps_to_the_schema(path, cli, snapshot):
    case = yaml.safe_load(path.read_text())
    namespace, name = case["pod"].split("/")
    files = snapshot(*case["objects"])
    assert cli(*files, namespace, name) == f"{case['expect']}\n"
    told = valid(cli(*files, namespace, name, "-o", "json"))
    assert told["cause"] == case["expect"]
    assert cli(*files, namespace, name, "-o", "text").startswith(
        f"{case['pod']}: {case['expect']} ("
    )
    valid(cli(*files, "--all", "--explain", "-o", "json"))
    valid(cli(*files, "--nodes", "-o", "json"))


PUBLISHED = {
    "gpu-triage.io/cause": "taint",
    "gpu-triage.io/detail": "untolerated",
    "gpu-triage.io/message": "Told before.",
    "gpu-triage.io/since": "2026-01-10T10:00:02Z",
}


def test_since_is_the_operators_where_its_word_is_the_same(cli, snapshot):
    files = snapshot(pod(annotations=PUBLISHED), node(taints=[GPU_TAINT]))
    told = valid(cli(*files, "train", "-o", "json"))
    assert (told["source"], told["since"]) == ("computed", "2026-01-10T10:00:02Z")
    assert told["message"] != "Told before."

    files = snapshot(pod(gpus=9, annotations=PUBLISHED), node())
    told = valid(cli(*files, "train", "-o", "json"))
    assert (told["cause"], told["source"], told["since"]) == ("exhausted", "computed", None)


def test_the_published_word_stands_where_the_nodes_are_not_known(cli, snapshot):
    files = snapshot(pod(annotations=PUBLISHED))
    told = valid(cli(*files, "train", "-o", "json"))
    assert (told["cause"], told["detail"], told["source"]) == ("taint", "untolerated", "published")
    assert (told["message"], told["since"]) == ("Told before.", "2026-01-10T10:00:02Z")
    text = cli(*files, "train", "-o", "text")
    assert "Since      2026-01-10T10:00:02Z (taint, by the operator)" in text
    assert "Source     the operator's annotation" in text


@pytest.mark.parametrize(
    "wrong", [{"gpu-triage.io/cause": "tainted"}, {"gpu-triage.io/detail": "busy"}]
)
def test_a_published_word_that_is_none_is_not_repeated(wrong, cli, snapshot):
    files = snapshot(pod(annotations=PUBLISHED | wrong))
    told = valid(cli(*files, "train", "-o", "json"))
    assert (told["cause"], told["source"]) == ("unknown", "computed")
