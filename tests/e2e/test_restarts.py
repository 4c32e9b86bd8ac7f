"""Killed or told to stop while things happen: the next life goes on, and nothing is doubled."""

import random
import time

import pytest

from tests import builders
from tests.e2e import laboratory
from tests.e2e.operator_process import published, wait_for_word
from tests.e2e.same_words import wait_until_right
from tests.soak.admin import Admin, Onlooker
from tests.soak.churn import churning
from tests.soak.soak import bad_lines, operator_behind_a_proxy
from tests.witness import Witness

KILLS = 20
SEED = 7


@pytest.fixture(scope="module")
def running(cluster, tmp_path_factory):
    """The operator, and the proxy before the API server."""
    if cluster.token is None:
        pytest.skip("the cluster's admin has no token")
    with operator_behind_a_proxy(cluster, tmp_path_factory.mktemp("operator")) as both:
        yield both
        operator, _ = both
        assert operator.stop() == 0, operator.log.read_text()
    assert bad_lines(operator) == []


@pytest.fixture
def witness(cluster):
    """What is seen from now on."""
    seen = Witness()
    with Onlooker(cluster, seen) as onlooker:
        yield seen
        assert onlooker.broken == []


def kill(operator):
    operator.process.kill()
    operator.process.wait()


def writes(churn, witness, seen):
    """Change something; tell whether the operator has written since so much was seen."""
    churn.step()
    return witness.changes().total() > seen


def add_pods(cluster, namespace, node, *names):
    with Admin(cluster) as admin:
        for name in names:
            pod = builders.pod(name, 1, selector={"kubernetes.io/hostname": node})
            made = {**pod, "metadata": {"name": name}, "status": {}}
            admin.create(f"/api/v1/namespaces/{namespace}/pods", made)


def test_an_event_whose_request_a_kill_has_cut_off_is_made_after_the_restart(
    cluster, running, witness, namespace, add_node
):
    operator, proxy = running
    node = add_node(0, capacity=4)
    with proxy.losing("events"):
        before = proxy.seen("/events?")
        add_pods(cluster, namespace, node, "train")
        said = wait_for_word(cluster, namespace, "train", "allocatable-zero")
        laboratory.wait_for("the Event is asked for", lambda: proxy.seen("/events?") > before)
        kill(operator)
    assert witness.events == []
    operator.start()
    laboratory.wait_for("the Event is there", lambda: witness.events)
    assert published(cluster, namespace, "train") == said
    wait_until_right(cluster, operator)
    assert [(each["eventTime"], each["note"]) for each in witness.events] == [
        (said["since"].replace("Z", ".000000Z"), said["message"])
    ]
    assert witness.wrong() == []


# Twenty starts of a Python process, on a machine that has other work.
@pytest.mark.timeout(600)
def test_twenty_kills_at_random_moments_of_churn(cluster, running, witness):
    operator, _ = running
    chance = random.Random(SEED)
    with Admin(cluster) as admin, churning(admin, chance) as churn:
        for number in range(KILLS):
            # One dies as soon as it writes, the next while it starts, reads or works.
            before = witness.changes().total()
            if number % 2:
                laboratory.wait_for(
                    "it writes", lambda seen=before: writes(churn, witness, seen), timeout=60
                )
            else:
                for _ in range(chance.randrange(2, 8)):
                    churn.step()
                    time.sleep(chance.uniform(0, 0.5))
            kill(operator)
            churn.step()
            operator.start()
        wait_until_right(cluster, operator, timeout=90)
        laboratory.wait_for("every Event agrees", lambda: not witness.wrong(), seen=witness.wrong)
        assert witness.events
        assert operator.metric("gpu_triage_write_queue") == 0


PODS = 60


def test_what_a_stop_has_left_undone_is_done_at_the_next_start(
    cluster, running, namespace, add_node
):
    """Told to stop with removals pending, it ends in time, and no word is left for good."""
    operator, proxy = running
    node = add_node(PODS, taints=[builders.GPU_TAINT])
    add_pods(cluster, namespace, node, *[f"train-{number}" for number in range(PODS)])

    def marked():
        pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return sum(
            "gpu-triage.io/cause" in each["metadata"].get("annotations", {}) for each in pods
        )

    laboratory.wait_for("every pod has its word", lambda: marked() == PODS, 60)
    wait_until_right(cluster, operator)
    with proxy.delaying(0.5):
        cluster.kubectl("taint", "node", node, f"{builders.GPU}-")
        laboratory.wait_for(
            "removals wait", lambda: operator.metric("gpu_triage_write_queue") > PODS / 2
        )
        assert operator.stop() == 0
    assert marked() < PODS
    operator.start()
    laboratory.wait_for("no word is left", lambda: marked() == 0, 60)
    wait_until_right(cluster, operator)
