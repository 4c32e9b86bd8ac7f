"""The scheduler's texts, as servers of each line wrote them."""

import pytest

from gpu_triage.core.condition import said
from gpu_triage.core.rules import Rules

UNHELPFUL = " preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
NO_VICTIMS = " preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
CLAIMS = " no new claims to deallocate," + UNHELPFUL
PORTS = "node(s) didn't have free ports for the requested pod ports"
SPREAD = "node(s) didn't match pod topology spread constraints"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("0/1 nodes are available: 1 Insufficient cpu." + UNHELPFUL, "cpu"),
        ("0/1 nodes are available: 1 Insufficient memory." + UNHELPFUL, "memory"),
        ("0/1 nodes are available: 1 Insufficient memory." + CLAIMS, "memory"),
        ("0/1 nodes are available: 1 Insufficient memory.", "memory"),
        (
            "0/1 nodes are available: 1 Insufficient ephemeral-storage." + UNHELPFUL,
            "ephemeral-storage",
        ),
        ("0/1 nodes are available: 1 Too many pods." + NO_VICTIMS, "pods"),
        ("0/4 nodes are available: 2 Insufficient pods, 1 Insufficient cpu.", "pods"),
        ("0/1 nodes are available: 1 Insufficient example.com/fpga." + UNHELPFUL, "other-resource"),
        ("0/1 nodes are available: 1 Insufficient hugepages-2Mi.", "other-resource"),
        (
            '0/1 nodes are available: persistentvolumeclaim "ghost" not found. not found',
            "volume",
        ),
        (
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            "volume",
        ),
        (
            "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
            + UNHELPFUL,
            "volume",
        ),
        (
            "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity.",
            "volume",
        ),
        ("0/1 nodes are available: 1 node(s) exceed max volume count.", "volume"),
        ("0/1 nodes are available: 1 node(s) had no available volume zone.", "volume"),
        ("0/1 nodes are available: 1 node(s) had no available disk.", "volume"),
        ("0/1 nodes are available: 1 node(s) did not have enough free storage.", "volume"),
        (
            "0/1 nodes are available: 1 node(s) unavailable due to one or more pvc(s) bound to"
            " non-existent pv(s).",
            "volume",
        ),
        (f"0/1 nodes are available: 1 {PORTS}." + NO_VICTIMS, "ports"),
        ("0/1 nodes are available: 1 node(s) didn't match pod affinity rules.", "pod-affinity"),
        (
            "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
            "pod-affinity",
        ),
        (
            "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
            "pod-affinity",
        ),
        (f"0/1 nodes are available: 1 {SPREAD}." + NO_VICTIMS, "topology-spread"),
        (f"0/1 nodes are available: 1 {SPREAD} (missing required label).", "topology-spread"),
        ("0/1 nodes are available: 1 cannot allocate all claims." + UNHELPFUL, "other"),
        ("0/1 nodes are available: 1 node(s) didn't match Pod's required features.", "other"),
        ('running "DynamicResources" filter plugin: claim ns/x: adding 1000 devices', "other"),
        ("pod group is waiting for preemption to complete", "other"),
    ],
)
def test_the_reason_that_is_no_gpu_step(text, detail):
    assert said(text).detail(Rules()) == detail


def test_gpu_steps_are_passed_over_whatever_their_number():
    text = (
        "0/12 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable,"
        " 3 node(s) had untolerated taint(s), 4 Insufficient nvidia.com/gpu,"
        " 1 node(s) had untolerated taint {team: a}, 1 node(s) didn't satisfy plugin(s)"
        " [NodeAffinity]." + UNHELPFUL
    )
    assert said(text).detail(Rules()) == "cpu"
    assert not said(text).only_gpu_steps(Rules())


def test_the_reason_on_most_nodes_counts_and_the_vocabularys_first_when_equal():
    assert (
        said("0/5 nodes are available: 2 Insufficient cpu, 3 Insufficient memory.").detail(Rules())
        == "memory"
    )
    assert (
        said("0/4 nodes are available: 2 Insufficient memory, 2 Insufficient cpu.").detail(Rules())
        == "cpu"
    )
    several = f"0/5 nodes are available: 2 Insufficient cpu, 2 {PORTS}, 1 Insufficient cpu."
    assert said(several).detail(Rules()) == "cpu"


def test_what_preemption_says_of_reasons_is_cut_off():
    text = (
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
        " preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )
    assert said(text).reasons == ((1, "Insufficient nvidia.com/gpu"),)
    assert said(text).only_gpu_steps(Rules())


def test_a_preemption_under_way_is_told():
    begun = (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for"
        " pod on node g, preempting 1 victims"
    )
    assert said(begun).preempts
    assert not said("0/1 nodes are available: 1 Insufficient cpu." + NO_VICTIMS).preempts


def test_how_many_nodes_the_scheduler_knew():
    assert said("0/41 nodes are available: 35 Insufficient cpu.").nodes == 41
    assert said("no nodes available to schedule pods").nodes is None
    assert said("").reasons == ()
