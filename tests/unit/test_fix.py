"""Advice is proven: what a change reaches is what the changed pod gets. And it never harms."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_triage.core.explain import message
from gpu_triage.core.fit import step
from gpu_triage.core.fix import smallest_fix
from gpu_triage.core.rules import Rules
from tests.answers import NOW, ask, sentence
from tests.apply_fix import applied
from tests.builders import GPU, GPU_TAINT, GPU_TOLERATION, node, pod

MIG = "nvidia.com/mig-1g.5gb"
TEAM = {"key": "team", "value": "a", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def fix_for(*objects, **kwargs):
    return smallest_fix(ask(*objects, **kwargs))


def affinity(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def wants(key, operator, *values):
    given = {"values": list(values)} if values else {}
    return {"matchExpressions": [{"key": key, "operator": operator, **given}]}


def holder(gpus=8, on="gpu-a", **more):
    return pod("holder", gpus, node=on, **more)


def cpu_node(name="cpu-a", **more):
    return node(name, gpus=None, **more)


@pytest.mark.parametrize(
    ("objects", "path", "before", "after", "reaches"),
    [
        pytest.param(
            [pod(), node(taints=[GPU_TAINT])],
            "spec.tolerations",
            None,
            [{**GPU_TAINT, "operator": "Equal"}],
            "runs",
            id="tolerate the GPUs' own taint",
        ),
        pytest.param(
            [pod(), node(taints=[GPU_TAINT]), holder()],
            "spec.tolerations",
            None,
            [{**GPU_TAINT, "operator": "Equal"}],
            "free",
            id="and say that it then still waits",
        ),
        pytest.param(
            [pod(selector={"gpu": "A100-40GB"}), node(labels={"gpu": "A100-80GB"})],
            "spec.nodeSelector[gpu]",
            "A100-40GB",
            "A100-80GB",
            "runs",
            id="did you mean",
        ),
        pytest.param(
            [
                pod(selector={"gpu": "A100-40GB"}),
                node(labels={"gpu": "A100-80GB"}),
                holder(),
                node("b", labels={"gpu": "T4"}),
            ],
            "spec.nodeSelector[gpu]",
            "A100-40GB",
            "A100-80GB",
            "free",
            id="did you mean, though all of it are taken and others are not",
        ),
        pytest.param(
            [
                pod(selector={"gpu": "A100-40GB"}),
                node(labels={"gpu": "A100-80GB"}, gpus=0, capacity=8),
                node("b", labels={"gpu": "T4"}),
            ],
            "spec.nodeSelector[gpu]",
            "A100-40GB",
            None,
            "runs",
            id="nothing alike that can be used: drop it",
        ),
        pytest.param(
            [pod(selector={"gpu": "A100-40GB"}), node(labels={"gpu": "T4"})],
            "spec.nodeSelector[gpu]",
            "A100-40GB",
            None,
            "runs",
            id="nothing alike: drop it",
        ),
        pytest.param(
            [pod(affinity=affinity(wants("gpu", "In", "a100"))), node(labels={"gpu": "T4"})],
            f"spec.affinity.nodeAffinity.{REQUIRED}",
            {"nodeSelectorTerms": [wants("gpu", "In", "a100")]},
            None,
            "runs",
            id="the last expression takes the affinity along",
        ),
        pytest.param(
            [
                pod(affinity=affinity(wants("gpu", "In", "A100-40GB"), wants("x", "Exists"))),
                node(labels={"gpu": "A100-80GB"}),
            ],
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]",
            {"key": "gpu", "operator": "In", "values": ["A100-40GB"]},
            {"key": "gpu", "operator": "In", "values": ["A100-80GB"]},
            "runs",
            id="an affinity's value corrected where it stands",
        ),
        pytest.param(
            [pod(), cpu_node(resources={MIG: "7"})],
            "spec.containers[0].resources.limits",
            GPU,
            MIG,
            "runs",
            id="ask for what is offered",
        ),
        pytest.param(
            [pod(gpus=16), node(), node("b", 4)],
            f"spec.containers[0].resources.limits[{GPU}]",
            16,
            8,
            "runs",
            id="ask for fewer",
        ),
        pytest.param(
            [pod(gpus=16), node(), holder()],
            f"spec.containers[0].resources.limits[{GPU}]",
            16,
            8,
            "free",
            id="ask for fewer, and wait",
        ),
    ],
)
def test_the_smallest_change(objects, path, before, after, reaches):
    fix = fix_for(*objects)
    assert fix.kind == "change"
    assert (fix.path, fix.before, fix.after, fix.reaches) == (path, before, after, reaches)


@pytest.mark.parametrize(
    ("objects", "about", "what"),
    [
        ([pod(), node(taints=[TEAM])], "taint team=a:NoSchedule", "ask"),
        ([pod(), node(taints=[TEAM, GPU_TAINT])], "taint team=a:NoSchedule", "ask"),
        ([pod(), node(unschedulable=True)], "node gpu-a", "ask"),
        ([pod(), node(taints=[NOT_READY])], "node gpu-a", "look"),
        ([pod(), node(gpus=0, capacity=8)], "device plugin on gpu-a", "look"),
        (
            [pod(), cpu_node(labels={"nvidia.com/gpu.present": "true"})],
            "device plugin on cpu-a",
            "look",
        ),
        ([pod(gpus=8), node(gpus=7, capacity=8)], "device plugin on gpu-a", "look"),
        ([pod(), node(), holder(), node("b", taints=[NOT_READY])], "node b", "look"),
        ([pod(), node(), holder(), node("b", gpus=0)], "device plugin on b", "look"),
        ([pod(), node(), holder()], "pod default/train", "wait"),
    ],
)
def test_where_no_change_is_safe_there_is_advice(objects, about, what):
    fix = fix_for(*objects)
    assert (fix.kind, fix.object, fix.after) == ("advice", about, what)
    assert fix.reaches is None


def test_two_containers_are_not_told_to_ask_for_fewer():
    two = pod(gpus=8)
    two["spec"]["containers"] *= 2
    fix = fix_for(two, node())
    assert (fix.kind, fix.after) == ("advice", "never")


@pytest.mark.parametrize(
    "objects",
    [
        [pod(selector={"gpu": "A100"}), node(labels={"gpu": "T4"})],
        [pod(), node(gpus=None)],
        [pod(selector={"a": "b"}), node(), node("gpu-b", None, labels={"a": "b"})],
    ],
    ids=["label-mismatch", "not-advertised", "selector-excludes-gpu-nodes"],
)
def test_where_nodes_can_be_made_nothing_is_to_be_changed(objects):
    scaling = Rules(autoscaling=True)
    fix = fix_for(*objects, rules=scaling)
    assert (fix.kind, fix.after, fix.path) == ("advice", "wait", None)
    hint = "No such node now; if a pool can make one, wait."
    assert sentence(*objects, rules=scaling).endswith(hint)
    assert hint not in sentence(*objects)


def test_where_nodes_can_be_made_none_is_said_to_be_vain():
    large, scaling = [pod(gpus=16), node()], Rules(autoscaling=True)
    assert "waiting will not help" in sentence(*large)
    assert "no node type in use is large enough" in sentence(*large, rules=scaling)
    twice = pod(gpus=8)
    twice["spec"]["containers"] *= 2
    assert fix_for(twice, node(), rules=scaling).after == "wait"


def test_a_list_of_further_taints_may_be_tolerated():
    open_team = Rules(open_taints=("team",))
    fix = fix_for(pod(), node(taints=[TEAM]), rules=open_team)
    assert (fix.kind, fix.reaches) == ("change", "runs")


def test_words_that_need_no_step_have_none():
    assert fix_for(pod(), node()) is None
    assert fix_for(pod(node="gpu-a"), node()) is None
    assert fix_for(pod(schedulingGates=[{"name": "q"}]), node()) is None
    assert fix_for(pod(), unread={"nodes": "forbidden"}) is None


LABELS = st.dictionaries(st.sampled_from(["gpu", "zone"]), st.sampled_from(["a100", "a10", "t4"]))
TAINTS = st.lists(st.sampled_from([GPU_TAINT, TEAM, NOT_READY]), max_size=2, unique_by=str)
EXPRESSIONS = st.builds(
    lambda key, operator, value: {
        "key": key,
        "operator": operator,
        **({"values": [value]} if operator in ("In", "NotIn") else {}),
    },
    st.sampled_from(["gpu", "zone", "absent"]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.sampled_from(["a100", "a100x", "t4"]),
)
TERMS = st.lists(
    st.builds(
        lambda expressions: {"matchExpressions": expressions},
        st.lists(EXPRESSIONS, min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=2,
)
NODES = st.lists(
    st.builds(
        lambda gpus, mig, labels, taints, cordon: node(
            "x",
            gpus,
            capacity=8,
            resources={MIG: str(mig)} if mig is not None else {},
            labels=labels,
            taints=taints,
            unschedulable=cordon,
        ),
        st.sampled_from([None, 0, 2, 8]),
        st.sampled_from([None, 0, 7]),
        LABELS,
        TAINTS,
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)
PODS = st.builds(
    lambda gpus, selector, terms, tolerations: pod(
        "asked",
        gpus,
        selector=selector,
        tolerations=tolerations,
        **({"affinity": affinity(*terms)} if terms else {}),
    ),
    st.sampled_from([1, 4, 16]),
    st.dictionaries(st.sampled_from(["gpu", "zone"]), st.sampled_from(["a100", "t4"]), max_size=2),
    st.one_of(st.none(), TERMS),
    st.lists(st.just(GPU_TOLERATION), max_size=1),
)


@st.composite
def clusters(draw):
    nodes = copy.deepcopy(draw(NODES))
    for number, each in enumerate(nodes):
        each["metadata"]["name"] = f"node-{number}"
        each["metadata"]["labels"]["kubernetes.io/hostname"] = f"node-{number}"
    held = [
        pod(f"held-{n}", draw(st.integers(1, 8)), node=f"node-{n}")
        for n in range(draw(st.integers(0, len(nodes))))
    ]
    return draw(PODS), [*nodes, *held]


@settings(max_examples=400)
@given(clusters())
def test_a_change_gets_the_pod_where_it_says(cluster):
    asked, others = cluster
    before = ask(asked, *others)
    fix = smallest_fix(before)
    if fix is None or fix.kind != "change":
        return
    after = ask(applied(fix, asked), *others)
    reached = str(step(after.survey.codes[fix.node]))
    assert reached == fix.reaches.replace("runs", "fits")
    assert after.cause == "not-gpu" or fix.reaches != "runs"


@settings(max_examples=400)
@given(clusters())
def test_nothing_harmful_is_ever_offered(cluster):
    asked, others = cluster
    verdict = ask(asked, *others)
    fix, text = smallest_fix(verdict), message(verdict, NOW).lower()
    for never in ("uncordon", "untaint", "evict", "delete", "remove the taint"):
        assert never not in text
    if fix is None or fix.kind != "change":
        return
    assert fix.object == "pod default/asked"
    if fix.path == "spec.tolerations":
        assert {each["key"] for each in fix.after} == {GPU}
        assert verdict.survey.picture.nodes[fix.node].allocatable.get(GPU, 0) > 0
    name = next(iter(verdict.pod.request))
    if fix.reaches in ("runs", "free") and not fix.path.endswith("limits"):
        assert verdict.survey.picture.nodes[fix.node].allocatable[name] > 0
