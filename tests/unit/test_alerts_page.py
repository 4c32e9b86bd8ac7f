"""Every alert has its runbook, and every runbook its alert."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / "deploy" / "helm" / "files" / name for name in ("alerts.yaml", "alerts-optional.yaml")
]
RULES = [
    rule
    for file in FILES
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
]
SECTIONS = re.split(r"^## ", (ROOT / "docs" / "alerts.md").read_text(), flags=re.MULTILINE)[1:]


def test_an_alert_for_each_section_and_a_section_for_each_alert():
    titles = [section.split("\n", 1)[0] for section in SECTIONS]
    assert titles == [rule["alert"] for rule in RULES]
    anchors = [rule["annotations"]["runbook_url"].partition("#")[2] for rule in RULES]
    assert anchors == [title.lower() for title in titles]


def test_every_runbook_says_what_it_means_three_commands_what_to_do_and_when_to_ignore_it():
    for section in SECTIONS:
        parts = re.findall(r"^\*\*(\w+):\*\*|^    (\w+)", section, re.MULTILINE)
        assert [title or command for title, command in parts] == [
            "Means",
            *["kubectl"] * 3,
            "Do",
            "Ignore",
        ], section


def test_no_runbook_tells_anyone_to_remove_a_taint_or_to_uncordon():
    page = "\n".join(SECTIONS)
    assert not re.search(r"uncordon|taint \S+-\b|kubectl (taint|delete|edit|apply)", page)
