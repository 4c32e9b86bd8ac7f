"""Whatever happens to the watches: afterwards the words are those of the cluster as it is.

Each test breaks the operator's way to the API server in one way, lets the cluster change meanwhile,
and mends it. docs/reliability.md is the list.
"""

import contextlib
import time

import pytest

from tests import builders
from tests.e2e import laboratory
from tests.e2e.fault_proxy import FaultProxy
from tests.e2e.operator_process import (
    ACCOUNT,
    NAMESPACE,
    OperatorProcess,
    give_rights,
    published,
    take_rights,
    wait_for_word,
)
from tests.e2e.same_words import said, wait_until_right

STALE_SECONDS = 9
KINDS = ("pods", "nodes")
WRITES = ("PATCH", "POST")


@pytest.fixture(scope="module")
def token_file(tmp_path_factory):
    return tmp_path_factory.mktemp("token") / "token"


@pytest.fixture(scope="module")
def proxy(cluster):
    with FaultProxy(cluster) as running:
        yield running


@pytest.fixture(scope="module")
def operator(cluster, proxy, token_file, tmp_path_factory):
    """The operator behind the proxy, running through all tests of this file."""
    give_rights(cluster)
    renew_token(cluster, token_file)
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = laboratory.write_kubeconfig(
        cluster, None, folder / "kubeconfig", server=proxy.url, token_file=token_file
    )
    settings = {
        "node_starting_seconds": 0,
        "settle_seconds": 0.2,
        "fit_seconds": 1,
        "stale_seconds": STALE_SECONDS,
    }
    with OperatorProcess(kubeconfig, folder, **settings) as running:
        running.wait_ready()
        yield running
        assert running.stop() == 0, running.log.read_text()
    log = running.log.read_text()
    assert "Traceback" not in log
    assert " ERROR " not in log
    take_rights(cluster)


@pytest.fixture
def world(cluster, operator, namespace, add_node):
    """A node whose only GPU is held, and a pod that never fits; all words are right."""
    made = World(cluster, namespace, add_node(1))
    made.add("holder", 1)
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "holder"))
    made.add("big", 2)
    wait_until_right(cluster, operator)
    yield made
    assert operator.process.poll() is None, operator.log.read_text()


class World:
    """A small cluster that can be turned into another one, in which every word is another."""

    def __init__(self, cluster, namespace, node):
        self.cluster = cluster
        self.namespace = namespace
        self.node = node

    def add(self, name, gpus, namespace=None):
        selector = {"kubernetes.io/hostname": self.node}
        pod = builders.pod(name, gpus, selector=selector)
        metadata = {"name": name, "namespace": namespace or self.namespace}
        laboratory.apply(self.cluster, {**pod, "metadata": metadata, "status": {}})

    def drop(self, name):
        self.cluster.kubectl(
            "delete", "pod", name, "-n", self.namespace, "--grace-period=0", "--force"
        )

    def turn(self):
        """Nobody can have the node any more; the GPU is given back; one more pod waits."""
        self.cluster.kubectl("cordon", self.node)
        self.drop("holder")
        self.add("late", 3)

    def right(self, operator):
        wait_until_right(self.cluster, operator)
        found = {name: self.word(name) for name in ("big", "late")}
        assert set(found.values()) == {"taint/cordoned"}, found

    def word(self, name):
        there = published(self.cluster, self.namespace, name)
        return f"{there['cause']}/{there['detail']}" if there else None


def renew_token(cluster, path):
    path.write_text(cluster.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE))


@contextlib.contextmanager
def refusing_to_resume(proxy):
    """Answer the next watch of each kind with 410; other kinds have watches of their own."""
    with contextlib.ExitStack() as faults:
        for kind in KINDS:
            faults.enter_context(proxy.answering(410, kind=kind, watch=True, times=1))
        yield


@contextlib.contextmanager
def relist(proxy):
    """The watches end, and the next ones are told that they ask for what is no longer there."""
    with refusing_to_resume(proxy):
        proxy.cut(*KINDS)  # after: a watch may be opened anew at once
        yield


def writes(proxy):
    return [each for each in proxy.requests if each.startswith(WRITES)]


def test_a_watch_that_is_cut_in_the_middle_of_a_line(world, operator, proxy):
    before = proxy.seen("watch=true")
    proxy.cut(*KINDS, within_line=True)
    world.turn()
    world.right(operator)
    assert proxy.seen("watch=true") >= before + len(KINDS)


def test_an_api_server_that_is_killed(cluster, world, operator):
    if cluster.apiserver is None:
        pytest.skip("only our own API server may be killed")
    cluster.apiserver.kill()
    cluster.apiserver.start()
    cluster.wait_ready()
    world.turn()
    world.right(operator)
    operator.wait_ready()


def test_a_watch_that_begins_with_410(world, operator, proxy):
    with proxy.answering(503, watch=True):
        proxy.cut(*KINDS)
        world.turn()
    with refusing_to_resume(proxy):
        world.right(operator)


