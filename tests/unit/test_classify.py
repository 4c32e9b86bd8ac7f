"""The words, in their order, from raw objects."""

from itertools import permutations

import pytest

from gpu_triage.core.causes import KINDS, Cause, Detail
from gpu_triage.core.funnel import Funnel
from gpu_triage.core.rules import Rules
from gpu_triage.core.vocabulary import VOCABULARY
from tests.answers import ask, words
from tests.builders import GPU, GPU_TAINT, GPU_TOLERATION, node, pod

MIG = "nvidia.com/mig-1g.5gb"
SHARED = "nvidia.com/gpu.shared"
TEAM = {"key": "team", "value": "a", "effect": "NoSchedule"}


def word(*args, **kwargs):
    return str(ask(*args, **kwargs).cause)


def cpu_node(name="cpu-a", **more):
    return node(name, gpus=None, **more)


def mapped(resource=GPU, name="gpu.example.com"):
    return {
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"extendedResourceName": resource},
    }


def test_the_seven_words_and_three_more_each_have_their_case():
    free = node()
    assert word(pod(gpus=0), free) == "no-request"
    assert word(pod(node="gpu-a"), free) == "ok"
    assert word(pod(selector={"a": "b"}), free) == "label-mismatch"
    assert word(pod(), node(taints=[GPU_TAINT])) == "taint"
    assert word(pod(), cpu_node()) == "no-gpu-node"
    assert word(pod(), node(gpus=0, capacity=8)) == "allocatable-zero"
    assert word(pod(gpus=9), free) == "exhausted"
    assert word(pod(schedulingGates=[{"name": "queue"}]), free) == "gated"
    assert word(pod(), free) == "not-gpu"
    assert word(pod(), cpu_node(), mapped()) == "unknown"


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        (pod(gpus=0, node="gpu-a", schedulingGates=[{"name": "q"}]), "no-request/none"),
        (pod(node="gpu-a", schedulingGates=[{"name": "q"}], selector={"a": "b"}), "ok/running"),
        (pod(phase="Failed", schedulingGates=[{"name": "q"}]), "not-gpu/ended"),
        (pod(phase="Succeeded", selector={"a": "b"}), "not-gpu/ended"),
        (pod(schedulingGates=[{"name": "q"}], selector={"a": "b"}), "gated/scheduling-gates"),
        (pod(selector={"a": "b"}, gpus=99), "label-mismatch/unknown-key"),
        (pod(gpus=99), "taint/untolerated"),
        (pod(gpus=99, tolerations=[GPU_TOLERATION]), "exhausted/never-fits"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_earlier_step_that_holds_hides_the_later_ones(asked, first):
    assert words(asked, node(taints=[GPU_TAINT])) == first


def test_a_pod_that_is_being_deleted_is_not_judged_further():
    going = pod(selector={"a": "b"})
    going["metadata"]["deletionTimestamp"] = "2026-01-10T10:00:10Z"
    assert words(going, node()) == "not-gpu/terminating"


def test_untainted_cpu_nodes_are_no_candidates_for_a_pod_that_forgot_the_toleration():
    assert word(pod(), cpu_node(), node(taints=[GPU_TAINT])) == "taint"


def test_with_only_cpu_nodes_left_by_the_selector_nothing_is_offered():
    pinned = pod(selector={"kubernetes.io/hostname": "cpu-a"})
    assert word(pinned, cpu_node(), node(taints=[GPU_TAINT])) == "no-gpu-node"
    assert word(pinned, cpu_node(taints=[TEAM]), node()) == "taint"


def test_a_cluster_without_nodes_has_no_gpu_node_whatever_the_selector():
    assert words(pod(selector={"a": "b"})) == "no-gpu-node/no-nodes"


def test_a_cordon_is_a_taint():
    assert word(pod(), node(unschedulable=True)) == "taint"


def test_every_requested_resource_must_be_given():
    both = pod()
    both["spec"]["containers"][0]["resources"]["requests"] = {GPU: "1", MIG: "1"}
    assert word(both, node()) == "no-gpu-node"
    assert word(both, node(resources={MIG: "0"})) == "no-gpu-node"
    assert word(both, node(gpus=8, resources={MIG: "2"})) == "not-gpu"


def status(capacity, allocatable):
    raw = node(gpus=None)
    for field, amounts in (("capacity", capacity), ("allocatable", allocatable)):
        if amounts is None:
            raw["status"][field] = None
        else:
            raw["status"][field].update(amounts)
    return raw


@pytest.mark.parametrize(
    ("capacity", "allocatable", "expected"),
    [
        pytest.param({}, {}, "no-gpu-node", id="never had a plugin"),
        pytest.param({GPU: "0"}, {GPU: "0"}, "allocatable-zero", id="0 is an offer"),
        pytest.param({GPU: "0"}, {}, "allocatable-zero", id="0 in capacity alone is an offer"),
        pytest.param({}, {GPU: "0"}, "allocatable-zero", id="0 in allocatable alone is an offer"),
        pytest.param({GPU: "8"}, {GPU: "0"}, "allocatable-zero", id="all unhealthy"),
        pytest.param({GPU: "8"}, {}, "allocatable-zero", id="a map without the key means 0"),
        pytest.param({GPU: "8"}, None, "not-gpu", id="no map means as capacity"),
        pytest.param({GPU: "0"}, {GPU: "8"}, "not-gpu", id="capacity 0 never vetoes"),
        pytest.param({}, {GPU: "8"}, "not-gpu", id="absent capacity never vetoes"),
        pytest.param({GPU: "8"}, {GPU: "7"}, "not-gpu", id="some unhealthy"),
    ],
)
def test_what_the_kubelet_may_write(capacity, allocatable, expected):
    assert word(pod(), status(capacity, allocatable)) == expected


def test_an_empty_allocatable_map_means_as_capacity():
    raw = node()
    raw["status"]["allocatable"] = {}
    assert word(pod(), raw) == "not-gpu"


@pytest.mark.parametrize(
    ("name", "amount", "plain", "offered"),
    [
        pytest.param(MIG, "7", "0", False, id="MIG lives: the plain 0 is a leftover"),
        pytest.param(SHARED, "10", "0", False, id="time-slicing lives: the plain 0 is a leftover"),
        pytest.param(MIG, "0", "0", True, id="both 0: an outage"),
        pytest.param("amd.com/gpu", "4", "0", True, id="another domain explains nothing"),
        pytest.param("nvidia.com/other", "4", "0", True, id="no GPU resource by the patterns"),
        pytest.param(None, None, "0", True, id="no sibling"),
        pytest.param(MIG, "7", None, False, id="the plain name was never there"),
    ],
)
def test_a_zero_beside_a_living_sibling_is_no_offer(name, amount, plain, offered):
    rules = Rules(
        resources=("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "amd.*")
    )
    resources = {name: amount} if name else {}
    if plain is not None:
        resources[GPU] = plain
    expected = "allocatable-zero" if offered else "no-gpu-node"
    assert word(pod(), node(gpus=None, resources=resources), rules=rules) == expected


def test_a_dying_sibling_with_capacity_still_makes_the_plain_zero_a_leftover():
    dying = status({GPU: "0", MIG: "7"}, {GPU: "0", MIG: "0"})
    assert word(pod(), dying) == "no-gpu-node"
    assert word(pod(resource=MIG), dying) == "allocatable-zero"


def test_a_plain_capacity_above_zero_is_an_offer_beside_a_living_sibling():
    assert word(pod(), status({GPU: "8", MIG: "7"}, {GPU: "0", MIG: "7"})) == "allocatable-zero"


def holder(name="holder", gpus=8, **more):
    return pod(name, gpus, node="gpu-a", **more)


@pytest.mark.parametrize(
    ("other", "holds"),
    [
        (holder(), True),
        (holder(namespace="other"), True),
        (holder(schedulerName="volcano"), True),
        (holder(phase="Pending"), True),
        (holder(phase="Unknown"), True),
        (holder(phase="Succeeded"), False),
        (holder(phase="Failed"), False),
        (pod("holder", 8, node="elsewhere"), False),
        (holder(gpus=0), False),
    ],
    ids=["running", "namespace", "scheduler", "bound", "unknown", "done", "failed", "node", "none"],
)
def test_what_is_used_counts_every_placed_pod_that_has_not_ended(other, holds):
    assert word(pod(), node(), other) == ("exhausted" if holds else "not-gpu")


def test_a_terminating_pod_holds_until_it_is_gone():
    going = holder()
    going["metadata"]["deletionTimestamp"] = "2026-01-10T10:00:10Z"
    assert word(pod(), node(), going) == "exhausted"


def test_more_may_be_held_than_is_allocatable():
    verdict = ask(pod(), node(gpus=6, capacity=8), holder())
    assert verdict.cause is Cause.EXHAUSTED
    assert verdict.survey.free(verdict.survey.nodes(0)[0], GPU) == -2


def nominee(**more):
    return pod("nominee", 8, status={"nominatedNodeName": "gpu-a"}, **more)


@pytest.mark.parametrize(
    ("other", "mine", "reserved"),
    [
        (nominee(), {}, True),
        (nominee(priority=10), {"priority": 10}, True),
        (nominee(priority=9), {"priority": 10}, False),
        (nominee(), {"priority": -1}, True),
        (nominee(schedulerName="volcano"), {}, False),
        (nominee(schedulerName="volcano"), {"schedulerName": "volcano"}, True),
        (nominee(schedulerName="second"), {}, True),
        (nominee(schedulingGates=[{"name": "q"}]), {}, True),
        (nominee(phase="Failed"), {}, False),
    ],
    ids=[
        "same priority",
        "equal",
        "lower",
        "default above negative",
        "other scheduler",
        "own other scheduler",
        "profile of one scheduler",
        "gated",
        "ended",
    ],
)
def test_nominations_reserve_for_the_same_scheduler_at_equal_or_higher_priority(
    other, mine, reserved
):
    rules = Rules(kube_schedulers=("default-scheduler", "second"))
    expected = Cause.EXHAUSTED if reserved else Cause.NOT_GPU
    assert ask(pod(**mine), node(), other, rules=rules).cause is expected


def test_a_pods_own_nomination_never_stands_in_its_way():
    assert word(pod(gpus=8, status={"nominatedNodeName": "gpu-a"}), node()) == "not-gpu"


def test_readiness_does_not_filter_but_its_taints_do():
    raw = node()
    raw["status"]["conditions"][0]["status"] = "False"
    assert word(pod(), raw) == "not-gpu"


class TestDynamicResourceAllocation:
    def test_nodes_without_the_resource_are_left_to_it(self):
        assert words(pod(), cpu_node(), mapped()) == "unknown/dra"

    def test_a_device_plugin_node_that_fits_decides(self):
        assert word(pod(), cpu_node(), node(), mapped()) == "not-gpu"

    def test_a_full_device_plugin_node_leaves_it_to_the_others(self):
        assert words(pod(), cpu_node(), node(), holder(), mapped()) == "unknown/dra"
        assert word(pod(), node(), holder(), mapped()) == "exhausted"

    def test_they_stay_candidates_for_the_taint(self):
        assert word(pod(), cpu_node(taints=[TEAM]), mapped()) == "taint"
        assert word(pod(), cpu_node(taints=[TEAM]), node(taints=[GPU_TAINT]), mapped()) == "taint"

    def test_another_resource_is_none_of_its_business(self):
        assert word(pod(), cpu_node(), mapped(MIG)) == "no-gpu-node"

    def test_a_class_that_maps_nothing_changes_nothing(self):
        assert word(pod(), cpu_node(), mapped(None)) == "no-gpu-node"


WITNESS = {
    "no-request": (pod(gpus=0),),
    "ok": (pod(node="gpu-a"),),
    "gated": (pod(schedulingGates=[{"name": "q"}]),),
    "label-mismatch": (pod(selector={"a": "b"}), node()),
    "taint": (pod(), node(taints=[GPU_TAINT])),
    "no-gpu-node": (pod(), cpu_node()),
    "allocatable-zero": (pod(), node(gpus=0, capacity=8)),
    "exhausted": (pod(gpus=9), node()),
    "not-gpu": (pod(), node()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("expected", WITNESS)
def test_a_word_that_rests_on_what_could_not_be_read_is_unknown(expected, kind):
    verdict = ask(*WITNESS[expected], unread={kind: Detail.FORBIDDEN})
    if kind in VOCABULARY[Cause(expected)].rests_on:
        assert (verdict.cause, verdict.detail) == (Cause.UNKNOWN, Detail.FORBIDDEN)
        assert kind in verdict.unread
    else:
        assert verdict.cause == expected


def test_not_synced_is_told_apart_from_forbidden():
    assert words(pod(), node(), unread={"pods": Detail.NOT_SYNCED}) == "unknown/not-synced"


def test_the_funnel_counts_what_remains_after_each_step():
    verdict = ask(
        pod(selector={"pool": "gpu"}, tolerations=[GPU_TOLERATION]),
        node("other-pool"),
        cpu_node(labels={"pool": "gpu"}),
        node("tainted", labels={"pool": "gpu"}, taints=[TEAM]),
        node("dead", gpus=0, labels={"pool": "gpu"}),
        node("gpu-a", labels={"pool": "gpu"}, taints=[GPU_TAINT]),
        node("gpu-b", labels={"pool": "gpu"}),
        holder(),
    )
    assert verdict.funnel == Funnel(
        nodes=6, label=5, offering=4, taint=3, offers=3, allocatable=2, free=1
    )


def test_the_order_of_objects_changes_nothing():
    objects = [node("a"), node("b", taints=[TEAM]), cpu_node(), pod("x", 4, node="a")]
    answers = {words(pod(gpus=8), *each) for each in permutations(objects)}
    assert answers == {"exhausted/busy"}
