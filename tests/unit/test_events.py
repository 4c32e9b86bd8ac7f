"""The Event of a spell: what is sent, its name, its series."""

import json

import msgspec
import pytest

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import PENDING, Cause, Detail, EventType
from gpu_triage.core.vocabulary import VOCABULARY
from gpu_triage.publish.events import Silence, Told, change, known, made, silence
from tests import builders
from tests.answers import ask

SINCE = 1767225600
PERIOD = 1800
POD = ask(builders.pod("train", namespace="team-a"), builders.node()).pod
STANDING = Standing(POD, Cause.EXHAUSTED, Detail.NEVER_FITS, SINCE, "Needs 16; 8 is the most.")


def body(write):
    return json.loads(write.body)


def replace(**fields):
    return msgspec.structs.replace(STANDING, **fields)


def name(standing, now=SINCE):
    return body(change(standing, None, now, PERIOD))["metadata"]["name"]


def test_a_spell_begins_with_an_event():
    write = change(STANDING, None, SINCE + 2, PERIOD)
    assert (write.kind, write.method, write.content_type) == ("event", "POST", "application/json")
    assert write.path == ("/apis/events.k8s.io/v1/namespaces/team-a/events?fieldManager=gpu-triage")
    event = body(write)
    assert event.pop("metadata") == {"name": write.says, "namespace": "team-a"}
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "gpu-triage.io/operator",
        "reportingInstance": "gpu-triage",
        "action": "Triage",
        "reason": "GPUExhausted",
        "type": "Warning",
        "note": "Needs 16; 8 is the most.",
        "regarding": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": "team-a",
            "name": "train",
            "uid": "uid-team-a-train",
        },
    }


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (replace(message="Needs 16; 4 is the most."), True),
        (replace(detail=Detail.FRAGMENTED), True),
        (replace(detail=Detail.BUSY), False),
        (replace(since=SINCE + 1), False),
        (replace(cause=Cause.TAINT, detail=Detail.UNTOLERATED), False),
        (replace(pod=msgspec.structs.replace(POD, uid="another")), False),
    ],
    ids=["message", "detail of its type", "detail of another type", "since", "word", "uid"],
)
def test_the_name_is_that_of_the_spell(other, same):
    assert (name(other) == name(STANDING)) is same


@pytest.mark.parametrize("pod", ["a", "x" * 253, "x" * 235 + "-" + "y" * 17, "a.b." + "c" * 249])
def test_the_name_is_a_subdomain_that_begins_with_the_pods(pod):
    found = name(replace(pod=msgspec.structs.replace(POD, name=pod)))
    stem, digest = found.rsplit(".", 1)
    assert len(found) <= 253
    assert pod.startswith(stem)
    assert stem[-1] not in "-."
    assert len(digest) == 16


def test_a_note_has_at_most_1024_bytes_of_whole_characters():
    note = body(change(replace(message="é" * 511 + "x" + "é" * 9), None, SINCE, PERIOD))["note"]
    assert note == "é" * 511 + "x"
    assert len(note.encode()) == 1023


def test_nothing_is_said_twice():
    told = known(STANDING, SINCE + 2, PERIOD)
    assert change(STANDING, told, SINCE + 2, PERIOD) is None
    assert change(replace(message="other"), told, SINCE + 1799, PERIOD) is None


def test_a_word_that_lasts_is_renewed_every_half_hour():
    told = known(STANDING, SINCE + 2, PERIOD)
    assert told == Told(name(STANDING), SINCE + 1800)
    write = change(STANDING, told, SINCE + 1800.5, PERIOD)
    assert (write.kind, write.method, write.content_type) == (
        "series",
        "PATCH",
        "application/merge-patch+json",
    )
    assert write.path.endswith(f"/events/{told.name}?fieldManager=gpu-triage")
    assert body(write) == {
        "series": {"count": 2, "lastObservedTime": "2026-01-01T00:30:00.500000Z"}
    }
    assert known(STANDING, SINCE + 1800.5, PERIOD).renew == SINCE + 3600


