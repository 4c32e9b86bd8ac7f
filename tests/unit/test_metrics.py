"""The metrics as Prometheus reads them."""

import logging
import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
from prometheus_client import generate_latest

from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.history import BOUNDS, History
from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import PENDING, Cause, Detail
from gpu_triage.core.vocabulary import VOCABULARY
from gpu_triage.publish.counters import TURN_BOUNDS, Counters
from gpu_triage.publish.metrics import MOST_ROWS, StateCollector, registry
from tests import builders
from tests.answers import NOW, ask, inventory

MIG = "nvidia.com/mig-1g.5gb"


def exposition(
    *raws, standing=(), since=(), history=None, counters=None, synced=True, judged=True, **rest
):
    """All of /metrics."""
    known = inventory(*raws)
    engine = Engine(known)
    engine.refresh(NOW)
    words = SimpleNamespace(
        standing={each.pod.uid: each for each in standing},
        waiting_since=dict(since),
        history=history or History(),
    )
    collector = StateCollector(
        words,
        engine.fleet,
        known.picture.classes,
        counters or Counters(),
        version="1.2.3",
        synced=lambda: synced,
        judged=lambda: judged,
        ages=lambda: {"pods": 61.5, "nodes": 0.25},
        **{"leads": lambda: True, "pod_rows": True, **rest},
    )
    return generate_latest(registry(collector)).decode()


def family(text, name):
    """The lines of one metric, but for samples of 0."""
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("# HELP "):
            inside = line.split()[2] in (f"gpu_triage_{name}", f"gpu_triage_{name}_total")
        if inside and not line.endswith(" 0.0"):
            lines.append(line)
    return lines


def waiting(name, cause, detail, gpus=1, **rest):
    return Standing(
        ask(builders.pod(name, gpus, **rest), builders.node()).pod, cause, detail, 0, ""
    )


def test_pods_and_gpus_that_wait_are_counted_by_word():
    standing = [
        waiting("a", Cause.EXHAUSTED, Detail.BUSY, 2),
        waiting("b", Cause.EXHAUSTED, Detail.BUSY, 1),
        waiting("c", Cause.EXHAUSTED, Detail.NEVER_FITS, 16),
        waiting("d", Cause.TAINT, Detail.CORDONED, 1, resource=MIG),
    ]
    text = exposition(builders.node(), standing=standing)
    assert family(text, "pending_pods") == [
        "# HELP gpu_triage_pending_pods Pods that ask for GPUs and are not placed, by cause.",
        "# TYPE gpu_triage_pending_pods gauge",
        'gpu_triage_pending_pods{cause="taint",detail="cordoned"} 1.0',
        'gpu_triage_pending_pods{cause="exhausted",detail="never-fits"} 1.0',
        'gpu_triage_pending_pods{cause="exhausted",detail="busy"} 2.0',
    ]
    assert family(text, "pending_gpus") == [
        "# HELP gpu_triage_pending_gpus GPUs that pods ask for which are not placed, by cause.",
        "# TYPE gpu_triage_pending_gpus gauge",
        'gpu_triage_pending_gpus{cause="exhausted",resource="nvidia.com/gpu"} 19.0',
        f'gpu_triage_pending_gpus{{cause="taint",resource="{MIG}"}} 1.0',
    ]


def test_nothing_is_said_of_pods_and_nodes_before_they_are_known():
    """A 0 that means "not known yet" would end the alerts that a restart finds firing."""
    text = exposition(builders.node("dead", 0), judged=False, synced=False)
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    own = "synced watch_age_seconds recompute_seconds write_queue leader build_info writes_total"
    history = "cause_changes_total pending_seconds"
    assert names == {f"gpu_triage_{name}" for name in f"{own} {history}".split()}


