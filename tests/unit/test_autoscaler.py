"""What autoscalers say of pods, and how long their word is taken."""

import pytest

from gpu_triage.core import objects
from gpu_triage.core.autoscaler import Said, said
from gpu_triage.core.rules import Rules
from tests.answers import NOW, sentence, words
from tests.builders import CREATED, event, node, pod

TAKEN = "pod triggered scale-up: [{gpu-pool 1->2 (max: 8)}]"
TURNED_DOWN = "pod didn't trigger scale-up: 2 max node group size reached"
NOMINATED = "Pod should schedule on: nodeclaim/gpu-l4-x7k2q"
KARPENTER = (
    'Failed to schedule pod, incompatible with nodepool "default", daemonset'
    ' overhead={"cpu":"210m"}, no instance type satisfied resources'
)
SCHEDULER = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
THEN = objects.seconds(CREATED)


def told(reason, text, **rest):
    return said(objects.event(event(reason, text, **rest)))


@pytest.mark.parametrize(
    ("reason", "text", "coming"),
    [
        ("TriggeredScaleUp", TAKEN, True),
        ("NotTriggerScaleUp", TURNED_DOWN, False),
        ("NotTriggerScaleUp", "pod didn't trigger scale-up: ", False),
        ("Nominated", NOMINATED, True),
        ("Nominated", "Pod should schedule on: nodeclaim/a, node/b", True),
        ("FailedScheduling", KARPENTER, False),
    ],
)
def test_what_an_event_says(reason, text, coming):
    assert told(reason, text) == Said(THEN, coming, text)


@pytest.mark.parametrize(
    ("reason", "text", "rest"),
    [
        ("FailedScheduling", SCHEDULER, {}),
        ("Scheduled", "Successfully assigned default/train to gpu-a", {}),
        ("TriggeredScaleUp", TAKEN, {"kind": "Node"}),
        ("TriggeredScaleUp", TAKEN, {"uid": ""}),
        ("TriggeredScaleUp", TAKEN, {"at": None}),
        ("TriggeredScaleUp", TAKEN, {"at": "yesterday"}),
    ],
)
def test_events_of_others_say_nothing(reason, text, rest):
    assert told(reason, text, **rest) is None


def test_the_last_time_counts():
    raw = event("NotTriggerScaleUp", TURNED_DOWN)
    raw["metadata"]["creationTimestamp"] = "2026-01-10T09:00:00Z"
    raw["series"] = {"count": 3, "lastObservedTime": "2026-01-10T10:00:09.000000Z"}
    assert said(objects.event(raw)).at == THEN + 9
    raw["lastTimestamp"] = "2026-01-10T10:00:30Z"
    assert said(objects.event(raw)).at == THEN + 30


def at(seconds):
    return f"2026-01-10T10:{seconds // 60:02}:{seconds % 60:02}Z"


SCALED = event("TriggeredScaleUp", TAKEN, at=at(0))


@pytest.mark.parametrize(
    ("events", "detail"),
    [
        ([SCALED], "scaling-up"),
        ([event("Nominated", NOMINATED, at=at(10))], "scaling-up"),
        ([SCALED, event("NotTriggerScaleUp", TURNED_DOWN, at=at(30))], "not-advertised"),
        ([SCALED, event("FailedScheduling", KARPENTER, at=at(30))], "not-advertised"),
        ([SCALED, event("FailedScheduling", SCHEDULER, at=at(30))], "scaling-up"),
        ([event("NotTriggerScaleUp", TURNED_DOWN, at=at(0)), SCALED], "scaling-up"),
        (
            [
                event("TriggeredScaleUp", TAKEN, at=at(40)),
                event("NotTriggerScaleUp", TURNED_DOWN, at=at(30)),
            ],
            "scaling-up",
        ),
        ([event("TriggeredScaleUp", TAKEN, at=at(0), uid="another")], "not-advertised"),
    ],
)
def test_the_newest_word_of_an_autoscaler_counts(events, detail):
    for order in (events, events[::-1]):
        assert words(pod(), node(gpus=None), *order) == f"no-gpu-node/{detail}"


def test_it_counts_for_fifteen_minutes():
    asked = pod(), node(gpus=None), SCALED
    assert words(*asked, now=THEN + 899) == "no-gpu-node/scaling-up"
    assert words(*asked, now=THEN + 900) == "no-gpu-node/not-advertised"
    short = Rules(scaling_up_seconds=60)
    assert words(*asked, now=THEN + 60, rules=short) == "no-gpu-node/not-advertised"


def test_it_is_no_word_of_its_own():
    assert words(pod(), node(gpus=0), SCALED) == "allocatable-zero/plugin-gone"
    assert words(pod(), node(), SCALED) == "not-gpu/not-tried"
    assert words(pod(selector={"a": "b"}), node(), SCALED) == "label-mismatch/scaling-up"


@pytest.mark.parametrize(
    ("published", "created", "detail"),
    [
        (None, CREATED, "scaling-up"),
        (None, "2026-01-10T09:00:00Z", "busy"),
        ("2026-01-10T09:55:00Z", "2026-01-10T09:00:00Z", "scaling-up"),
        ("2026-01-10T09:05:00Z", "2026-01-10T09:00:00Z", "busy"),
        (None, None, "scaling-up"),
    ],
)
def test_a_nomination_that_is_seen_once_counts_no_longer_than_it_may_have_stood(
    published, created, detail
):
    annotations = {"gpu-triage.io/since": published} if published else None
    status = {"nominatedNodeName": "gpu-new"}
    coming = pod(status=status, annotations=annotations, created=created)
    assert words(coming, node(gpus=1), pod("held", node="gpu-a")) == f"exhausted/{detail}"


def test_the_message_quotes_the_autoscaler():
    there = node(gpus=None)
    assert sentence(pod(), there, SCALED) == (
        "gpu-a, the only node, does not offer nvidia.com/gpu."
        f" An autoscaler has taken it on: {TAKEN}."
    )
    down = event("NotTriggerScaleUp", TURNED_DOWN)
    refused = f"The autoscaler makes no node for it: {TURNED_DOWN}."
    assert sentence(pod(), there, down).endswith(refused)
    assert sentence(pod(), there, down, rules=Rules(autoscaling=True)).endswith(refused)
    assert refused not in sentence(pod(), there, down, now=NOW + 900)
    silent = event("NotTriggerScaleUp", "")
    assert sentence(pod(), there, silent).endswith("for it: it does not say why.")


def test_a_long_text_is_cut():
    pools = ", ".join(f'incompatible with nodepool "pool-{n}"' for n in range(50))
    down = event("FailedScheduling", f"Failed to schedule pod, {pools}")
    assert len(sentence(pod(), node(gpus=None), down)) < 400
