"""Whatever is left unread, a live answer is that of reading everything."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_triage.cli import live
from gpu_triage.core import objects
from gpu_triage.core.causes import PODS
from gpu_triage.core.explain import message
from gpu_triage.core.rules import Rules
from gpu_triage.core.vocabulary import VOCABULARY
from tests.answers import ask
from tests.builders import GPU, GPU_TAINT, GPU_TOLERATION, node, pod
from tests.fake_api import FakeApi

NOW = objects.seconds("2026-01-10T10:05:00Z")
MIG = "nvidia.com/mig-1g.5gb"


def device_class(resource=GPU):
    return {
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example"},
        "spec": {"extendedResourceName": resource},
    }


def answer(cluster, *, explain):
    """The verdict that live reading gives."""
    reader = live.Live(FakeApi(*cluster), Rules(), explain=explain)
    return reader.judge(reader.find("default", "train"), NOW)


NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
STARTING = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
OLD, YOUNG = "2025-01-01T00:00:00Z", "2026-01-10T10:00:00Z"
CASES = {
    "the first node is full and the second fits": [
        pod(),
        node("a", 1),
        node("b", 1),
        pod("holder", node="a"),
    ],
    "every node is full": [
        pod(),
        node("a", 1),
        node("b", 1),
        pod("one", node="a"),
        pod("two", node="b"),
    ],
    "a lost node would fit": [
        pod(),
        node("a", 1),
        pod("holder", node="a"),
        node("b", 2, taints=[NOT_READY]),
        pod("also", node="b"),
    ],
    "a lost node is full": [
        pod(),
        node("a", 1),
        pod("holder", node="a"),
        node("b", 1, taints=[NOT_READY]),
        pod("also", node="b"),
    ],
    "a starting node is full": [
        pod(selector={"pool": "x"}),
        node("a", 1, labels={"pool": "x"}, created=YOUNG, taints=[STARTING]),
        pod("holder", node="a"),
    ],
    "a tainted node is in use": [pod(), node("a", 2, taints=[GPU_TAINT]), pod("holder", node="a")],
    "an excluded node is in use": [
        pod(selector={"pool": "x"}),
        node("a", None, labels={"pool": "x"}),
        node("b", 4),
        node("c", 3),
        pod("holder", 2, node="b"),
    ],
    "nominated pods hold it": [
        pod(),
        node("a", 1),
        pod("first", status={"nominatedNodeName": "a"}, priority=5),
    ],
    "DRA serves one resource and the other is full": [
        pod(
            containers=[
                {"name": "main", "resources": {"requests": {GPU: "1", MIG: "1"}}},
            ]
        ),
        node("a", None, resources={MIG: "1"}),
        pod("holder", resource=MIG, node="a"),
        device_class(),
    ],
    "DRA serves one node and another fits": [
        pod(),
        node("a", None),
        node("b", 1),
        device_class(),
    ],
    "DRA serves one node and another is full": [
        pod(),
        node("a", None),
        node("b", 1),
        pod("holder", node="b"),
        device_class(),
    ],
}


@pytest.mark.parametrize("few", [0, 1, 50])
@pytest.mark.parametrize("cluster", CASES.values(), ids=CASES)
def test_reading_less_gives_the_verdict_of_reading_everything(cluster, few):
    same_as_everything(cluster, few)


TAINTS = [GPU_TAINT, NOT_READY, STARTING, {"key": "team", "value": "a", "effect": "NoSchedule"}]
NAMES = ["gpu-a", "gpu-b", "gpu-c"]


@st.composite
def a_node(draw, name):
    return node(
        name,
        gpus=draw(st.sampled_from([1, 1, 2, 2, 0, None])),
        capacity=draw(st.sampled_from([None, None, 4])),
        resources=draw(st.sampled_from([{}, {}, {MIG: "1"}])),
        labels=draw(st.sampled_from([{"pool": "a"}, {"pool": "b"}, {"nvidia.com/gpu.count": "4"}])),
        taints=draw(st.sampled_from([[], [], *([each] for each in TAINTS)])),
        unschedulable=draw(st.sampled_from([False, False, False, True])),
        created=draw(st.sampled_from([OLD, YOUNG])),
    )


@st.composite
def another_pod(draw, name):
    place = draw(st.sampled_from([*NAMES, *NAMES, None]))
    status = {} if place else {"nominatedNodeName": draw(st.sampled_from(NAMES))}
    return pod(
        name,
        gpus=draw(st.integers(1, 2)),
        namespace=draw(st.sampled_from(["default", "else"])),
        node=place,
        phase=draw(st.sampled_from([None, None, None, "Succeeded"])),
        priority=draw(st.sampled_from([0, 1])),
        status=status,
    )


@st.composite
def a_cluster(draw):
    waiting = pod(
        gpus=draw(st.integers(1, 2)),
        selector=draw(st.sampled_from([None, None, {"pool": "a"}, {"none": "such"}])),
        tolerations=draw(st.sampled_from([[], [GPU_TOLERATION], [{"operator": "Exists"}]])),
    )
    if draw(st.sampled_from([False, False, True])):
        waiting["spec"]["containers"][0]["resources"]["requests"][MIG] = "1"
    nodes = [draw(a_node(name)) for name in NAMES[: draw(st.integers(1, 3))]]
    others = [draw(another_pod(f"other-{n}")) for n in range(draw(st.integers(0, 6)))]
    classes = draw(st.sampled_from([[], [], [], [device_class()], [device_class(MIG)]]))
    return [waiting, *nodes, *others, *classes]


@settings(max_examples=400, deadline=None)
@given(cluster=a_cluster(), few=st.sampled_from([0, 2, 50]))
def test_so_it_does_on_any_cluster(cluster, few):
    same_as_everything(cluster, few)


def same_as_everything(cluster, few):
    full = ask(*cluster, now=NOW)
    with mock.patch.object(live, "FEW", few):
        told = answer(cluster, explain=True)
        word = answer(cluster, explain=False)
    assert word.cause == full.cause
    assert (told.cause, told.detail) == (full.cause, full.detail)
    assert told.funnel == full.funnel
    if PODS in told.survey.picture.unread:
        assert PODS not in VOCABULARY[full.cause].rests_on
        assert " free" not in message(told, NOW)
    else:
        assert message(told, NOW) == message(full, NOW)
