"""A live cluster is read as far as an answer needs; the answer is that of reading everything."""

import pytest

from gpu_triage.cli import live
from gpu_triage.cli.failure import AnswerError
from gpu_triage.core import objects
from gpu_triage.core.explain import message
from gpu_triage.core.rules import Rules
from tests.builders import GPU, GPU_TAINT, node, pod
from tests.fake_api import DRA, NODES, PODS, FakeApi

RULES = Rules()
NOW = objects.seconds("2026-01-10T10:05:00Z")
CLASSES = f"{DRA}/deviceclasses"
HOLDING = "status.phase!=Succeeded,status.phase!=Failed"
NOMINATED = f"{PODS} spec.nodeName=,status.nominatedNodeName!="
MIG = "nvidia.com/mig-1g.5gb"


def of_node(name):
    return f"{PODS} spec.nodeName={name},{HOLDING}"


def device_class(resource=GPU):
    return {
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example"},
        "spec": {"extendedResourceName": resource},
    }


def asked(api, name="train", **options):
    """The verdict that live reading gives, the reads of other objects, and the notes."""
    notes = []
    reader = live.Live(api, RULES, note=notes.append, **options)
    found = reader.find("default", name)
    assert api.reads.pop(0) == f"/api/v1/namespaces/default/pods/{name}"
    return reader.judge(found, NOW), reader, notes


@pytest.mark.parametrize(
    ("word", "waiting"),
    [
        ("no-request", pod(gpus=0)),
        ("ok", pod(node="gpu-a")),
        ("gated", pod(schedulingGates=[{"name": "queue"}])),
        ("not-gpu", pod(phase="Failed")),
    ],
)
@pytest.mark.parametrize("explain", [False, True])
def test_words_of_the_pod_alone_read_nothing_else(word, waiting, explain):
    api = FakeApi(waiting, node())
    verdict, _, notes = asked(api, explain=explain)
    assert (verdict.cause, api.reads, notes) == (word, [], [])


@pytest.mark.parametrize(
    ("word", "waiting", "nodes", "reads"),
    [
        ("label-mismatch", pod(selector={"no": "node"}), [node()], [NODES]),
        ("taint", pod(), [node(taints=[GPU_TAINT])], [NODES, CLASSES]),
        ("no-gpu-node", pod(), [node(gpus=None)], [NODES, CLASSES]),
        ("allocatable-zero", pod(), [node(gpus=0, capacity=8)], [NODES, CLASSES]),
        ("exhausted", pod(gpus=9), [node(gpus=8)], [NODES, CLASSES]),
        ("not-gpu", pod(), [node(gpus=8)], [NODES, CLASSES, NOMINATED, of_node("gpu-a")]),
    ],
)
def test_a_word_reads_what_it_rests_on(word, waiting, nodes, reads):
    api = FakeApi(waiting, *nodes)
    verdict, _, _ = asked(api, explain=False)
    assert (verdict.cause, api.reads) == (word, reads)


def test_the_word_stops_at_the_first_node_that_fits_and_the_sentence_does_not():
    nodes = [node(f"gpu-{n}", gpus=1) for n in range(4)]
    holder = pod("holder", node="gpu-0")
    api = FakeApi(pod(), holder, *nodes)
    assert asked(api, explain=False)[0].cause == "not-gpu"
    assert api.reads[3:] == [of_node("gpu-0"), of_node("gpu-1")]

    api = FakeApi(pod(), holder, *nodes)
    _, reader, _ = asked(api, explain=True)
    assert api.reads[3:] == [of_node(f"gpu-{n}") for n in range(4)]
    assert reader.read == {f"gpu-{n}" for n in range(4)}


def test_many_candidates_are_read_by_all_pods_in_pages():
    nodes = [node(f"gpu-{n:02}", gpus=1) for n in range(live.FEW + 1)]
    holders = [pod(f"holder-{n:02}", node=f"gpu-{n:02}") for n in range(live.FEW + 1)]
    api = FakeApi(pod(), *holders, *nodes, page=20)
    shown = []
    verdict, reader, _ = asked(api, explain=False, progress=lambda what, n: shown.append((what, n)))
    assert verdict.cause == "exhausted"
    assert reader.read is None
    assert api.reads == [NODES] * 3 + [CLASSES] + [f"{PODS} {HOLDING}"] * 3
    assert shown == [("nodes", 20), ("nodes", 40), ("pods", 20), ("pods", 40)]


