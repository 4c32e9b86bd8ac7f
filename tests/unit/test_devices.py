"""What a node was seen with is remembered, and forgotten when it is configured otherwise."""

import pytest

from gpu_triage.cluster.devices import SETTLE_SECONDS, Devices
from gpu_triage.core import objects
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.rules import Rules
from tests.builders import GPU, node

SHARED, MIG = "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
COUNT = {"nvidia.com/gpu.count": "8"}
LATER = SETTLE_SECONDS + 1


def told(gpus=None, capacity=None, labels=None, **others):
    """A node with amounts as a kubelet tells them; others: allocatable and capacity by name."""
    names = {"shared": SHARED, "mig": MIG}
    resources = {names[each]: str(n) for each, n in others.items()}
    raw = node("n", gpus, capacity=capacity, labels=labels, resources=resources)
    return node_facts(objects.node(raw), Rules())


def follow(*steps):
    """What the node is expected to have after each step: (second, node) in, amounts out."""
    devices, found = Devices(), []
    for second, each in steps:
        recalled = devices.recall(each, second)
        found.append({name: recalled.expected(name) for name in (GPU, SHARED, MIG)})
    return [{name: n for name, n in each.items() if n} for each in found]


def label(key, value):
    return {f"nvidia.com/{key}": value}


TIMELINES = {
    "a device that is gone after a reboot": (
        [(0, told(8)), (60, told(0)), (120, told(7))],
        [{GPU: 8}, {GPU: 8}, {GPU: 8}],
    ),
    "a device that becomes unhealthy and vanishes with the plugin's restart": (
        [(0, told(8)), (10, told(7, 8)), (20, told(7))],
        [{GPU: 8}, {GPU: 8}, {GPU: 8}],
    ),
    "a plugin that was dead when the operator started tells the truth when it lives": (
        [(0, told(0, 8)), (400, told(0)), (500, told(7))],
        [{GPU: 8}, {}, {GPU: 7}],
    ),
    "more devices than before": (
        [(0, told(4)), (9, told(8)), (20, told(8))],
        [{GPU: 4}, {GPU: 8}, {GPU: 8}],
    ),
    "all GPUs made into MIG devices": (
        [
            (0, told(8, labels={**COUNT, **label("mig.config", "all-disabled")})),
            (60, told(8, labels={**COUNT, **label("mig.config", "all-1g.5gb")})),
            (90, told(0, 8, labels={**COUNT, **label("mig.config", "all-1g.5gb")})),
            (200, told(0, labels={**COUNT, **label("mig.config", "all-1g.5gb")}, mig=56)),
            (LATER * 2, told(0, labels={**COUNT, **label("mig.config", "all-1g.5gb")}, mig=56)),
        ],
        [{GPU: 8}, {GPU: 8}, {GPU: 8}, {MIG: 56}, {MIG: 56}],
    ),
    "all GPUs made into MIG devices without a label that says so": (
        [(0, told(8)), (90, told(0)), (200, told(0, mig=56))],
        [{GPU: 8}, {GPU: 8}, {MIG: 56}],
    ),
    "MIG devices made fewer and larger ones of the same name": (
        [
            (0, told(mig=14, labels=label("mig.config", "a"))),
            (60, told(mig=14, labels=label("mig.config", "b"))),
            (200, told(mig=7, labels=label("mig.config", "b"))),
            (LATER * 2, told(mig=7, labels=label("mig.config", "b"))),
        ],
        [{MIG: 14}, {MIG: 14}, {MIG: 7}, {MIG: 7}],
    ),
    "a MIG reconfiguration that takes longer than numbers are believed as they come": (
        [
            (0, told(mig=14, labels=label("mig.config.state", "success"))),
            (60, told(mig=14, labels=label("mig.config.state", "pending"))),
            (LATER + 100, told(labels=label("mig.config.state", "pending"))),
            (LATER * 2, told(labels=label("mig.config.state", "success"))),
            (LATER * 2 + 60, told(mig=7, labels=label("mig.config.state", "success"))),
        ],
        [{MIG: 14}, {MIG: 14}, {MIG: 14}, {}, {MIG: 7}],
    ),
    "GPUs that are shared under a name of their own": (
        [
            (0, told(8, labels=COUNT)),
            (60, told(0, labels=COUNT)),
            (70, told(0, labels=COUNT, shared=32)),
            (LATER * 2, told(0, labels=COUNT, shared=32)),
        ],
        [{GPU: 8}, {GPU: 8}, {SHARED: 32}, {SHARED: 32}],
    ),
    "fewer replicas, told by the label after the numbers": (
        [
            (0, told(32, labels=label("gpu.replicas", "4"))),
            (60, told(16, labels=label("gpu.replicas", "4"))),
            (90, told(16, labels=label("gpu.replicas", "2"))),
            (LATER * 2, told(16, labels=label("gpu.replicas", "2"))),
        ],
        [{GPU: 32}, {GPU: 32}, {GPU: 16}, {GPU: 16}],
    ),
    "fewer replicas, told by the label before the numbers": (
        [
            (0, told(32, labels=label("gpu.replicas", "4"))),
            (60, told(32, labels=label("gpu.replicas", "2"))),
            (90, told(16, labels=label("gpu.replicas", "2"))),
            (LATER * 2, told(16, labels=label("gpu.replicas", "2"))),
        ],
        [{GPU: 32}, {GPU: 32}, {GPU: 16}, {GPU: 16}],
    ),
    "another way of sharing": (
        [
            (0, told(32, labels=label("gpu.sharing-strategy", "time-slicing"))),
            (60, told(8, labels=label("gpu.sharing-strategy", "none"))),
        ],
        [{GPU: 32}, {GPU: 8}],
    ),
    "a device that is lost long after the configuration has changed": (
        [
            (0, told(16, labels=label("gpu.replicas", "4"))),
            (60, told(8, labels=label("gpu.replicas", "2"))),
            (LATER * 2, told(8, labels=label("gpu.replicas", "2"))),
            (LATER * 2 + 9, told(6, labels=label("gpu.replicas", "2"))),
        ],
        [{GPU: 16}, {GPU: 8}, {GPU: 8}, {GPU: 8}],
    ),
}


@pytest.mark.parametrize("name", TIMELINES)
def test_what_a_node_is_expected_to_have(name):
    steps, expected = TIMELINES[name]
    assert follow(*steps) == expected


def test_a_node_that_is_gone_is_forgotten():
    devices = Devices()
    devices.recall(told(8), 0)
    devices.forget("n")
    assert devices.recall(told(4), 9).expected(GPU) == 4


def test_a_node_that_has_lost_nothing_is_the_same_object():
    devices, each = Devices(), told(8)
    assert devices.recall(each, 0) is each
    assert devices.recall(each, 9) is each
