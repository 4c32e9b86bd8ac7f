"""How a next step can be taken: as a change of the manifest, or as a command that only looks."""

import pytest

from gpu_triage.publish.columns import plain
from gpu_triage.publish.steps import MOST_HOLDERS, held, how
from gpu_triage.publish.triage import triage
from tests.answers import NOW, ask
from tests.builders import GPU, GPU_TAINT, node, pod

MIG = "nvidia.com/mig-1g.5gb"
ANEW = "changes the pod: in its manifest, and make it anew, at"


def steps(*objects):
    told = triage(ask(*objects), NOW, with_nodes=False)
    return how(told.fix, told.workload or "")


@pytest.mark.parametrize(
    ("objects", "lines"),
    [
        (
            [pod(), node(taints=[GPU_TAINT])],
            [
                f"{ANEW} spec.tolerations",
                "+ - {key: nvidia.com/gpu, operator: Equal, value: present, effect: NoSchedule}",
            ],
        ),
        (
            [pod(selector={"gpu": "A100-40GB"}), node(labels={"gpu": "A100-80GB"})],
            [f"{ANEW} spec.nodeSelector[gpu]", "- A100-40GB", "+ A100-80GB"],
        ),
        (
            [pod(selector={"gpu": "A100"}), node(labels={"gpu": "T4"})],
            [f"{ANEW} spec.nodeSelector[gpu]", "- A100"],
        ),
        (
            [pod(), node(gpus=None, resources={MIG: "7"})],
            [
                f"{ANEW} spec.containers[0].resources.limits",
                f"- {GPU}: (the amount stays)",
                f"+ {MIG}:",
            ],
        ),
        (
            [pod(gpus=16), node()],
            [f"{ANEW} spec.containers[0].resources.limits[{GPU}]", "- 16", "+ 8"],
        ),
        (
            [pod(), node(gpus=0)],
            [
                "only looks: kubectl describe node gpu-a",
                "only looks: kubectl get pods -A -o wide --field-selector spec.nodeName=gpu-a",
            ],
        ),
        ([pod(), node(unschedulable=True)], []),
        ([pod(), node(), pod("holder", 8, node="gpu-a")], []),
        ([pod(), node()], []),
    ],
)
def test_how_a_step_is_taken(objects, lines):
    assert steps(*objects) == lines


def test_an_expression_stands_in_yamls_short_form():
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    expressions = [
        {"key": "gpu", "operator": "In", "values": ["A100-40GB"]},
        {"key": "zone", "operator": "Exists"},
    ]
    terms = [{"matchExpressions": expressions}]
    affinity = {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}
    found = steps(pod(affinity=affinity), node(labels={"gpu": "A100-80GB", "zone": "a"}))
    assert found[1:] == [
        "- {key: gpu, operator: In, values: [A100-40GB]}",
        "+ {key: gpu, operator: In, values: [A100-80GB]}",
    ]


def test_a_workloads_pod_is_changed_in_its_template():
    owned = pod()
    owned["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "controller": True}]
    found = steps(owned, node(taints=[GPU_TAINT]))
    assert found[0] == "changes the pod: in the pod template of Job/train, at spec.tolerations"


def test_at_most_five_holders_are_shown_and_the_rest_counted():
    others = [pod(f"holder-{n}", 1, node="gpu-a") for n in range(8)]
    told = triage(ask(pod(), node(), *others), NOW, with_nodes=False)
    lines = held(told.holders, plain)
    assert len(told.holders) == 8
    assert lines[0].split() == ["HELD", "BY", "GPUS", "NODE", "SINCE", "WORKLOAD"]
    assert len(lines) == MOST_HOLDERS + 2
    assert lines[-1] == "3 more (all of them: -o json)"