def test_a_restart_goes_on_where_it_stands():
    late = SINCE + 4 * 1800 + 60
    event = body(change(STANDING, None, late, PERIOD))
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert event["series"] == {"count": 5, "lastObservedTime": "2026-01-01T02:01:00.000000Z"}
    assert known(STANDING, late, PERIOD).renew == SINCE + 5 * 1800


def test_a_clock_that_was_set_back_makes_no_series_that_is_refused():
    told = Told(name(STANDING), SINCE - 500)
    assert body(change(STANDING, told, SINCE - 400, PERIOD))["series"]["count"] == 2


def test_a_detail_of_another_type_is_another_event():
    told = known(STANDING, SINCE, PERIOD)
    write = change(replace(detail=Detail.BUSY), told, SINCE + 60, PERIOD)
    assert (write.kind, body(write)["type"]) == ("event", "Normal")


@pytest.mark.parametrize(
    ("cause", "detail"),
    [(cause, detail) for cause in PENDING for detail in VOCABULARY[cause].details],
)
def test_every_word_that_has_an_event_names_a_reason(cause, detail):
    standing = replace(cause=cause, detail=detail)
    write = change(standing, None, SINCE, PERIOD)
    quiet = {
        (Cause.GATED, Detail.SCHEDULING_GATES),
        (Cause.NOT_GPU, Detail.NOT_TRIED),
        (Cause.NOT_GPU, Detail.ENDED),
        (Cause.NOT_GPU, Detail.TERMINATING),
    }
    assert (write is None) is ((cause, detail) in quiet)
    assert (known(standing, SINCE, PERIOD) is None) is ((cause, detail) in quiet)
    if write is not None:
        assert body(write)["reason"] == VOCABULARY[cause].reason
        assert body(write)["type"] in ("Normal", "Warning")


GAP = 300


def left(cause, detail, since="2026-01-01T00:00:00Z"):
    """What an earlier life has left on the pod."""
    return {"cause": cause, "detail": detail, "message": "Old.", "since": since}


@pytest.mark.parametrize(
    ("there", "standing", "expected"),
    [
        ({}, STANDING, Silence()),
        ({"cause": "taint"}, STANDING, Silence()),
        (left("exhausted", "never-fits"), None, Silence(SINCE + 600, "Warning", "", SINCE + 300)),
        (left("taint", "untolerated"), STANDING, Silence(SINCE + 600, "Warning", "", SINCE + 300)),
        (left("not-gpu", "not-tried"), STANDING, Silence(SINCE + 300, None)),
        (left("nonsense", "x"), STANDING, Silence(SINCE + 300, None)),
    ],
    ids=["bare", "no time", "over", "other word", "no event", "foreign"],
)
def test_what_stands_on_the_pod_says_how_long_it_is_left_alone(there, standing, expected):
    assert silence(there, standing, GAP) == expected


def test_the_event_of_a_word_that_goes_on_is_made_up_for_sooner_than_another():
    found = silence(left("exhausted", "never-fits"), STANDING, GAP)
    assert found.ends(EventType.WARNING, name(STANDING)) == SINCE + 300
    assert found.ends(EventType.WARNING, name(replace(since=SINCE + 1))) == SINCE + 600
    busy = silence(left("exhausted", "busy"), STANDING, GAP)
    assert busy.ends(EventType.WARNING, name(STANDING)) == 0


def test_a_warning_after_a_normal_event_does_not_wait():
    normal, warning = EventType.NORMAL, EventType.WARNING
    assert Silence(SINCE, normal).ends(warning, "x") == 0
    assert Silence(SINCE, normal).ends(normal, "x") == SINCE
    assert Silence(SINCE, warning).ends(warning, "x") == SINCE
    assert Silence(SINCE, None).ends(warning, "x") == SINCE


def test_an_event_that_was_there_already_may_have_been_made_late():
    assert made(Silence(), STANDING, SINCE + 9, GAP, new=True) == Silence(SINCE + 309, "Warning")
    assert made(Silence(), STANDING, SINCE + 9, GAP, new=False) == Silence(SINCE + 309, "Warning")
    late = made(Silence(), STANDING, SINCE + 9000, GAP, new=False)
    assert late == Silence(SINCE + 600, "Warning")
