"""Whether the operator says what the one-shot classifier says about the cluster as it is."""

import time
from types import SimpleNamespace

from prometheus_client import generate_latest

from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.history import History
from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import Cause
from gpu_triage.core.classify import classify
from gpu_triage.core.rules import Rules
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.metrics import StateCollector, registry
from tests.answers import inventory
from tests.e2e import laboratory

COMPARED = ("gpu_triage_pending_pods{", "gpu_triage_pending_gpus{", "gpu_triage_gpus{")
KINDS = {
    "Pod": "/api/v1/pods",
    "Node": "/api/v1/nodes",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
}
RULES = Rules(node_starting_seconds=0)
RIGHT_SECONDS = 30.0
"""The words are right so long after the end of any fault."""


def wait_until_right(cluster, operator, timeout=RIGHT_SECONDS):
    """Wait until metrics and annotations are what the classifier says of a fresh read."""

    def right():
        samples, marks = truth(cluster)
        return said(operator) == samples and not wrong(marks)

    def difference():
        lines = differences(said(operator), *truth(cluster))
        return "\n".join([*lines, operator.log.read_text()])

    laboratory.wait_for("the operator's words are right", right, timeout, seen=difference)


def differences(metrics, samples, marks):
    """A line for each sample and pod of which the operator does not say what it should.

    Args:
        metrics: what it says (see ``said``).
        samples: what it should say (see ``truth``).
        marks: what should stand on the pods, and does.
    """
    return [
        *(f"only the operator says {each}" for each in sorted(metrics - samples)),
        *(f"the operator does not say {each}" for each in sorted(samples - metrics)),
        *wrong(marks),
    ]


def truth(cluster):
    """What should be said: the samples above 0; per pod (its name, word wanted, word there)."""
    raws = [
        {"kind": kind, **each}
        for kind, path in KINDS.items()
        for each in cluster.get(path)["items"]
    ]
    known = inventory(*raws, rules=RULES)
    now = time.time()
    engine = Engine(known)
    engine.refresh(now)
    verdicts = {pod.uid: classify(pod, known.picture, now) for pod in known.waiting()}
    standing = {
        uid: Standing(each.pod, each.cause, each.detail, 0, "") for uid, each in verdicts.items()
    }
    collector = StateCollector(
        SimpleNamespace(standing=standing, waiting_since={}, history=History()),
        engine.fleet,
        known.picture.classes,
        Counters(),
        version="any",
        synced=lambda: True,
        judged=lambda: True,
        ages=dict,
        leads=lambda: True,
        pod_rows=True,
    )
    marks = [
        (pod.key, _word(standing.get(pod.uid)), _there(pod))
        for pod in known.pods.values()
        if pod.shape.request and not pod.ended
    ]
    return _samples(generate_latest(registry(collector)).decode()), marks


def said(operator):
    """The samples above 0 that the operator shows."""
    return _samples(operator.get("metrics")[1])


def wrong(marks):
    """A line for each pod whose annotations are not what they should be."""
    return [
        f"{name} should carry {wanted} and carries {there}"
        for name, wanted, there in marks
        if wanted != there
    ]


def _samples(text):
    return {
        line
        for line in text.splitlines()
        if line.startswith(COMPARED) and not line.endswith(" 0.0")
    }


def _word(standing):
    if standing is None or standing.cause is Cause.GATED:
        return None
    return f"{standing.cause}/{standing.detail}"


def _there(pod):
    cause, detail = (pod.published.get(key) for key in ("cause", "detail"))
    return f"{cause}/{detail}" if cause else None
