"""What all nodes have together, and which of them owe some."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.fleet import STATES
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from tests.answers import NOW, inventory
from tests.builders import GPU, node, pod

MIG, SHARED = "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"
PRESENT = {"nvidia.com/gpu.present": "true"}
COUNTED = {"nvidia.com/gpu.count": "8"}
YOUNG = "2026-01-10T10:00:30Z"
EXPECTED = "gpu-triage.io/expected-gpus"
DRA = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.nvidia.com", "uid": "uid-class"},
    "spec": {"extendedResourceName": GPU},
}


def owing(*raws, rules=Rules()):
    """(missing, lost) as texts."""
    known = inventory(*raws, rules=rules)
    engine = Engine(known)
    engine.refresh(NOW)
    classes = known.picture.classes
    return (
        [f"{each.node} {each.devices} {each.resource}" for each in engine.fleet.missing(classes)],
        [f"{each.node} {each.resource} {each.detail}" for each in engine.fleet.lost(classes)],
    )


OWING = {
    "all is well": ([node("n", 8, labels=COUNTED)], [], []),
    "some are unhealthy": ([node("n", 6, capacity=8)], [f"n 2 {GPU}"], []),
    "all are unhealthy": (
        [node("n", 0, capacity=8)],
        [f"n 8 {GPU}"],
        [f"n {GPU} all-unhealthy"],
    ),
    "the plugin is gone, nobody counted": ([node("n", 0)], [], [f"n {GPU} plugin-gone"]),
    "the plugin is gone, discovery counted": (
        [node("n", 0, labels=COUNTED)],
        [f"n 8 {GPU}"],
        [f"n {GPU} plugin-gone"],
    ),
    "the plugin never came": (
        [node("n", None, labels=PRESENT)],
        [],
        [f"n {GPU} plugin-missing"],
    ),
    "the plugin has not come yet": ([node("n", None, labels=COUNTED, created=YOUNG)], [], []),
    "a young node says that all are unhealthy": (
        [node("n", 0, capacity=8, created=YOUNG)],
        [f"n 8 {GPU}"],
        [f"n {GPU} all-unhealthy"],
    ),
    "fewer than annotated": (
        [node("n", 8, annotations={EXPECTED: f"{GPU}=10"})],
        [f"n 2 {GPU}"],
        [],
    ),
    "annotated as having fewer": (
        [node("n", 7, capacity=8, labels=COUNTED, annotations={EXPECTED: f"{GPU}=7"})],
        [],
        [],
    ),
    "annotated nonsense": (
        [node("n", 8, annotations={EXPECTED: "cpu=99,x,nvidia.com/gpu=a"})],
        [],
        [],
    ),
    "annotated before it became a MIG node": (
        [node("n", 0, annotations={EXPECTED: f"{GPU}=8"}, resources={MIG: "56"})],
        [],
        [],
    ),
    "no GPU node": ([node("n", None)], [], []),
    "a label that says no": ([node("n", None, labels={"nvidia.com/gpu.present": "false"})], [], []),
    "a MIG node": ([node("n", 0, labels=COUNTED, resources={MIG: "56"})], [], []),
    "a node of shared GPUs": ([node("n", 0, labels=COUNTED, resources={SHARED: "32"})], [], []),
    "a mixed node that lacks one": (
        [node("n", 3, capacity=4, labels=COUNTED, resources={MIG: "28"})],
        [f"n 1 {GPU}"],
        [],
    ),
    "GPUs that DRA serves": ([node("n", None, labels=COUNTED), DRA], [], []),
    "a device plugin's GPUs where DRA serves others": (
        [node("n", 6, capacity=8), DRA],
        [f"n 2 {GPU}"],
        [],
    ),
    "GPUs without a device plugin on purpose": (
        [node("n", None, labels={**COUNTED, "nvidia.com/gpu.deploy.device-plugin": "false"})],
        [],
        [],
    ),
    "GPUs for virtual machines": (
        [node("n", None, labels={**COUNTED, "nvidia.com/gpu.workload.config": "vm-passthrough"})],
        [],
        [],
    ),
    "a cordoned node": ([node("n", 0, capacity=8, unschedulable=True)], [], []),
    "a cordoned node that lacks one": ([node("n", 7, capacity=8, unschedulable=True)], [], []),
}


@pytest.mark.parametrize("name", OWING)
def test_what_nodes_owe(name):
    raws, missing, lost = OWING[name]
    assert owing(*raws) == (missing, lost)


def test_what_is_counted_on_other_peoples_gpus_is_not_ours():
    amd = Rules(resources=("amd.com/*",), node_labels=("amd.com/gpu.*",))
    assert owing(node("n", None, labels=COUNTED), rules=amd) == ([], [])
    other = node("n", None, labels={"amd.com/gpu.family": "AI"})
    assert owing(other, rules=amd) == ([], ["n amd.com/* plugin-missing"])


def test_a_node_that_was_starting_owes_once_it_is_old():
    known = inventory(node("n", None, labels=COUNTED, created=YOUNG))
    engine = Engine(known)
    engine.refresh(NOW)
    assert engine.fleet.lost({}) == []
    engine.refresh(engine.next)
    assert [each.node for each in engine.fleet.lost({})] == ["n"]


def amounts(engine):
    fleet = engine.fleet
    return {
        **{
            (name, state): fleet.amount(name, state) for name in fleet.resources for state in STATES
        },
        "missing": fleet.missing({}),
        "lost": fleet.lost({}),
    }


changes = st.lists(
    st.one_of(
        st.builds(
            lambda name, gpus, more, cordon, labels: node(
                name, gpus, capacity=gpus and gpus + more, unschedulable=cordon, labels=labels
            ),
            st.sampled_from(["n1", "n2"]),
            st.sampled_from([None, 0, 4, 8]),
            st.integers(0, 2),
            st.booleans(),
            st.sampled_from([{}, COUNTED]),
        ),
        st.sampled_from(["n1", "n2"]),
        st.builds(
            lambda name, gpus, where, resource: pod(name, gpus, node=where, resource=resource),
            st.sampled_from("ab"),
            st.integers(1, 9),
            st.sampled_from(["n1", "n2"]),
            st.sampled_from([GPU, MIG]),
        ),
        st.sampled_from("ab"),
    ),
    max_size=20,
)


@given(changes)
def test_sums_kept_step_by_step_are_those_of_the_final_state(steps):
    known, there = Inventory(Rules()), {}
    engine = Engine(known)
    for step in steps:
        if step in ("n1", "n2"):
            known.drop_node(step)
            there.pop(step, None)
        elif isinstance(step, str):
            known.drop_pod(f"uid-default-{step}")
            there.pop(step, None)
        else:
            if step["kind"] == "Node":
                known.put_node(node_facts(objects.node(step), Rules()))
            else:
                known.put_pod(pod_facts(objects.pod(step), Rules()))
            there[step["metadata"]["name"]] = step
        engine.refresh(NOW)
    fresh = Engine(inventory(*there.values()))
    fresh.refresh(NOW)
    assert amounts(engine) == amounts(fresh)
