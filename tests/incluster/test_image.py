"""The operator's image, as the Dockerfile makes it, layer by layer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .archive import Image
from .images import BASE, OPERATOR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES = 120_000_000
"""What the image may add to its base."""
BUILD_TOOLS = re.compile(
    r"opt/build|src/|opt/venv/(bin/(pip|wheel|hatch|cc|gcc)"
    r"|lib/python[\d.]+/site-packages/(pip|setuptools|wheel|hatchling|editables)\b)"
)


@pytest.fixture(scope="module")
def image(images: dict[str, Path]) -> Iterator[Image]:
    with Image(images[OPERATOR]) as opened:
        yield opened


def test_it_adds_little_to_its_base(image: Image) -> None:
    assert 10_000_000 < image.added_bytes() <= MOST_BYTES


def test_nothing_that_installs_or_builds_is_in_it(image: Image) -> None:
    names = [file.name for file in image.added()]
    assert any(name.endswith("/bin/gpu-triage-operator") for name in names)
    assert [name for name in names if BUILD_TOOLS.match(name)] == []


def test_it_is_nobodys_and_says_what_it_is(image: Image) -> None:
    config = image.config["config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/opt/venv/bin/gpu-triage-operator"]
    assert "LOGNAME=gpu-triage" in config["Env"]
    prefix = "org.opencontainers.image."
    labels = {
        name.removeprefix(prefix): value
        for name, value in config["Labels"].items()
        if name.startswith(prefix)
    }
    assert labels == {
        "title": "gpu-triage",
        "description": "Says in one word why a pod that asks for GPUs is not running",
        "licenses": "Apache-2.0",
        "version": "test",
        "revision": "unknown",
        "base.name": BASE,
    }


def test_nothing_in_it_can_be_changed_by_its_user(image: Image) -> None:
    files = [file for file in image.added() if not file.issym()]
    assert {(file.uid, file.gid) for file in files} == {(0, 0)}
    assert [file.name for file in files if file.mode & 0o022 and not file.mode & 0o1000] == []
