"""The annotations' write: what is sent, and when nothing is."""

import json

import msgspec
import pytest

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.publish.annotations import change, values
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


def test_a_word_is_four_annotations():
    assert values(STANDING) == VALUES
    assert values(None) == {}


def test_it_is_applied_to_the_status_of_the_one_pod_with_that_uid():
    write = change(POD, {}, STANDING, "gpu-triage.io")
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
            "name": "train",
            "namespace": "team-a",
            "uid": "uid-team-a-train",
            "annotations": {f"gpu-triage.io/{key}": value for key, value in VALUES.items()},
        },
    }


def test_a_removal_applies_none():
    write = change(POD, VALUES, None, "gpu-triage.io")
    assert write.kind == "removal"
    assert json.loads(write.body)["metadata"] == {
        "name": "train",
        "namespace": "team-a",
        "uid": "uid-team-a-train",
    }


def test_the_domain_is_a_setting():
    write = change(POD, {}, STANDING, "triage.example.com")
    assert "triage.example.com/cause" in json.loads(write.body)["metadata"]["annotations"]


@pytest.mark.parametrize(("there", "standing"), [(VALUES, STANDING), ({}, None)])
def test_what_is_right_already_is_not_written(there, standing):
    assert change(POD, there, standing, "gpu-triage.io") is None


@pytest.mark.parametrize(
    "there",
    [
        {**VALUES, "detail": "reserved"},
        {**VALUES, "message": "other"},
        {key: value for key, value in VALUES.items() if key != "since"},
    ],
    ids=["changed by somebody", "other message", "one was removed by somebody"],
)
def test_whatever_differs_is_written_whole(there):
    write = change(POD, there, STANDING, "gpu-triage.io")
    assert len(json.loads(write.body)["metadata"]["annotations"]) == 4


def test_writes_that_differ_in_the_message_alone_say_the_same():
    other = msgspec.structs.replace(STANDING, message="Needs 2; none is free.")
    first, second = (change(POD, {}, each, "gpu-triage.io") for each in (STANDING, other))
    assert first.body != second.body
    assert first.says == second.says
