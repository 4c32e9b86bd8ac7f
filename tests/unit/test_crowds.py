"""Of a crowd the oldest speak."""

import random

import pytest

from gpu_triage.core.causes import Cause
from gpu_triage.publish.crowds import Crowds
from tests import builders
from tests.answers import ask

NODE = builders.node()


def pod(number, owner="Job/train", namespace="default"):
    raw = builders.pod(f"p-{number:03}", namespace=namespace)
    raw["metadata"]["creationTimestamp"] = f"2026-01-10T10:00:{number // 10:02}Z"
    if owner:
        kind, name = owner.split("/")
        reference = {"kind": kind, "name": name, "uid": name, "controller": True}
        raw["metadata"]["ownerReferences"] = [reference]
    return ask(raw, NODE).pod


PODS = [pod(number) for number in range(50)]


def speaking(crowds, pods):
    return [each.name for each in pods if crowds.among_oldest(each.uid)]


@pytest.mark.parametrize("seed", range(5))
def test_the_oldest_speak_in_whatever_order_they_came(seed):
    crowds, shuffled = Crowds(20), list(PODS)
    random.Random(seed).shuffle(shuffled)
    for each in shuffled:
        crowds.join(each, Cause.EXHAUSTED)
    assert speaking(crowds, PODS) == [each.name for each in PODS[:20]]


def test_who_leaves_makes_room_for_the_next():
    crowds = Crowds(2)
    for each in PODS[:4]:
        crowds.join(each, Cause.EXHAUSTED)
    crowds.leave(PODS[0].uid)
    crowds.leave(PODS[0].uid)
    assert speaking(crowds, PODS[1:4]) == ["p-001", "p-002"]


def test_another_word_is_another_crowd():
    crowds = Crowds(1)
    for each in PODS[:3]:
        crowds.join(each, Cause.EXHAUSTED)
    crowds.join(PODS[1], Cause.TAINT)
    assert speaking(crowds, PODS[:3]) == ["p-000", "p-001"]
    crowds.join(PODS[0], Cause.TAINT)
    assert speaking(crowds, PODS[:3]) == ["p-000", "p-002"]


@pytest.mark.parametrize(
    "others",
    [[pod(n, owner="Job/other") for n in range(3)], [pod(n, namespace="b") for n in range(3)]],
    ids=["owner", "namespace"],
)
def test_crowds_do_not_count_each_other(others):
    crowds = Crowds(3)
    for each in (*others, *PODS[:3]):
        crowds.join(each, Cause.EXHAUSTED)
    assert len(speaking(crowds, [*others, *PODS[:3]])) == 6


def test_pods_that_nobody_controls_all_speak():
    crowds, alone = Crowds(1), [pod(number, owner="") for number in range(5)]
    for each in alone:
        crowds.join(each, Cause.EXHAUSTED)
    assert len(speaking(crowds, alone)) == 5
