"""Two replicas on a real API server: one writes, the other takes over, and nothing comes twice.

Each goes through a proxy of its own, which notes its requests.
"""

import json
import signal
import time
from contextlib import ExitStack

import pytest

from tests import builders
from tests.chart.helm import Helm
from tests.e2e import laboratory
from tests.e2e.fault_proxy import FaultProxy
from tests.e2e.operator_process import (
    ACCOUNT,
    NAMESPACE,
    RIGHTS,
    OperatorProcess,
    give_rights,
    published,
    take_rights,
    wait_for_word,
)
from tests.monitoring.rules import with_values
from tests.monitoring.servers import monitoring

LEASE = f"{NAMESPACE}/gpu-triage"
STOPPED_SECONDS = 20
"""Twice what the Lease lasts."""
LOOK_ON_SECONDS = 8
"""How long it is looked whether all goes on: Prometheus drops a dead replica's series in one."""


class Replica:
    """One operator, and what it has asked of the API server."""

    def __init__(self, process, proxy):
        self.process, self.proxy = process, proxy

    @property
    def leads(self):
        log = self.process.log.read_text()
        return log.count("Took the lead") > log.count("Lost the lead")

    def writes(self, begin=0):
        """Return its writes, but for those of the Lease."""
        return [each for each in self.proxy.requests[begin:] if each[:4] in ("PATC", "POST")]


class Pair:
    """Two replicas, and a node on which no pod of two GPUs ever fits."""

    def __init__(self, cluster, namespace, node, replicas):
        self.cluster, self.namespace, self.node, self.all = cluster, namespace, node, replicas

    def add(self, name):
        pod = builders.pod(
            name, 2, namespace=self.namespace, selector={"kubernetes.io/hostname": self.node}
        )
        for field in ("uid", "creationTimestamp"):
            del pod["metadata"][field]
        del pod["status"]
        laboratory.apply(self.cluster, pod)

    def wait(self, *names):
        """Wait until each pod has its word and its Event; return the annotations by name."""
        words = {
            name: wait_for_word(
                self.cluster, self.namespace, name, "exhausted/never-fits", timeout=120
            )
            for name in names
        }
        laboratory.wait_for("they have Events", lambda: set(names) <= set(self.events()))
        return words

    def split(self):
        """Wait until one leads; return that one and the other."""
        laboratory.wait_for(
            "one of them leads",
            lambda: sum(each.leads for each in self.all) == 1,
            timeout=120,
            seen=lambda: "\n".join(each.process.log.read_text() for each in self.all),
        )
        one, two = self.all
        return (one, two) if one.leads else (two, one)

    def events(self):
        """Return the names of the pods that the operator's Events are about."""
        found = self.cluster.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return sorted(
            each["regarding"]["name"]
            for each in found["items"]
            if each["reportingController"] == "gpu-triage.io/operator"
        )

    def annotated(self, name):
        """How often any of them has written the annotations of a pod."""
        path = f"PATCH /api/v1/namespaces/{self.namespace}/pods/{name}/status"
        return sum(each.proxy.seen(path) for each in self.all)

    def lease(self):
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/gpu-triage"
        return self.cluster.get(path)["spec"]


@pytest.fixture
def pair(cluster, namespace, add_node, tmp_path):
    give_rights(cluster)
    token = cluster.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE).strip()
    node = add_node(1)
    with ExitStack() as stack:
        replicas = []
        for name in ("one", "two"):
            proxy = stack.enter_context(FaultProxy(cluster))
            path = tmp_path / f"{name}.kubeconfig"
            kubeconfig = laboratory.write_kubeconfig(cluster, token, path, server=proxy.url)
            process = OperatorProcess(kubeconfig, tmp_path, lease=LEASE, node_starting_seconds=0)
            replicas.append(Replica(stack.enter_context(process), proxy))
        for each in replicas:
            each.process.wait_ready(timeout=120)
        yield Pair(cluster, namespace, node, replicas)
        for each in replicas:
            log = each.process.log.read_text()
            assert "Traceback" not in log
            assert " ERROR " not in log
    take_rights(cluster)
    cluster.kubectl("delete", "namespace", NAMESPACE)


def test_a_leader_that_is_killed_is_followed_and_nothing_comes_twice(pair):
    leader, standby = pair.split()
    pair.add("first")
    before = pair.wait("first")
    assert standby.process.get("readyz") == (200, "ok\n")
    assert standby.writes() == []
    sample = 'gpu_triage_pending_pods{cause="exhausted",detail="never-fits"}'
    laboratory.wait_for(
        "both count the pod", lambda: all(each.process.metric(sample) >= 1 for each in pair.all)
    )
    assert [each.process.metric("gpu_triage_leader") for each in (leader, standby)] == [1, 0]
    counts = (
        "gpu_triage_cause_changes_total{",
        "gpu_triage_writes_total{",
        "gpu_triage_write_queue ",
        "gpu_triage_pending_seconds",
    )
    shown = [each.process.get("metrics")[1] for each in (leader, standby)]
    assert [[name in text for name in counts] for text in shown] == [[True] * 4, [False] * 4]

    killed = time.monotonic()
    leader.process.process.kill()
    leader.process.process.wait()
    pair.add("next")
    pair.wait("next")
    print(f"taken over, and the next word published, {time.monotonic() - killed:.1f} s after")
    assert standby.process.metric("gpu_triage_leader") == 1
    changes = 'gpu_triage_cause_changes_total{cause="exhausted"}'
    assert standby.process.metric(changes) <= 1, "the first has been counted by the other"
    # Its own Event comes last: by then the other pod has had its turn.
    assert published(pair.cluster, pair.namespace, "first") == before["first"]
    assert (pair.annotated("first"), pair.annotated("next")) == (1, 1)
    assert pair.events() == ["first", "next"]


