"""The vocabulary is closed, complete and says what to do."""

import re

import pytest

from gpu_triage.core.causes import KINDS, PENDING, Audience, Cause, Detail, EventType
from gpu_triage.core.vocabulary import VOCABULARY

PAIRS = [(cause, detail) for cause, word in VOCABULARY.items() for detail in word.details]


def test_the_words_in_their_order():
    assert [str(cause) for cause in VOCABULARY] == [
        "no-request", "ok", "label-mismatch", "taint", "no-gpu-node", "allocatable-zero",
        "exhausted", "gated", "not-gpu", "unknown",
    ]  # fmt: skip
    assert set(VOCABULARY) == set(Cause)


def test_every_detail_belongs_to_a_word():
    assert {detail for _, detail in PAIRS} == set(Detail)


@pytest.mark.parametrize(("cause", "detail"), PAIRS)
def test_a_sense_says_what_it_means_and_what_to_do(cause, detail):
    sense = VOCABULARY[cause].details[detail]
    assert sense.meaning
    assert sense.meaning[0].islower()
    assert sense.advice.endswith(".")


@pytest.mark.parametrize(("cause", "detail"), PAIRS)
def test_advice_never_harms(cause, detail):
    advice = VOCABULARY[cause].details[detail].advice.lower()
    assert not re.search(r"\b(uncordon|untaint|remove the taint|evict|delete|drain)\b", advice)


def test_who_must_act_is_the_platform_only_where_users_cannot():
    platform = {
        f"{cause}/{detail}"
        for cause, detail in PAIRS
        if VOCABULARY[cause].details[detail].audience is Audience.PLATFORM
    }
    assert platform == {
        "no-gpu-node/no-nodes", "no-gpu-node/plugin-missing", "no-gpu-node/not-advertised",
        "allocatable-zero/all-unhealthy", "allocatable-zero/plugin-gone",
        "taint/cordoned", "taint/not-ready", "taint/pressure",
        "exhausted/unhealthy-devices", "exhausted/nodes-lost",
        "unknown/forbidden", "unknown/not-synced",
    }  # fmt: skip


def test_an_event_is_normal_where_it_resolves_by_itself_and_absent_where_it_would_be_noise():
    def of(kind):
        return {
            f"{cause}/{detail}"
            for cause, detail in PAIRS
            if cause in PENDING and VOCABULARY[cause].details[detail].event is kind
        }

    waits = {"scaling-up": ("label-mismatch", "taint", "no-gpu-node", "exhausted")}
    waits["node-starting"] = (*waits["scaling-up"], "allocatable-zero")
    assert of(EventType.NORMAL) == {
        f"{cause}/{detail}" for detail, causes in waits.items() for cause in causes
    } | {"exhausted/busy", "exhausted/reserved", "not-gpu/preempting"}
    assert of(None) == {
        "gated/scheduling-gates", "not-gpu/not-tried", "not-gpu/ended", "not-gpu/terminating",
    }  # fmt: skip


def test_reasons_are_camel_case_and_unique():
    reasons = [VOCABULARY[cause].reason for cause in PENDING]
    assert all(re.fullmatch(r"GPU[A-Z][A-Za-z]+", reason) for reason in reasons)
    assert len(set(reasons)) == len(reasons)


def test_words_rest_on_kinds_that_can_be_read():
    assert {kind for word in VOCABULARY.values() for kind in word.rests_on} == set(KINDS)
