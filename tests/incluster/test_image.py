"""The operator's image, as the Dockerfile makes it, layer by layer."""

from __future__ import annotations

import json
import re
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

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


class Image:
    """An image out of its archive; the first layer is the base."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._manifest = self._json("manifest.json")[0]
        self.config = self._json(self._manifest["Config"])

    def added(self) -> Iterator[tarfile.TarInfo]:
        """Return what each layer after the base adds."""
        for layer in self._manifest["Layers"][1:]:
            with tarfile.open(fileobj=self._archive.extractfile(layer)) as files:
                yield from files

    def _json(self, name: str) -> Any:
        file = self._archive.extractfile(name)
        assert file is not None
        return json.load(file)


@pytest.fixture(scope="module")
def image(images: dict[str, Path]) -> Iterator[Image]:
    with tarfile.open(images[OPERATOR]) as archive:
        yield Image(archive)


def test_it_adds_little_to_its_base(image: Image) -> None:
    added = sum(file.size for file in image.added())
    assert 10_000_000 < added <= MOST_BYTES, f"{added / 1e6:.0f} MB"


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
