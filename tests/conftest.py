"""How all tests run."""

import os
from collections.abc import Generator

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# A busy machine is no fault of the code: nothing here is timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


class ByFile(LoadScopeScheduling):
    """A worker takes a whole file: its tests share a cluster or an operator.

    All of a real node's tests go to one worker: there is one node, and one set of images.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "node" if "incluster/" in file else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Deal the tests out to the workers of pytest-xdist."""
    return ByFile(config, log)


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
