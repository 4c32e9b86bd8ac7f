"""Helm, without a cluster."""

import pytest

from tests.chart.helm import Helm


@pytest.fixture(scope="session")
def helm(tmp_path_factory):
    return Helm(tmp_path_factory.mktemp("helm"))
