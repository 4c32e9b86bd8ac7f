"""What the engine spares: it evaluates alike nodes once, and tells when it must be asked again."""

import gc
import math
from datetime import UTC, datetime

import pytest

from gpu_triage.cluster.agenda import Agenda
from gpu_triage.cluster.choice import Choice
from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.queue import Queue
from gpu_triage.cluster.row import Row
from gpu_triage.cluster.sites import Kind
from gpu_triage.core import objects
from gpu_triage.core.autoscaler import Said
from gpu_triage.core.fit import node_code
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from tests.answers import NOW, inventory
from tests.builders import CREATED, GPU_TAINT, node, pod

RULES = Rules()
NO_EXECUTE = {"effect": "NoExecute"}


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


def words(engine, name="train", now=NOW):
    """CAUSE/DETAIL of a pod, as of now."""
    engine.refresh(now)
    raw = engine.words[f"uid-default-{name}"]
    return f"{raw.cause}/{raw.detail}"


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


@pytest.mark.parametrize(
    ("nominated", "word"),
    [
        ({"gpus": 2}, "exhausted/reserved"),
        ({"gpus": 2, "priority": 5}, "exhausted/reserved"),
        ({"gpus": 2, "priority": -1}, "not-gpu/not-tried"),
        ({"gpus": 2, "schedulerName": "other"}, "not-gpu/not-tried"),
        ({"gpus": 1}, "not-gpu/not-tried"),
    ],
    ids=["equal", "higher", "lower priority", "another scheduler", "leaves enough"],
)
def test_a_nomination_of_another_shape_counts_while_it_stands(nominated, word):
    known, engine, _ = engine_of(node(gpus=2), pod())
    there = {"nominatedNodeName": "gpu-a"}
    assert words(engine) == "not-gpu/not-tried"
    known.put_pod(pod_facts(objects.pod(pod("first", status=there, **nominated)), RULES))
    assert words(engine) == word
    known.put_pod(pod_facts(objects.pod(pod("first", **nominated)), RULES))
    assert words(engine) == "not-gpu/not-tried"


def test_a_nomination_that_was_there_first_counts_for_pods_that_come_later():
    first = pod("first", 2, status={"nominatedNodeName": "gpu-a"})
    known, engine, _ = engine_of(node(gpus=2), first)
    known.put_pod(pod_facts(objects.pod(pod()), RULES))
    assert words(engine) == "exhausted/reserved"


def test_of_alike_nodes_that_start_the_one_that_will_have_the_label_helps():
    young = {"gpus": None, "created": CREATED}
    present = {"nvidia.com/gpu.present": "true"}
    asks = pod(selector={"zone": "a", "nvidia.com/gpu.product": "A100"})
    known, engine, _ = engine_of(node("n1", labels=present | {"zone": "b"}, **young), asks)
    assert words(engine) == "label-mismatch/unknown-key"
    known.put_node(facts(node("n2", labels=present | {"zone": "a"}, **young)))
    assert words(engine) == "label-mismatch/node-starting"


def test_what_is_gone_leaves_nothing_behind():
    known, engine, _ = engine_of(node(), pod())

    def kept():
        gc.collect()
        kinds = (Kind, Row, Queue, Choice)
        return sum(isinstance(each, kinds) for each in gc.get_objects())

    before = kept()
    for each in range(1, 9):
        raw = pod(f"p{each}", each, selector={"zone": str(each)}, priority=each)
        known.put_pod(pod_facts(objects.pod(raw), RULES))
        known.put_node(facts(node(gpus=8 + each)))
        engine.refresh(NOW)
    assert kept() > before
    moved = pod("p1", 1, selector={"zone": "1"}, priority=99)
    known.put_pod(pod_facts(objects.pod(moved), RULES))
    engine.refresh(NOW)
    for each in range(1, 9):
        known.drop_pod(f"uid-default-p{each}")
    engine.refresh(NOW)
    assert kept() == before


