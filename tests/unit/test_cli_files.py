"""Files in every form that clusters and people write them give the same answers."""

import io
import json
import os
from pathlib import Path

import pytest
import yaml

from gpu_triage.cli.main import run
from tests.builders import event, node, pod
from tests.e2e.laboratory import LAB_WORDS, ROOT

LAB = ROOT / "examples" / "lab.yaml"
ITEMS = yaml.safe_load(LAB.read_text())["items"]
PODS = [item for item in ITEMS if item["kind"] == "Pod"]
NODES = [item for item in ITEMS if item["kind"] == "Node"]
LOGS = """\
==== START logs for container cuda of pod gpu-triage/case-ok ====
{"kind": "Pod", "message": "a line that looks like an object"
Traceback: this is { no JSON
==== END logs for container cuda of pod gpu-triage/case-ok ====
"""


def bare(kind, items):
    """A list as the API sends it: its items leave their kind to the list."""
    bares = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
    return {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": bares}


LISTS = [bare("NodeList", NODES), bare("EventList", []), bare("PodList", PODS)]
EMPTY = {"kind": "ReplicaSetList", "apiVersion": "apps/v1", "metadata": {}, "items": None}
FORMS = {
    "YAML list": LAB.read_text(),
    "JSON list": json.dumps({"apiVersion": "v1", "kind": "List", "items": ITEMS}),
    "JSON with a byte order mark": "\ufeff"
    + json.dumps({"kind": "List", "apiVersion": "v1", "items": ITEMS}),
    "JSON lines": "\n".join(json.dumps(item) for item in ITEMS),
    "JSON array": json.dumps(ITEMS, indent=1),
    "YAML documents": yaml.safe_dump_all(ITEMS, explicit_start=True),
    "YAML with empty documents": "---\n---\n" + yaml.safe_dump_all(ITEMS, explicit_start=True),
    "JSON documents in a YAML stream": "\n---\n".join(json.dumps(item) for item in ITEMS),
    "flow YAML": "{kind: List, apiVersion: v1, items: " + json.dumps(ITEMS) + "}",
    "lists whose items lack a kind": "".join(json.dumps(each, indent=4) + "\n" for each in LISTS),
    "cluster-info dump": "".join(
        json.dumps(each, indent=4) + "\n" for each in [*LISTS[:1], EMPTY, *LISTS[1:]]
    )
    + LOGS
    + LOGS.replace("case-ok", "case-norequest"),
    "cluster-info dump, cut off in a log": "".join(json.dumps(each) + "\n" for each in LISTS)
    + LOGS[: LOGS.index("==== END")],
    "cluster-info dump -o yaml": yaml.safe_dump_all(LISTS, explicit_start=True) + LOGS,
}


def words(capsys, *arguments):
    code = run([*arguments, "--all", "-o", "word"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return dict(line.split() for line in out.splitlines()), err


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_one_file_in_any_form(text, tmp_path, capsys):
    path = tmp_path / "snapshot"
    path.write_text(text)
    assert words(capsys, "-f", str(path)) == (LAB_WORDS, "")


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_stdin_in_any_form(text, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert words(capsys, "-f", "-") == (LAB_WORDS, "")


def test_several_files_together(tmp_path, capsys):
    pods, nodes = tmp_path / "pods.json", tmp_path / "nodes.yaml"
    pods.write_text(json.dumps(bare("PodList", PODS)))
    nodes.write_text(yaml.safe_dump_all(NODES))
    assert words(capsys, "-f", str(pods), "-f", str(nodes)) == (LAB_WORDS, "")


def test_a_tree_as_cluster_info_dump_writes_it(tmp_path, capsys):
    space = tmp_path / "gpu-triage"
    (space / "case-ok").mkdir(parents=True)
    (tmp_path / "nodes.json").write_text(json.dumps(LISTS[0]))
    (space / "pods.json").write_text(json.dumps(LISTS[2]))
    (space / "replicasets.json").write_text(json.dumps(EMPTY))
    (space / "case-ok" / "logs.txt").write_text(LOGS)
    told, err = words(capsys, "-f", str(tmp_path))
    assert told == LAB_WORDS
    assert err == "gpu-triage: 1 file holds no Kubernetes object and was skipped.\n"


def test_a_tree_as_must_gather_writes_it(tmp_path, capsys):
    root = tmp_path / "quay-io-image-sha256-12"
    for item in NODES:
        write(
            root / "cluster-scoped-resources/core/nodes" / f"{item['metadata']['name']}.yaml", item
        )
    space = root / "namespaces/gpu-triage"
    write(space / "core/pods.yaml", bare("PodList", PODS))
    for item in PODS:  # each pod stands there a second time
        name = item["metadata"]["name"]
        write(space / "pods" / name / f"{name}.yaml", item)
    (root / "version").write_text("gather 4.16\n")
    (root / "timestamp").write_text("2026-01-20 10:05:00\n")
    (space / "pods/case-ok/current.log").write_text("kind: Pod\n")
    told, err = words(capsys, "-f", str(tmp_path))
    assert told == LAB_WORDS
    assert err == "gpu-triage: 3 files hold no Kubernetes object and were skipped.\n"


def write(path: Path, item):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\n" + yaml.safe_dump(item))


def test_objects_of_other_groups_that_share_a_name_are_none(tmp_path, capsys):
    path = tmp_path / "mixed.yaml"
    volume_node = {"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "n"}}
    path.write_text(LAB.read_text() + "---\n" + yaml.safe_dump({**volume_node, "spec": "text"}))
    assert words(capsys, "-f", str(path))[0] == LAB_WORDS


def test_times_in_yaml_stay_text(tmp_path, capsys):
    path = tmp_path / "plain.yaml"
    path.write_text(LAB.read_text().replace('"2026-', "2026-").replace('Z"', "Z"))
    assert words(capsys, "-f", str(path))[0] == LAB_WORDS


@pytest.mark.parametrize(
    ("where", "age"),
    [
        ({}, "0s"),
        ({"status": {"conditions": [{"lastTransitionTime": "2026-01-10T10:10:00Z"}]}}, "10m"),
        ({"status": {"conditions": [{"lastHeartbeatTime": "2026-01-10T10:20:00Z"}]}}, "20m"),
        ({"status": {"startTime": "2026-01-10T10:30:00+00:00"}}, "30m"),
        ({"metadata": {"managedFields": [{"time": "2026-01-10T11:00:00Z"}]}}, "1h"),
        ({"metadata": {"deletionTimestamp": "2027-01-10T11:00:00Z"}}, "0s"),
        ({"metadata": {"annotations": {"rotated": "2027-01-10T11:00:00Z"}}}, "0s"),
        ({"status": {"startTime": "late"}}, "0s"),
    ],
)
def test_now_is_the_newest_time_in_the_files(where, age, tmp_path, capsys):
    other = pod("other", node="gpu-a")
    for part, fields in where.items():
        other[part] |= fields
    path = tmp_path / "objects.json"
    path.write_text("\n".join(json.dumps(each) for each in [pod(gpus=9), node(), other]))
    assert run(["-f", str(path)]) == 0
    assert f"  {age}  9 nvidia.com/gpu" in capsys.readouterr().out

    assert run(["-f", str(path), "--now", "2026-01-10T10:00:45Z"]) == 0
    assert "  45s  9 nvidia.com/gpu" in capsys.readouterr().out


CUT = LAB.read_text()[: LAB.read_text().index("status:") + 30]
WRONG = {
    "no object": ("hello world", "no Kubernetes object in it."),
    "settings": ("just: settings", "no Kubernetes object in it."),
    "a case file": ("pod: a/b\nobjects: []", "no Kubernetes object in it."),
    "nothing": ("", "no Kubernetes object in it."),
    "JSON cut off": (FORMS["JSON list"][:1500], "the JSON is cut off at line 1, column "),
    "a stream cut off": (FORMS["JSON lines"][:-9], "the JSON is cut off at line 10, column "),
    "broken JSON": ('{"kind": Pod}', "not JSON at line 1, column 10: Expecting value"),
    "YAML cut off": (CUT, "not YAML at line 24, column 23: found unexpected end of stream"),
    "broken YAML": ("kind: Pod\n\tspec: {}", "not YAML at line 2, column 1: "),
    "no text": ("kind: Pod\nx: \udcff", "no text in UTF-8: line 2 holds other bytes"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "items": ('{"kind": "PodList", "apiVersion": "v1", "items": "x"}', "`items` is no list"),
    "a wrong type": (
        yaml.safe_dump(pod(nodeSelector="x")),
        "Pod default/train: Expected `object | null`, got `str` - at `$.spec.nodeSelector`",
    ),
    "a wrong label": (
        yaml.safe_dump(node(labels={"gpu": True})),
        "Node gpu-a: Expected `str`, got `bool` - at `$.metadata.labels[...]`",
    ),
    "a wrong quantity": (
        yaml.safe_dump(pod(gpus="lots")),
        "'lots' is no quantity (such as 1, 2000m, 1k, 1Ki or 1e3) - at"
        " `$.spec.containers[0].resources.requests[nvidia.com/gpu]`",
    ),
    "no name": (
        "kind: Pod\napiVersion: v1\nmetadata: {}",
        "Pod without a name: it has no name - at `$.metadata.name`",
    ),
    "an alias in itself": ("&a [*a]", "nested too deeply"),
}


@pytest.mark.parametrize(("text", "says"), WRONG.values(), ids=WRONG)
def test_a_file_that_cannot_be_used_is_one_line_that_names_it(text, says, tmp_path, capsys):
    path = tmp_path / "input"
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert run(["-f", str(path)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith(f"gpu-triage: {path}: ")
    assert says in err


def test_what_is_wrong_in_stdin_is_said_of_stdin(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"kind": "Pod",')))
    assert run(["-f", "-"]) == 3
    assert capsys.readouterr().err.startswith("gpu-triage: stdin: the JSON is cut off at line 1")


def test_paths_that_give_nothing(tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(["-f", str(empty)]) == 3
    assert f"{empty}: no Kubernetes object in this folder." in capsys.readouterr().err

    (empty / "notes.txt").write_text("kind: Pod")
    (empty / "conf.yaml").write_text("a: b")
    assert run(["-f", str(empty)]) == 3
    assert "no Kubernetes object in this folder (files looked at: 2)." in capsys.readouterr().err

    assert run(["-f", str(tmp_path / "nowhere")]) == 3
    assert "nowhere: No such file or directory. Check the path" in capsys.readouterr().err

    if os.getuid():
        locked = tmp_path / "locked.yaml"
        locked.touch(mode=0)
        assert run(["-f", str(locked)]) == 3
        assert "locked.yaml: Permission denied." in capsys.readouterr().err


def test_a_broken_object_in_a_folder_is_no_reason_to_go_on(tmp_path, capsys):
    (tmp_path / "good.yaml").write_text(LAB.read_text())
    (tmp_path / "bad.yaml").write_text("kind: Pod\n\tmetadata: {}")
    assert run(["-f", str(tmp_path)]) == 3
    assert f"{tmp_path / 'bad.yaml'}: not YAML at line 2" in capsys.readouterr().err


def test_without_nodes_words_that_rest_on_them_are_unknown(tmp_path, capsys):
    path = tmp_path / "pods.json"
    path.write_text("\n".join(json.dumps(each) for each in [pod(), pod("plain", 0)]))
    told, err = words(capsys, "-f", str(path))
    assert told == {"train": "unknown", "plain": "no-request"}
    assert err == (
        "gpu-triage: the files hold no nodes: words that rest on them are unknown. Add what"
        " `kubectl get nodes -o yaml` writes.\n"
    )
    # A list of nodes that is empty says that there is none.
    path.write_text(json.dumps(pod()) + json.dumps(bare("NodeList", [])))
    assert words(capsys, "-f", str(path)) == ({"train": "no-gpu-node"}, "")


def test_without_pods_nothing_is_said_of_what_is_used(tmp_path, capsys):
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(node()))
    assert run(["-f", str(path), "--nodes"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["gpu-a", "nvidia.com/gpu", "8", "8", "?", "?"]
    assert run(["-f", str(path)]) == 0
    assert capsys.readouterr().err == (
        "gpu-triage: the files hold no pods. Add what `kubectl get pods -A -o yaml` writes.\n"
    )


@pytest.mark.parametrize(
    ("dra", "given", "word"),
    [
        ("auto", True, "unknown"),
        ("off", True, "no-gpu-node"),
        ("auto", False, "no-gpu-node"),
        ("on", False, "unknown"),
    ],
)
def test_device_classes_in_files(dra, given, word, tmp_path, capsys):
    served = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example"},
        "spec": {"extendedResourceName": "nvidia.com/gpu"},
    }
    path = tmp_path / "objects.json"
    objects = [pod(), node(gpus=None), *([served] if given else [])]
    path.write_text("\n".join(json.dumps(each) for each in objects))
    assert words(capsys, "-f", str(path), "--dra", dra)[0] == {"train": word}


def test_events_of_autoscalers_in_the_files_are_heard_and_broken_ones_passed_over(tmp_path, capsys):
    told = event("TriggeredScaleUp", "pod triggered scale-up: [{gpu-pool 0->1 (max: 8)}]")
    broken = {"apiVersion": "v1", "kind": "Event", "metadata": {}, "involvedObject": "train"}
    other = {**told, "apiVersion": "example.com/v1", "reason": "NotTriggerScaleUp"}
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps([node(gpus=None), pod(), told, broken, other]))
    assert run(["default", "train", "-f", str(path), "-o", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["cause"], said["detail"]) == ("no-gpu-node", "scaling-up")
