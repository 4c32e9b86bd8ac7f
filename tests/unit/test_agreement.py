"""The parts of the comparison with a scheduler that need none: what it asks, reads and shrinks."""

from collections import Counter

import pytest

from gpu_triage.core.causes import Cause
from gpu_triage.core.fit import Step, step
from tests.agreement import breakages, text
from tests.agreement.clusters import cluster
from tests.agreement.judge import judge
from tests.agreement.mutating import Breakage, broken
from tests.agreement.narrowing import Variant, conflicts, hidden, named_only, narrow
from tests.agreement.record import Asked, Measure, Record
from tests.agreement.shrinking import Case, shrink
from tests.agreement.sides import Codes, Sides
from tests.agreement.versions import Difference, Version
from tests.agreement.vocabulary import GPU, SMALL_MIG
from tests.agreement.word import truth, word
from tests.answers import inventory, words
from tests.builders import node, pod

TAIL = " preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling."


def affinity(*terms):
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def named(operator, name):
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}


def terms(narrowed):
    required = narrowed["spec"]["affinity"]["nodeAffinity"]
    return required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]


POOL = {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}
HERE = named("In", "n1")["matchFields"][0]


def test_a_seed_gives_the_same_cluster_and_another_seed_another_one():
    assert cluster(1, 5) == cluster(1, 5)
    assert cluster(1, 5) != cluster(1, 6)
    assert cluster(1, 5).asking != cluster(2, 5).asking


def test_random_clusters_are_objects_that_the_classifier_reads():
    drawn = [cluster(3, index) for index in range(20)]
    known = inventory(*(each for one in drawn for each in one.objects))
    assert len(known.picture.nodes) == sum(len(one.nodes) for one in drawn)
    assert len(known.pods) == sum(len(one.standing) for one in drawn)


@pytest.mark.parametrize(
    ("message", "reasons", "whole"),
    [
        (
            "0/9 nodes are available: 1 Insufficient nvidia.com/mig-1g.5gb, 1 Insufficient "
            "nvidia.com/gpu, 7 node(s) had untolerated taint(s)." + TAIL,
            {
                "Insufficient nvidia.com/mig-1g.5gb": 1,
                "Insufficient nvidia.com/gpu": 1,
                text.TAINT: 7,
            },
            "",
        ),
        (
            "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, "
            "2 node(s) had untolerated taint {c: }. no new claims to deallocate, preemption: x",
            {text.TAINT: 3},
            "",
        ),
        ("0/2 nodes are available: pod affinity terms conflict. not found", {}, text.CONFLICT),
        ("no nodes available to schedule pods", {}, text.NO_NODES),
        ("0/1 nodes are available: 1 Too many pods.", {text.PODS: 1}, ""),
    ],
)
def test_a_text_is_taken_apart(message, reasons, whole):
    told = text.read(message)
    assert told.reasons == Counter(reasons)
    assert told.whole == whole


def test_reasons_of_preempting_are_no_reasons_of_nodes():
    message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are"
    told = text.read(message + " available: 2 Insufficient amd.com/gpu.")
    assert told.reasons == Counter({"Insufficient nvidia.com/gpu": 2})


def test_a_narrowed_pod_names_the_node_in_every_term_and_drops_empty_ones():
    asked = pod(affinity=affinity(POOL, {}, named("NotIn", "n2")), selector={"zone": "a"})
    narrowed = narrow(asked, "n1", Variant.AS_IS)
    not_there = named("NotIn", "n2")["matchFields"][0]
    assert terms(narrowed) == [{**POOL, "matchFields": [HERE]}, {"matchFields": [not_there, HERE]}]
    assert narrowed["spec"]["nodeSelector"] == {"zone": "a"}


def test_a_pod_with_empty_terms_only_still_matches_nothing():
    narrowed = narrow(pod(affinity=affinity({})), "n1", Variant.AS_IS)
    labels = {"kubernetes.io/hostname": "n1"}
    assert words(narrowed, node("n1", labels=labels)).startswith("label-mismatch/")


