"""What is kept of settled words: their messages, how many began, how long pods have waited.

When words settle is told in test_settling.py.
"""

import math

import pytest

from gpu_triage.cluster.history import BOUNDS, Waits
from gpu_triage.cluster.settling import Pace
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.core import objects
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.classify import Raw
from gpu_triage.core.explain import explain
from gpu_triage.core.message import Message
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from gpu_triage.publish.annotations import time_of
from tests import builders
from tests.answers import NOW, ask
from tests.timeline import WORDS, Timeline

TAINT, ZERO = Raw(*WORDS["taint"]), Raw(*WORDS["zero"])
UID = "uid-default-train"
UPTIME = 5000.0


def a_pod(name="train", **rest):
    return pod_facts(objects.pod(builders.pod(name, **rest)), Rules())


def judge(verdicts, raw, second, pod=None):
    return verdicts.judge(pod or a_pod(), raw, NOW + second, UPTIME + second) - UPTIME


def test_the_message_alone_changes_once_in_ten_minutes():
    verdicts = Verdicts(Pace())

    def after(second, name="holder"):
        holder = builders.pod(name, 2, node="gpu-a")
        verdict = ask(builders.pod(), builders.node(gpus=2), holder, now=NOW + second)
        raw = Raw(verdict.cause, verdict.detail)
        judge(verdicts, raw, second, verdict.pod)
        if verdicts.wants_message(UID, raw):
            verdicts.say(UID, explain(verdict, NOW + second))
        return verdicts.of(UID)

    after(0)
    first = after(2)
    assert "default/holder" in first.message
    assert after(601, "newcomer").message == first.message
    renewed = after(602, "newcomer")
    assert "default/newcomer" in renewed.message
    assert renewed.since == first.since
    assert after(700, "third").message == renewed.message


def test_a_message_is_wanted_once_and_only_while_the_raw_words_are_what_it_would_tell():
    verdicts = Verdicts(Pace(settle=0))
    judge(verdicts, TAINT, 0)
    assert verdicts.of(UID).message == ""
    assert not verdicts.wants_message(UID, ZERO)
    assert verdicts.wants_message(UID, TAINT)
    verdicts.say(UID, Message("why"))
    assert not verdicts.wants_message(UID, TAINT)
    judge(verdicts, TAINT, 600)
    assert verdicts.of(UID).message == "why"
    assert verdicts.wants_message(UID, TAINT)
    judge(verdicts, ZERO, 601)
    assert verdicts.of(UID).message == ""
    assert verdicts.wants_message(UID, ZERO)
    assert not verdicts.wants_message("another", TAINT)


def test_a_word_whose_message_is_overdue_waits_for_a_moment_in_which_it_holds():
    verdicts = Verdicts(Pace(settle=0))
    judge(verdicts, TAINT, 0)
    verdicts.say(UID, Message("why"))
    fits = Raw(*WORDS["fits"])
    assert judge(verdicts, fits, 590) == 600
    assert judge(verdicts, fits, 600) == 601
    assert not verdicts.wants_message(UID, fits)
    judge(verdicts, TAINT, 600.5)
    assert verdicts.wants_message(UID, TAINT)


@pytest.mark.parametrize(
    ("steps", "look_again"),
    [
        ([(0, "exhausted")], 2),
        ([(0, "exhausted"), (1, "exhausted")], 2),
        ([(0, "fits")], 30),
        ([(0, "exhausted"), (2, "exhausted")], 602),
        ([(0, "exhausted"), (2, "exhausted"), (10, "fits")], 40),
        ([(0, "exhausted"), (2, "exhausted"), (10, "taint")], 12),
        ([(0, "terminating")], 600),
    ],
)
def test_it_says_when_to_look_again(steps, look_again):
    verdicts = Verdicts(Pace())
    for second, word in steps:
        again = judge(verdicts, Raw(*WORDS[word]), second)
    assert again == pytest.approx(look_again)


def test_a_word_that_is_too_young_has_nothing_to_refresh():
    assert judge(Verdicts(Pace(settle=math.inf)), TAINT, 0) == math.inf


def test_a_pod_that_changes_stands_with_what_it_is_now_and_one_that_does_not_is_the_same():
    verdicts = Verdicts(Pace(settle=0))
    pod, changed = a_pod(), a_pod(priority=7)
    judge(verdicts, TAINT, 0, pod)
    before = verdicts.of(UID)
    judge(verdicts, ZERO, 1, pod)
    judge(verdicts, TAINT, 2, pod)
    stands = verdicts.of(UID)
    judge(verdicts, TAINT, 3, pod)
    assert verdicts.of(UID) is stands
    judge(verdicts, TAINT, 4, changed)
    assert (before.pod.priority, verdicts.of(UID).pod.priority) == (0, 7)


def test_a_pod_that_is_placed_or_gone_is_forgotten():
    verdicts = Verdicts(Pace(settle=0))
    for name in ("one", "two", "three"):
        judge(verdicts, TAINT, 0, a_pod(name))
    verdicts.forget("uid-default-one")
    verdicts.place("uid-default-two", UPTIME)
    verdicts.forget("uid-default-four")
    assert set(verdicts.standing) == {"uid-default-three"}
    assert verdicts.of("uid-default-one") is None
    assert verdicts.standing["uid-default-three"].cause is Cause.TAINT


