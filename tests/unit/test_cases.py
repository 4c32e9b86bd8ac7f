"""Clusters rebuilt from public bug reports: each gets its word."""

from pathlib import Path

import pytest
import yaml

from gpu_triage.core.explain import message
from tests.answers import NOW, ask

CASES = sorted((Path(__file__).parent.parent / "cases").glob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case_gets_its_word_and_detail(path):
    case = yaml.safe_load(path.read_text())
    namespace, _, name = case["pod"].partition("/")
    asked = next(
        each
        for each in case["objects"]
        if each["kind"] == "Pod"
        and (each["metadata"]["namespace"], each["metadata"]["name"]) == (namespace, name)
    )
    verdict = ask(asked, *case["objects"], now=NOW)
    assert verdict.cause == case["expect"], case["why"]
    assert verdict.detail == case["detail"], case["why"]
    assert 0 < len(message(verdict, NOW)) <= 512


def test_the_cases_are_there():
    assert len(CASES) >= 30
