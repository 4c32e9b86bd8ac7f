"""The sentences as people read them."""

import pytest

from tests.answers import NOW, sentence, words
from tests.builders import GPU, GPU_TAINT, GPU_TOLERATION, node, pod

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
PRODUCT = {"nvidia.com/gpu.product": "A100"}
MIG = "nvidia.com/mig-1g.5gb"


def cpu_node(name="cpu-a", **more):
    return node(name, gpus=None, **more)


def holder(name="holder", gpus=8, on="gpu-a", **more):
    return pod(name, gpus, node=on, **more)


def on(host):
    return {"kubernetes.io/hostname": host}


def refused(text):
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return pod(status={"conditions": [{**condition, "message": text}]})


def waiting_for(reason):
    state = {"name": "cuda", "state": {"waiting": {"reason": reason}}}
    return pod(node="gpu-a", phase="Pending", status={"containerStatuses": [state]})


GOLDEN = [
    (
        [pod(selector={"zone": "c"}), node(labels={"zone": "a"})],
        "No node has zone=c. Nearest: a on 1 node. Smallest fix: drop zone=c, if any node"
        " will do (gpu-a has 8 of 8 nvidia.com/gpu free).",
    ),
    (
        [pod(selector={"x/y": "c", "zone": "q"}), node(labels={"zone": "a"}), node("b")],
        "No node has x/y=c. None of 2 nodes has the label x/y. Nor has any zone=q.",
    ),
    (
        [
            pod(selector={"zone": "a", "disk": "ssd"}),
            node(labels={"zone": "a"}),
            node("b", labels={"disk": "ssd"}),
        ],
        "No node has all of disk=ssd and zone=a. Nearest: b lacks zone=a. Smallest fix: drop"
        " zone=a, if any node will do (b has 8 of 8 nvidia.com/gpu free).",
    ),
    (
        [
            pod(gpus=2),
            node(taints=[GPU_TAINT]),
            node("b", taints=[GPU_TAINT]),
            node("c", unschedulable=True),
            node("d", taints=[NOT_READY]),
            holder(gpus=5),
        ],
        "Needs 2 nvidia.com/gpu; 4 nodes match and none is tolerated: 2 are tainted"
        " nvidia.com/gpu=present:NoSchedule, 1 is cordoned and 1 is not ready. Smallest fix:"
        " tolerate nvidia.com/gpu=present:NoSchedule (b has 8 of 8 nvidia.com/gpu free).",
    ),
    (
        [pod(), node(taints=[GPU_TAINT])],
        "Needs 1 nvidia.com/gpu; the only matching node, gpu-a, is tainted"
        " nvidia.com/gpu=present:NoSchedule. Smallest fix: tolerate"
        " nvidia.com/gpu=present:NoSchedule (gpu-a has 8 of 8 nvidia.com/gpu free).",
    ),
    (
        [pod(), node(gpus=0, capacity=8, taints=[GPU_TAINT])],
        "No matching node has a usable GPU for 1 nvidia.com/gpu; the only matching node, gpu-a, is"
        " tainted nvidia.com/gpu=present:NoSchedule.",
    ),
    (
        [pod(), cpu_node(), cpu_node("b")],
        "None of the cluster's 2 nodes offers nvidia.com/gpu. No node of the cluster offers any"
        " GPU.",
    ),
    (
        [pod(), cpu_node(labels=PRODUCT)],
        "cpu-a, the only node, does not offer nvidia.com/gpu. cpu-a has a GPU by its labels."
        " Look at the device plugin on cpu-a.",
    ),
    (
        [pod(), cpu_node(resources={MIG: "7"})],
        "cpu-a, the only node, does not offer nvidia.com/gpu. cpu-a offers 7"
        " nvidia.com/mig-1g.5gb instead. Smallest fix: ask for nvidia.com/mig-1g.5gb (cpu-a"
        " has 7 of 7 nvidia.com/mig-1g.5gb free).",
    ),
    (
        [pod(selector=on("cpu-a")), cpu_node(), node()],
        "cpu-a, the only matching node, does not offer nvidia.com/gpu. 1 node that the pod's"
        " selector excludes does, gpu-a. Smallest fix: select kubernetes.io/hostname=gpu-a"
        " instead of cpu-a (gpu-a has 8 of 8 nvidia.com/gpu free).",
    ),
    (
        [pod(), cpu_node(resources={MIG: "0"}), cpu_node("b")],
        "None of the cluster's 2 nodes offers nvidia.com/gpu. The GPU resources of this cluster are"
        " nvidia.com/mig-1g.5gb.",
    ),
    ([pod()], "Needs 1 nvidia.com/gpu; the cluster has no node."),
    (
        [pod(), node(gpus=0)],
        "Needs 1 nvidia.com/gpu; gpu-a reports 0 of 0: its device plugin is gone. Look at the"
        " device plugin on gpu-a.",
    ),
    (
        [pod(), node(gpus=0, capacity=4)],
        "Needs 1 nvidia.com/gpu; gpu-a has capacity 4 and allocatable 0: no device is"
        " healthy. Look at the device plugin on gpu-a.",
    ),
    (
        [pod(gpus=16), node(), node("b", 4)],
        "Needs 16 nvidia.com/gpu on one node; the largest of 2, gpu-a, offers 8: waiting will"
        " not help. Smallest fix: ask for 8 instead of 16 (gpu-a has 8 of 8 nvidia.com/gpu"
        " free).",
    ),
    (
        [pod(gpus=4), node(), node("b"), holder(gpus=5), holder("other", 6, "b")],
        "Needs 4 nvidia.com/gpu on one node; 5 are free on 2 nodes, at most 3 on one (gpu-a)."
        " Smallest fix: ask for 3 instead of 4 (gpu-a has 3 of 8 nvidia.com/gpu free).",
    ),
    (
        [pod(gpus=8), node(gpus=7, capacity=8)],
        "Needs 8 nvidia.com/gpu on one node; gpu-a should have 8 and has allocatable 7: 1"
        " device is unhealthy. Look at the device plugin on gpu-a.",
    ),
    (
        [pod(), node(gpus=6, capacity=8), holder()],
        "Needs 1 nvidia.com/gpu on one node; best of 1: gpu-a has 0 of 6 nvidia.com/gpu free"
        " (2 of 8 devices unhealthy). Held by default/holder (8 since 2026-01-10T10:00Z).",
    ),
    (
        [
            pod(),
            node(),
            *(holder(name, n) for name, n in (("a", 1), ("b", 2), ("c", 1), ("d", 1))),
            holder("secret", 3, namespace="tenant"),
        ],
        "Needs 1 nvidia.com/gpu on one node; best of 1: gpu-a has 0 of 8 nvidia.com/gpu free."
        " Held by default/b (2 since 2026-01-10T10:00Z), default/a (1 since"
        " 2026-01-10T10:00Z), default/c (1 since 2026-01-10T10:00Z), 1 more pod of this"
        " namespace (1) and 1 pod of other namespaces (3).",
    ),
    (
        [pod(), node(), holder(), node("b", taints=[NOT_READY])],
        "Needs 1 nvidia.com/gpu on one node; best of 1: gpu-a has 0 of 8 nvidia.com/gpu free."
        " Held by default/holder (8 since 2026-01-10T10:00Z). b could take it, but is not"
        " ready. Look at node b.",
    ),
    (
        [pod(), node(), holder(), cpu_node("b", labels=PRODUCT)],
        "Needs 1 nvidia.com/gpu on one node; best of 1: gpu-a has 0 of 8 nvidia.com/gpu free."
        " Held by default/holder (8 since 2026-01-10T10:00Z). b could take it, but has lost"
        " its GPUs or never offered them. Look at the device plugin on b.",
    ),
    (
        [
            pod(),
            node(),
            pod("first", 8, namespace="tenant", status={"nominatedNodeName": "gpu-a"}),
        ],
        "Needs 1 nvidia.com/gpu on one node; best of 1: gpu-a has 0 of 8 nvidia.com/gpu free."
        " Reserved for 1 pod of other namespaces (8).",
    ),
    (
        [pod(gpus=9, status={"nominatedNodeName": "gpu-new"}), cpu_node()],
        "cpu-a, the only node, does not offer nvidia.com/gpu. An autoscaler makes node gpu-new for"
        " it.",
    ),
    (
        [pod(), cpu_node("new", created="2026-01-10T09:50:00Z", labels=PRODUCT)],
        "new, the only node, does not offer nvidia.com/gpu. new is starting.",
    ),
    (
        [pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])],
        "Held by scheduling gate kueue.x-k8s.io/admission: no scheduler looks at it yet.",
    ),
    (
        [pod(), node(), node("b")],
        "GPUs are not the cause: b has 8 of 8 nvidia.com/gpu free (one of 2 nodes that fit). No"
        " scheduler has tried it yet.",
    ),
    (
        [
            refused(
                "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available:"
                " 1 Preemption is not helpful for scheduling."
            ),
            node(),
        ],
        "GPUs are not the cause: gpu-a has 8 of 8 nvidia.com/gpu free. The scheduler says: 1"
        " Insufficient cpu.",
    ),
    (
        [refused("0/41 nodes are available: 35 Insufficient cpu, 6 Too many pods."), node()],
        "GPUs are not the cause: gpu-a has 8 of 8 nvidia.com/gpu free. The scheduler says (of 41"
        " nodes; now 1): 35 Insufficient cpu; 6 Too many pods.",
    ),
    (
        [refused("0/1 nodes are available: 1 Insufficient nvidia.com/gpu."), node()],
        "GPUs are not the cause: gpu-a has 8 of 8 nvidia.com/gpu free. The scheduler has not tried"
        " again since; it last said: 1 Insufficient nvidia.com/gpu.",
    ),
    (
        [refused("running Filter plugin: boom"), node()],
        "GPUs are not the cause: gpu-a has 8 of 8 nvidia.com/gpu free. The scheduler says: running"
        " Filter plugin: boom.",
    ),
    (
        [pod(schedulerName="kai"), node()],
        "GPUs are not the cause: gpu-a has 8 of 8 nvidia.com/gpu free. It waits for scheduler kai.",
    ),
    (
        [pod(gpus=0, tolerations=[GPU_TOLERATION])],
        "Asks for no GPU: it tolerates nvidia.com/gpu, but no container requests one.",
    ),
    (
        [waiting_for("ImagePullBackOff")],
        "Placed on gpu-a; not all of its containers have started (cuda: ImagePullBackOff).",
    ),
    ([pod(node="gpu-a")], "Runs on gpu-a with 1 nvidia.com/gpu."),
]


