"""Words over time: raw ones in, those that may be published out, at chosen seconds."""

import math

import pytest

from gpu_triage.cluster.history import BOUNDS, Waits
from gpu_triage.cluster.verdicts import Pace, Verdicts
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.classify import Raw
from gpu_triage.core.explain import message
from gpu_triage.publish.annotations import time_of
from tests import builders
from tests.answers import NOW, ask

TAINT = Cause.TAINT, Detail.UNTOLERATED
ZERO = Cause.ALLOCATABLE_ZERO, Detail.PLUGIN_GONE
UNSCHEDULABLE = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Too many pods.",
        }
    ]
}


def raw(word, *, now, published=None, name="train"):
    """The classifier's answer for a pod in a small cluster that leads to a word."""
    annotations = {f"gpu-triage.io/{key}": value for key, value in (published or {}).items()}
    spec, node, unread = {}, builders.node(gpus=8), None
    match word:
        case "exhausted":
            pod = builders.pod(name, 1, annotations=annotations, status=UNSCHEDULABLE)
            holder = builders.pod("holder", 2, node="gpu-a")
            return ask(pod, builders.node(gpus=2), holder, now=now)
        case "taint":
            node = builders.node(gpus=8, taints=[builders.GPU_TAINT])
        case "zero":
            node = builders.node(gpus=0, capacity=8)
        case "gone":
            node = builders.node(gpus=0, capacity=0)
        case "starting":
            label = {"nvidia.com/gpu.present": "true"}
            node = builders.node(gpus=None, labels=label, created=builders.CREATED)
        case "gated":
            spec = {"schedulingGates": [{"name": "queue"}]}
        case "forbidden":
            unread = {"nodes": Detail.FORBIDDEN}
        case "other":
            spec = {"status": UNSCHEDULABLE}
        case "terminating":
            pod = builders.pod(name, annotations=annotations)
            pod["metadata"]["deletionTimestamp"] = builders.CREATED
            return ask(pod, node, now=now)
    pod = builders.pod(name, annotations=annotations, **spec)
    return ask(pod, node, now=now, unread=unread)


def judge(verdicts, verdict, now):
    """Settle a word, and say its message where it wants one; when to do it again."""
    words = Raw(verdict.cause, verdict.detail)
    again = verdicts.judge(verdict.pod, words, now)
    if verdicts.wants_message(verdict.pod.uid, words):
        verdicts.say(verdict.pod.uid, message(verdict, now))
    return again


def play(*steps, published=None):
    """What stands after each step: (second, raw word) -> "cause/detail @since" or ""."""
    verdicts = Verdicts(Pace())
    seen = []
    for second, word in steps:
        verdict = raw(word, now=NOW + second, published=published)
        judge(verdicts, verdict, NOW + second)
        standing = verdicts.of(verdict.pod.uid)
        seen.append(
            f"{standing.cause}/{standing.detail} @{standing.since - int(NOW)}" if standing else ""
        )
    return seen


def test_a_first_word_waits_two_seconds():
    assert play((0, "exhausted"), (1.9, "exhausted"), (2, "exhausted")) == [
        "",
        "",
        "exhausted/busy @2",
    ]


def test_a_pod_that_changes_its_word_at_once_still_waits_from_when_it_was_first_seen():
    assert play((0, "taint"), (1, "zero"), (2, "exhausted")) == ["", "", "exhausted/busy @2"]


def test_one_gpu_word_gives_way_to_another_at_once():
    assert play((0, "taint"), (2, "taint"), (3.7, "zero"), (4, "zero"))[1:] == [
        "taint/untolerated @2",
        "allocatable-zero/all-unhealthy @3",
        "allocatable-zero/all-unhealthy @3",
    ]


def test_a_change_of_detail_is_at_once_and_keeps_since():
    assert play((0, "zero"), (2, "zero"), (60, "gone"))[1:] == [
        "allocatable-zero/all-unhealthy @2",
        "allocatable-zero/plugin-gone @2",
    ]


def test_a_gpu_word_stands_until_the_pod_has_fitted_for_thirty_seconds():
    steps = [(0, "exhausted"), (2, "exhausted"), (10, "not-tried"), (39.9, "not-tried")]
    assert play(*steps, (40, "not-tried"))[2:] == [
        "exhausted/busy @2",
        "exhausted/busy @2",
        "not-gpu/not-tried @40",
    ]


def test_a_break_in_fitting_starts_the_thirty_seconds_anew():
    steps = [(0, "exhausted"), (2, "exhausted"), (10, "not-tried"), (30, "exhausted")]
    steps += [(31, "not-tried"), (41, "not-tried"), (60.9, "not-tried"), (61, "not-tried")]
    assert play(*steps)[3:] == [*["exhausted/busy @2"] * 4, "not-gpu/not-tried @61"]


