"""An hour of a busy cluster in seconds: every request of the writer is counted.

All parts are the real ones but the API server, which takes each write and shows it by the watch.
"""

import asyncio
import contextlib
import copy
import json
from collections import Counter
from pathlib import Path

import pytest
from bench.budget import HOUR, budget, table

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.cluster.settling import Pace
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.controller.feed import Feed
from gpu_triage.controller.handlers import Intake
from gpu_triage.controller.loop import Loop
from gpu_triage.controller.reconciler import Reconciler
from gpu_triage.core.rules import Rules
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.write import Answer, Kind
from gpu_triage.publish.writer import Writer
from gpu_triage.settings import Settings
from tests import builders
from tests.answers import NOW
from tests.unit.writer_scene import at_once

DOCS = Path(__file__).parents[2] / "docs"
TICK = 2.0


class Cluster:
    """Nodes and pods as raw objects, the operator that watches them, and what it has sent."""

    def __init__(self, **settings):
        self.now = NOW
        self.terms = Settings(**settings).terms
        rules = Settings(**settings).rules
        self.inventory = Inventory(rules)
        feeds = {kind: Feed(kind, "", "v1", clock=lambda: self.now) for kind in ("pods", "nodes")}
        changed, free = asyncio.Event(), asyncio.Event()
        free.set()
        self.free = free
        self.counters = Counters()
        self.writer = Writer(self.send, lambda: self.now, self.counters, self.terms)
        self.writer.hold(False)
        reconciler = Reconciler(
            self.inventory,
            Verdicts(Pace()),
            self.writer,
            self.counters,
            publish_gated=False,
            now=lambda: self.now,
            clock=lambda: self.now,
        )
        self.loop = Loop(
            self.inventory,
            feeds,
            reconciler,
            self.writer,
            changed=changed,
            free=free,
            clock=lambda: self.now,
        )
        self.intake = Intake(self.inventory, rules, feeds, changed.set, free)
        self.objects = {}
        self.sent = []
        self.texts = []
        """(namespace, text) of everything that was published."""

    def put(self, raw):
        kind, meta = raw["kind"], raw["metadata"]
        self.objects[kind, meta.get("namespace"), meta["name"]] = raw
        handler = self.intake.pod if kind == "Pod" else self.intake.node
        with contextlib.suppress(StopIteration):  # it waits for nothing
            handler({"type": "MODIFIED", "object": copy.deepcopy(raw)}).send(None)

    def drop(self, raw):
        with contextlib.suppress(StopIteration):
            self.intake.pod({"type": "DELETED", "object": raw}).send(None)

    async def send(self, write):
        self.sent.append((self.now, write))
        body = json.loads(write.body)
        if write.kind in (Kind.ANNOTATION, Kind.REMOVAL):
            meta = body["metadata"]
            self.texts.append((meta["namespace"], json.dumps(meta.get("annotations", {}))))
            raw = self.objects["Pod", meta["namespace"], meta["name"]]
            raw["metadata"]["annotations"] = meta.get("annotations", {})
            self.put(raw)
        elif write.kind is Kind.EVENT:
            self.texts.append((body["metadata"]["namespace"], json.dumps(body)))
        return Answer(200)

    def pass_time(self, seconds):
        """Let the operator do what it does in so many seconds."""
        end = self.now + seconds
        while self.now < end:
            self.now += TICK
            self.loop.turn()
            while not self.free.is_set():
                self.loop.turn()
            while at_once(self.writer.step()) == 0:
                pass

    def counted(self):
        return Counter(str(write.kind) for _, write in self.sent)


def owned(raw, owner):
    kind, name = owner.split("/")
    reference = {"kind": kind, "name": name, "uid": f"uid-{owner}", "controller": True}
    raw["metadata"]["ownerReferences"] = [reference]
    return raw


