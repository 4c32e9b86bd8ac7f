"""What somebody is told who asks about a pod that is not there."""

import json

import pytest

from gpu_triage.cli.evidence import FromApi
from gpu_triage.cli.guidance import namespace_missing, pod_missing
from gpu_triage.cli.main import run
from gpu_triage.core.objects import seconds
from gpu_triage.core.rules import Rules
from tests.builders import node, pod
from tests.fake_api import FakeApi

NOW = seconds("2026-01-10T10:05:00Z")
ADMISSION = (
    "A pod that is refused at admission leaves no object: what made it was told why (the answer of"
    " kubectl, or an Event of the ReplicaSet, Job or StatefulSet)."
)


def named(kind, name, namespace=None, **fields):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def event(name, text, **times):
    about = {"kind": "ReplicaSet", "name": "web-5d"}
    fields = {"reason": "FailedCreate", "message": text, "involvedObject": about, **times}
    return named("Event", name, "lab", **fields)


def quota(name, hard, used):
    return named("ResourceQuota", name, "lab", status={"hard": hard, "used": used})


SPACES = [named("Namespace", name) for name in ("default", "lab")]


def guidance(*objects, namespace="lab", forbidden=()):
    api = FakeApi(*SPACES, *objects, forbidden=forbidden)
    return pod_missing(FromApi(api), namespace, "web", Rules(), NOW)


def test_nothing_left_a_trace():
    assert guidance() == [
        "there is no pod lab/web.",
        "No other namespace has a pod of that name.",
        ADMISSION,
        "No FailedCreate Event in lab.",
        "No quota of lab names a GPU.",
        "There is no RuntimeClass: a pod that names one is refused.",
    ]


def test_every_trace_is_told():
    lines = guidance(
        pod("web", namespace="b"),
        pod("web", namespace="a"),
        event("old", "quota, long ago", lastTimestamp="2026-01-10T09:00:00Z"),
        event("new", 'RuntimeClass "nvidia"\n not found', lastTimestamp="2026-01-10T10:03:00Z"),
        event("other", "is not about it", lastTimestamp="2026-01-10T10:04:00Z")
        | {"reason": "Started"},
        quota(
            "gpus", {"requests.nvidia.com/gpu": "4", "pods": "9"}, {"requests.nvidia.com/gpu": "3"}
        ),
        quota("typo", {"nvidia.com/gpu": "1", "limits.nvidia.com/gpu": "1"}, {}),
        named("RuntimeClass", "kata"),
        named("RuntimeClass", "gvisor"),
    )
    assert lines == [
        "there is no pod lab/web.",
        "A pod of that name is in namespaces a and b.",
        ADMISSION,
        'Newest FailedCreate Event, 2m ago, ReplicaSet web-5d: RuntimeClass "nvidia" not found',
        "Quota gpus: 3 of 4 requests.nvidia.com/gpu used.",
        "Quota typo names limits.nvidia.com/gpu, which is never counted: only"
        " requests.nvidia.com/gpu would be.",
        "Quota typo names nvidia.com/gpu, which is never counted: only requests.nvidia.com/gpu"
        " would be.",
        "RuntimeClasses there are: gvisor and kata.",
    ]


@pytest.mark.parametrize(
    "times",
    [
        {"lastTimestamp": None, "eventTime": "2026-01-10T10:03:00.123456Z"},
        {
            "metadata": {
                "name": "new",
                "namespace": "lab",
                "creationTimestamp": "2026-01-10T10:03:00Z",
            }
        },
    ],
)
def test_the_newest_event_is_found_by_whichever_time_it_has(times):
    old = event("old", "old", lastTimestamp="2026-01-10T10:02:00Z")
    lines = guidance(old, event("new", "new") | times)
    assert any(
        line.startswith("Newest FailedCreate Event, ") and line.endswith(": new") for line in lines
    )


def test_what_may_not_be_read_is_named_once():
    forbidden = [
        "/api/v1/namespaces",
        "/api/v1/pods",
        "/api/v1/namespaces/lab/",
        "/apis/node.k8s.io/",
    ]
    assert guidance(forbidden=forbidden) == [
        "there is no pod lab/web.",
        "Whether another namespace has a pod of that name may not be read.",
        ADMISSION,
        "Not readable here: events, resourcequotas and runtimeclasses.",
    ]


def test_a_namespace_that_is_not_there_is_said_first():
    assert guidance(pod("web", namespace="lab"), namespace="labs") == [
        "there is no namespace labs, so no pod labs/web.",
        "The nearest name is lab.",
        "A pod of that name is in namespace lab.",
    ]
    assert namespace_missing(FromApi(FakeApi(*SPACES)), "labs") == [
        "there is no namespace labs. The nearest name is lab. There are: default and lab."
    ]
    nothing = FromApi(FakeApi(forbidden=["/api/v1/namespaces"]))
    assert namespace_missing(nothing, "labs") == ["there is no namespace labs."]


def snapshot(path, *objects):
    path.write_text("\n".join(json.dumps(each) for each in objects))
    return ["-f", str(path)]


def test_files_tell_what_they_hold(tmp_path, capsys):
    files = snapshot(
        tmp_path / "objects",
        pod("other", namespace="lab"),
        pod("web", namespace="else"),
        node(),
        event("new", "exceeded quota", lastTimestamp="2026-01-10T10:03:00Z"),
        event("broken", "counts for nothing") | {"message": 7},
        quota("gpus", {"requests.nvidia.com/gpu": "4"}, {}),
    )
    assert run([*files, "lab", "web"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "gpu-triage: there is no pod lab/web.",
        "gpu-triage: A pod of that name is in namespace else.",
        f"gpu-triage: {ADMISSION}",
        "gpu-triage: Newest FailedCreate Event, 0s ago, ReplicaSet web-5d: exceeded quota",
        "gpu-triage: Quota gpus: 0 of 4 requests.nvidia.com/gpu used.",
        "gpu-triage: Not readable here: runtimeclasses.",
    ]
    assert run([*files, "nobody"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "gpu-triage: there is no pod nobody.",
        f"gpu-triage: {ADMISSION}",
    ]
    assert run([*files, "-n", "labs"]) == 1
    assert capsys.readouterr().err == (
        "gpu-triage: there is no namespace labs. The nearest name is lab."
        " There are: else and lab.\n"
    )


def test_a_name_in_several_namespaces_needs_one(tmp_path, capsys):
    files = snapshot(tmp_path / "objects", pod(namespace="b"), pod(namespace="a"), node())
    assert run([*files, "train"]) == 2
    assert capsys.readouterr().err == (
        "gpu-triage: pod train is in several namespaces: a, b. Choose one with -n.\n"
    )
