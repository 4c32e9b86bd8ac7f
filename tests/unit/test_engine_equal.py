"""Whatever happens in whatever order: the engine has the words that the classifier would have."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.autoscaler import Said
from gpu_triage.core.causes import KINDS, Detail
from gpu_triage.core.classify import classify
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from tests.answers import NOW
from tests.builders import GPU, GPU_TAINT, GPU_TOLERATION, node, pod

RULES = Rules(kube_schedulers=("default-scheduler", "second"))
MIG = "nvidia.com/mig-1g.5gb"
NODES = ("n1", "n2", "n3")
PODS = ("p1", "p2", "p3", "p4", "p5", "p6")
CREATED = ("2025-06-01T08:00:00Z", "2026-01-10T09:50:00Z", "2026-01-10T10:00:00Z")
TEXTS = (
    "0/3 nodes are available: 3 Insufficient cpu.",
    "0/1 nodes are available: 1 Too many pods. preemption: found a potential placement",
)


def taint(key, effect="NoSchedule"):
    return {"key": key, "effect": effect}


TAINTS = (
    GPU_TAINT,
    taint("team"),
    taint("node.kubernetes.io/not-ready"),
    taint("node.kubernetes.io/memory-pressure"),
    taint("karpenter.sh/unregistered"),
)
LABELS = (
    {"zone": "a"},
    {"zone": "b"},
    {"size": "5"},
    {"nvidia.com/gpu.count": "4"},
    {"nvidia.com/gpu.product": "A100"},
    {"nvidia.com/gpu.deploy.device-plugin": "false"},
)


def affinity(key, operator, *values, fields=False):
    where = "matchFields" if fields else "matchExpressions"
    each = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    required = {"nodeSelectorTerms": [{where: [each]}, {"matchExpressions": []}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


AFFINITIES = (
    affinity("zone", "In", "a", "c"),
    affinity("zone", "NotIn", "a"),
    affinity("zone", "DoesNotExist"),
    affinity("size", "Gt", "4"),
    affinity("metadata.name", "In", "n1", fields=True),
    affinity("zone", "Near"),
)


def mostly(usual, *others):
    """The usual thing in nine cases of ten: else every cluster is broken in all ways at once."""
    return st.sampled_from([usual] * 9 * len(others) + list(others))


@st.composite
def nodes(draw):
    return node(
        draw(st.sampled_from(NODES)),
        draw(st.sampled_from([2, 2, 2, 4, 4, 1, 0, None])),
        capacity=draw(mostly(None, 0, 4)),
        resources=draw(mostly({}, {MIG: "0"}, {MIG: "1"}, {MIG: "2"})),
        labels=draw(mostly({}, *LABELS)) | draw(mostly({}, *LABELS)),
        taints=draw(mostly((), *[[each] for each in TAINTS], TAINTS[:2], TAINTS[2:4])),
        unschedulable=draw(mostly(False, True)),
        annotations=draw(mostly(None, {"gpu-triage.io/expected-gpus": f"{GPU}=3"})),
        created=draw(mostly(*CREATED)),
    )


@st.composite
def pods(draw):
    where = draw(st.sampled_from(["waits", "waits", "placed", "nominated", "nominated"]))
    on = draw(st.sampled_from((*NODES, *NODES, "n9")))
    status, spec = {}, {}
    if draw(st.booleans()):
        message = draw(st.sampled_from(TEXTS))
        told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status["conditions"] = [{**told, "message": message}]
    if where == "nominated":
        status["nominatedNodeName"] = on
    if (choice := draw(mostly(None, *AFFINITIES))) is not None:
        spec["affinity"] = choice
    if draw(mostly(False, False, True)):
        spec["schedulingGates"] = [{"name": "queue"}]
    raw = pod(
        draw(st.sampled_from(PODS)),
        draw(st.sampled_from([1, 2, 2, 3, 3, 8, 0])),
        node=on if where == "placed" else None,
        phase=draw(mostly(None, "Failed")),
        resource=draw(mostly(GPU, MIG)),
        selector=draw(mostly(None, {"zone": "a"}, {"zone": "x", "size": "5"})),
        tolerations=draw(mostly((), (GPU_TOLERATION,), ({"operator": "Exists"},))),
        created=draw(st.sampled_from((*CREATED, None))),
        priority=draw(st.integers(0, 2)),
        schedulerName=draw(mostly("default-scheduler", "second", "other")),
        status=status,
        **spec,
    )
    if draw(mostly(False, True)):
        for amounts in raw["spec"]["containers"][0].get("resources", {}).values():
            amounts[MIG] = "1"
    if draw(mostly(False, False, True)):
        raw["metadata"]["deletionTimestamp"] = CREATED[0]
    return raw


sayings = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(PODS),
    st.builds(Said, st.sampled_from([NOW, NOW - 600, NOW + 900]), st.booleans(), st.just("")),
)
some_nodes = st.tuples(st.just("node"), nodes())
some_pods = st.tuples(st.just("pod"), pods())
events = st.one_of(
    some_nodes,
    *[some_pods] * 9,
    st.tuples(st.just("lose"), st.sampled_from(NODES)),
    st.tuples(st.just("drop"), st.sampled_from(PODS)),
    st.tuples(st.just("say"), sayings),
    st.tuples(st.just("unsay"), st.sampled_from("ab")),
    st.tuples(st.just("pass"), st.sampled_from([1, 60, 300, 900, -600])),
    st.tuples(
        st.sampled_from(["class", "unread", "read", "read", "read", "read"]),
        st.sampled_from([(kind, each) for kind in KINDS for each in ("", "", GPU, MIG)]),
    ),
)


def change(known, verb, what):
    match verb:
        case "node":
            known.put_node(node_facts(objects.node(what), RULES))
        case "lose":
            known.drop_node(what)
        case "pod":
            known.put_pod(pod_facts(objects.pod(what), RULES))
        case "drop":
            known.drop_pod(f"uid-default-{what}")
        case "say":
            event, name, said = what
            known.put_saying(f"{event}-{name}", f"uid-default-{name}", said)
        case "unsay":
            for name in PODS:
                known.drop_saying(f"{what}-{name}")
        case "class":
            known.put_class(*what)
        case "unread":
            known.mark_unread(what[0], Detail.FORBIDDEN)
        case "read":
            known.mark_read(what[0])


def words(known, now):
    return {each.uid: classify(each, known.picture, now) for each in known.waiting()}


def has(engine):
    return {uid: engine.verdict(uid) for uid in engine.words}


def refreshed(engine, now):
    """Refresh in steps; between them no word is one that neither was there before nor stays."""
    before, between = dict(engine.words), []
    steps = engine.steps(now)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            after = engine.words
            for seen in between:
                for uid, raw in seen.items():
                    assert raw in (before.get(uid), after.get(uid))
            return end.value
        between.append(dict(engine.words))


def detail(verdict):
    return verdict and (verdict.cause, verdict.detail, verdict.unread)


@settings(max_examples=200, deadline=None)
@given(st.lists(some_nodes, min_size=1, max_size=2), st.lists(events, min_size=10, max_size=30))
def test_the_engine_has_the_words_of_the_classifier_after_every_step(there, events):
    known, now = Inventory(RULES), NOW
    engine = Engine(known)
    for verb, what in there + events:
        before = has(engine)
        if verb == "pass":
            now += what
        else:
            change(known, verb, what)
        told = refreshed(engine, now)
        after = has(engine)
        assert after == words(known, now)
        others = before.keys() | after.keys()
        assert {uid for uid in others if detail(before.get(uid)) != detail(after.get(uid))} <= told
        # And so it stays until the time that it tells, if nothing happens.
        assert after == words(known, min(engine.next, now + 3600) - 0.5)