def test_an_hour_of_churn_stays_within_the_budget():
    cluster = Cluster()
    for number in range(10):
        cluster.put(builders.node(f"gpu-{number}", 8))
        cluster.put(builders.pod(f"holder-{number}", 6, namespace="other", node=f"gpu-{number}"))
    alone = [builders.pod(f"alone-{number:02}", 8) for number in range(15)]
    job = [owned(builders.pod(f"job-{number:02}", 8), "Job/job") for number in range(45)]
    for raw in (*alone, *job):
        cluster.put(raw)
    came = placed = 0
    for second in range(0, HOUR, 10):
        # Somebody's GPUs are freed and taken all the time: other numbers, the same word.
        number = second // 10
        name = f"holder-{number % 10}"
        cluster.put(
            builders.pod(name, 3 + number % 4, namespace="other", node=f"gpu-{number % 10}")
        )
        if second % 300 == 290:  # one of the Job is placed on a node that nobody knew, one comes
            raw = cluster.objects["Pod", "default", f"job-{placed:02}"]
            cluster.put(builders.node(f"new-{placed}", 8))
            raw = {**raw, "spec": {**raw["spec"], "nodeName": f"new-{placed}"}}
            cluster.put(raw)
            placed += 1
            cluster.put(builders.pod(f"late-{came}", 8, created="2026-01-10T12:00:00Z"))
            came += 1
        cluster.pass_time(10)
    counted = cluster.counted()
    waiting, speaking = 60 + came, 15 + came + cluster.terms.event_pods
    most = budget(waiting, speaking, HOUR, cluster.terms)
    assert counted["removal"] == placed == 12
    assert counted["annotation"] <= most.numbers + 60 + came
    assert counted["annotation"] > most.numbers / 2, "it was no churn"
    # Who has moved up among the oldest gets one when its series would go on.
    assert speaking <= counted["event"] <= speaking + placed
    assert counted["series"] <= most.series
    assert {str(each) for each in Kind} >= set(counted)


def test_in_no_second_is_there_more_than_the_burst_and_the_rate():
    cluster = Cluster()
    cluster.put(builders.node(gpus=0, capacity=8))
    for number in range(150):
        cluster.put(builders.pod(f"p-{number}"))
    cluster.pass_time(20)
    times = [moment for moment, _ in cluster.sent]
    assert len(times) == 300
    for index, moment in enumerate(times):
        within = sum(1 for other in times[index:] if other < moment + 10)
        assert within <= cluster.terms.burst + 10 * cluster.terms.rate


def test_the_docs_state_the_budget():
    assert table(Settings().terms) in (DOCS / "budget.md").read_text()


NAMES = ("red", "blue")


def tenants(cluster, which):
    """Two tenants who wait for each other's GPUs in every way there is."""
    for tenant, other in (NAMES, NAMES[::-1]):
        space = {"namespace": f"{tenant}-space"}
        foreign = {"namespace": f"{other}-space"}
        node = f"node-{tenant}"
        on = {"kubernetes.io/hostname": node}
        cluster.put(builders.node(node, 8, capacity=9))
        for name, gpus, where in (("holder", 3, foreign), ("mine", 2, space)):
            owner = other if where is foreign else tenant
            cluster.put(builders.pod(f"{owner}-{name}", gpus, node=node, **where))
        nominated = {"nominatedNodeName": node}
        cluster.put(builders.pod(f"{other}-next", 3, status=nominated, **foreign, selector=on))
        for gpus in (1, 4, 8, 9, 16):
            raw = builders.pod(f"{tenant}-wants-{gpus}", gpus, selector=on, **space)
            cluster.put(owned(raw, f"Job/{tenant}-job"))
        cluster.put(builders.pod(f"{tenant}-any", 8, **space))
    cluster.put(
        builders.node(
            "lost", 8, taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
        )
    )
    return which


@pytest.mark.parametrize("which", ["own", "none", "all"])
def test_a_tenant_reads_nothing_of_another(which):
    cluster = Cluster(publish_holders=which)
    tenants(cluster, which)
    cluster.pass_time(120)
    own, foreign = set(), set()
    for namespace, text in cluster.texts:
        tenant = namespace.removesuffix("-space")
        other = NAMES[1 - NAMES.index(tenant)]
        foreign |= {
            text for part in (f"{other}-", f"{other}/") if part in text.replace(f"node-{other}", "")
        }
        if f"{tenant}-mine" in text:
            own.add(text)
    assert len(cluster.texts) >= 20
    assert bool(foreign) is (which == "all")
    assert bool(own) is (which != "none")
    assert any("of other namespaces" in text for _, text in cluster.texts) is (which != "all")


def test_numbers_do_not_wait_for_ever_and_a_holders_name_does():
    cluster = Cluster()
    cluster.put(builders.node(gpus=8))
    cluster.put(builders.pod("a", 8, node="gpu-a"))
    cluster.put(builders.pod("train", 8))
    cluster.pass_time(60)
    cluster.put(builders.pod("b", 8, node="gpu-a"))
    cluster.drop(cluster.objects["Pod", "default", "a"])
    cluster.pass_time(1600)
    assert cluster.counted() == {"annotation": 1, "event": 1}
    cluster.put(builders.node(gpus=9))
    cluster.pass_time(1200)
    assert cluster.counted() == {"annotation": 2, "event": 1, "series": 1}


def test_rules_are_those_of_the_settings():
    assert Settings(publish_holders="all").rules == Rules(name_holders="all")
