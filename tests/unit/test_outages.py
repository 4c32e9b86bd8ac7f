"""Outages read as outages, and work on nodes does not: what people see as nodes change."""

import asyncio
import contextlib

from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.core.causes import Audience, EventType
from gpu_triage.core.rules import Rules
from gpu_triage.core.vocabulary import sense
from tests.answers import NOW
from tests.builders import GPU, node, pod

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
MIG, SHARED = "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"
NODES = [f"gpu-{number}" for number in range(10)]


class Cluster:
    """Ten nodes of 8 GPUs; the first has 4 free, the others none; a pod that asks for 2 waits."""

    def __init__(self):
        self.now = NOW
        self.inventory = Inventory(Rules())
        feeds = {kind: Feed(kind, "", "v1", clock=lambda: self.now) for kind in ("pods", "nodes")}
        free = asyncio.Event()
        free.set()
        self.intake = Intake(
            self.inventory, Rules(), feeds, lambda: None, free, clock=lambda: self.now
        )
        self.engine = Engine(self.inventory)
        for name in NODES:
            self.put(node(name, labels={"nvidia.com/gpu.count": "8"}))
            self.put(pod(f"on-{name}", 4 if name == NODES[0] else 8, node=name))

    def put(self, raw):
        handler = self.intake.pod if raw["kind"] == "Pod" else self.intake.node
        with contextlib.suppress(StopIteration):  # it waits for nothing
            handler({"type": "MODIFIED", "object": raw}).send(None)

    def after(self, seconds, *raws):
        """Takes objects some seconds later; returns (the word, unhealthy, lost)."""
        self.now += seconds
        for raw in raws:
            self.put(raw)
        self.engine.refresh(self.now)
        word = self.engine.words.get("uid-default-train")
        return (
            f"{word.cause}/{word.detail}" if word else "",
            {each.node: each.devices for each in self.engine.fleet.missing({})},
            {each.node: each.detail for each in self.engine.fleet.lost({})},
        )


def alarms(word):
    """Whether a word makes a Warning for those who run the cluster."""
    cause, detail = word.split("/")
    meant = sense(cause, detail)
    return (meant.event, meant.audience) == (EventType.WARNING, Audience.PLATFORM)


def test_nine_of_ten_nodes_not_ready_and_the_tenth_full_is_an_outage():
    cluster = Cluster()
    cluster.after(0, pod("train", 8))
    down = [node(name, taints=[NOT_READY]) for name in NODES[:9]]
    # Their pods are being deleted, and go when the nodes return.
    ending = [pod(f"on-{name}", 8, node=name) for name in NODES[:9]]
    for each in ending:
        each["metadata"]["deletionTimestamp"] = "2026-01-10T10:05:00Z"
    word, unhealthy, lost = cluster.after(60, *down, *ending)
    assert word == "exhausted/nodes-lost"
    assert alarms(word)
    assert (unhealthy, lost) == ({}, {})


def test_a_full_cluster_is_no_outage():
    cluster = Cluster()
    word, unhealthy, lost = cluster.after(0, pod("train", 8))
    assert (word, unhealthy, lost) == ("exhausted/busy", {}, {})
    assert not alarms(word)


def test_a_plugin_that_dies_on_one_of_ten_nodes_is_an_outage_until_it_is_back():
    cluster, labels = Cluster(), {"nvidia.com/gpu.count": "8"}
    first = NODES[0]
    assert cluster.after(0, pod("train", 2))[0] == "not-gpu/not-tried"
    unhealthy = cluster.after(60, node(first, 0, capacity=8, labels=labels))
    assert unhealthy == ("exhausted/nodes-lost", {first: 8}, {first: "all-unhealthy"})
    gone = cluster.after(300, node(first, 0, labels=labels))
    assert gone == ("exhausted/nodes-lost", {first: 8}, {first: "plugin-gone"})
    assert alarms(gone[0])
    back = cluster.after(60, node(first, 8, labels=labels))
    assert back == ("not-gpu/not-tried", {}, {})


def test_a_device_that_is_gone_after_a_reboot_is_missed_though_nobody_counted_it():
    cluster, first = Cluster(), NODES[0]
    cluster.after(0, node(first), pod("train", 4))
    cluster.after(60, node(first, 0))
    word, unhealthy, lost = cluster.after(60, node(first, 7))
    assert (word, unhealthy, lost) == ("exhausted/unhealthy-devices", {first: 1}, {})
    assert alarms(word)


def test_a_mig_reconfiguration_leaves_nothing_unhealthy():
    cluster, first = Cluster(), NODES[0]
    labels = {"nvidia.com/gpu.count": "8", "nvidia.com/mig.config": "all-1g.5gb"}
    cluster.after(60, node(first, 8, labels=labels))
    assert cluster.after(30, node(first, 0, capacity=8, labels=labels))[1:] == (
        {first: 8},
        {first: "all-unhealthy"},
    )
    assert cluster.after(90, node(first, 0, labels=labels, resources={MIG: "56"}))[1:] == ({}, {})
    balanced = {**labels, "nvidia.com/mig.config": "all-2g.10gb"}
    assert cluster.after(9999, node(first, 0, labels=balanced, resources={MIG: "56"}))[1:] == (
        {},
        {},
    )
    fewer = node(first, 0, labels=balanced, resources={MIG: "24"})
    assert cluster.after(60, fewer)[1:] == ({}, {})
    assert cluster.after(9999, fewer)[1:] == ({}, {})


def test_sharing_under_another_name_leaves_nothing_unhealthy():
    cluster, first = Cluster(), NODES[0]
    labels = {"nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "4"}
    shared = node(first, 0, labels=labels, resources={SHARED: "32"})
    assert cluster.after(60, shared)[1:] == ({}, {})
    assert cluster.after(9999, shared)[1:] == ({}, {})


def test_fewer_replicas_leave_nothing_unhealthy():
    cluster, first = Cluster(), NODES[0]
    four, two = ({"nvidia.com/gpu.replicas": each} for each in ("4", "2"))
    cluster.after(60, node(first, 32, labels=four))
    cluster.after(9999, node(first, 32, labels=two))
    assert cluster.after(60, node(first, 16, labels=two))[1:] == ({}, {})
    assert cluster.after(9999, node(first, 16, labels=two))[1:] == ({}, {})
    # What is lost from now on is noticed again.
    assert cluster.after(60, node(first, 12, labels=two))[1:] == ({first: 4}, {})


def test_names_that_are_not_ours_are_never_expected():
    cluster = Cluster()
    annotations = {"gpu-triage.io/expected-gpus": f"cpu=64,{GPU}=8"}
    assert cluster.after(0, node(NODES[0], 8, annotations=annotations))[1:] == ({}, {})
