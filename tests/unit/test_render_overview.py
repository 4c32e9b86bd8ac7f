"""Many answers and the GPUs of the nodes, as whole texts."""

# ruff: noqa: E501  (texts stand here as they are printed)

from textwrap import dedent

from gpu_triage.core.causes import PODS, Detail
from gpu_triage.publish import overview, render
from gpu_triage.publish.columns import Cell, table
from gpu_triage.publish.supply import gpu_nodes, supply
from gpu_triage.publish.triage import triage
from tests.answers import NOW, ask, inventory
from tests.builders import GPU_TAINT, node, pod

NODES = [
    node("gpu-1", gpus=2, labels={"pool": "live"}),
    node("gpu-2", gpus=0, capacity=4, labels={"pool": "dead"}),
]


def at(clock):
    return f"2026-01-10T{clock}Z"


WAITING = [
    pod("young", gpus=2, selector={"pool": "live"}, created=at("09:59:00")),
    pod("old", gpus=2, selector={"pool": "live"}, created=at("08:00:00")),
    pod("dead", selector={"pool": "dead"}, created=at("09:00:00")),
    pod("lost", selector={"pool": "none"}, namespace="else", created=None),
]
HOLDER = pod("holder", node="gpu-1")


def answers(pods=WAITING, others=(*NODES, HOLDER)):
    told = []
    for each in pods:
        verdict = ask(each, *others)
        known = verdict.pod.created is not None
        answer = triage(verdict, NOW, with_nodes=False)
        told.append(render.Answer(answer, NOW - verdict.pod.created if known else None))
    return overview.sorted_by_cause(told)


def shown(expected):
    return dedent(expected).strip("\n").splitlines()


def test_pods_stand_by_cause_and_the_oldest_first():
    assert overview.report(answers(), namespaces=True) == shown("""
        CAUSE             DETAIL         NAMESPACE  POD     AGE  ASKS FOR
        label-mismatch    unknown-value  else       lost      -  1 nvidia.com/gpu
            No node has pool=none. Nearest: dead on 1 node. Smallest fix: drop pool=none, if any node will do (gpu-1 has 1 of 2 nvidia.com/gpu free).
        allocatable-zero  all-unhealthy  default    dead   1h1m  1 nvidia.com/gpu
            Needs 1 nvidia.com/gpu; gpu-2 has capacity 4 and allocatable 0: no device is healthy. Look at the device plugin on gpu-2.
        exhausted         busy           default    old    2h1m  2 nvidia.com/gpu
        exhausted         busy           default    young    2m  2 nvidia.com/gpu
            Needs 2 nvidia.com/gpu on one node; best of 1: gpu-1 has 1 of 2 nvidia.com/gpu free. Held by default/holder (1 since 2026-01-10T10:00Z).

        CAUSE             PODS  GPUS ASKED FOR
        label-mismatch       1  1 nvidia.com/gpu
        allocatable-zero     1  1 nvidia.com/gpu
        exhausted            2  4 nvidia.com/gpu
    """)


def test_one_namespace_needs_no_column():
    told = overview.report(answers(WAITING[:1]), namespaces=False)
    assert told[0] == "CAUSE      DETAIL  POD    AGE  ASKS FOR"
    assert told[1] == "exhausted  busy    young   2m  2 nvidia.com/gpu"


def test_wide_is_one_line_a_pod():
    told = overview.report(answers([WAITING[0], HOLDER]), namespaces=False, wide=True)
    assert told[:3] == shown("""
        CAUSE      DETAIL   POD     AGE  ASKS FOR          NODE   SINCE  SOURCE    MESSAGE
        ok         running  holder   1m  1 nvidia.com/gpu  gpu-1  -      computed  Runs on gpu-1 with 1 nvidia.com/gpu.
        exhausted  busy     young    2m  2 nvidia.com/gpu  -      -      computed  Needs 2 nvidia.com/gpu on one node; best of 1: gpu-1 has 1 of 2 nvidia.com/gpu free. Held by default/holder (1 since 2026-01-10T10:00Z).
    """)


def test_the_nodes_and_who_holds_what():
    picture = inventory(
        *NODES,
        HOLDER,
        pod("ended", node="gpu-1", phase="Succeeded"),
        node("gpu-3", gpus=None, labels={"nvidia.com/gpu.count": "8"}, unschedulable=True),
        node(
            "gpu-4",
            gpus=1,
            taints=[GPU_TAINT, not_ready()],
            resources={"nvidia.com/mig-1g.5gb": "7"},
        ),
        node("cpu-1", gpus=None),
    ).picture
    assert overview.nodes(gpu_nodes(picture)) == shown("""
        NODE   RESOURCE               CAPACITY  ALLOCATABLE  USED  FREE  KEEPS PODS OFF
        gpu-1  nvidia.com/gpu                2            2     1     1
        gpu-2  nvidia.com/gpu                4            0     0     0
        gpu-3  none offered                  -            -     -     -  cordoned
        gpu-4  nvidia.com/gpu                1            1     0     1  nvidia.com/gpu=present:NoSchedule, not ready
               nvidia.com/mig-1g.5gb         7            7     0     7

        NODE   HELD BY         GPUS
        gpu-1  default/holder  1 nvidia.com/gpu
    """)


def not_ready():
    return {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}


def test_the_supply_counts_as_free_what_pods_can_get():
    picture = inventory(
        node("open", gpus=8, capacity=10),
        pod("a", 3, node="open"),
        node("cordoned", gpus=8, unschedulable=True),
        node("away", gpus=8, taints=[not_ready()]),
        node("over", gpus=1),
        pod("b", 2, node="over"),
        pod("stray", 5, node="gone"),
        node("tainted", gpus=4, taints=[GPU_TAINT]),
    ).picture
    assert overview.supply(supply(picture)) == shown("""
        GPU SUPPLY      NODES  CAPACITY  ALLOCATABLE  USED  FREE
        nvidia.com/gpu      5        31           29     5     9
    """)


def test_the_supply_without_pods_or_gpus():
    known = inventory(node())
    known.mark_unread(PODS, Detail.FORBIDDEN)
    assert overview.supply(supply(known.picture))[1].split() == [
        "nvidia.com/gpu",
        "1",
        "8",
        "8",
        "?",
        "?",
    ]
    assert overview.supply(supply(inventory(node(gpus=None)).picture)) == ["No node offers a GPU."]


def test_columns_keep_their_width_under_paint():
    def paint(words, style):
        return f"<{style}>{words}</>"

    rows = [(Cell("a", "bad"), "10"), ("bbb", "9")]
    assert table(("NAME", "N>"), rows, paint) == [
        "<heading>NAME</>   <heading>N</>",
        "<bad>a</>     10",
        "bbb    9",
    ]


def test_a_pod_without_a_time_comes_last_of_its_cause():
    told = answers([pod("timeless", gpus=2, created=None), WAITING[0]])
    assert [each.triage.name for each in told] == ["young", "timeless"]