def test_a_replica_that_does_not_write_counts_nothing_of_what_is_told():
    shown, theirs = exposition(builders.node()), exposition(builders.node(), leads=lambda: False)
    names = [
        {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
        for text in (shown, theirs)
    ]
    assert names[0] - names[1] == {
        f"gpu_triage_{name}"
        for name in ("cause_changes_total", "pending_seconds", "writes_total", "write_queue")
    }


def test_every_word_is_there_at_zero():
    lines = exposition(builders.node()).splitlines()
    for cause in PENDING:
        for detail in VOCABULARY[cause].details:
            assert f'gpu_triage_pending_pods{{cause="{cause}",detail="{detail}"}} 0.0' in lines
        assert f'gpu_triage_pending_gpus{{cause="{cause}",resource="{builders.GPU}"}} 0.0' in lines
        assert f'gpu_triage_cause_changes_total{{cause="{cause}"}} 0.0' in lines
        for bound in (*(f"{bound:.1f}" for bound in BOUNDS), "+Inf"):
            labels = f'cause="{cause}",le="{bound}"'
            assert f"gpu_triage_pending_seconds_bucket{{{labels}}} 0.0" in lines
    assert 'gpu_triage_pending_pods{cause="ok",detail="running"} 0.0' not in lines


def test_namespaces_and_pods_have_rows_only_while_pods_wait():
    standing = [
        waiting("a", Cause.EXHAUSTED, Detail.BUSY, namespace="blue"),
        waiting("b", Cause.EXHAUSTED, Detail.NEVER_FITS, namespace="blue"),
        waiting("b", Cause.TAINT, Detail.CORDONED, namespace="red"),
    ]
    text = exposition(standing=standing)
    assert family(text, "namespace_pending_pods") == [
        "# HELP gpu_triage_namespace_pending_pods Pods that ask for GPUs and are not placed, by"
        " namespace.",
        "# TYPE gpu_triage_namespace_pending_pods gauge",
        'gpu_triage_namespace_pending_pods{cause="exhausted",namespace="blue"} 2.0',
        'gpu_triage_namespace_pending_pods{cause="taint",namespace="red"} 1.0',
    ]
    assert family(text, "pod_cause_info") == [
        "# HELP gpu_triage_pod_cause_info Why a pod that asks for GPUs is not placed.",
        "# TYPE gpu_triage_pod_cause_info gauge",
        'gpu_triage_pod_cause_info{cause="exhausted",namespace="blue",pod="a"} 1.0',
        'gpu_triage_pod_cause_info{cause="exhausted",namespace="blue",pod="b"} 1.0',
        'gpu_triage_pod_cause_info{cause="taint",namespace="red",pod="b"} 1.0',
    ]
    assert family(exposition(), "namespace_pending_pods")[2:] == []


def test_pods_have_no_rows_where_that_is_set_or_too_many_wait(caplog):
    one = waiting("a", Cause.EXHAUSTED, Detail.BUSY)
    assert family(exposition(standing=[one], pod_rows=False), "pod_cause_info") == []
    pod = one.pod

    def many(number):
        for each in range(number):
            renamed = msgspec.structs.replace(pod, name=f"p{each}", uid=f"u{each}")
            yield msgspec.structs.replace(one, pod=renamed)

    caplog.set_level(logging.INFO)
    assert len(family(exposition(standing=many(MOST_ROWS)), "pod_cause_info")) == MOST_ROWS + 2
    assert caplog.messages == []
    known = SimpleNamespace(
        standing={each.pod.uid: each for each in many(MOST_ROWS + 1)},
        waiting_since={},
        history=History(),
    )
    fleet = Engine(inventory()).fleet
    collector = StateCollector(
        known,
        fleet,
        {},
        Counters(),
        version="1",
        synced=lambda: True,
        judged=lambda: True,
        ages=dict,
        leads=lambda: True,
        pod_rows=True,
    )
    for _ in range(3):
        assert family(generate_latest(registry(collector)).decode(), "pod_cause_info") == []
    assert caplog.messages == [
        "Left out gpu_triage_pod_cause_info while too many pods wait pods=1001 most=1000"
    ]
    known.standing.popitem()
    text = generate_latest(registry(collector)).decode()
    assert len(family(text, "pod_cause_info")) == MOST_ROWS + 2


def test_the_oldest_is_the_pod_that_waits_longest_for_a_scheduler():
    standing = [
        waiting("a", Cause.EXHAUSTED, Detail.BUSY),
        waiting("b", Cause.EXHAUSTED, Detail.NEVER_FITS),
        waiting("c", Cause.GATED, Detail.SCHEDULING_GATES),
    ]
    since = {"uid-default-a": 1700000100.0, "uid-default-b": 1700000000.0}
    assert family(exposition(standing=standing, since=since), "oldest_pending_timestamp_seconds")[
        2:
    ] == ['gpu_triage_oldest_pending_timestamp_seconds{cause="exhausted"} 1.7e+09']


def test_words_that_began_and_waits_that_ended_are_counted():
    history = History()
    history.begun(Cause.TAINT)
    history.begun(Cause.TAINT)
    for seconds in (4.0, 59.0, 61.0):
        history.waited(Cause.EXHAUSTED, seconds)
    text = exposition(history=history)
    assert family(text, "cause_changes")[1:] == [
        "# TYPE gpu_triage_cause_changes_total counter",
        'gpu_triage_cause_changes_total{cause="taint"} 2.0',
    ]
    samples = dict(line.rsplit(" ", 1) for line in family(text, "pending_seconds")[2:])
    of = 'gpu_triage_pending_seconds_{}{{cause="exhausted"{}}}'
    for bound, pods in (("10.0", 1), ("30.0", 1), ("60.0", 2), ("120.0", 3), ("+Inf", 3)):
        assert float(samples[of.format("bucket", f',le="{bound}"')]) == pods
    assert float(samples[of.format("count", "")]) == 3
    assert float(samples[of.format("sum", "")]) == 124


def test_a_replica_that_does_not_lead_shows_the_state_and_counts_nothing():
    history = History()
    history.begun(Cause.TAINT)
    standing = [waiting("a", Cause.TAINT, Detail.CORDONED)]
    text = exposition(standing=standing, history=history, leads=lambda: False)
    assert len(family(text, "pending_pods")) == 3
    for name in ("cause_changes", "pending_seconds", "writes"):
        assert family(text, name) == []
    assert "gpu_triage_leader 0.0" in text.splitlines()
    assert "gpu_triage_leader 1.0" in exposition().splitlines()


def test_the_supply_is_the_sum_over_nodes_and_free_is_what_can_be_had():
    text = exposition(
        builders.node("busy", 8),
        builders.node("sick", 6, capacity=8),
        builders.node("cordoned", 8, unschedulable=True),
        builders.node(
            "gone", 8, taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
        ),
        builders.node("reserved", 4, taints=[builders.GPU_TAINT]),
        builders.node("overcommitted", 1, capacity=8),
        builders.node("mig", None, resources={MIG: "7"}),
        builders.pod("a", 5, node="busy"),
        builders.pod("b", 2, node="cordoned"),
        builders.pod("c", 3, node="overcommitted"),
        builders.pod("done", 1, node="busy", phase="Succeeded"),
    )
    assert family(text, "gpus") == [
        "# HELP gpu_triage_gpus GPUs; free counts those on nodes that are ready and not cordoned.",
        "# TYPE gpu_triage_gpus gauge",
        'gpu_triage_gpus{resource="nvidia.com/gpu",state="capacity"} 44.0',
        'gpu_triage_gpus{resource="nvidia.com/gpu",state="allocatable"} 35.0',
        'gpu_triage_gpus{resource="nvidia.com/gpu",state="used"} 10.0',
        'gpu_triage_gpus{resource="nvidia.com/gpu",state="free"} 13.0',
        f'gpu_triage_gpus{{resource="{MIG}",state="capacity"}} 7.0',
        f'gpu_triage_gpus{{resource="{MIG}",state="allocatable"}} 7.0',
        f'gpu_triage_gpus{{resource="{MIG}",state="free"}} 7.0',
    ]


def test_nodes_that_give_less_than_they_have_are_named():
    text = exposition(
        builders.node("sick", 6, capacity=8), builders.node("dead", 0), builders.node("well", 8)
    )
    assert family(text, "unhealthy_gpus") == [
        "# HELP gpu_triage_unhealthy_gpus GPUs that a node should have and that are not"
        " allocatable.",
        "# TYPE gpu_triage_unhealthy_gpus gauge",
        'gpu_triage_unhealthy_gpus{node="sick",resource="nvidia.com/gpu"} 2.0',
    ]
    assert family(text, "node_offer_lost") == [
        "# HELP gpu_triage_node_offer_lost Nodes that have GPUs and give none: they say 0, or have"
        " GPU labels and offer nothing.",
        "# TYPE gpu_triage_node_offer_lost gauge",
        'gpu_triage_node_offer_lost{detail="plugin-gone",node="dead",resource="nvidia.com/gpu"}'
        " 1.0",
    ]


def test_the_operators_own_health():
    counters = Counters()
    counters.writes["annotation", "ok"] = 3
    counters.writes["event", "refused"] = 1
    counters.queued = 2
    for seconds in (0.002, 0.3):
        counters.recomputed.add(seconds)
    text = exposition(counters=counters, synced=True)
    assert family(text, "synced")[2:] == ["gpu_triage_synced 1.0"]
    assert family(text, "watch_age_seconds")[2:] == [
        'gpu_triage_watch_age_seconds{kind="nodes"} 0.25',
        'gpu_triage_watch_age_seconds{kind="pods"} 61.5',
    ]
    assert family(text, "write_queue")[2:] == ["gpu_triage_write_queue 2.0"]
    assert family(text, "build_info")[2:] == ['gpu_triage_build_info{version="1.2.3"} 1.0']
    assert family(text, "writes") == [
        "# HELP gpu_triage_writes_total Requests that change something, by what they are for and"
        " what became of them.",
        "# TYPE gpu_triage_writes_total counter",
        'gpu_triage_writes_total{kind="annotation",result="ok"} 3.0',
        'gpu_triage_writes_total{kind="event",result="refused"} 1.0',
    ]
    took = family(text, "recompute_seconds")[2:]
    assert len([line for line in took if "_bucket" in line]) == len(TURN_BOUNDS)
    assert 'gpu_triage_recompute_seconds_bucket{le="0.0025"} 1.0' in took
    assert 'gpu_triage_recompute_seconds_bucket{le="0.5"} 2.0' in took
    assert took[-2:] == [
        "gpu_triage_recompute_seconds_count 2.0",
        "gpu_triage_recompute_seconds_sum 0.302",
    ]
    assert "gpu_triage_synced 0.0" in exposition(synced=False).splitlines()


def test_the_page_of_metrics_names_them_all_with_type_and_labels():
    history = History()
    history.waited(Cause.TAINT, 1)
    one = waiting("a", Cause.EXHAUSTED, Detail.BUSY)
    text = exposition(
        builders.node("sick", 6, capacity=8),
        builders.node("dead", 0),
        standing=[one],
        since={one.pod.uid: 1.0},
        history=history,
    )
    types = dict(line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE"))
    labels = {name: set() for name in types}
    for name, given in re.findall(r"^(\w+?)(?:_bucket|_count|_sum)?\{(.*)\} ", text, re.MULTILINE):
        labels[name] |= set(re.findall(r'(\w+)="', given)) - {"le"}
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    told = re.findall(r"^\| `(gpu_triage_\w+)` \| (\w+) \| ([^|]*)\|", page, re.MULTILINE)
    assert {name: (kind, set(re.findall(r"\w+", named))) for name, kind, named in told} == {
        name: (kind, labels[name]) for name, kind in types.items()
    }
