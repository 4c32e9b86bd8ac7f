"""How the shipped alerts arrive in a cluster, and how values change them."""

import shutil

import pytest
import yaml

from tests.chart.helm import CHART, HelmError

NAME = "gpu-triage"
ALERTS = """\
groups:
  - name: always
    rules:
      - alert: First
        expr: vector(1)
        for: 10m
        labels: {severity: warning}
        annotations: {summary: "{{ $labels.node }}", runbook_url: "https://a.example/b.md#first"}
      - alert: Second
        expr: vector(2)
        labels: {severity: info}
        annotations: {summary: Second., runbook_url: "https://a.example/b.md#second"}
"""
OPTIONAL = """\
groups:
  - name: optional
    rules:
      - alert: Third
        expr: vector(3)
        labels: {severity: info}
        annotations: {summary: Third., runbook_url: "https://a.example/b.md#third"}
"""


@pytest.fixture
def with_alerts(tmp_path, helm):
    """A function that renders the rules of a chart with three alerts, one of them optional."""
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    (chart / "files").mkdir(exist_ok=True)
    (chart / "files" / "alerts.yaml").write_text(ALERTS)
    (chart / "files" / "alerts-optional.yaml").write_text(OPTIONAL)

    def render(**rule):
        values = {"prometheusRule": {"enabled": True, **rule}}
        return helm.render(values, chart=chart)["PrometheusRule", NAME]["spec"]

    return render


def test_the_shipped_alerts_and_dashboard_arrive_as_they_are(helm):
    groups = {
        name: yaml.safe_load((CHART / "files" / f"{name}.yaml").read_text())["groups"]
        for name in ("alerts", "alerts-optional")
    }
    optional = [rule["alert"] for group in groups["alerts-optional"] for rule in group["rules"]]
    found = helm.render(
        {
            "prometheusRule": {
                "enabled": True,
                "alerts": {name: {"enabled": True} for name in optional},
            },
            "dashboard": {"enabled": True},
        }
    )
    assert found["PrometheusRule", NAME]["spec"]["groups"] == [
        *groups["alerts"],
        *groups["alerts-optional"],
    ]
    dashboard = found["ConfigMap", f"{NAME}-dashboard"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert dashboard["data"]["gpu-triage.json"].strip() == (
        (CHART / "files" / "dashboard.json").read_text().strip()
    )


def test_the_alerts_are_the_files(with_alerts):
    assert with_alerts() == yaml.safe_load(ALERTS)


def test_an_alert_is_changed_by_its_name(with_alerts):
    expected = yaml.safe_load(ALERTS)
    (first, second) = expected["groups"][0]["rules"]
    first["for"] = "1s"
    first["labels"]["severity"] = "critical"
    assert with_alerts(alerts={"First": {"for": "1s", "severity": "critical"}}) == expected
    expected["groups"][0]["rules"] = [second]
    assert with_alerts(alerts={"First": {"enabled": False}}) == expected
    assert with_alerts(alerts={name: {"enabled": False} for name in ("First", "Second")}) == {
        "groups": []
    }
    both = yaml.safe_load(ALERTS)["groups"] + yaml.safe_load(OPTIONAL)["groups"]
    assert with_alerts(alerts={"Third": {"enabled": True}}) == {"groups": both}


def test_runbooks_can_be_moved(with_alerts):
    (group,) = with_alerts(runbookBaseUrl="https://wiki.example/gpus")["groups"]
    assert [rule["annotations"]["runbook_url"] for rule in group["rules"]] == [
        "https://wiki.example/gpus#first",
        "https://wiki.example/gpus#second",
    ]


def test_an_alert_that_is_not_there_is_said(with_alerts):
    with pytest.raises(
        HelmError, match="Frist: there is no such alert; choose from First, Second, Third"
    ):
        with_alerts(alerts={"Frist": {"enabled": False}})