def history(line, **rest):
    life = Timeline(**rest)
    life.play(line)
    told = life.verdicts.history
    return told.words_begun, {cause: waits.seconds for cause, waits in told.placed.items()}


def there(cause, detail, seconds):
    return {"cause": cause, "detail": detail, "message": "why", "since": time_of(NOW + seconds)}


@pytest.mark.parametrize(
    ("line", "begun", "placed"),
    [
        (
            "0 taint, 10 zero, 20 allocatable-zero/node-starting, 30 taint, 130 placed",
            {"taint": 2, "allocatable-zero": 1},
            {"taint": 130},
        ),
        ("0 taint, 1 placed", {}, {}),
        ("0 taint, 10 deleted", {"taint": 1}, {}),
        ("0 taint, 10 terminating, 12 deleted", {"taint": 1}, {}),
        ("0 gated, 100 taint, 150 placed", {"gated": 1, "taint": 1}, {"taint": 50}),
        ("0 exhausted, 100 fits, 105 placed", {"exhausted": 1}, {"exhausted": 105}),
        ("0 taint, 5 clock-3600, 10 placed", {"taint": 1}, {"taint": 10}),
        ("0 taint, 5 clock+3600, 10 placed", {"taint": 1}, {"taint": 10}),
    ],
)
def test_words_that_begin_and_pods_that_are_placed_are_counted(line, begun, placed):
    assert history(line) == (begun, placed)


def test_what_is_read_back_is_not_counted_again_and_its_time_is():
    published = there("exhausted", "busy", -50)
    assert history("0 exhausted, 10 placed", published=published) == ({}, {"exhausted": 60})


@pytest.mark.parametrize(
    ("seconds", "bound"), [(0, 10), (10, 10), (10.1, 30), (604800, 604800), (604801, None)]
)
def test_a_wait_counts_for_the_first_bound_that_it_does_not_exceed(seconds, bound):
    waits = Waits()
    waits.add(seconds)
    assert waits.counts.index(1) == (BOUNDS.index(bound) if bound else len(BOUNDS))
    assert waits.seconds == seconds


@pytest.mark.parametrize(
    ("line", "published", "since"),
    [
        ("0 taint", None, 0),
        ("0 gated", None, None),
        ("0 gated, 9 taint", None, 9),
        ("0 taint", there("exhausted", "busy", -50), -50),
        ("0 taint", there("gated", "scheduling-gates", -50), 0),
        ("0 taint, 5 clock+3600", None, 0),
    ],
)
def test_a_pod_waits_since_it_was_first_seen_without_gates(line, published, since):
    life = Timeline(published=published)
    life.play(line)
    waits = {UID: NOW + since} if since is not None else {}
    assert life.verdicts.waiting_since == waits


def test_a_detail_that_changes_the_kind_of_event_is_told_within_the_same_word():
    told = Timeline()
    assert told.play("0 exhausted/busy, 60 exhausted/nodes-lost") == (
        "2 exhausted, 90 exhausted/nodes-lost since 2"
    )
    assert told.verdicts.of(UID).detail is Detail.NODES_LOST


@pytest.mark.parametrize(
    ("published", "stands", "later"),
    [
        (None, "taint/untolerated @2", "taint/untolerated @2"),
        (("taint", "untolerated", 1), "taint/untolerated @1", "taint/untolerated @1"),
        (("taint", "not-ready", 1), "taint/not-ready @1", "taint/untolerated @1"),
        (("exhausted", "busy", -50), "taint/untolerated @2", "taint/untolerated @2"),
        (("exhausted", "busy", 3), "exhausted/busy @3", "taint/untolerated @69"),
    ],
    ids=["nothing", "the same word", "another detail", "an older word", "a newer word"],
)
def test_a_new_leader_goes_on_with_what_stands_on_the_pods(published, stands, later):
    verdicts = Verdicts(Pace())
    verdicts.history.counting = False
    for second in (0, 2):
        judge(verdicts, TAINT, second)
    words = there(*published) if published else {}
    pod = a_pod(annotations={f"gpu-triage.io/{key}": each for key, each in words.items()})
    verdicts.history.counting = True
    assert verdicts.take_over({UID: pod}, NOW + 9, UPTIME + 9) == {UID}
    seen = []
    for second in (9, 69):
        judge(verdicts, TAINT, second, pod)
        now = verdicts.of(UID)
        seen.append(f"{now.cause}/{now.detail} @{now.since - int(NOW)}")
    assert seen == [stands, later]
    # What is published has been counted by whoever published it.
    begun = {Cause.TAINT: 1} if published and published[0] == "exhausted" else {}
    assert verdicts.history.words_begun == begun
    verdicts.place(UID, UPTIME + 100)
    (waits,) = verdicts.history.placed.values()
    assert waits.seconds == 100