def test_an_alert_that_fires_goes_on_while_the_leader_is_killed(pair, add_node, tmp_path):
    leader, standby = pair.split()
    node = add_node(0, capacity=4)
    waits = builders.pod(namespace=pair.namespace, selector={"kubernetes.io/hostname": node})
    metadata = {"name": "train", "namespace": pair.namespace}
    laboratory.apply(pair.cluster, {**waits, "metadata": metadata, "status": {}})
    rules = with_values(
        Helm(tmp_path), tmp_path, alerts={"GPUTriageAllocatableZero": {"for": "1s"}}
    )
    addresses = [each.process.address for each in pair.all]
    with monitoring(tmp_path, addresses, [rules]) as (prometheus, receiver):
        laboratory.wait_for("somebody is called", lambda: receiver.alerts, timeout=60)
        killed = int(time.time()) + 1
        leader.process.process.kill()
        leader.process.process.wait()
        laboratory.wait_for("the other leads", lambda: standby.leads, timeout=60)
        time.sleep(LOOK_ON_SECONDS)
        seconds = range(killed, int(time.time()))
        firing = 'ALERTS{alertname="GPUTriageAllocatableZero",alertstate="firing"}'
        counted = 'max(gpu_triage_pending_pods{cause="allocatable-zero"})'
        for expression in (firing, counted):
            # Of the gauge, too: the alert alone would go on for minutes with nobody there.
            ((_, said),) = prometheus.history(expression, seconds[0], seconds[-1])
            assert said == dict.fromkeys(seconds, 1.0), expression
        assert {each["status"] for each in receiver.alerts} == {"firing"}
        (down,) = [labels for labels, up in prometheus.query("up") if up == 0]
        assert down["instance"] == leader.process.address


def test_a_leader_that_was_stopped_writes_nothing_when_it_wakes(pair):
    leader, standby = pair.split()
    pair.add("first")
    before = pair.wait("first")
    pair.add("late")
    laboratory.wait_for(
        "it is tried", lambda: laboratory.tried(pair.cluster, pair.namespace, "late")
    )
    # Its first word is due while the leader is stopped, and so comes first when it goes on.
    leader.process.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        before |= pair.wait("late")
        assert standby.leads
        time.sleep(max(0.0, stopped + STOPPED_SECONDS - time.monotonic()))
        asked = len(leader.proxy.requests)
    finally:
        leader.process.process.send_signal(signal.SIGCONT)
    pair.add("after")
    before |= pair.wait("after")
    sample = 'gpu_triage_pending_pods{cause="exhausted",detail="never-fits"}'
    laboratory.wait_for("it knows all words", lambda: leader.process.metric(sample) >= 3)
    assert leader.writes(asked) == []

    assert standby.process.stop() == 0
    assert pair.lease()["holderIdentity"] != standby_identity(standby)
    pair.add("last")
    before |= pair.wait("last")
    assert leader.writes(asked) != []
    for name, words in before.items():
        assert published(pair.cluster, pair.namespace, name) == words
        assert pair.annotated(name) == 1
    assert pair.events() == ["after", "first", "last", "late"]


def standby_identity(replica):
    log = replica.process.log.read_text()
    return log.rpartition("identity=")[2].split()[0]


def test_no_right_to_the_lease_is_said_at_once_and_not_written_around(
    cluster, namespace, add_node, kubeconfig_for, tmp_path
):
    rules = json.loads(
        cluster.kubectl(
            "create", "--dry-run=client", "-o", "json", "-f", str(RIGHTS / "clusterrole.yaml")
        )
    )["rules"]
    laboratory.add_account(cluster, namespace, "operator", rules, everywhere=True)
    node = add_node(1)
    pod = builders.pod(gpus=2, namespace=namespace, selector={"kubernetes.io/hostname": node})
    laboratory.apply(cluster, {**pod, "metadata": {"name": "train", "namespace": namespace}})
    settings = {"lease": f"{namespace}/triage", "node_starting_seconds": 0}
    kubeconfig = kubeconfig_for(namespace, "operator")
    with OperatorProcess(kubeconfig, tmp_path, **settings) as operator:
        sentence = f"lease {namespace}/triage: the right to get, create and update it is missing\n"
        laboratory.wait_for(
            "it says why it is not ready",
            lambda: operator.get("readyz") == (503, sentence),
            seen=operator.log.read_text,
        )
        sample = 'gpu_triage_pending_pods{cause="exhausted",detail="never-fits"}'
        laboratory.wait_for("it knows the word", lambda: operator.metric(sample) >= 1)
        assert published(cluster, namespace, "train") == {}
        (said,) = [line for line in operator.lines() if "WARNING" in line]
        assert said.startswith(
            f"WARNING Lease cannot be used, so no replica may write lease={namespace}/triage "
            "verb=get status=403 answer="
        )
        assert said.endswith(
            "fix='let the operator get, create and update this lease: kubectl apply -f deploy/rbac'"
        )
        grant(cluster, namespace)
        wait_for_word(cluster, namespace, "train", "exhausted/never-fits")
        operator.wait_ready()
        assert operator.stop() == 0
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{namespace}-operator")


def grant(cluster, namespace):
    """Give the account "operator" the shipped rights to one Lease, under another name."""
    rights = [
        "--verb=get,create,update",
        "--resource=leases.coordination.k8s.io",
        "--resource-name=triage",
    ]
    cluster.kubectl("create", "role", "lease", "-n", namespace, *rights)
    account = f"--serviceaccount={namespace}:operator"
    cluster.kubectl("create", "rolebinding", "lease", "-n", namespace, "--role=lease", account)
