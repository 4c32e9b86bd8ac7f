"""What all tests of a real node need: a machine that can have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .images import provide_images
from .machine import prepare, why_not

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def machine() -> None:
    """A machine that can have a node, with all packages installed; else the test is skipped."""
    if reason := why_not():
        pytest.skip(f"no real node on this machine: {reason}")
    prepare()


@pytest.fixture(scope="session")
def images(machine: None) -> dict[str, Path]:
    """An archive of each image."""
    return provide_images()
