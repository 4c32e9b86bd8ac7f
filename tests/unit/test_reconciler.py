"""What is published after a change, and what is left alone."""

import asyncio
import math
from datetime import UTC, datetime

import pytest

from gpu_triage.controller.feed import Feed
from gpu_triage.publish.annotations import time_of
from tests import builders
from tests.answers import NOW
from tests.unit.loop_scene import MARKED, Scene, no_debounce  # noqa: F401

pytestmark = pytest.mark.usefixtures("no_debounce")


def gated(**rest):
    return builders.pod(schedulingGates=[{"name": "queue"}], **rest)


def test_a_pod_is_judged_two_seconds_after_it_was_first_seen():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    assert scene.after(0) == ([], 2)
    assert scene.after(2)[0] == ["annotation train"]


def test_placement_acts_at_once():
    scene = Scene(builders.node(gpus=8), builders.pod(annotations=MARKED, node="gpu-a"))
    assert scene.after(0) == (["removal train"], math.inf)


def test_a_pod_that_is_placed_is_noted_and_one_that_is_deleted_is_not():
    scene = Scene(builders.pod("one"), builders.pod("two"), builders.node(gpus=0))
    scene.after(0)
    scene.after(2)
    scene.take(builders.pod("one", node="gpu-a"))
    scene.take(builders.pod("two"), kind="DELETED")
    scene.after(5)
    assert {cause: waits.seconds for cause, waits in scene.verdicts.history.placed.items()} == {
        "allocatable-zero": 7
    }
    assert scene.verdicts.history.words_begun == {"allocatable-zero": 2}
    assert scene.verdicts.waiting_since == {}


def test_a_pod_that_no_longer_asks_for_gpus_by_the_settings_is_cleared():
    scene = Scene(builders.pod(resource="amd.com/gpu", annotations=MARKED))
    assert scene.after(0)[0] == ["removal train"]


@pytest.mark.parametrize("end", ["deleted", "ended"])
def test_a_pod_that_ends_without_a_node_is_left_as_it_is(end):
    raw = builders.pod(annotations=MARKED, phase="Failed" if end == "ended" else None)
    if end == "deleted":
        raw["metadata"]["deletionTimestamp"] = builders.CREATED
    scene = Scene(raw, builders.node(gpus=0))
    assert scene.after(0)[0] == []
    assert scene.after(60)[0] == []


def test_a_pod_that_is_deleted_while_its_first_word_waits_gets_none():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.after(0)
    scene.take(builders.pod(), kind="DELETED")
    assert scene.after(2) == ([], math.inf)


def test_what_ends_by_itself_is_looked_at_in_time():
    label = {"nvidia.com/gpu.present": "true"}
    young = builders.node(gpus=None, labels=label, created=builders.CREATED)
    scene = Scene(young, builders.pod())
    scene.after(0)
    scene.after(2)
    wait = scene.after(600)[1]
    assert wait == 900 - 60 - 602
    scene.after(wait - 1)
    (before,) = scene.verdicts.standing.values()
    assert scene.after(1)[1] == 2
    scene.after(2)
    (after,) = scene.verdicts.standing.values()
    assert (before.detail, after.detail) == ("node-starting", "plugin-missing")


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_day_that_is_set_anew_neither_hurries_nor_holds_a_word(seconds):
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.after(0)
    scene.set_by = seconds
    assert scene.after(1) == ([], 1)
    assert scene.after(1)[0] == ["annotation train"]


def test_a_word_that_does_not_last_is_not_written():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]
    for _ in range(20):
        scene.take(builders.node(gpus=8))
        assert scene.after(0.5)[0] == []
        scene.take(builders.node(gpus=0))
        assert scene.after(0.5)[0] == []


def test_a_node_that_stays_broken_makes_one_warning_after_fifteen_minutes():
    label = {"nvidia.com/gpu.present": "true"}
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    made = datetime.fromtimestamp(NOW, UTC).isoformat()
    broken = builders.node(gpus=None, labels=label, taints=[not_ready], created=made)
    scene = Scene(broken, builders.pod())
    while scene.now < NOW + 1700:
        scene.after(1)
    assert scene.events == [(3, "Normal", "GPUTaint"), (902, "Warning", "GPUTaint")]


