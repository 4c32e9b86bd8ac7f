"""Whatever is missing, null, empty or odd in pods and nodes: there is a word, or a named path.

And what must not matter does not: the order of objects, and what they are called.
"""

import copy
import random

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_triage.core import objects
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.explain import message
from tests.agreement.clusters import cluster
from tests.agreement.shrinking import branches
from tests.answers import NOW, ask
from tests.builders import node, pod

GPU = "nvidia.com/gpu"
TEXTS = st.sampled_from(["", " ", "a", "GPU", "é", "\x00", GPU, "node.kubernetes.io/not-ready"])
QUANTITIES = st.one_of(
    st.sampled_from(
        [
            "0",
            "1",
            "-1",
            "+2",
            "1k",
            "1Ki",
            "1e3",
            "1E3",
            "2000m",
            "0.5",
            "1e99",
            "1e-99",
            ".5",
            "5.",
        ]
    ),
    st.sampled_from(["", "x", "1 ", "--1", "1e", "1Kii", "\u0661", "inf", "nan", "0x1", "1_0"]),
    st.integers(-3, 9),
    st.floats(),
    st.integers(-(2**70), 2**70),
)
OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "", "Equal", "==", "exists"]
EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule", "", "noschedule"]
NAMES = ["a", "b", "gpu-a", ""]


def maybe(strategy):
    """The value or null."""
    return st.one_of(st.none(), strategy)


def optional(**fields):
    """An object in which every field may be missing or null."""
    return st.fixed_dictionaries({}, optional={key: maybe(each) for key, each in fields.items()})


def some(strategy):
    """A list, empty ones too."""
    return st.lists(strategy, max_size=3)


amounts = st.dictionaries(
    st.sampled_from([GPU, "nvidia.com/mig-1g.5gb", "amd.com/gpu", "cpu", "", "nvidia.com/"]),
    QUANTITIES,
    max_size=3,
)
labels = st.dictionaries(TEXTS, TEXTS, max_size=3)
times = st.sampled_from(["2026-01-10T10:00:00Z", "", "yesterday", "2026-13-45T99:00:00Z", "0"])
metadata = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(NAMES),
        "namespace": maybe(TEXTS),
        "uid": maybe(TEXTS),
        "labels": maybe(labels),
        "annotations": maybe(
            st.dictionaries(
                st.sampled_from(["gpu-triage.io/expected-gpus", "gpu-triage.io/cause", "x"]),
                st.sampled_from(["", f"{GPU}=8", f"{GPU}=-1,,=,{GPU}", "taint", "9" * 5000]),
            )
        ),
        "creationTimestamp": maybe(times),
        "deletionTimestamp": maybe(times),
    },
)
requirement = st.fixed_dictionaries(
    {},
    optional={
        "key": st.one_of(TEXTS, st.just("metadata.name")),
        "operator": st.sampled_from(OPERATORS),
        "values": maybe(some(st.one_of(TEXTS, st.sampled_from(["8", "-5", "08", "9" * 30])))),
    },
)
term = optional(matchExpressions=some(requirement), matchFields=some(requirement))
affinity = optional(
    nodeAffinity=optional(
        requiredDuringSchedulingIgnoredDuringExecution=optional(nodeSelectorTerms=some(term))
    )
)
container = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS,
        "resources": maybe(optional(requests=amounts, limits=amounts)),
        "restartPolicy": maybe(st.sampled_from(["Always", "OnFailure", "Never", "", "x"])),
    },
)
toleration = optional(
    key=TEXTS,
    operator=st.sampled_from(OPERATORS),
    value=st.one_of(TEXTS, st.sampled_from(["8", "-0", "9" * 30])),
    effect=st.sampled_from(EFFECTS),
)
taint = st.fixed_dictionaries(
    {},
    optional={"key": TEXTS, "value": maybe(TEXTS), "effect": st.sampled_from(EFFECTS)},
)
named = st.fixed_dictionaries({}, optional={"name": TEXTS})
condition = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["PodScheduled", "Ready", ""]),
        "status": st.sampled_from(["False", "True", "Unknown", ""]),
        "reason": maybe(st.sampled_from(["Unschedulable", "SchedulingGated", ""])),
        "message": maybe(
            st.sampled_from(["", "0/1 nodes are available: 1 Insufficient cpu.", "0/x", "{}%s"])
        ),
        "lastTransitionTime": maybe(times),
    },
)
state = optional(
    waiting=optional(reason=st.sampled_from(["CrashLoopBackOff", "", "ImagePullBackOff"])),
    terminated=st.fixed_dictionaries({}, optional={"exitCode": st.integers(-1, 255)}),
)
status_of_container = st.fixed_dictionaries({}, optional={"name": TEXTS, "state": maybe(state)})
pods = st.fixed_dictionaries(
    {"kind": st.just("Pod")},
    optional={
        "metadata": metadata,
        "spec": maybe(
            optional(
                nodeName=st.sampled_from(NAMES),
                nodeSelector=labels,
                affinity=affinity,
                tolerations=some(toleration),
                containers=some(container),
                initContainers=some(container),
                overhead=amounts,
                schedulerName=TEXTS,
                schedulingGates=some(named),
                resourceClaims=some(named),
                runtimeClassName=TEXTS,
                priority=st.integers(-(2**31), 2**31),
            )
        ),
        "status": maybe(
            optional(
                phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", ""]),
                reason=TEXTS,
                conditions=some(condition),
                nominatedNodeName=st.sampled_from(NAMES),
                startTime=times,
                containerStatuses=some(status_of_container),
                initContainerStatuses=some(status_of_container),
            )
        ),
    },
)
nodes = st.fixed_dictionaries(
    {"kind": st.just("Node")},
    optional={
        "metadata": metadata,
        "spec": maybe(optional(taints=some(taint), unschedulable=st.booleans())),
        "status": maybe(optional(capacity=amounts, allocatable=amounts)),
    },
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inside: st.one_of(
        st.lists(inside, max_size=2), st.dictionaries(st.text(max_size=4), inside, max_size=2)
    ),
    max_leaves=4,
)