def test_a_pod_waits_for_its_nominated_node_until_that_is_there_and_again_when_it_is_gone():
    there = {"nominatedNodeName": "cpu-only"}
    known, engine, _ = engine_of(node(gpus=1), pod("held", node="gpu-a"), pod(status=there))
    assert words(engine) == "exhausted/scaling-up"
    known.put_node(facts(node("cpu-only", gpus=None)))
    assert words(engine) == "exhausted/busy"
    known.drop_node("cpu-only")
    assert words(engine) == "exhausted/scaling-up"


def nominee(**rest):
    return pod(status={"nominatedNodeName": "new"}, **rest)


def put(known, *raws):
    for raw in raws:
        if raw["kind"] == "Pod":
            known.put_pod(pod_facts(objects.pod(raw), RULES))
        else:
            known.put_node(facts(raw))


def test_a_nomination_counts_for_fifteen_minutes_from_when_it_came():
    known, engine, _ = engine_of(node(gpus=1), pod("held", node="gpu-a"), pod())
    assert words(engine, now=NOW + 5000) == "exhausted/busy"
    put(known, nominee())
    assert words(engine, now=NOW + 5001) == "exhausted/scaling-up"
    assert engine.next == NOW + 5901
    put(known, nominee(priority=5))
    assert words(engine, now=NOW + 5900) == "exhausted/scaling-up"
    assert words(engine, now=NOW + 5901) == "exhausted/busy"
    assert engine.next == math.inf
    other = nominee()
    other["status"]["nominatedNodeName"] = "newer"
    put(known, other)
    assert words(engine, now=NOW + 6000) == "exhausted/scaling-up"


@pytest.mark.parametrize(("detail", "says"), [("scaling-up", "scaling-up"), ("busy", "scaling-up")])
def test_a_restart_does_not_let_a_nomination_begin_anew(detail, says):
    marks = {"gpu-triage.io/detail": detail, "gpu-triage.io/since": "2026-01-10T09:50:00Z"}
    old = nominee(created="2026-01-10T09:00:00Z", annotations=marks)
    _, engine, _ = engine_of(node(gpus=1), pod("held", node="gpu-a"), old)
    assert words(engine) == f"exhausted/{says}"
    assert words(engine, now=NOW + 239) == f"exhausted/{says}"
    assert words(engine, now=NOW + 240) == "exhausted/busy"


def test_what_an_autoscaler_says_counts_until_it_is_old_or_taken_back():
    known, engine, _ = engine_of(node(gpus=1), pod("held", node="gpu-a"), pod())
    known.put_saying("e1", "uid-default-train", Said(NOW, True, "it comes"))
    assert words(engine) == "exhausted/scaling-up"
    assert engine.next == NOW + 900
    known.put_saying("e2", "uid-default-train", Said(NOW + 10, False, "it does not"))
    assert words(engine) == "exhausted/busy"
    known.drop_saying("e2")
    assert words(engine) == "exhausted/scaling-up"
    assert words(engine, now=NOW + 900) == "exhausted/busy"
    known.put_saying("e1", "uid-default-train", Said(NOW + 890, True, "it comes"))
    assert words(engine, now=NOW + 901) == "exhausted/scaling-up"
    known.drop_saying("e1")
    assert words(engine, now=NOW + 902) == "exhausted/busy"
    assert not known.drop_saying("e1")


def test_what_is_said_of_a_pod_before_it_is_known_counts_when_it_is():
    known, engine, _ = engine_of(node(gpus=1), pod("held", node="gpu-a"))
    known.put_saying("e1", "uid-default-train", Said(NOW, True, "it comes"))
    engine.refresh(NOW)
    put(known, pod())
    assert words(engine) == "exhausted/scaling-up"


def young(name, second):
    """A node with a GPU label that was made then and offers nothing yet."""
    made = datetime.fromtimestamp(NOW + second, UTC).isoformat()
    return node(name, None, labels={"nvidia.com/gpu.present": "true"}, created=made)


