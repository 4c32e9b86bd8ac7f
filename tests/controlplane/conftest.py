"""The marker of tests that need the built control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, so that `-m "not slow"` leaves a run without any Kubernetes."""
    config.addinivalue_line("markers", "slow: starts a real control plane")
