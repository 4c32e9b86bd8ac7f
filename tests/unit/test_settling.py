"""When raw words settle: timelines, as tests/timeline.py writes them."""

import random

import pytest

from gpu_triage.cluster.settling import Pace
from gpu_triage.publish.annotations import time_of
from tests.answers import NOW
from tests.timeline import settled

SCALING = Pace(scalable=30)
"""As with the setting autoscaling."""


@pytest.mark.parametrize(
    ("raw", "stands"),
    [
        ("0 exhausted", "2 exhausted"),
        ("0 exhausted, 1.9 placed", ""),
        ("0 exhausted, 1.9 deleted", ""),
        ("0 taint, 1 zero, 1.5 exhausted", "2 exhausted"),
        ("0 not-gpu/cpu", "2 not-gpu/cpu"),
        ("0 forbidden", "2 forbidden"),
        ("0 gated", "2 gated"),
    ],
)
def test_a_first_word_stands_two_seconds_after_the_pod_was_first_seen(raw, stands):
    assert settled(raw) == stands


@pytest.mark.parametrize(
    ("raw", "stands"),
    [
        ("0 fits", "30 fits"),
        ("0 fits, 29 placed", ""),
        ("0 exhausted, 1 fits, 12 exhausted", "12 exhausted"),
        ("0 exhausted, 1 not-gpu/cpu, 12 exhausted", "12 exhausted"),
        ("0 exhausted, 1 fits", "31 fits"),
        # What the scheduler said is about GPUs alone, so it is older than the moment.
        ("0 not-gpu/other, 5 exhausted", "5 exhausted"),
    ],
)
def test_a_new_pod_that_fits_is_given_thirty_seconds_to_be_placed(raw, stands):
    assert settled(raw) == stands


@pytest.mark.parametrize(
    ("raw", "stands"),
    [
        ("0 taint, 10 zero", "2 taint, 12 zero"),
        ("0 taint, 10 zero, 11.9 taint", "2 taint"),
        ("0 taint, 10 zero, 11 taint, 11.5 zero, 12.9 taint", "2 taint"),
        ("0 taint, 10 zero, 11 exhausted", "2 taint, 13 exhausted"),
        ("0 not-gpu/cpu, 10 exhausted", "2 not-gpu/cpu, 12 exhausted"),
        ("0 taint, 10 forbidden, 20 taint", "2 taint, 12 forbidden, 22 taint"),
        # Moments in which it fits are no break: the word is as before when they are over.
        ("0 taint, 10 exhausted, 10.5 fits, 11.9 exhausted", "2 taint, 12 exhausted"),
    ],
)
def test_a_word_gives_way_to_another_that_has_lasted_two_seconds(raw, stands):
    assert settled(raw) == stands


def test_a_word_stands_until_the_pod_has_fitted_for_thirty_seconds_without_a_break():
    assert settled("0 exhausted, 10 fits") == "2 exhausted, 40 fits"
    assert settled("0 exhausted, 10 fits, 39.9 exhausted") == "2 exhausted"
    assert settled("0 exhausted, 10 fits, 30 exhausted, 31 fits") == "2 exhausted, 61 fits"
    assert settled("0 exhausted, 10 fits, 20 not-gpu/cpu") == "2 exhausted, 40 not-gpu/cpu"
    assert settled("0 forbidden, 10 fits") == "2 forbidden, 40 fits"


def test_a_gpu_that_is_freed_each_second_changes_no_word():
    flicker = ", ".join(f"{n} fits, {n}.5 exhausted" for n in range(1, 900))
    assert settled(f"0 exhausted, {flicker}") == "2.5 exhausted"


@pytest.mark.parametrize(
    ("raw", "stands"),
    [
        ("0 label", "30 label"),
        ("0 no-gpu-node", "30 no-gpu-node"),
        ("0 exhausted", "30 exhausted"),
        ("0 taint", "2 taint"),
        ("0 zero", "2 zero"),
        ("0 label, 20 taint", "20 taint"),
        ("0 label, 29 placed", ""),
        ("0 taint, 10 exhausted", "2 taint, 12 exhausted"),
    ],
)
def test_with_autoscaling_a_first_word_waits_where_a_node_may_be_on_its_way(raw, stands):
    assert settled(raw, SCALING) == stands


