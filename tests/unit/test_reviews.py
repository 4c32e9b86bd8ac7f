"""Which messages are worked out anew without being asked for, and how much time that takes."""

import pytest

from gpu_triage.cluster.reviews import AGE_SECONDS, PART, Reviews


def test_the_oldest_message_comes_first_once_it_is_old_and_the_picture_another():
    reviews = Reviews(0.0, most=1.0)
    reviews.said("a", "job", 0.0, version=1)
    reviews.said("b", "other", 1.0, version=1)
    assert reviews.take(AGE_SECONDS, version=1) == []  # nothing has changed since
    assert reviews.take(AGE_SECONDS - 0.1, version=2) == []
    assert reviews.take(AGE_SECONDS, version=2) == ["a"]
    assert reviews.take(AGE_SECONDS, version=2) == []
    assert reviews.take(AGE_SECONDS + 1, version=2) == ["b"]


def test_with_the_oldest_come_those_that_are_alike():
    reviews = Reviews(0.0, most=1.0)
    for number in range(4):
        reviews.said(f"train-{number}", "job", float(number), version=1)
    reviews.said("b", "other", 1.0, version=1)
    reviews.said("train-2", "other", 2.0, version=1)  # it is like others now
    assert reviews.take(60.0, version=2) == ["train-0", "train-1", "train-3"]
    assert reviews.take(60.0, version=2) == ["b", "train-2"]
    assert reviews.take(60.0, version=2) == []


def test_a_message_that_was_said_again_is_young_again():
    reviews = Reviews(0.0, most=1.0)
    reviews.said("a", "job", 0.0, version=1)
    reviews.said("b", "other", 1.0, version=1)
    reviews.said("a", "job", 2.0, version=2)
    assert reviews.take(60.0, version=2) == ["b"]
    assert reviews.take(60.0, version=2) == []


def test_time_is_saved_up_and_what_was_spent_too_much_is_paid_back():
    reviews = Reviews(100.0, most=0.05)
    assert reviews.allowance(101.0) == pytest.approx(PART)
    assert reviews.allowance(1000.0) == 0.05
    reviews.spend(0.07)
    assert reviews.allowance(1001.0) == pytest.approx(-0.02 + PART)
    assert reviews.allowance(1002.0) == pytest.approx(-0.02 + 2 * PART)
