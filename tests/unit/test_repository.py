"""What the repository promises about itself."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gpu_triage import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = PROJECT["dependency-groups"]
WANTED = {
    "build": GROUPS["build"],
    "operator": PROJECT["project"]["dependencies"] + EXTRAS["operator"],
    "cli": PROJECT["project"]["dependencies"] + EXTRAS["cli"],
}
WANTED["dev"] = [
    *(WANTED["operator"] + WANTED["cli"] + WANTED["build"]),
    *(line for line in GROUPS["dev"] if line != {"include-group": "build"}),
]


def pins(lock):
    """Name → version of every line that a lock pins."""
    text = (ROOT / "requirements" / f"{lock}.lock").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("lock", WANTED)
def test_a_lock_pins_what_the_project_asks_for(lock):
    pinned = pins(lock)
    for line in WANTED[lock]:
        requirement = Requirement(line)
        version = pinned.get(requirement.name.lower().replace("_", "-"))
        assert version, f"{requirement.name} is not in requirements/{lock}.lock: make lock"
        assert requirement.specifier.contains(version), (
            f"{line}, but {version} is locked: make lock"
        )


@pytest.mark.parametrize("lock", WANTED)
def test_a_lock_has_hashes_and_names_no_address(lock):
    text = (ROOT / "requirements" / f"{lock}.lock").read_text()
    assert "://" not in text
    entries = re.split(r"^(?=[a-z0-9._-]+==)", text, flags=re.MULTILINE)[1:]
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_operators_lock_does_without_the_kubernetes_client():
    assert "kubernetes" not in pins("operator")


def test_the_source_root_is_no_package():
    assert not (ROOT / "operator" / "__init__.py").exists()
    import operator  # noqa: PLC0415

    assert "gpu_triage" not in (operator.__file__ or "")
    assert operator.__name__ in sys.stdlib_module_names


def test_the_changelog_tells_of_this_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()