def word(asked, *others):
    """CAUSE/DETAIL, checked to be of the vocabulary and with a sentence; or "refused"."""
    refused = ""
    try:
        verdict = ask(asked, *others, now=NOW)
    except objects.ObjectError as error:
        refused = str(error)
    if refused:
        # Which of several broken objects is named depends on their order.
        assert " - at `$" in refused
        return "refused"
    assert verdict.cause in Cause
    assert verdict.detail in Detail
    said = message(verdict, NOW)
    assert said
    assert len(said) <= 512
    return f"{verdict.cause}/{verdict.detail}"


@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
@given(pods, st.lists(st.one_of(pods, nodes), max_size=4))
def test_any_objects_give_a_word_or_the_path_of_what_is_wrong(asked, others):
    assert word(asked, *others)


@settings(max_examples=600)
@given(st.data())
def test_a_value_of_a_wrong_type_is_named_and_nothing_else_happens(data):
    """Of real objects, anything may be replaced by anything."""
    drawn = cluster(data.draw(st.integers(0, 50)), 0)
    asked = copy.deepcopy(drawn.asking[0])
    others = copy.deepcopy(drawn.objects)
    broken = data.draw(st.sampled_from([asked, *others]))
    path = data.draw(st.sampled_from([path for path in branches(broken) if path != ("kind",)]))
    place = broken
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = data.draw(anything)
    assert word(asked, *others)


@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(seed, rng):
    drawn = cluster(seed, 0)
    shuffled = list(drawn.objects)
    rng.shuffle(shuffled)
    for asked in drawn.asking:
        assert word(asked, *shuffled) == word(asked, *drawn.objects)


@given(pods, st.lists(st.one_of(pods, nodes), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_odd_objects_does_not_matter(asked, others, rng):
    # Two objects of one name are one, and the later one counts.
    distinct = list({_identity(each): each for each in others}.values())
    shuffled = list(distinct)
    rng.shuffle(shuffled)
    assert word(asked, *shuffled) == word(asked, *distinct)


@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_names_do_not_matter(seed, rng):
    """Nodes and pods swap their names, and whatever names them follows."""
    drawn = cluster(seed, 0)
    renamed = _renamed([*drawn.objects, *drawn.asking], rng)
    others, waiting = renamed[: len(drawn.objects)], renamed[len(drawn.objects) :]
    for before, after in zip(drawn.asking, waiting, strict=True):
        assert word(before, *drawn.objects) == word(after, *others)


def _identity(item):
    metadata = item.get("metadata") or {}
    if item["kind"] == "Node":
        return "Node", metadata.get("name", "")
    namespace = metadata.get("namespace") or "default"
    return "Pod", metadata.get("uid") or f"{namespace}/{metadata.get('name', '')}"


def _renamed(items, rng):
    """The objects with the names of nodes exchanged among them, and those of pods."""
    new = {}
    for kind in ("Node", "Pod"):
        names = [each["metadata"]["name"] for each in items if each["kind"] == kind]
        others = random.Random(rng.random()).sample(names, len(names))
        new |= dict(zip(names, others, strict=True))
    uids = {f"uid-{old}": f"uid-{other}" for old, other in new.items()}

    def swap(value):
        if isinstance(value, dict):
            return {key: swap(each) for key, each in value.items()}
        if isinstance(value, list):
            return [swap(each) for each in value]
        return new.get(value, uids.get(value, value)) if isinstance(value, str) else value

    return [swap(each) for each in items]


def test_the_strategies_reach_every_word():
    """A fuzzer that always gives up early would prove nothing."""
    seen = set()

    @settings(max_examples=400, database=None, derandomize=True)
    @given(st.integers(0, 100_000))
    def collect(seed):
        drawn = cluster(seed, 0)
        seen.update(word(each, *drawn.objects).partition("/")[0] for each in drawn.asking)

    collect()
    wanted = {"label-mismatch", "taint", "no-gpu-node", "allocatable-zero", "exhausted", "not-gpu"}
    assert wanted <= seen
    assert word(pod(), node()) == "not-gpu/not-tried"


def test_structs_know_no_field_that_the_fuzzer_does_not():
    """A new field of a struct is to be fuzzed too."""
    known = _keys_of(pods) | _keys_of(nodes)
    fields = set()
    for kind in (objects.Pod, objects.PodSpec, objects.PodStatus, objects.Node, objects.NodeSpec):
        fields |= {field.encode_name for field in msgspec.structs.fields(kind)}
    assert fields <= known


def _keys_of(strategy):
    found = set()

    @settings(max_examples=300, database=None, derandomize=True)
    @given(strategy)
    def collect(item):
        found.update(item)
        for each in item.values():
            if isinstance(each, dict):
                found.update(each)

    collect()
    return found
