"""Which part of a message is worth a write when it changes."""

import pytest

from gpu_triage.core.explain import explain
from gpu_triage.core.message import compose
from gpu_triage.core.wording import LIMIT
from tests.answers import NOW, ask
from tests.builders import GPU_TAINT, GPU_TOLERATION, node, pod


def told(*raws, **rest):
    return explain(ask(*raws, **rest), NOW)


def holding(name, gpus=8, **more):
    return pod(name, gpus, node="gpu-a", **more)


def owned(raw):
    labels, owner = {"pod-template-hash": "x"}, {"kind": "ReplicaSet", "name": "web-x"}
    raw["metadata"].update(labels=labels, ownerReferences=[{**owner, "controller": True}])
    return raw


ONE = told(pod(), node(), holding("one"))


@pytest.mark.parametrize(
    "other",
    [
        told(pod(), node(), holding("two")),
        told(pod(), node(), holding("one", created="2026-01-10T09:00:00Z")),
        told(pod(), node(), holding("one", namespace="team-b")),
        told(pod(), node(), holding("one", 4), holding("two", 4)),
        told(pod(), node(), pod("next", 8, status={"nominatedNodeName": "gpu-a"})),
    ],
    ids=["name", "since", "namespace", "two", "reserved"],
)
def test_another_holder_is_no_news(other):
    assert other.text != ONE.text
    assert other.differs_in_holders_alone(ONE.text)
    assert ONE.differs_in_holders_alone(other.text)


@pytest.mark.parametrize(
    "other",
    [
        told(pod(gpus=2), node(), holding("one")),
        told(pod(), node(gpus=4), holding("two", 4)),
        told(pod(), node(), node("gpu-b", unschedulable=True), holding("two")),
        told(pod(gpus=16), node()),
    ],
    ids=["needs", "offers", "cordoned too", "never fits"],
)
def test_other_numbers_are_news(other):
    assert not other.differs_in_holders_alone(ONE.text)
    assert not ONE.differs_in_holders_alone(other.text)


def test_the_next_step_is_the_same_on_another_node_with_other_numbers():
    three = told(pod(), node(taints=[GPU_TAINT]), holding("one", 5))
    eight = told(pod(), node("gpu-b", taints=[GPU_TAINT]))
    assert three.text != eight.text
    assert three.step == eight.step != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            told(pod(), node(taints=[GPU_TAINT])),
            told(pod(), node(taints=[{**GPU_TAINT, "value": "x"}])),
        ),
        (
            told(pod(tolerations=[GPU_TOLERATION]), node(gpus=0, capacity=8)),
            told(pod(tolerations=[GPU_TOLERATION]), node("gpu-b", gpus=0, capacity=8)),
        ),
        (
            told(owned(pod()), node(), holding("web-1")),
            told(owned(pod()), node(), owned(holding("web-1"))),
        ),
    ],
    ids=["another taint", "another plugin", "it waits for itself"],
)
def test_another_next_step_is_another_one(one, other):
    assert one.step != other.step


def test_what_is_cut_ends_in_the_holders():
    head, tail = "Needs 8. " + "x" * 400, " Held by default/a and default/b." + "y" * 200
    message = compose(head + tail, tail)
    assert len(message.text) <= LIMIT
    other = compose(head + tail.replace("/a", "/c"), tail.replace("/a", "/c"))
    assert message.differs_in_holders_alone(other.text)
    assert not message.differs_in_holders_alone("Needs 9." + other.text[8:])
