"""One answer as a person reads it, as whole texts."""

# ruff: noqa: E501  (texts stand here as they are printed)

from textwrap import dedent

import pytest

from gpu_triage.core.causes import DEVICE_CLASSES, NODES, PODS, Detail
from gpu_triage.publish.ages import age
from gpu_triage.publish.render import Answer, one
from gpu_triage.publish.triage import triage
from tests.answers import NOW, ask
from tests.builders import GPU, GPU_TAINT, GPU_TOLERATION, node, pod


def text(*objects, width=None, wide=False, unread=None, read=None, **rest):
    verdict = ask(*objects, unread=unread)
    told = triage(verdict, NOW, with_nodes=True, read=read, **rest)
    lines = one(Answer(told, NOW - verdict.pod.created), width=width, wide=wide)
    assert all(line == line.rstrip() for line in lines)
    return "\n".join(lines)


def shown(expected):
    return dedent(expected).strip("\n")


def test_a_pod_that_waits_is_told_in_full():
    found = text(
        pod(gpus=4, tolerations=[GPU_TOLERATION]),
        node("cpu-1", gpus=None),
        node("gpu-1", gpus=8, taints=[GPU_TAINT]),
        node("gpu-2", gpus=8, unschedulable=True),
        pod("big", gpus=6, node="gpu-1"),
    )
    assert found == shown("""
        default/train: exhausted (busy)
        The GPUs are taken: it fits once others finish.

        Needs 4 nvidia.com/gpu on one node; best of 1: gpu-1 has 2 of 8 nvidia.com/gpu free. Held by default/big (6 since 2026-01-10T10:00Z). It would fit on gpu-2, cordoned now.

        Asks for   4 nvidia.com/gpu
        Age        1m
        Next step  Wait, or see who holds them: gpu-triage --nodes.

        HELD BY      GPUS              NODE   SINCE              WORKLOAD
        default/big  6 nvidia.com/gpu  gpu-1  2026-01-10T10:00Z  -

        LEFT  AFTER STEP   THAT IS
           3  nodes        all of the cluster
           3  label        its nodeSelector and required affinity hold
           2  offering     only those that offer nvidia.com/gpu, if any of them does
           1  taint        no taint that it does not tolerate
           1  offers       nvidia.com/gpu stands in their status
           1  allocatable  above 0
           0  free         enough left for 4 nvidia.com/gpu  <-- exhausted

        NODE   STEP    WHY
        gpu-1  free    2 of 8 nvidia.com/gpu free, the pod needs 4
        cpu-1  offers  does not offer nvidia.com/gpu
        gpu-2  taint   cordoned
    """)


def test_on_a_narrow_screen_sentences_are_wrapped():
    found = text(pod(gpus=9), node("gpu-1"), width=40)
    assert "\n".join(found.splitlines()[:16]) == (
        shown("""
        default/train: exhausted (never-fits)
        The GPUs are taken: it asks for more on
        one node than any matching node has.

        Needs 9 nvidia.com/gpu on one node; the
        only candidate, gpu-1, offers 8: waiting
        will not help. Smallest fix: ask for 8
        instead of 9 (gpu-1 has 8 of 8
        nvidia.com/gpu free).

        Asks for   9 nvidia.com/gpu
        Age        1m
        Next step  Ask for 8 instead of 9.
                   changes the pod: in its manifest, and make it anew, at spec.containers[0].resources.limits[nvidia.com/gpu]
                   - 9
                   + 8
        """)
    )


def test_a_placed_pod_needs_no_nodes():
    assert text(pod(node="gpu-1"), node("gpu-1")) == shown("""
        default/train: ok (running)
        The pod is placed on a node: it runs.

        Runs on gpu-1 with 1 nvidia.com/gpu.

        Asks for   1 nvidia.com/gpu
        Node       gpu-1
        Age        1m
        Next step  Nothing.
    """)


