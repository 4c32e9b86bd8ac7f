"""The annotations' writes: what is sent."""

import json

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.publish.annotations import publish, removal, take_over, values
from tests import builders
from tests.answers import ask

POD = ask(builders.pod("train", namespace="team-a"), builders.node()).pod
STANDING = Standing(POD, Cause.EXHAUSTED, Detail.BUSY, 1767225600, "Needs 2; 1 is free.")
VALUES = {
    "cause": "exhausted",
    "detail": "busy",
    "message": "Needs 2; 1 is free.",
    "since": "2026-01-01T00:00:00Z",
}
WHERE = {"name": "train", "namespace": "team-a", "uid": "uid-team-a-train"}


def metadata(write):
    return json.loads(write.body)["metadata"]


def test_a_word_is_four_annotations():
    assert values(STANDING) == VALUES
    assert values(None) == {}


def test_it_is_applied_to_the_status_of_the_one_pod_with_that_uid():
    write = publish(STANDING, "gpu-triage.io")
    assert (write.kind, write.method, write.content_type) == (
        "annotation",
        "PATCH",
        "application/apply-patch+yaml",
    )
    assert write.path == (
        "/api/v1/namespaces/team-a/pods/train/status?fieldManager=gpu-triage&force=true"
    )
    assert json.loads(write.body) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **WHERE,
            "annotations": {f"gpu-triage.io/{key}": value for key, value in VALUES.items()},
        },
    }


def test_a_removal_applies_none():
    write = removal("team-a", "train", "uid-team-a-train")
    assert write.kind == "removal"
    assert write.path == publish(STANDING, "gpu-triage.io").path
    assert metadata(write) == WHERE


def test_keys_are_taken_over_by_another_value():
    keys = ["old.io/cause", "old.io/since"]
    empty = {"old.io/cause": "", "old.io/since": ""}
    write = take_over("team-a", "train", "uid-team-a-train", keys)
    assert (write.kind, metadata(write)) == ("removal", {**WHERE, "annotations": empty})
    beside = metadata(publish(STANDING, "gpu-triage.io", keys))["annotations"]
    assert beside == {**metadata(publish(STANDING, "gpu-triage.io"))["annotations"], **empty}


def test_the_domain_is_a_setting():
    assert (
        "triage.example.com/cause"
        in metadata(publish(STANDING, "triage.example.com"))["annotations"]
    )


def test_writes_that_differ_in_the_message_alone_say_the_same():
    other = msgspec.structs.replace(STANDING, message="Needs 2; none is free.")
    first, second = (publish(each, "gpu-triage.io") for each in (STANDING, other))
    assert first.body != second.body
    assert first.says == second.says
