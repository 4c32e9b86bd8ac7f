"""The picture after any sequence of changes is the picture of what is there now."""

from hypothesis import given
from hypothesis import strategies as st

from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.causes import Detail
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from tests.answers import inventory
from tests.builders import node, pod

RULES = Rules()


def pods():
    """Pods of few names that wait, are placed, nominated or ended, each with its own uid."""
    return st.builds(
        lambda name, gpus, where, nominated, phase: pod(
            name, gpus, node=where, phase=phase, status={"nominatedNodeName": nominated}
        ),
        st.sampled_from("abcd"),
        st.integers(0, 3),
        st.sampled_from([None, "n1", "n2"]),
        st.sampled_from([None, "n1", "n2"]),
        st.sampled_from([None, "Succeeded", "Failed"]),
    )


changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), pods()),
        st.tuples(st.just("drop"), st.sampled_from("abcd")),
        st.tuples(
            st.just("node"), st.builds(node, st.sampled_from(["n1", "n2"]), st.integers(0, 4))
        ),
        st.tuples(st.just("lose"), st.sampled_from(["n1", "n2"])),
    ),
    max_size=30,
)


def as_told(known):
    picture = known.picture
    return {
        "nodes": dict(picture.nodes),
        "holders": {on: dict(held) for on, held in picture.holders.items()},
        "used": {on: dict(amounts) for on, amounts in picture.used.items()},
        "nominated": {on: dict(those) for on, those in picture.nominated.items()},
    }


@given(changes)
def test_changes_one_by_one_lead_where_the_final_state_leads(steps):
    known, there = Inventory(RULES), {}
    for verb, what in steps:
        match verb:
            case "put":
                known.put_pod(pod_facts(objects.pod(what), RULES))
                there[what["metadata"]["name"]] = what
            case "drop":
                known.drop_pod(f"uid-default-{what}")
                there.pop(what, None)
            case "node":
                known.put_node(node_facts(objects.node(what), RULES))
                there[what["metadata"]["name"]] = what
            case "lose":
                known.drop_node(what)
                there.pop(what, None)
    assert as_told(known) == as_told(inventory(*there.values()))


def test_what_changes_no_answer_is_no_change():
    known = Inventory(RULES)
    first, again = pod(), pod()
    again["status"]["conditions"] = [{"type": "Initialized", "status": "True"}]
    assert known.put_pod(pod_facts(objects.pod(first), RULES))
    assert not known.put_pod(pod_facts(objects.pod(again), RULES))
    quiet, loud = node(), node()
    loud["status"]["images"] = [{"names": ["x"], "sizeBytes": 1}]
    assert known.put_node(node_facts(objects.node(quiet), RULES))
    assert not known.put_node(node_facts(objects.node(loud), RULES))


def test_a_pod_waits_while_it_asks_and_is_not_placed_oldest_first():
    old = pod("old", created="2026-01-10T09:00:00Z")
    others = pod("none", 0), pod("placed", node="n1"), pod("ended", phase="Failed")
    assert [each.name for each in inventory(pod("new"), old, *others).waiting()] == ["old", "new"]


def test_a_resource_is_served_while_one_of_its_classes_is_there():
    known = Inventory(RULES)
    assert known.put_class("a", "nvidia.com/gpu")
    assert known.put_class("b", "nvidia.com/gpu")
    assert not known.put_class("b", "nvidia.com/gpu")
    assert known.drop_class("b")
    assert known.picture.classes == {"nvidia.com/gpu": "a"}
    assert known.put_class("a", "")
    assert known.picture.classes == {}
    assert not known.drop_class("a")


def test_what_could_not_be_read_is_remembered_until_it_is():
    known = Inventory(RULES)
    assert known.mark_unread("nodes", Detail.FORBIDDEN)
    assert not known.mark_unread("nodes", Detail.FORBIDDEN)
    assert known.mark_unread("nodes", Detail.NOT_SYNCED)
    assert known.mark_read("nodes")
    assert not known.mark_read("nodes")