@pytest.mark.parametrize(
    ("raw", "stands"),
    [
        ("0 zero, 60 allocatable-zero/all-unhealthy", "62 allocatable-zero/all-unhealthy since 2"),
        ("0 zero, 60 allocatable-zero/all-unhealthy, 61 zero", ""),
        (
            "0 exhausted, 60 exhausted/reserved, 61 exhausted, 61.5 exhausted/reserved, 63 zero",
            "65 zero",
        ),
        (
            "0 exhausted, 60 exhausted/reserved, 200 exhausted/fragmented",
            "62 exhausted/reserved since 2, 230 exhausted/fragmented since 2",
        ),
        ("0 exhausted, 60 exhausted/fragmented, 89 exhausted", ""),
        ("0 exhausted/nodes-lost, 60 exhausted/fragmented", "62 exhausted/fragmented since 2"),
        (
            "0 zero, 60 allocatable-zero/all-unhealthy, 61 allocatable-zero/node-starting",
            "63 allocatable-zero/node-starting since 2",
        ),
        ("0 zero, 60 allocatable-zero/all-unhealthy, 61 taint", "63 taint"),
        ("0 exhausted, 60 exhausted/never-fits", "62 exhausted/never-fits since 2"),
    ],
)
def test_a_detail_must_last_as_long_and_begins_no_new_word(raw, stands):
    first, _, rest = settled(raw).partition(", ")
    assert first in ("2 zero", "2 exhausted", "2 exhausted/nodes-lost")
    assert rest == stands


def test_after_three_changes_within_ten_minutes_a_word_must_last_a_minute():
    raw = "0 taint, 10 zero, 20 taint, 30 zero, 100 taint, 150 zero, 200 taint"
    stands = "2 taint, 12 zero, 22 taint, 32 zero, 260 taint"
    assert settled(raw) == stands


def test_a_restless_pod_that_fits_is_given_a_minute_too():
    raw = "0 taint, 10 zero, 20 taint, 30 zero, 100 fits"
    assert settled(raw) == "2 taint, 12 zero, 22 taint, 32 zero, 160 fits"


def test_that_it_fits_is_a_stir_once_it_stands():
    raw = "0 taint, 10 zero, 20 taint, 30 zero, 300 fits, 950 taint"
    assert settled(raw) == "2 taint, 12 zero, 22 taint, 32 zero, 360 fits, 1010 taint"


def test_changes_further_apart_make_no_pod_restless():
    raw = "0 taint, 10 zero, 20 taint, 613 zero, 700 taint"
    assert settled(raw) == "2 taint, 12 zero, 22 taint, 615 zero, 702 taint"


@pytest.mark.parametrize(
    ("stirs", "changes"), [("631 taint", "691 taint"), ("632 taint", "634 taint")]
)
def test_ten_minutes_without_a_stir_make_it_quiet_again(stirs, changes):
    raw = f"0 taint, 10 zero, 20 taint, 30 zero, {stirs}"
    assert settled(raw) == f"2 taint, 12 zero, 22 taint, 32 zero, {changes}"


@pytest.mark.parametrize("stir", ["taint", "allocatable-zero/all-unhealthy"])
def test_another_raw_word_or_detail_that_does_not_last_is_a_stir(stir):
    raw = f"0 taint, 10 zero, 20 taint, 30 zero, 600 {stir}, 601 zero, 1000 taint"
    assert settled(raw) == "2 taint, 12 zero, 22 taint, 32 zero, 1060 taint"


@pytest.mark.parametrize("seconds", [0.5, 1, 1.5, 3, 7])
def test_what_flaps_between_two_words_changes_at_most_once_a_minute(seconds):
    words = ("taint", "zero")
    raw = ", ".join(f"{n * seconds:g} {words[n % 2]}" for n in range(int(1800 / seconds)))
    assert settled(raw).count(", ") <= 4


def test_what_flaps_among_details_is_not_written_each_second():
    details = ("busy", "reserved", "fragmented")
    raw = ", ".join(f"{n} exhausted/{details[n % 3]}" for n in range(1800))
    assert settled(raw).count(", ") <= 1800 / 60


def test_among_several_words_that_take_turns_one_is_taken_where_none_lasts():
    turns = ", ".join(f"{n} {('zero', 'exhausted')[n % 2]}" for n in range(10, 100))
    told = settled(f"0 taint, {turns}").split(", ")
    assert told[:2] == ["2 taint", "70 zero"]