@pytest.mark.parametrize(("objects", "expected"), GOLDEN, ids=lambda value: "")
def test_a_sentence_with_numbers_names_and_the_nearest_node(objects, expected):
    assert sentence(*objects) == expected


@pytest.mark.parametrize(("objects", "_"), GOLDEN, ids=lambda value: "")
def test_no_pod_of_another_namespace_is_named(objects, _):
    others = [raw["metadata"] for raw in objects if raw["kind"] == "Pod"][1:]
    text = sentence(*objects)
    assert not any(
        each["namespace"] in text or each["name"] in text
        for each in others
        if each["namespace"] != "default"
    )


def test_a_message_fits_an_annotation_and_is_cut_at_a_word():
    nodes = [node(f"gpu-{n}", gpus=0, capacity=n, labels={"pool": "x" * 60}) for n in range(1, 200)]
    selector = {f"example.com/a-rather-long-label-name-{n}": "v" * 60 for n in range(20)}
    assert len(sentence(pod(), *nodes)) <= 512
    text = sentence(pod(selector=selector), *nodes)
    assert len(text) <= 512
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/200 nodes are available: " + "1 node(s) had a reason, " * 60,
    }
    text = sentence(pod(status={"conditions": [condition]}), node())
    assert len(text) <= 512
    assert text.endswith(" …")


def test_the_golden_sentences_cover_the_words_that_rest_on_nodes():
    told = {words(*objects, now=NOW).partition("/")[0] for objects, _ in GOLDEN}
    assert told >= {
        "label-mismatch",
        "taint",
        "no-gpu-node",
        "allocatable-zero",
        "exhausted",
        "not-gpu",
    }
    assert GPU in sentence(pod(), node(), holder())
