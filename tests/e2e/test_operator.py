"""The operator beside a real scheduler: what people see on their pods, and when it goes away."""

import json
import re
import signal
import time

import pytest

from tests import builders
from tests.e2e import laboratory
from tests.e2e.operator_process import (
    History,
    published,
    running_operator,
    wait_for_word,
    wait_until_bare,
)

WORDS = {
    name: word for name, word in laboratory.LAB_WORDS.items() if word not in ("ok", "no-request")
}


@pytest.fixture(scope="module")
def operator(cluster, tmp_path_factory):
    """The lab and the operator, both running through all tests of this file.

    The nodes of the tests are young; that this makes them "starting" is no subject here.
    """
    laboratory.lay_lab(cluster)
    folder = tmp_path_factory.mktemp("operator")
    settings = {"node_starting_seconds": 0, "event_gap_seconds": 0}
    with running_operator(cluster, folder, **settings) as running:
        yield running
    log = running.log.read_text()
    assert "Traceback" not in log
    assert " ERROR " not in log
    laboratory.clear_lab(cluster)


@pytest.fixture
def apply(cluster, namespace):
    """A function that makes pods in this test's namespace; it takes what builders.pod takes."""

    def make(name, gpus, node, **rest):
        selector = {"kubernetes.io/hostname": node}
        pod = builders.pod(name, gpus, namespace=namespace, selector=selector, **rest)
        for field in ("uid", "creationTimestamp"):
            del pod["metadata"][field]
        del pod["status"]
        laboratory.apply(cluster, pod)

    return make


def events(cluster, namespace, name):
    """Return the operator's Events about a pod."""
    found = cluster.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]
    return [
        each
        for each in found
        if each["regarding"]["name"] == name
        and each["reportingController"] == "gpu-triage.io/operator"
    ]


def test_the_lab_gets_its_words(cluster, operator):
    for name, word in WORDS.items():
        assert wait_for_word(cluster, laboratory.LAB, name, word)["message"]
    for name in laboratory.LAB_WORDS.keys() - WORDS.keys():
        assert published(cluster, laboratory.LAB, name) == {}
    assert operator.get("healthz") == (200, "ok\n")
    for sample, value in (
        ('gpu_triage_pending_pods{cause="exhausted",detail="busy"}', 1),
        ('gpu_triage_pending_gpus{cause="exhausted",resource="nvidia.com/gpu"}', 2),
        ('gpu_triage_pending_pods{cause="gated",detail="scheduling-gates"}', 0),
        ('gpu_triage_gpus{resource="nvidia.com/gpu",state="free"}', 1),
        ("gpu_triage_synced", 1),
    ):
        assert operator.metric(sample) == value, sample


SHOWN = 138
"""Characters of an annotation that kubectl describe shows; an Event it shows whole."""


def test_kubectl_describe_shows_the_cause(cluster, operator):
    wait_for_word(cluster, laboratory.LAB, "case-exhaust", "exhausted/busy")
    laboratory.wait_for(
        "the Event is there", lambda: events(cluster, laboratory.LAB, "case-exhaust")
    )
    text = cluster.kubectl("describe", "pod", "case-exhaust", "-n", laboratory.LAB)
    said = published(cluster, laboratory.LAB, "case-exhaust")
    since, sentence = said["since"], said["message"]
    assert re.sub(r"since [-0-9T:]+Z", "since THEN", sentence) == (
        "Needs 2 nvidia.com/gpu on one node; best of 1: lab-node-0 has 1 of 2 nvidia.com/gpu free."
        " Held by gpu-triage/case-ok (1 since THEN)."
    )
    top = re.search(r"^Annotations: .*?(?=^Status)", text, re.MULTILINE | re.DOTALL)[0]
    assert " ".join(top.split()) == (
        "Annotations: gpu-triage.io/cause: exhausted gpu-triage.io/detail: busy "
        f"gpu-triage.io/message: {sentence[:SHOWN]}... gpu-triage.io/since: {since}"
    )
    rows = [
        re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if "GPUExhausted" in line
    ]
    assert [[row[0], row[1], *row[3:]] for row in rows] == [
        ["Normal", "GPUExhausted", "gpu-triage.io/operator", sentence]
    ]
    assert re.fullmatch(r"\d+s|\d+m(\d+s)?", rows[0][2])


@pytest.mark.usefixtures("operator")
def test_gpus_that_come_back_place_the_pod_and_clear_it(cluster, namespace, add_node, apply):
    node = add_node(0, capacity=4)
    apply("train", 1, node)
    wait_for_word(cluster, namespace, "train", "allocatable-zero/all-unhealthy")
    laboratory.patch_status(cluster, node, allocatable={builders.GPU: "4"})
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "train"))
    wait_until_bare(cluster, namespace, "train")


@pytest.mark.usefixtures("operator")
def test_a_freed_gpu_goes_to_the_next_pod_without_another_word(
    cluster, namespace, add_node, apply, tmp_path
):
    node = add_node(2)
    apply("first", 1, node)
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "first"))
    with History(cluster, namespace, tmp_path / "history") as history:
        apply("second", 2, node)
        said = wait_for_word(cluster, namespace, "second", "exhausted/busy")
        assert f"Held by {namespace}/first (1 since " in said["message"]
        cluster.kubectl("delete", "pod", "first", "-n", namespace, "--grace-period=0", "--force")
        laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "second"))
        wait_until_bare(cluster, namespace, "second")
        laboratory.wait_for("seen", lambda: history.causes("second")[-1] == "")
        assert history.causes("second") == ["", "exhausted", ""]


