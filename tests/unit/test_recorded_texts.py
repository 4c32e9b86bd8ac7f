"""What real schedulers wrote (tests/texts, recorded by python -m tests.e2e.scheduler_texts)."""

import json
from pathlib import Path

import pytest

from gpu_triage.core.condition import said
from gpu_triage.core.rules import Rules

TEXTS = {
    path.stem: json.loads(path.read_text())
    for path in sorted((Path(__file__).parents[1] / "texts").glob("*.json"))
}
DETAILS = {
    "cpu": "cpu",
    "memory": "memory",
    "ephemeral-storage": "ephemeral-storage",
    "pods": "pods",
    "other-resource": "other-resource",
    "ports": "ports",
    "affinity": "pod-affinity",
    "anti-affinity": "pod-affinity",
    "existing-anti-affinity": "pod-affinity",
    "spread-key-missing": "topology-spread",
    "claim-missing": "volume",
    "claim-unbound": "volume",
    "claim-waits-for-a-volume": "volume",
}
GPU_STEPS = ("gpu", "taint", "cordon", "label")


@pytest.mark.parametrize("version", TEXTS)
@pytest.mark.parametrize("situation", DETAILS)
def test_a_real_text_gives_its_detail(version, situation):
    assert said(TEXTS[version][situation]).detail(Rules()) == DETAILS[situation]


@pytest.mark.parametrize("version", TEXTS)
@pytest.mark.parametrize("situation", GPU_STEPS)
def test_a_real_text_of_gpu_steps_alone_is_known_as_such(version, situation):
    heard = said(TEXTS[version][situation])
    assert heard.only_gpu_steps(Rules())
    assert heard.nodes == len(DETAILS) + len(GPU_STEPS)


def test_every_recorded_situation_is_judged():
    assert TEXTS
    for recorded in TEXTS.values():
        assert set(recorded) == {*DETAILS, *GPU_STEPS}
