"""The dashboard as a fresh Grafana takes it: variables, layout, and texts."""

import itertools
import json
import re
from pathlib import Path

from tests.unit.test_metrics import exposition

FILE = Path(__file__).parents[2] / "deploy" / "helm" / "files" / "dashboard.json"
DASHBOARD = json.loads(FILE.read_text())
PANELS = DASHBOARD["panels"]
TARGETS = [target for panel in PANELS for target in panel["targets"]]
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24


def test_it_is_found_again_and_asks_for_nothing_that_a_fresh_grafana_lacks():
    assert (DASHBOARD["uid"], DASHBOARD["id"]) == ("gpu-triage", None)
    assert DASHBOARD["tags"]
    assert DASHBOARD["refresh"] == "1m"
    assert DASHBOARD["schemaVersion"] <= 39
    assert {panel["type"] for panel in PANELS} <= {"stat", "timeseries", "table"}
    # Names of data sources are those of somebody's Grafana.
    assert all(panel["datasource"] == SOURCE for panel in PANELS)
    assert all(target["datasource"] == SOURCE for target in TARGETS)
    assert "__inputs" not in DASHBOARD


def test_its_variables():
    variables = DASHBOARD["templating"]["list"]
    assert [each["name"] for each in variables] == ["datasource", "cluster", "namespace"]
    assert (variables[0]["type"], variables[0]["query"]) == ("datasource", "prometheus")
    for each in variables[1:]:
        assert each["datasource"] == SOURCE
        assert (each["includeAll"], each["allValue"], each["refresh"]) == (True, ".*", 2)
    assert all('cluster=~"$cluster"' in target["expr"] for target in TARGETS)
    named = [target["expr"] for target in TARGETS if "namespace" in target["expr"]]
    assert all('namespace=~"$namespace"' in expression for expression in named)


def test_every_panel_is_titled_by_the_question_that_it_answers():
    titles = [panel["title"] for panel in PANELS]
    assert len(set(titles)) == len(titles)
    for panel in PANELS:
        assert re.fullmatch(r"[A-Z][^?]+\?", panel["title"])
        assert len(panel["description"]) > 30
        assert panel["fieldConfig"]["defaults"]["unit"] in ("short", "s", "reqps")
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def test_panels_do_not_overlap_and_leave_no_hole():
    cells = [
        (x, y)
        for panel in PANELS
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert set(cells) == set(itertools.product(range(WIDTH), range(max(y for _, y in cells) + 1)))


def test_every_metric_is_one_of_ours_and_shown_once_for_all_replicas():
    ours = set(re.findall(r"^# TYPE (\w+)", exposition(), re.MULTILINE))
    shown = set()
    for target in TARGETS:
        for name in re.findall(r"gpu_triage_\w+", target["expr"]):
            shown.add(name.removesuffix("_bucket"))
    assert shown <= ours
    assert ours - shown == {
        "gpu_triage_synced",  # alerted on; the age of what was heard tells more
        "gpu_triage_cause_changes_total",  # nobody would act on it
        "gpu_triage_build_info",
    }


def test_rates_follow_the_zoom_and_references_are_named():
    for panel in PANELS:
        references = [target["refId"] for target in panel["targets"]]
        assert references == ["A", "B"][: len(references)]
    for target in TARGETS:
        windows = re.findall(
            r"(?<!last_over_time\()(gpu_triage_\w+)\{[^}]*\}\[(.*?)\]", target["expr"]
        )
        for name, window in windows:
            if name == "gpu_triage_pending_seconds_bucket":
                assert window == "1h"  # pods are placed now and then
            else:
                assert window == "$__rate_interval"