def test_a_continue_token_that_has_lapsed(world, operator, proxy):
    world.add("more", 9)  # while the cluster turns there may be one pod else, and so one page
    proxy.page_size = 1
    try:
        with proxy.answering(410, kind="pods", paged=True, times=1), relist(proxy):
            world.turn()
            world.right(operator)
        paged = [each.rpartition(" ")[2] for each in proxy.requests if "continue=" in each]
        assert paged[0] == "410"
        assert "200" in paged
    finally:
        proxy.page_size = None


def test_what_is_deleted_while_no_watch_runs_holds_nothing(
    cluster, world, operator, proxy, add_node
):
    lost, kept = add_node(2), world.namespace
    other = f"{kept}-other"
    laboratory.add_namespace(cluster, other)
    world.drop("holder")
    world.add("holder", 1, other)
    world.add("waits", 9, other)
    wait_until_right(cluster, operator)
    with proxy.answering(503, watch=True):
        proxy.cut(*KINDS)
        laboratory.clear_namespace(cluster, other)
        cluster.kubectl("delete", "node", lost)
        world.add("late", 3)
    with refusing_to_resume(proxy):
        wait_until_right(cluster, operator)
    assert "Objects were deleted unseen kind=pods" in operator.log.read_text()
    assert "Objects were deleted unseen kind=nodes" in operator.log.read_text()


def test_a_token_that_is_refused_until_it_is_renewed(cluster, world, operator, proxy, token_file):
    before = proxy.seen(" 401")
    # Made anew, the account has another uid: its tokens of old are worth nothing.
    cluster.kubectl("delete", "serviceaccount", ACCOUNT, "-n", NAMESPACE)
    give_rights(cluster)
    laboratory.wait_for(
        "the old token is refused",
        lambda: proxy.cut(*KINDS) or proxy.seen(" 401") > before,
    )
    world.turn()
    renew_token(cluster, token_file)
    world.right(operator)


def test_a_kind_that_must_not_be_read_for_a_while(cluster, world, operator, proxy):
    with proxy.answering(403, kind="nodes"):
        proxy.cut("nodes")
        wait_for_word(cluster, world.namespace, "big", "unknown/forbidden", timeout=30)
        assert operator.get("readyz") == (
            503,
            "nodes: the right to list and watch them is missing\n",
        )
        world.turn()
    world.right(operator)
    operator.wait_ready()


def test_an_api_server_that_asks_for_a_pause(world, operator, proxy):
    before = proxy.seen(" 429")
    with proxy.answering(429, headers={"Retry-After": "2"}):
        proxy.cut(*KINDS)
        world.turn()
        time.sleep(5)
        assert 2 <= proxy.seen(" 429") - before <= 20
    world.right(operator)


def test_an_api_server_that_fails_for_a_while(world, operator, proxy):
    with proxy.answering(500):
        proxy.cut(*KINDS)
        world.turn()
        time.sleep(15)
        assert operator.get("healthz") == (200, "ok\n")
    world.right(operator)


def test_answers_that_take_two_seconds(world, operator, proxy):
    with proxy.delaying(2), relist(proxy):
        world.turn()
        world.right(operator)


def test_events_that_come_twice_and_in_the_wrong_order(cluster, world, operator, proxy):
    with proxy.twisting():
        for _ in range(5):
            cluster.kubectl("cordon", world.node)
            cluster.kubectl("uncordon", world.node)
            world.add("short", 4)
            world.drop("short")
        world.turn()
        world.right(operator)


def test_an_api_server_that_hangs(cluster, world, operator, proxy):
    """Words stand, nothing is written, readiness goes down, and all comes back by itself."""
    if cluster.apiserver is None:
        pytest.skip("only our own API server may be stopped")
    words = said(operator)
    cluster.apiserver.pause()
    try:
        laboratory.wait_for(
            "the operator is not ready, for any kind",
            lambda: operator.get("readyz")[1].count("no sign of life") >= len(KINDS) + 1,
        )
        before = writes(proxy)
        time.sleep(3)
        assert writes(proxy) == before
        assert said(operator) == words
        assert operator.get("healthz") == (200, "ok\n")
        ages = [operator.metric(f'gpu_triage_watch_age_seconds{{kind="{each}"}}') for each in KINDS]
        assert min(ages) > STALE_SECONDS
    finally:
        cluster.apiserver.resume()
    world.turn()
    world.right(operator)
    operator.wait_ready()


def test_a_silent_watch_of_one_kind_stops_every_write(cluster, world, operator, proxy):
    with proxy.stalling("nodes"):
        laboratory.wait_for(
            "the operator is not ready",
            lambda: operator.get("readyz")[1].startswith("nodes: no sign of life"),
        )
        before = writes(proxy)
        world.turn()
        laboratory.wait_for(
            "the pods' watch has told of the new pod",
            lambda: laboratory.tried(cluster, world.namespace, "late"),
        )
        time.sleep(3)
        assert writes(proxy) == before
        assert world.word("late") is None
        assert world.word("big") == "exhausted/never-fits"
    world.right(operator)
    operator.wait_ready()
