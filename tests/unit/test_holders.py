"""Who holds the GPUs, and which of them hold them for nothing."""

import pytest

from gpu_triage.core.holders import holders
from tests.answers import ask, sentence
from tests.builders import node, pod


def owned(raw, kind, name, **labels):
    raw["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "controller": True}]
    if labels:
        raw["metadata"]["labels"] = {key.replace("_", "-"): value for key, value in labels.items()}
    return raw


def holder(name="holder", gpus=8, **more):
    return pod(name, gpus, node="gpu-a", **more)


def of(*objects):
    verdict = ask(pod(), node(), *objects)
    return holders(verdict.survey, verdict.survey.nodes(0))


def state(**what):
    return {"containerStatuses": [{"name": "main", "state": what}]}


def test_largest_first_then_longest():
    found = of(
        holder("small", 1),
        holder("young", 3, status={"startTime": "2026-01-10T09:59:00Z"}),
        holder("old", 3, status={"startTime": "2026-01-10T08:00:00Z"}),
    )
    assert [each.name for each in found] == ["old", "young", "small"]
    assert found[0].since == "2026-01-10T08:00Z"
    assert found[0].gpus == {"nvidia.com/gpu": 3}


@pytest.mark.parametrize(
    ("raw", "trouble"),
    [
        (holder(), ""),
        (holder(phase="Pending"), "not started"),
        (
            holder(status=state(waiting={"reason": "CrashLoopBackOff"})),
            "crash-looping",
        ),
        (holder(status=state(waiting={"reason": "PodInitializing"})), ""),
        (
            owned(holder(status=state(terminated={"exitCode": 0})), "Job", "batch"),
            "finished, not ended",
        ),
        (owned(holder(status=state(terminated={"exitCode": 1})), "Job", "batch"), ""),
        (owned(holder(status=state(terminated={"exitCode": 0})), "StatefulSet", "x"), ""),
    ],
)
def test_what_is_wrong_with_a_holder(raw, trouble):
    assert [each.trouble for each in of(raw)] == [trouble]


def test_a_terminating_holder():
    going = holder()
    going["metadata"]["deletionTimestamp"] = "2026-01-10T10:00:30Z"
    assert of(going)[0].trouble == "terminating"
    assert "(8 since 2026-01-10T10:00Z, terminating)" in sentence(pod(), node(), going)


def test_a_rolling_update_that_waits_for_itself():
    old = owned(holder("web-1-a"), "ReplicaSet", "web-1", pod_template_hash="1")
    new = owned(pod("web-2-b"), "ReplicaSet", "web-2", pod_template_hash="2")
    verdict = ask(new, node(), old)
    found = holders(verdict.survey, verdict.survey.nodes(0))
    assert [(each.workload, each.own) for each in found] == [("Deployment/web", True)]
    assert "web-1-a is of its own workload, Deployment/web" in sentence(new, node(), old)


def test_half_of_a_gang():
    one, two = (owned(pod(name), "Job", "gang") for name in ("gang-0", "gang-1"))
    one["spec"]["nodeName"] = "gpu-a"
    two["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "8"}
    two["spec"]["containers"][0]["resources"].pop("requests")
    assert "gang-0 is of its own workload, Job/gang" in sentence(two, node(), one)


def test_the_same_name_in_another_namespace_is_another_workload():
    mine = owned(pod(), "Job", "train")
    other = owned(holder(namespace="tenant"), "Job", "train")
    assert "own workload" not in sentence(mine, node(), other)