def told(engine, known, made, end):
    """The details of the pod over time: nodes are made at these seconds and fail in between."""
    seen = []
    for second in range(0, end, 10):
        if second in made:
            put(known, young(f"n{second}", second))
            known.drop_node(f"n{made[made.index(second) - 1]}")
        detail = words(engine, now=NOW + second).partition("/")[2]
        if not seen or seen[-1][1] != detail:
            seen.append((second, detail))
    return seen


def test_nodes_that_come_and_fail_for_ever_do_not_keep_a_pod_waiting_for_ever():
    known, engine, _ = engine_of(node(gpus=None), pod())
    made = list(range(60, 5000, 600))
    assert told(engine, known, made, 5000) == [
        (0, "not-advertised"),
        (60, "node-starting"),
        (960, "plugin-missing"),
    ]


def test_a_pod_waits_again_for_a_node_that_comes_much_later():
    known, engine, _ = engine_of(node(gpus=None), pod())
    assert told(engine, known, [0, 5000], 6000) == [
        (0, "node-starting"),
        (900, "plugin-missing"),
        (5000, "node-starting"),
        (5900, "plugin-missing"),
    ]


@pytest.mark.parametrize(
    ("detail", "since", "ends"),
    [
        ("node-starting", "2026-01-10T09:56:00Z", 600),
        ("node-starting", "2026-01-10T09:00:00Z", 840),
        ("plugin-missing", "2026-01-10T09:56:00Z", 840),
    ],
)
def test_a_restart_goes_on_with_a_wait_as_far_as_it_is_known(detail, since, ends):
    marks = {"gpu-triage.io/detail": detail, "gpu-triage.io/since": since}
    _, engine, _ = engine_of(young("new", -60), pod(annotations=marks))
    assert words(engine, now=NOW + ends - 1) == "no-gpu-node/node-starting"
    assert words(engine, now=NOW + ends) == "no-gpu-node/plugin-missing"


def test_nothing_is_remembered_of_pods_that_are_gone():
    known, engine, _ = engine_of(young("n1", 0), pod(), nominee(name="other"))
    put(known, nominee(name="other", selector={"a": "b"}))
    engine.refresh(NOW)
    assert (len(known.missing), len(known.starting)) == (1, 2)
    put(known, pod(node="new"))
    known.drop_pod("uid-default-other")
    engine.refresh(NOW)
    assert (known.missing, known.starting) == ({}, {})


def test_a_label_that_chooses_no_node_for_the_pod_still_tells_what_is_missing():
    known, engine, _ = engine_of(node(), pod(selector={"zone": "a"}))
    assert words(engine) == "label-mismatch/unknown-key"
    known.put_node(facts(node(labels={"zone": "b"})))
    assert words(engine) == "label-mismatch/unknown-value"
    known.put_node(facts(node()))
    assert words(engine) == "label-mismatch/unknown-key"


def test_a_gpu_of_another_name_somewhere_is_known_to_the_whole_cluster():
    known, engine, _ = engine_of(node("cpu", gpus=None), pod())
    assert words(engine) == "no-gpu-node/not-advertised"
    mig = node("mig", gpus=None, resources={"nvidia.com/mig-1g.5gb": "1"}, taints=[GPU_TAINT])
    known.put_node(facts(mig))
    assert words(engine) == "no-gpu-node/never-advertised"
    known.drop_node("mig")
    assert words(engine) == "no-gpu-node/not-advertised"


def test_a_holder_that_is_being_deleted_will_be_gone_when_its_node_is_back():
    lost = node("lost", gpus=1, taints=[{"key": "node.kubernetes.io/not-ready", **NO_EXECUTE}])
    holders = [pod("here", node="gpu-a"), pod("there", node="lost")]
    known, engine, _ = engine_of(node(gpus=1), lost, *holders, pod())
    assert words(engine) == "exhausted/busy"
    holders[1]["metadata"]["deletionTimestamp"] = CREATED
    known.put_pod(pod_facts(objects.pod(holders[1]), RULES))
    assert words(engine) == "exhausted/nodes-lost"


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