def test_a_gated_pod_is_not_annotated_and_an_annotation_that_stands_goes():
    scene = Scene(gated(), builders.node())
    scene.after(0)
    assert scene.after(2)[0] == []
    assert [each.cause for each in scene.verdicts.standing.values()] == ["gated"]
    marked = Scene(gated(annotations=MARKED), builders.node())
    assert marked.after(0)[0] == []
    assert marked.after(60)[0] == ["removal train"]


def test_a_gated_pod_is_annotated_if_asked_for():
    scene = Scene(gated(), builders.node(), publish_gated=True)
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]


def test_a_replica_that_does_not_lead_knows_the_words_and_writes_nothing():
    scene = Scene(
        builders.pod(), builders.pod("placed", annotations=MARKED, node="gpu-a"), term=None
    )
    scene.take(builders.node("gpu-a", gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == []
    assert [each.cause for each in scene.verdicts.standing.values()] == ["allocatable-zero"]
    scene.term = 1
    assert scene.after(5)[0] == ["removal placed", "annotation train"]


def test_a_new_leader_goes_on_with_what_the_last_one_has_published():
    """The same word, which the last one saw begin a second before."""
    scene = Scene(builders.pod(), builders.node(gpus=0), term=None)
    scene.after(0)
    scene.after(2)
    (own,) = scene.verdicts.standing.values()
    since = time_of(own.since - 1)
    words = {"cause": own.cause, "detail": own.detail, "message": "as it was", "since": since}
    scene.take(
        builders.pod(annotations={f"gpu-triage.io/{key}": each for key, each in words.items()})
    )
    scene.after(5)
    scene.term = 1
    assert scene.after(5)[0] == []
    (taken,) = scene.verdicts.standing.values()
    assert (taken.since, taken.message) == (own.since - 1, "as it was")
    assert scene.after(600)[0] == ["annotation train"], "the numbers are old by then"


def test_a_word_that_has_changed_while_nobody_led_is_written_by_the_new_leader():
    scene = Scene(builders.pod(annotations=MARKED), builders.node(gpus=0), term=None)
    scene.after(0)
    scene.after(60)
    scene.term = 1
    assert scene.after(5)[0] == ["annotation train"]
    (standing,) = scene.verdicts.standing.values()
    assert (standing.cause, standing.since) == ("allocatable-zero", int(NOW + 60))


def test_a_leader_that_leads_again_has_looked_at_what_stands_before_it_writes():
    scene = Scene(builders.pod(), builders.node(gpus=0), term=1)
    scene.after(0)
    assert scene.after(2)[0] == ["annotation train"]
    scene.term = 2  # it was stopped meanwhile: nothing has been worked out since
    scene.writer.want(scene.inventory.pods["uid-default-train"], None)
    assert asyncio.run(scene.writer.step()) == math.inf
    assert not scene.reconciler.leading
    scene.after(0)
    assert scene.reconciler.leading


IGNORE = {"gpu-triage.io/ignore": "true"}


def namespace(annotations=None):
    metadata = {"name": "default", "uid": "uid-namespace", "annotations": annotations}
    return {"kind": "Namespace", "metadata": metadata}


def causes(scene):
    return [each.cause for each in scene.verdicts.standing.values()]


def test_a_pod_that_asks_to_be_left_alone_is_counted_and_not_touched():
    scene = Scene(builders.pod(annotations=IGNORE), builders.node(gpus=0))
    scene.after(0)
    assert scene.after(2)[0] == []
    assert causes(scene) == ["allocatable-zero"]
    scene.take(builders.pod())
    assert scene.after(1)[0] == ["annotation train"]
    scene.take(builders.pod(annotations={**MARKED, **IGNORE}))
    assert scene.after(1)[0] == ["removal train"]
    assert causes(scene) == ["allocatable-zero"]


def test_a_namespace_that_asks_to_be_left_alone_is_too():
    scene = Scene(builders.pod(), builders.node(gpus=0))
    scene.feeds["namespaces"] = Feed("namespaces", "", "v1", clock=lambda: scene.now)
    scene.take(namespace(IGNORE))
    scene.after(0)
    assert scene.after(2)[0] == []
    assert causes(scene) == ["allocatable-zero"]
    scene.take(namespace())
    assert scene.after(1)[0] == ["annotation train"]
    scene.take(namespace(IGNORE))
    assert scene.after(1)[0] == ["removal train"]
