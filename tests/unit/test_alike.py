"""Pods that are held to be alike are told the same, whatever the cluster looks like."""

from collections import defaultdict

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core.alike import likeness
from gpu_triage.core.autoscaler import Said
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.classify import Raw, classify
from gpu_triage.core.explain import explain
from tests import builders
from tests.answers import NOW, ask
from tests.unit.test_engine_equal import RULES, change, events, some_nodes


@settings(max_examples=200, deadline=None)
@given(st.lists(some_nodes, min_size=1, max_size=2), st.lists(events, min_size=10, max_size=30))
def test_of_pods_that_are_alike_the_same_is_said(there, events):
    known, now = Inventory(RULES), NOW
    for verb, what in there + events:
        if verb == "pass":
            now += what
        else:
            change(known, verb, what)
    for pod in list(known.waiting()):  # the same once more, as its Job would make it
        known.put_pod(msgspec.structs.replace(pod, name=f"{pod.name}-2", uid=f"{pod.uid}-2"))
    told = defaultdict(set)
    for pod in known.waiting():
        verdict = classify(pod, known.picture, now)
        raw = Raw(verdict.cause, verdict.detail, verdict.unread)
        told[likeness(pod, raw, known.picture)].add(explain(verdict, now))
    assert all(len(messages) == 1 for messages in told.values()), told


def like(*, raw=Raw(Cause.EXHAUSTED, Detail.BUSY), said=(), **spec):  # noqa: B008
    verdict = ask(builders.pod(spec.pop("name", "train"), **spec), builders.node())
    assert verdict.survey is not None
    picture = msgspec.structs.replace(verdict.survey.picture, said=dict(said))
    return likeness(verdict.pod, raw, picture)


@pytest.mark.parametrize(
    "other",
    [
        {"gpus": 2},
        {"namespace": "other"},
        {"raw": Raw(Cause.EXHAUSTED, Detail.FRAGMENTED)},
        {"said": {"uid-default-train": Said(NOW, True, "")}.items()},
    ],
)
def test_what_a_message_speaks_of_makes_pods_unlike(other):
    assert like() == like(name="another")
    assert like() != like(**other)