def test_wide_shows_numbers_for_every_node_and_resource():
    mig = "nvidia.com/mig-1g.5gb"
    waiting = pod(containers=[{"name": "a", "resources": {"limits": {GPU: "3", mig: "1"}}}])
    found = text(
        waiting,
        node("gpu-1", gpus=2, capacity=4, resources={mig: "1"}),
        node("gpu-2", gpus=None),
        pod("other", node="gpu-1"),
        wide=True,
    )
    assert found.endswith(
        shown("""
        NODE   STEP    RESOURCE               CAPACITY  ALLOCATABLE  USED  FREE  WHY
        gpu-1  free    nvidia.com/gpu                4            2     1     1  1 of 2 nvidia.com/gpu and 1 of 1 nvidia.com/mig-1g.5gb free, the pod needs 3 and 1
                       nvidia.com/mig-1g.5gb         1            1     0     1
        gpu-2  offers  nvidia.com/gpu                -            -     -     -  does not offer nvidia.com/gpu and nvidia.com/mig-1g.5gb
                       nvidia.com/mig-1g.5gb         -            -     -     -
        """)
    )


MANY = [
    *(node(f"cpu-{n:02}", gpus=None, labels={"pool": "cpu"}) for n in range(20)),
    *(node(f"gpu-{n:02}", gpus=n % 3, labels={"pool": "gpu"}) for n in range(20)),
]


def test_of_many_nodes_the_nearest_are_shown_and_the_rest_counted():
    found = text(pod(gpus=4, selector={"pool": "gpu"}), *MANY).splitlines()
    rows = found[found.index("") :][-17:]
    assert rows[0].split() == ["NODE", "STEP", "WHY"]
    # First those with most GPUs of the nodes that got furthest.
    nearest = [*range(2, 20, 3), *range(1, 20, 3)]
    assert [row.split()[:2] for row in rows[1:14]] == [[f"gpu-{n:02}", "free"] for n in nearest]
    assert rows[-1] == (
        "25 more nodes: 5 at allocatable, 20 at label (all of them: -o wide or -o json)"
    )
    wide = text(pod(gpus=4, selector={"pool": "gpu"}), *MANY, wide=True).splitlines()
    assert sum(row.startswith(("cpu-", "gpu-")) for row in wide) == 40


def test_what_could_not_be_read_is_a_question_mark():
    found = text(pod(), node("gpu-1"), unread={PODS: Detail.FORBIDDEN}, wide=True)
    assert "   ?  free         enough left for 1 nvidia.com/gpu\n" in found
    assert "nvidia.com/gpu         8            8     ?     ?" in found
    # Nor is anything said of a node whose pods the answer did not need.
    found = text(pod(gpus=9), node("gpu-1"), node("gpu-2"), read={"gpu-2"}, wide=True)
    rows = [row.split()[:7] for row in found.splitlines() if row.startswith("gpu-")]
    assert rows == [
        ["gpu-1", "free", "nvidia.com/gpu", "8", "8", "?", "?"],
        ["gpu-2", "free", "nvidia.com/gpu", "8", "8", "0", "8"],
    ]


def test_without_nodes_there_is_no_funnel():
    found = text(pod(), unread={NODES: Detail.FORBIDDEN})
    assert "unknown (forbidden)" in found
    assert "AFTER STEP" not in found


def test_device_classes_that_were_not_read_are_named():
    assert "DRA        DeviceClasses may not be read" in text(pod(), node(), dra_unread=True)
    found = text(pod(gpus=9), node(), unread={DEVICE_CLASSES: Detail.FORBIDDEN})
    assert "unknown (forbidden)" in found


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (90, "1m30s"),
        (600, "10m"),
        (645, "10m"),
        (3600, "1h"),
        (3660, "1h1m"),
        (36000, "10h"),
        (86400, "1d"),
        (86400 * 2 + 3600 * 5, "2d5h"),
        (86400 * 400, "400d"),
    ],
)
def test_ages(seconds, words):
    assert age(seconds) == words