@pytest.mark.usefixtures("operator")
def test_a_taint_that_goes_places_the_pod(cluster, namespace, add_node, apply):
    node = add_node(1, taints=[builders.GPU_TAINT])
    apply("train", 1, node)
    wait_for_word(cluster, namespace, "train", "taint/untolerated")
    cluster.kubectl("taint", "node", node, f"{builders.GPU}-")
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "train"))
    wait_until_bare(cluster, namespace, "train")


@pytest.mark.usefixtures("operator")
def test_a_label_that_comes_places_the_pod(cluster, namespace, add_node, apply):
    node = add_node(1)
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "example.com/rack", "operator": "Exists"}]}
                ]
            }
        }
    }
    apply("train", 1, node, affinity=affinity)
    wait_for_word(cluster, namespace, "train", "label-mismatch/unknown-key")
    cluster.kubectl("label", "node", node, "example.com/rack=7")
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "train"))
    wait_until_bare(cluster, namespace, "train")


@pytest.mark.usefixtures("operator")
def test_a_node_that_is_deleted_changes_the_word(cluster, namespace, add_node, apply):
    node = add_node(0, capacity=4)
    apply("train", 1, node)
    first = wait_for_word(cluster, namespace, "train", "allocatable-zero")
    cluster.kubectl("delete", "node", node)
    second = wait_for_word(cluster, namespace, "train", "label-mismatch/unknown-value")
    assert second["since"] >= first["since"]
    made = laboratory.wait_for(
        "both spells have an Event",
        lambda: len(found := events(cluster, namespace, "train")) == 2 and found,
    )
    assert {each["reason"] for each in made} == {"GPUAllocatableZero", "GPULabelMismatch"}
    assert {each["eventTime"] for each in made} == {
        each["since"].replace("Z", ".000000Z") for each in (first, second)
    }


@pytest.mark.usefixtures("operator")
def test_a_plugin_that_goes_changes_the_detail_and_not_the_word(
    cluster, namespace, add_node, apply
):
    node = add_node(0, capacity=4)
    apply("train", 1, node)
    first = wait_for_word(cluster, namespace, "train", "allocatable-zero/all-unhealthy")
    laboratory.patch_status(cluster, node, capacity={builders.GPU: "0"})
    second = wait_for_word(cluster, namespace, "train", "allocatable-zero/plugin-gone")
    assert second["since"] == first["since"]
    assert len(events(cluster, namespace, "train")) == 1


@pytest.mark.usefixtures("operator")
def test_a_pod_that_is_placed_at_once_is_never_touched(
    cluster, namespace, add_node, apply, tmp_path
):
    node = add_node(2)
    with History(cluster, namespace, tmp_path / "history") as history:
        apply("train", 1, node)
        laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "train"))
        # A pod that waits meanwhile shows that the operator had its time.
        apply("other", 2, node)
        wait_for_word(cluster, namespace, "other", "exhausted")
        assert history.causes("train") == [""]
    raw = cluster.kubectl(
        "get", "pod", "train", "-n", namespace, "-o", "json", "--show-managed-fields"
    )
    managers = [each["manager"] for each in json.loads(raw)["metadata"]["managedFields"]]
    assert "gpu-triage" not in managers
    assert events(cluster, namespace, "train") == []


@pytest.mark.usefixtures("operator")
def test_a_pod_of_another_scheduler_waits_for_that(cluster, namespace, add_node, apply):
    node = add_node(2)
    apply("train", 1, node, schedulerName="batch")
    wait_for_word(cluster, namespace, "train", "not-gpu/other-scheduler")
    assert [each["reason"] for each in events(cluster, namespace, "train")] == ["GPUNotTheCause"]


@pytest.mark.usefixtures("operator")
def test_a_gated_pod_is_counted_and_not_touched(cluster, namespace, add_node, apply, operator):
    node = add_node(2)
    apply("train", 1, node, schedulingGates=[{"name": "example.com/queue"}])
    sample = 'gpu_triage_pending_pods{cause="gated",detail="scheduling-gates"}'
    laboratory.wait_for("it is counted", lambda: operator.metric(sample) == 1)
    assert published(cluster, namespace, "train") == {}


def test_a_restart_doubles_nothing_and_keeps_since(cluster, namespace, add_node, apply, operator):
    node = add_node(1)
    apply("train", 2, node)
    before = wait_for_word(cluster, namespace, "train", "exhausted/never-fits")
    laboratory.wait_for("it has an Event", lambda: events(cluster, namespace, "train"))
    told = events(cluster, namespace, "train")
    assert operator.stop() == 0
    operator.start()
    operator.wait_ready()
    sample = 'gpu_triage_writes_total{kind="event",result="exists"}'
    laboratory.wait_for("it has met its own Events", lambda: operator.metric(sample) > len(WORDS))
    assert published(cluster, namespace, "train") == before
    assert events(cluster, namespace, "train") == told
    assert operator.metric('gpu_triage_writes_total{kind="annotation",result="ok"}') == 0


def test_nothing_of_an_old_pod_lands_on_a_new_one_of_its_name(
    cluster, namespace, add_node, apply, operator
):
    node = add_node(1)
    apply("train", 2, node)
    laboratory.wait_for("it is tried", lambda: laboratory.tried(cluster, namespace, "train"))
    time.sleep(1)
    # Stopped until the old pod's first write is due; that comes first when it goes on.
    operator.process.send_signal(signal.SIGSTOP)
    try:
        cluster.kubectl("delete", "pod", "train", "-n", namespace, "--grace-period=0", "--force")
        apply("train", 0, node)
        time.sleep(1.5)
    finally:
        operator.process.send_signal(signal.SIGCONT)
    apply("last", 2, node)
    wait_for_word(cluster, namespace, "last", "exhausted")
    assert published(cluster, namespace, "train") == {}
    assert events(cluster, namespace, "train") == []
    assert operator.metric("gpu_triage_write_queue") == 0
