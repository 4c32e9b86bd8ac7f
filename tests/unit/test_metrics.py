"""The metrics as Prometheus reads them."""

from prometheus_client import generate_latest

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import PENDING, Cause, Detail
from gpu_triage.core.vocabulary import VOCABULARY
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.metrics import StateCollector, registry
from tests import builders
from tests.answers import ask, inventory

MIG = "nvidia.com/mig-1g.5gb"


def exposition(*raws, standing=(), counters=None, synced=True):
    """All of /metrics."""
    collector = StateCollector(
        lambda: {each.pod.uid: each for each in standing},
        inventory(*raws).picture,
        counters or Counters(),
        lambda: synced,
        lambda: {"pods": 61.5, "nodes": 0.25},
        "1.2.3",
    )
    return generate_latest(registry(collector)).decode()


def family(text, name):
    """The lines of one metric, but for samples of 0."""
    return [
        line
        for line in text.splitlines()
        if line.removeprefix("# HELP ").removeprefix("# TYPE ").startswith(f"gpu_triage_{name}")
        and not line.endswith(" 0.0")
    ]


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


def test_every_word_is_there_at_zero():
    lines = exposition().splitlines()
    for cause in PENDING:
        for detail in VOCABULARY[cause].details:
            sample = f'gpu_triage_pending_pods{{cause="{cause}",detail="{detail}"}} 0.0'
            assert sample in lines
    assert 'gpu_triage_pending_pods{cause="ok",detail="running"} 0.0' not in lines


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


def test_the_operators_own_health():
    counters = Counters()
    counters.writes["annotation", "ok"] = 3
    counters.writes["event", "refused"] = 1
    counters.queued = 2
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
    assert "gpu_triage_synced 0.0" in exposition(synced=False).splitlines()


def test_nothing_else_is_in_the_registry():
    names = {line.split()[2] for line in exposition().splitlines() if line.startswith("# TYPE")}
    assert names == {
        f"gpu_triage_{name}"
        for name in (
            "pending_pods",
            "pending_gpus",
            "gpus",
            "synced",
            "watch_age_seconds",
            "writes_total",
            "write_queue",
            "build_info",
        )
    }
