"""Each change that is offered, made on the real scheduler: it gets the pod where it says.

Random clusters as in test_scheduler_agreement. The changed pod is asked about the node that the
fix names. Where it says that the pod runs, no GPU step may stop it there; and if CPU and the like
do not either, it is let go and must be bound there.
"""

from collections import Counter

import msgspec
import pytest

from gpu_triage.core import objects
from gpu_triage.core.change import CHANGE
from gpu_triage.core.classify import classify
from gpu_triage.core.fix import smallest_fix
from gpu_triage.core.pod_facts import pod_facts
from tests.agreement import laying, run
from tests.agreement import vocabulary as words
from tests.agreement.api import Api
from tests.agreement.asking import Asking
from tests.agreement.clusters import cluster, pinned
from tests.agreement.narrowing import Variant, narrow
from tests.agreement.record import Record
from tests.agreement.settling import settle, wait_for_nodes
from tests.agreement.text import (
    ABSENT,
    AFFINITY,
    CONFLICT,
    CORDON,
    DEVICES,
    LABEL,
    TAINT,
    is_gpu,
    read,
)
from tests.answers import NOW, inventory
from tests.apply_fix import applied

SEED = 20261130
CLUSTERS = 120
BLOCKED = "podAffinity"

pytestmark = pytest.mark.slow


class Proof(msgspec.Struct):
    """A change, and what the scheduler made of the changed pod."""

    fix: object
    pod: dict
    reasons: set[str]
    bound: str | None = None
    """Where the changed pod went; None where it was not let go."""


@pytest.fixture(scope="module")
def proofs():
    """Every change that is offered in the clusters, made."""
    with run.plane() as plane:
        api = Api(plane)
        laying.make_namespaces(api)
        asking = Asking(api)
        clusters = [cluster(SEED, index, parked=False) for index in range(CLUSTERS)]
        record = Record("1.37.2", restarted=False)
        settle(api, asking, [each for one in clusters for each in one.objects], record)
        wait_for_nodes(asking, len(record.nodes))
        made = offered(clusters, record)
        questions = [question(each, number) for number, each in enumerate(made)]
        answers = asking.ask(questions)
        for each, asked in zip(made, questions, strict=True):
            text = read(answers[asked["metadata"]["name"]].text)
            each.reasons = {text.whole} if text.whole else set(text.reasons) - {ABSENT}
        # One to each node, for the next would meet it there.
        first = {each.fix.node: each for each in reversed(made) if each.reasons == {AFFINITY}}
        let_go = {node: unblocked(question(each, "go")) for node, each in first.items()}
        answers = asking.ask(list(let_go.values()))
        for node, each in first.items():
            each.bound = answers[let_go[node]["metadata"]["name"]].node
        asking.close()
        api.close()
        return made


def offered(clusters, record):
    """Every change that is offered to the pods that ask in these clusters."""
    known = inventory(*record.nodes, *record.pods, rules=words.RULES)
    found = []
    for one in clusters:
        for raw in one.asking:
            pod = pinned(raw)
            facts = pod_facts(objects.pod(pod), words.RULES)
            fix = smallest_fix(classify(facts, known.picture, NOW))
            if fix is not None and fix.kind == CHANGE:
                found.append(Proof(fix, pod, set()))
    return found


def question(proof, suffix):
    """The changed pod, asked about the node that the fix names and kept from being bound."""
    changed = narrow(applied(proof.fix, proof.pod), proof.fix.node, Variant.AS_IS)
    name = f"{changed['metadata']['name']}-fix-{suffix}"
    metadata = {**changed["metadata"], "name": name, "uid": f"uid-{name}"}
    return {**changed, "metadata": metadata}


def unblocked(pod):
    """The same, free to be bound."""
    affinity = {key: term for key, term in pod["spec"]["affinity"].items() if key != BLOCKED}
    return {**pod, "spec": {**pod["spec"], "affinity": affinity}}


def kind(fix):
    """What a change is about."""
    if fix.path.startswith("spec.containers") or fix.path.startswith("spec.initContainers"):
        return "fewer" if fix.path.endswith("]") else "rename"
    return fix.path.removeprefix("spec.").partition("[")[0].partition(".")[0]


def is_gpu_step(reason):
    """Whether a reason is one of those that the product tells of; CPU and the like are not."""
    return is_gpu(reason) or reason in (CORDON, TAINT, LABEL, ABSENT, CONFLICT)


def test_every_kind_of_change_was_offered_and_made(proofs):
    kinds = Counter(kind(each.fix) for each in proofs)
    reached = Counter(each.fix.reaches for each in proofs)
    print(f"changes: {dict(kinds)}; reaching: {dict(reached)}")
    assert set(kinds) == {"tolerations", "nodeSelector", "affinity", "rename", "fewer"}
    assert min(kinds.values()) >= 5
    assert reached["runs"] >= 50
    assert reached["free"] >= 5


def test_the_changed_pod_gets_to_the_step_that_is_named(proofs):
    wrong = []
    for each in proofs:
        if each.fix.reaches == "runs":
            right = not any(is_gpu_step(why) for why in each.reasons)
        elif each.fix.reaches == "unknown":
            right = each.reasons <= {AFFINITY, DEVICES}
        else:
            right = each.fix.reaches == "free" and any(is_gpu(why) for why in each.reasons)
        if not right:
            wrong.append((each.fix, each.reasons))
    assert wrong == []


def test_where_it_says_that_the_pod_runs_it_is_bound(proofs):
    let_go = [each for each in proofs if each.bound is not None]
    assert len(let_go) >= 20
    assert [each.fix for each in let_go if each.bound != each.fix.node] == []