def test_a_new_pod_that_fits_gets_not_tried_after_thirty_seconds():
    assert play((0, "not-tried"), (29.9, "not-tried"), (30, "not-tried")) == [
        "",
        "",
        "not-gpu/not-tried @30",
    ]


def test_a_new_pod_that_a_scheduler_has_refused_for_other_reasons_waits_two_seconds():
    assert play((0, "other"), (2, "other")) == ["", "not-gpu/pods @2"]


def test_not_gpu_gives_way_to_a_gpu_word_at_once():
    assert play((0, "other"), (2, "other"), (3, "exhausted"))[2] == "exhausted/busy @3"


def test_what_cannot_be_told_is_said_at_once_and_taken_back_at_once():
    steps = [(0, "exhausted"), (2, "exhausted"), (5, "forbidden"), (9, "exhausted")]
    assert play(*steps)[2:] == ["unknown/forbidden @5", "exhausted/busy @9"]


def test_a_pod_whose_gate_is_lifted_is_new():
    steps = [(0, "gated"), (2, "gated"), (100, "exhausted"), (101, "not-tried")]
    assert play(*steps, (102, "exhausted"))[1:] == [
        "gated/scheduling-gates @2",
        "",
        "",
        "exhausted/busy @102",
    ]


def test_deletion_acts_at_once():
    assert play((0, "terminating")) == ["not-gpu/terminating @0"]


def there(since, cause="exhausted", detail="busy"):
    return {"cause": cause, "detail": detail, "message": "as it was", "since": since}


@pytest.mark.parametrize(
    ("published", "word", "stands"),
    [
        (there(time_of(NOW - 50)), "exhausted", "exhausted/busy @-50"),
        (there(time_of(NOW - 50), detail="reserved"), "exhausted", "exhausted/busy @-50"),
        (there(time_of(NOW - 50)), "not-tried", "exhausted/busy @-50"),
        (there(time_of(NOW - 50)), "taint", "taint/untolerated @0"),
        (there(time_of(NOW - 3600)), "exhausted", ""),
        (there(time_of(NOW + 3600)), "exhausted", ""),
        (there("yesterday"), "exhausted", ""),
        (there(time_of(NOW - 50), cause="hungry"), "exhausted", ""),
        (there(time_of(NOW - 50), cause="ok", detail="running"), "exhausted", ""),
        (there(time_of(NOW - 50), detail="cordoned"), "exhausted", ""),
    ],
    ids=[
        "same word: since is kept",
        "other detail: since is kept",
        "it fits now: the word stands, thirty seconds begin",
        "another word: at once",
        "older than the pod: copied from another",
        "from the future",
        "no time",
        "no such word",
        "a word that is never published",
        "a detail of another word",
    ],
)
def test_words_are_read_back_at_the_start(published, word, stands):
    assert play((0, word), published=published) == [stands]


def test_the_message_alone_changes_once_in_ten_minutes():
    verdicts = Verdicts(Pace())
    uid = raw("exhausted", now=NOW).pod.uid

    def after(second, name="holder"):
        pod = builders.pod(status=UNSCHEDULABLE)
        holder = builders.pod(name, 2, node="gpu-a")
        verdict = ask(pod, builders.node(gpus=2), holder, now=NOW + second)
        judge(verdicts, verdict, NOW + second)
        return verdicts.of(uid)

    after(0)
    first = after(2)
    assert "default/holder" in first.message
    assert after(601, "newcomer").message == first.message
    renewed = after(602, "newcomer")
    assert "default/newcomer" in renewed.message
    assert renewed.since == first.since
    assert after(700, "third").message == renewed.message


def test_a_message_is_wanted_once_and_only_while_the_raw_words_are_what_it_would_tell():
    verdicts, taint, zero = Verdicts(Pace(settle=0)), Raw(*TAINT), Raw(*ZERO)
    pod = raw("taint", now=NOW).pod
    verdicts.judge(pod, taint, NOW)
    assert verdicts.of(pod.uid).message == ""
    assert not verdicts.wants_message(pod.uid, zero)
    assert verdicts.wants_message(pod.uid, taint)
    verdicts.say(pod.uid, "why")
    assert not verdicts.wants_message(pod.uid, taint)
    verdicts.judge(pod, taint, NOW + 600)
    assert verdicts.of(pod.uid).message == "why"
    assert verdicts.wants_message(pod.uid, taint)
    verdicts.judge(pod, zero, NOW + 601)
    assert verdicts.of(pod.uid).message == ""
    assert verdicts.wants_message(pod.uid, zero)
    assert not verdicts.wants_message("another", taint)


