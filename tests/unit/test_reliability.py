"""The list of faults names tests that exist, and every test of a fault is on it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_fault_has_a_test_and_every_test_of_a_fault_is_listed():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "reliability.md").read_text()))
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    faults = (ROOT / "tests" / "e2e" / "test_feed_faults.py").read_text()
    assert named - defined == set()
    assert set(re.findall(r"^def (test_\w+)", faults, re.MULTILINE)) - named == set()