@pytest.mark.parametrize(
    ("variant", "tolerates", "chooses"),
    [
        (Variant.AS_IS, False, True),
        (Variant.TOLERANT, True, True),
        (Variant.ANYWHERE, False, False),
        (Variant.RESOURCE, True, False),
    ],
)
def test_a_variant_leaves_out_what_hides_the_rest(variant, tolerates, chooses):
    asked = pod(affinity=affinity(POOL), selector={"zone": "a"})
    spec = narrow(asked, "n1", variant)["spec"]
    assert (spec.get("tolerations") == [{"operator": "Exists"}]) is tolerates
    assert ("nodeSelector" in spec) is chooses
    assert ("matchExpressions" in terms({"spec": spec})[0]) is chooses
    assert "podAffinity" in spec["affinity"]


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        (f"1 {text.TAINT}", [Variant.TOLERANT, Variant.RESOURCE]),
        (f"1 {text.CORDON}", [Variant.TOLERANT, Variant.RESOURCE]),
        (f"1 {text.LABEL}", [Variant.RESOURCE]),
        (f"1 {text.LABEL}, 3 {text.ABSENT}", [Variant.RESOURCE]),
        (text.CONFLICT, [Variant.ANYWHERE, Variant.RESOURCE]),
        ("1 Insufficient nvidia.com/gpu, 3 node(s) whatever", []),
        (f"1 {text.AFFINITY}", []),
    ],
)
def test_only_what_an_answer_hides_is_asked_again(answer, again):
    assert hidden(text.read(f"0/4 nodes are available: {answer}. not found")) == again


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ([POOL], None),
        ([named("In", "n1"), POOL], None),
        ([named("NotIn", "n1")], None),
        ([named("In", "n1"), named("In", "n2")], {"n1", "n2"}),
        ([{"matchFields": [HERE, named("In", "n2")["matchFields"][0]]}], set()),
    ],
)
def test_the_scheduler_looks_only_at_nodes_that_every_term_names(chosen, names):
    asked = pod(affinity=affinity(*chosen))
    assert named_only(asked) == names
    assert conflicts(asked) is (names == set())