def test_a_pod_whose_gate_is_lifted_is_new():
    assert settled("0 gated, 100 exhausted") == "2 gated, 102 exhausted"
    assert settled("0 gated, 1 exhausted") == "3 exhausted"
    assert settled("0 gated, 100 fits, 110 placed") == "2 gated, 110 -"
    assert settled("0 gated, 100 restart, 101 exhausted") == "2 gated, 103 exhausted"
    assert settled("0 gated, 100 label", SCALING) == "2 gated, 130 label"


def test_placement_and_deletion_act_at_once():
    assert settled("0 taint, 10 placed") == "2 taint, 10 -"
    assert settled("0 taint, 10 deleted") == "2 taint, 10 -"
    assert settled("0 taint, 10 terminating") == "2 taint, 10 terminating"
    assert settled("0 terminating") == "0 terminating"


@pytest.mark.parametrize(
    ("raw", "stands"),
    [
        ("0 taint, 5 restart, 6 taint", "2 taint"),
        ("0 taint, 1000 restart, 1001 zero", "2 taint, 1003 zero"),
        # Nobody remembers how often a young word has changed before.
        ("0 taint, 100 restart, 101 zero", "2 taint, 161 zero"),
        ("0 forbidden, 100 restart, 101 zero", "2 forbidden, 103 zero"),
        ("0 exhausted, 700 fits, 720 restart, 721 fits", "2 exhausted, 751 fits"),
        ("0 fits, 20 restart, 21 fits", "51 fits"),
        ("0 exhausted, 1 restart, 2 exhausted", "4 exhausted"),
    ],
)
def test_a_restart_neither_begins_a_word_anew_nor_settles_one_earlier(raw, stands):
    assert settled(raw) == stands


@pytest.mark.parametrize("step", ["clock+3600", "clock-3600"])
@pytest.mark.parametrize("at", [1, 3, 15, 50])
def test_a_clock_that_jumps_neither_hurries_nor_holds_a_word(step, at):
    seconds = (0, "exhausted"), (5, "exhausted"), (10, "fits"), (60, "taint"), (at, step)
    raw = ", ".join(f"{second} {word}" for second, word in sorted(seconds))
    told = [each.split()[:2] for each in settled(raw).split(", ")]
    assert told == [["2", "exhausted"], ["40", "fits"], ["62", "taint"]]


def test_a_word_goes_on_with_the_time_that_was_written_when_the_clock_is_set():
    assert settled("0 taint, 20 clock-3600, 30 restart, 31 taint") == (
        # It lies in the future now, so it is not believed.
        "2 taint, 33 taint since -3567"
    )
    assert settled("0 taint, 20 clock+3600, 30 restart, 31 taint") == "2 taint"


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_few_words_change_and_what_lasts_stands(seed):
    rng = random.Random(seed)
    words = ("taint", "zero", "exhausted", "exhausted/reserved", "fits", "not-gpu/cpu", "forbidden")
    at, steps = 0.0, []
    while at < 3600:
        steps.append(f"{at:g} {rng.choice(words)}")
        at = round(at + rng.choice((0.3, 1, 1.7, 3, 20, 70)), 3)
    raw = ", ".join([*steps, "3700 zero"])
    told = settled(raw).split(", ")
    assert told[-1].split()[1] == "zero"
    assert len(told) <= 3700 / 60 + 5


def there(since, cause="exhausted", detail="busy"):
    return {"cause": cause, "detail": detail, "message": "as it was", "since": since}


@pytest.mark.parametrize(
    ("published", "raw", "stands"),
    [
        (there(time_of(NOW - 50)), "0 exhausted", "0 exhausted since -50"),
        (there(time_of(NOW - 50)), "0 fits, 5 exhausted", "0 exhausted since -50"),
        (there(time_of(NOW - 3600)), "0 exhausted", "2 exhausted"),
        (there(time_of(NOW + 3600)), "0 exhausted", "2 exhausted"),
        (there("yesterday"), "0 exhausted", "2 exhausted"),
        (there(time_of(NOW - 50), cause="hungry"), "0 exhausted", "2 exhausted"),
        (there(time_of(NOW - 50), cause="ok", detail="running"), "0 exhausted", "2 exhausted"),
        (there(time_of(NOW - 50), detail="cordoned"), "0 exhausted", "2 exhausted"),
    ],
    ids=[
        "same word: since is kept",
        "it fits now: the word stands, thirty seconds begin",
        "older than the pod: copied from another",
        "from the future",
        "no time",
        "no such word",
        "a word that is never published",
        "a detail of another word",
    ],
)
def test_words_are_read_back_at_the_start(published, raw, stands):
    assert settled(raw, published=published) == stands