def test_a_pod_that_may_not_be_got_is_listed():
    api = FakeApi(pod(gpus=0), forbidden=["/api/v1/namespaces/default/pods/train"])
    reader = live.Live(api, RULES)
    assert reader.find("default", "train").name == "train"
    assert api.reads[1:] == ["/api/v1/namespaces/default/pods metadata.name=train"]


def test_a_pod_that_may_be_neither_got_nor_listed_ends_the_command():
    api = FakeApi(forbidden=["/api/v1/namespaces/default/"])
    with pytest.raises(AnswerError, match=r"may not list pods in namespace default .*get and list"):
        live.Live(api, RULES).find("default", "train")


def test_a_pod_that_is_not_there_is_none():
    assert live.Live(FakeApi(), RULES).find("default", "train") is None


def test_nodes_that_may_not_be_read_make_the_word_unknown_and_nothing_else_is_read():
    api = FakeApi(pod(), node(), forbidden=[NODES])
    verdict, _, notes = asked(api)
    assert (verdict.cause, verdict.detail, verdict.unread) == ("unknown", "forbidden", ("nodes",))
    assert api.reads == [NODES]
    assert notes == [
        "may not list nodes (cluster-wide): words that rest on nodes are unknown. Ask for the verb"
        " list on nodes."
    ]


@pytest.mark.parametrize(
    ("waiting", "nodes", "word"),
    [
        (pod(), [node()], "unknown"),
        (pod(), [node(taints=[GPU_TAINT])], "taint"),
        (pod(selector={"no": "node"}), [node()], "label-mismatch"),
    ],
)
def test_pods_that_may_not_be_read_matter_only_to_words_that_rest_on_them(waiting, nodes, word):
    api = FakeApi(waiting, *nodes, forbidden=[PODS])
    verdict, _, notes = asked(api, explain=True)
    assert verdict.cause == word
    assert all("may not list pods (cluster-wide)" in note for note in notes)
    assert " free" not in message(verdict, NOW)


@pytest.mark.parametrize(
    ("dra", "exists", "forbidden", "word", "unread", "noted"),
    [
        ("auto", True, [], "unknown", False, False),
        ("off", True, [], "no-gpu-node", False, False),
        ("auto", False, [], "no-gpu-node", False, False),
        ("auto", True, [CLASSES], "no-gpu-node", True, True),
        ("on", True, [CLASSES], "unknown", False, True),
        ("on", False, [CLASSES], "no-gpu-node", False, False),
    ],
    ids=["read", "off", "absent", "refused", "refused and needed", "refused though absent"],
)
def test_device_classes(dra, exists, forbidden, word, unread, noted):
    api = FakeApi(pod(), node(gpus=None), device_class(), dra=exists, forbidden=forbidden)
    verdict, reader, notes = asked(api, dra=dra)
    assert (verdict.cause, reader.dra_unread, bool(notes)) == (word, unread, noted)
    assert (CLASSES in api.reads) == (dra != "off")


def test_a_report_reads_each_kind_once():
    api = FakeApi(pod(), pod("other", namespace="else", node="gpu-a"), node())
    reader = live.Live(api, RULES)
    reader.read_pods("default", ended=False)
    assert api.reads == [f"{PODS} {HOLDING}"]
    assert reader.read is None
    assert len(reader.inventory.pods) == 2


def test_a_report_on_one_namespace_falls_back_to_its_pods():
    api = FakeApi(pod(), pod("other", namespace="else"), node(), forbidden=[PODS])
    notes = []
    reader = live.Live(api, RULES, note=notes.append)
    reader.read_pods("default", ended=True)
    assert [each.key for each in reader.inventory.pods.values()] == ["default/train"]
    assert list(reader.inventory.picture.unread) == ["pods"]
    assert len(notes) == 1