NODE = {"status": {"capacity": {GPU: "8"}, "allocatable": {GPU: "8"}}}
DEAD = {"status": {"capacity": {GPU: "8"}, "allocatable": {GPU: "0"}}}
BARE = {"status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}}}
MIG = {"status": {"capacity": {GPU: "0", SMALL_MIG: "7"}, "allocatable": {GPU: "0"}}}
FREE, SHORT, TAINTED, ELSEWHERE = text.AFFINITY, f"Insufficient {GPU}", text.TAINT, text.LABEL


@pytest.mark.parametrize(
    ("said", "follows"),
    [
        ([(NODE, FREE)], Cause.NOT_GPU),
        ([(NODE, SHORT)], Cause.EXHAUSTED),
        ([(NODE, SHORT), (NODE, FREE)], Cause.NOT_GPU),
        ([(DEAD, SHORT)], Cause.ALLOCATABLE_ZERO),
        ([(DEAD, SHORT), (NODE, SHORT)], Cause.EXHAUSTED),
        ([(BARE, SHORT)], Cause.NO_GPU_NODE),
        ([(MIG, SHORT)], Cause.NO_GPU_NODE),
        ([(BARE, SHORT), (NODE, TAINTED)], Cause.TAINT),
        ([(BARE, SHORT), (NODE, ELSEWHERE)], Cause.NO_GPU_NODE),
        ([(NODE, ELSEWHERE)], Cause.LABEL_MISMATCH),
    ],
)
def test_a_word_follows_from_what_is_said_of_each_node(said, follows):
    truths = [
        truth({Variant.AS_IS: text.Told(1, Counter([reason]))}, raw, [GPU], set())
        for raw, reason in said
    ]
    assert word(truths) is follows


def test_what_dra_serves_is_unknown_unless_a_node_is_certain():
    told = {Variant.AS_IS: text.Told(1, Counter([FREE]))}
    delegated, plain = (truth(told, raw, [GPU], {GPU}) for raw in (BARE, NODE))
    assert word([delegated]) is Cause.UNKNOWN
    assert word([delegated, plain]) is Cause.NOT_GPU


@pytest.mark.parametrize(
    ("version", "restarted", "classes", "differences"),
    [
        ("v1.37.2", True, True, []),
        ("v1.36.3", True, True, [Difference.GATED_NOMINATION]),
        ("v1.36.3", False, True, []),
        ("v1.35.4", False, True, []),
        ("v1.34.4", False, True, [Difference.DRA_ZERO]),
        ("v1.34.4", True, False, [Difference.GATED_NOMINATION]),
        ("v1.34.4", True, True, [Difference.GATED_NOMINATION, Difference.DRA_ZERO]),
    ],
)
def test_a_difference_is_declared_only_where_it_can_show(version, restarted, classes, differences):
    declared = Version(version).differences(restarted=restarted, classes=classes)
    assert declared == differences


def test_a_verdict_is_put_down_to_the_difference_that_decides_it():
    gates, zero = Difference.GATED_NOMINATION, Difference.DRA_ZERO
    codes = Codes(
        ours={"a": 1, "b": 1, "c": 1, "d": 1},
        theirs={"a": 1, "b": 2, "c": 2, "d": 2},
        alone={gates: {"a": 1, "b": 2, "c": 1, "d": 1}, zero: {"a": 1, "b": 1, "c": 2, "d": 1}},
    )
    assert codes.decisive("a") == {}
    assert codes.decisive("b") == {gates: 1}
    assert codes.decisive("c") == {zero: 1}
    assert codes.decisive("d") == {gates: 1, zero: 1}


def test_a_scheduler_that_starts_anew_forgets_gated_nominations_up_to_1_36():
    held = {"nominatedNodeName": "gpu-a"}
    gated = pod("held", 8, status=held, schedulingGates=[{"name": "x"}])
    record = Record("v1.36.3", restarted=True, nodes=[node(gpus=8)], pods=[gated])
    sides = Sides(record)
    codes = sides.codes(sides.ours.facts(pod("asks", 1)))
    assert step(codes.ours["gpu-a"]) is Step.FREE
    assert step(codes.theirs["gpu-a"]) is Step.FITS
    assert codes.decisive(codes.ours) == {Difference.GATED_NOMINATION: 1}


OVER = (
    'running "DynamicResources" filter plugin: claim default/<extended-resources>, request '
    "container-0-request-0: adding 33 devices exceeds the claim limit of 32, with 0 already "
    "accounted for"
)
NO_CLAIM = "0/1 nodes are available: 1 cannot allocate all claims."


@pytest.mark.parametrize(
    ("devices", "said", "agrees"),
    [(33, OVER, True), (33, NO_CLAIM, False), (32, NO_CLAIM, True), (32, OVER, False)],
)
def test_more_devices_than_a_claim_may_have_are_an_error_of_the_scheduler(devices, said, agrees):
    bare = node(gpus=None)
    bare["status"]["allocatable"] = {"pods": "10"}
    served = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": GPU}}
    asks = pod("asks", devices)
    record = Record("v1.37.2", restarted=False, nodes=[bare], classes=[served])
    record.asked = [Asked(Measure.BOUND, "all", asks, said, stored=asks)]
    assert (judge(record).disagreements == []) is agrees


def test_shrinking_leaves_what_the_disagreement_needs():
    nodes = [node(f"n{i}", labels={"zone": "a"}, taints=[{"key": "x"}]) for i in range(7)]
    asked = pod(tolerations=[{"key": "a"}, {"key": "b"}], selector={"zone": "a"})

    def disagrees(case):
        tolerated = [each["key"] for each in case.pod["spec"].get("tolerations", ())]
        there = {each["metadata"]["name"]: each for each in case.objects}
        return "b" in tolerated and "n4" in there and "taints" in there["n4"]["spec"]

    small = shrink(Case(asked, nodes), disagrees)
    (left,) = small.objects
    assert left["metadata"]["name"] == "n4"
    assert left["spec"] == {"taints": []} or left["spec"] == {"taints": [{"key": "x"}]}
    assert small.pod["spec"]["tolerations"] == [{"key": "b"}]
    assert "nodeSelector" not in small.pod["spec"]


def test_shrinking_stops_when_it_may_not_ask_any_more():
    asked = []

    def disagrees(case):
        asked.append(case)
        return True

    shrink(Case(pod(), [node(f"n{i}") for i in range(50)]), disagrees, budget=5)
    assert len(asked) == 5


@pytest.mark.parametrize("breakage", breakages.ALL, ids=lambda each: each.what)
def test_a_breakage_is_undone_afterwards(breakage):
    asked = pod(gpus=2, tolerations=[{"key": "x", "operator": "Exists"}])
    there = node(gpus=1, taints=[{"key": "x", "effect": "NoSchedule"}], unschedulable=True)
    before = words(asked, there)
    with broken(breakage):
        pass
    assert words(asked, there) == before


def test_a_breakage_breaks():
    cordoned = node(unschedulable=True)
    assert words(pod(), cordoned).startswith("taint/")
    with broken(breakages.named("a cordon is ignored")):
        assert words(pod(), cordoned).startswith("not-gpu/")


def test_a_breakage_of_code_that_has_changed_is_an_error():
    stale = Breakage("stale", "core.fit:node_code", "no such piece", "x")
    with pytest.raises(ValueError, match="exactly once"), broken(stale):
        pass
