"""How all tests run."""

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# A busy machine is no fault of the code: nothing here is timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker of pytest-xdist take a whole file: its tests share a cluster or an operator.

    All of a real node's tests go to one worker: there is one node, and one set of images.
    """
    for item in items:
        node = "incluster" if "incluster" in item.path.parts else str(item.path)
        item.add_marker(pytest.mark.xdist_group(node))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With TEST_NO_SKIP, as in CI, a test that is skipped has failed: nobody would notice."""
    report = yield
    if report.skipped and os.environ.get("TEST_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and TEST_NO_SKIP is set: {call.excinfo}"
    return report
