import pytest

from gpu_triage.core import objects
from gpu_triage.core.toleration import Taint, blocking, tolerations, untolerated

GPU = Taint("nvidia.com/gpu", "present", "NoSchedule")


def tolerated(taint, **toleration):
    spec = objects.pod({"spec": {"tolerations": [toleration]}}).spec
    return not untolerated((taint,), tolerations(spec))


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        ({"key": GPU.key, "value": "present", "effect": "NoSchedule"}, True),
        ({"key": GPU.key, "operator": "Equal", "value": "present"}, True),
        ({"key": GPU.key, "operator": "", "value": "present"}, True),
        ({"key": GPU.key, "operator": "Equal", "value": "true"}, False),
        ({"key": GPU.key, "operator": "Equal"}, False),
        ({"key": GPU.key, "operator": "Exists"}, True),
        ({"key": GPU.key, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/gpu.shared", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": GPU.key, "operator": "Near", "value": "present"}, False),
        ({"key": GPU.key, "operator": "Exists", "tolerationSeconds": 30}, True),
    ],
    ids=str,
)
def test_effect_key_and_operator_decide(toleration, passes):
    assert tolerated(GPU, **toleration) is passes


@pytest.mark.parametrize(
    ("operator", "taint", "toleration", "passes"),
    [
        ("Gt", "5", "4", True),
        ("Gt", "5", "5", False),
        ("Lt", "4", "5", True),
        ("Lt", "5", "5", False),
        ("Gt", "-1", "-2", True),
        ("Gt", "05", "4", False),
        ("Gt", "+5", "4", False),
        ("Gt", "5", "-0", False),
        ("Gt", "many", "4", False),
        ("Gt", "9223372036854775808", "4", False),
        ("Gt", "9223372036854775807", "4", True),
        ("Lt", "4", "", False),
    ],
)
def test_comparing_tolerations_want_canonical_integers(operator, taint, toleration, passes):
    assert (
        tolerated(Taint("k", taint, "NoSchedule"), key="k", operator=operator, value=toleration)
        is passes
    )


def test_prefer_no_schedule_never_blocks():
    spec = objects.node({"spec": {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}}).spec
    assert blocking(spec) == ()


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_the_other_effects_block(effect):
    spec = objects.node({"spec": {"taints": [{"key": "k", "effect": effect}]}}).spec
    assert blocking(spec) == (Taint("k", "", effect),)


def test_a_cordon_counts_as_its_taint_once():
    cordon = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    bare = objects.node({"spec": {"unschedulable": True}}).spec
    taint = {"key": cordon.key, "effect": "NoSchedule"}
    both = objects.node({"spec": {"unschedulable": True, "taints": [taint]}}).spec
    assert blocking(bare) == blocking(both) == (cordon,)
    assert tolerated(cordon, key=cordon.key, operator="Exists", effect="NoSchedule")


def test_every_blocking_taint_must_be_tolerated():
    spec = objects.pod({"spec": {"tolerations": [{"key": GPU.key, "operator": "Exists"}]}}).spec
    team = Taint("team", "a", "NoSchedule")
    assert untolerated((GPU, team), tolerations(spec)) == [team]


def test_a_taint_reads_as_kubectl_writes_it():
    assert str(GPU) == "nvidia.com/gpu=present:NoSchedule"
    assert str(Taint("k", "", "NoExecute")) == "k:NoExecute"