@pytest.mark.parametrize(
    ("steps", "look_again"),
    [
        ([(0, "exhausted")], 2),
        ([(0, "exhausted"), (1, "exhausted")], 2),
        ([(0, "not-tried")], 30),
        ([(0, "exhausted"), (2, "exhausted")], 602),
        ([(0, "exhausted"), (2, "exhausted"), (10, "not-tried")], 40),
        ([(0, "starting"), (2, "starting")], 602),
        ([(0, "terminating")], 600),
    ],
)
def test_it_says_when_to_look_again(steps, look_again):
    verdicts = Verdicts(Pace())
    for second, word in steps:
        again = judge(verdicts, raw(word, now=NOW + second), NOW + second)
    assert again - NOW == pytest.approx(look_again)


def test_a_pod_that_is_placed_or_gone_is_forgotten():
    verdicts = Verdicts(Pace(settle=0))
    for name in ("one", "two"):
        judge(verdicts, raw("taint", now=NOW, name=name), NOW)
    verdicts.forget("uid-default-one")
    verdicts.forget("uid-default-three")
    assert set(verdicts.standing) == {"uid-default-two"}
    assert verdicts.of("uid-default-one") is None
    assert verdicts.standing["uid-default-two"].cause is Cause.TAINT


def test_a_word_that_is_too_young_has_nothing_to_refresh():
    assert judge(Verdicts(Pace(settle=math.inf)), raw("taint", now=NOW), NOW) == math.inf


def test_words_that_begin_are_counted_once_and_those_read_back_are_not():
    verdicts = Verdicts(Pace())
    steps = [(0, "zero"), (2, "zero"), (3, "gone"), (4, "taint"), (9, "zero")]
    for second, word in steps:
        judge(verdicts, raw(word, now=NOW + second), NOW + second)
    assert verdicts.history.words_begun == {Cause.ALLOCATABLE_ZERO: 2, Cause.TAINT: 1}
    again = Verdicts(Pace())
    published = there(time_of(NOW - 50))
    judge(again, raw("exhausted", now=NOW, published=published), NOW)
    assert again.history.words_begun == {}


def test_a_placed_pod_is_counted_by_its_last_word_with_the_seconds_that_it_waited():
    verdicts = Verdicts(Pace())
    for second, word in [(0, "zero"), (2, "zero"), (3, "taint"), (100, "taint")]:
        judge(verdicts, raw(word, now=NOW + second), NOW + second)
    uid = "uid-default-train"
    assert verdicts.waiting_since == {uid: NOW}
    verdicts.place(uid, NOW + 130)
    verdicts.place(uid, NOW + 200)
    (cause,), (waits,) = verdicts.history.placed.keys(), verdicts.history.placed.values()
    assert (cause, waits.seconds, sum(waits.counts)) == (Cause.TAINT, 130, 1)
    assert waits.counts[BOUNDS.index(300)] == 1
    assert verdicts.waiting_since == {}


@pytest.mark.parametrize(
    ("seconds", "bound"), [(0, 10), (10, 10), (10.1, 30), (604800, 604800), (604801, None)]
)
def test_a_wait_counts_for_the_first_bound_that_it_does_not_exceed(seconds, bound):
    waits = Waits()
    waits.add(seconds)
    assert waits.counts.index(1) == (BOUNDS.index(bound) if bound else len(BOUNDS))


def test_a_pod_that_is_placed_before_a_word_stood_or_is_deleted_is_in_no_histogram():
    verdicts = Verdicts(Pace())
    judge(verdicts, raw("zero", now=NOW), NOW)
    verdicts.place("uid-default-train", NOW + 1)
    for second in (10, 20):
        judge(verdicts, raw("zero", now=NOW + second), NOW + second)
    verdicts.forget("uid-default-train")
    assert verdicts.history.placed == {}


def test_a_pod_waits_since_its_gates_have_gone_or_since_the_word_that_is_read_back():
    verdicts = Verdicts(Pace())
    for second, word, waits in ((0, "gated", {}), (9, "taint", {"uid-default-train": NOW + 9})):
        judge(verdicts, raw(word, now=NOW + second), NOW + second)
        assert verdicts.waiting_since == waits
    again = Verdicts(Pace())
    judge(again, raw("taint", now=NOW, published=there(time_of(NOW - 50), "taint")), NOW)
    assert again.waiting_since == {"uid-default-train": NOW}
    again = Verdicts(Pace())
    judge(again, raw("taint", now=NOW, published=there(time_of(NOW - 50))), NOW)
    assert again.waiting_since == {"uid-default-train": NOW - 50}
