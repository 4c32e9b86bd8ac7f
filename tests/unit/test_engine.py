"""What the engine spares: it evaluates alike nodes once, and tells when it must be asked again."""

import math

import pytest

from gpu_triage.cluster.agenda import Agenda
from gpu_triage.cluster.engine import Engine
from gpu_triage.core import objects
from gpu_triage.core.facts import node_facts, pod_facts
from gpu_triage.core.fit import node_code
from gpu_triage.core.rules import Rules
from tests.answers import NOW, inventory
from tests.builders import CREATED, GPU_TAINT, node, pod

RULES = Rules()


@pytest.fixture
def evaluations(monkeypatch):
    """The nodes that are evaluated, by name."""
    seen = []

    def noting(shape, each, *rest):
        seen.append(each.name)
        return node_code(shape, each, *rest)

    monkeypatch.setattr("gpu_triage.cluster.row.node_code", noting)
    return seen


def facts(raw):
    return node_facts(objects.node(raw), RULES)


def many(n):
    """Nodes that differ by what no rule looks at, half of them with a taint."""
    return [node(f"n{each}", taints=[GPU_TAINT] if each % 2 else []) for each in range(n)]


def engine_of(*raws):
    known = inventory(*raws)
    engine = Engine(known)
    return known, engine, engine.refresh(NOW)


def test_alike_nodes_are_evaluated_once_for_each_shape(evaluations):
    pods = [pod(f"p{each}", each % 2 + 1) for each in range(10)]
    _, engine, told = engine_of(*many(20), *pods)
    assert len(evaluations) == 2 * 2
    assert told == engine.words.keys()


def test_a_change_of_one_node_is_evaluated_once_for_each_shape(evaluations):
    known, engine, _ = engine_of(*many(20), pod("one", 1), pod("two", 2))
    evaluations.clear()
    known.put_node(facts(node("n3", gpus=0)))
    assert engine.refresh(NOW) == set()
    assert evaluations == ["n3", "n3"]
    known.put_node(facts(many(4)[3]))
    engine.refresh(NOW)
    assert evaluations == ["n3", "n3"]


def test_what_changes_no_answer_is_not_looked_at(evaluations):
    known, engine, _ = engine_of(*many(4), pod())
    evaluations.clear()
    known.put_node(facts(node("n0")))
    assert engine.refresh(NOW + 1) == set()
    assert evaluations == []


def test_it_tells_of_pods_that_have_changed_are_gone_or_have_other_words():
    known, engine, _ = engine_of(node(gpus=1), pod("a"), pod("b"), pod("c", 2))
    known.drop_pod("uid-default-b")
    assert engine.refresh(NOW) == {"uid-default-b"}
    known.put_pod(pod_facts(objects.pod(pod("d", node="gpu-a")), RULES))
    assert engine.refresh(NOW) == {"uid-default-a", "uid-default-d"}
    assert {uid: f"{raw.cause}/{raw.detail}" for uid, raw in engine.words.items()} == {
        "uid-default-a": "exhausted/busy",
        "uid-default-c": "exhausted/never-fits",
    }
    assert engine.refresh(NOW) == set()


def test_nothing_is_due_where_only_an_event_can_change_a_word():
    assert engine_of(node(), pod())[1].next == math.inf


def test_the_start_of_a_young_node_ends_by_itself():
    label = {"nvidia.com/gpu.present": "true"}
    young = node(gpus=None, labels=label, created=CREATED)
    _, engine, _ = engine_of(young, pod())
    ends = objects.seconds(CREATED) + RULES.node_starting_seconds
    assert engine.next == ends
    assert engine.refresh(ends - 1) == set()
    assert engine.refresh(ends) == {"uid-default-train"}
    assert engine.next == math.inf


def test_the_patience_of_a_pod_with_a_node_that_says_it_starts_ends_by_itself():
    label = {"nvidia.com/gpu.present": "true"}
    taint = {"key": "karpenter.sh/unregistered", "effect": "NoSchedule"}
    later = "2026-01-10T10:00:30Z"
    marked = node(gpus=None, labels=label, taints=[taint])
    _, engine, _ = engine_of(marked, pod(), pod("later", created=later))
    assert engine.next == objects.seconds(CREATED) + RULES.node_starting_seconds
    assert engine.refresh(engine.next) == {"uid-default-train"}
    assert engine.next == objects.seconds(later) + RULES.node_starting_seconds
    assert engine.refresh(engine.next) == {"uid-default-later"}
    assert engine.next == math.inf


def test_a_clock_that_is_set_back_makes_old_nodes_young():
    label = {"nvidia.com/gpu.present": "true"}
    young = node(gpus=None, labels=label, created=CREATED)
    _, engine, _ = engine_of(young, pod())
    engine.refresh(NOW + 3600)
    (old,) = engine.words.values()
    engine.refresh(NOW)
    (again,) = engine.words.values()
    assert (old.detail, again.detail) == ("plugin-missing", "node-starting")


def test_an_agenda_tells_each_name_once_at_the_time_it_was_last_given():
    agenda = Agenda()
    assert agenda.next == math.inf
    for name, when in [("a", 5), ("b", 3), ("a", 9), ("c", 4), ("c", math.inf), ("d", math.inf)]:
        agenda.put(name, when)
    assert agenda.next == 3
    assert agenda.take(2) == []
    assert agenda.take(5) == ["b"]
    assert agenda.next == 9
    assert agenda.take(9) == ["a"]
    assert (agenda.next, agenda.take(99)) == (math.inf, [])
