"""From the lab to the person on call: a real Prometheus, a real Alertmanager, the shipped files."""

import json
import math
import re

import pytest

from tests import builders
from tests.chart.helm import Helm
from tests.e2e import laboratory
from tests.e2e.operator_process import running_operator, wait_for_word
from tests.monitoring.rules import ALERTS, FILES, alerts, with_values
from tests.monitoring.servers import monitoring

DASHBOARD = json.loads((FILES / "dashboard.json").read_text())
CHOSEN = {"$cluster": ".*", "$namespace": ".*", "$__rate_interval": "1m"}
"""What Grafana puts in for its variables when all is chosen."""


@pytest.fixture(scope="module")
def watched(cluster, tmp_path_factory):
    """The lab, the operator, and what watches it: (operator, Prometheus, Receiver)."""
    laboratory.lay_lab(cluster)
    folder = tmp_path_factory.mktemp("monitoring")
    soon = {"GPUTriageAllocatableZero": {"for": "1s"}}
    rules = with_values(Helm(tmp_path_factory.mktemp("helm")), folder, alerts=soon)
    with (
        running_operator(cluster, folder, node_starting_seconds=0) as operator,
        monitoring(folder, [operator.address], [rules]) as (prometheus, receiver),
    ):
        yield operator, prometheus, receiver
    laboratory.clear_lab(cluster)


def test_the_labs_dead_plugin_reaches_the_person_on_call(watched):
    _, prometheus, receiver = watched
    laboratory.wait_for("an alert arrives", lambda: receiver.alerts, timeout=60)
    told, rule = receiver.alerts[0], alerts(ALERTS)["GPUTriageAllocatableZero"]
    assert told["status"] == "firing"
    assert told["labels"] == {
        "alertname": "GPUTriageAllocatableZero",
        "cause": "allocatable-zero",
        **rule["labels"],
    }
    assert told["annotations"] == {
        **rule["annotations"],
        "description": "1 pod waits for GPUs, and every node that suits has an allocatable of 0:"
        " the device plugin is gone or calls all devices unhealthy.",
    }
    # The others wait for their time: nobody is called for what may pass.
    assert {each["labels"]["alertname"] for each in receiver.alerts} == {
        told["labels"]["alertname"]
    }
    pending = {
        labels["alertname"] for labels, _ in prometheus.query('ALERTS{alertstate="pending"}')
    }
    assert pending == {"GPUTriageNodeLostGPUs"}


def test_every_panel_of_the_dashboard_has_something_to_show(cluster, watched, namespace, add_node):
    operator, prometheus, _ = watched
    # Somebody waits and is placed, so that there is a wait to show: once the zeroes have been seen.
    seen = "gpu_triage_pending_seconds_count"
    laboratory.wait_for("it was scraped", lambda: prometheus.query(seen))
    node = add_node(0, capacity=1)
    raw = builders.pod("train", 1, selector={"kubernetes.io/hostname": node})
    laboratory.apply(cluster, {**raw, "metadata": {"name": "train", "namespace": namespace}})
    wait_for_word(cluster, namespace, "train", "allocatable-zero")
    laboratory.patch_status(cluster, node, allocatable={builders.GPU: "1"})
    laboratory.wait_for("it runs", lambda: laboratory.placed(cluster, namespace, "train"))
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            expression = target["expr"]
            for variable, value in CHOSEN.items():
                expression = expression.replace(variable, value)
            laboratory.wait_for(
                f"{panel['title']} {expression} has data",
                lambda expression=expression: has_data(prometheus, expression),
                timeout=60,
                seen=lambda: f"{operator.get('metrics')[1]}\n{operator.log.read_text()}",
            )
            names = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            for labels, _ in prometheus.query(expression):
                assert names <= labels.keys(), panel["title"]


def has_data(prometheus, expression):
    """Whether an expression says at least one number."""
    return any(not math.isnan(number) for _, number in prometheus.query(expression))
