"""A short soak: `make soak` is the long one."""

import pytest

from tests.soak.__main__ import GROWTH, show
from tests.soak.soak import soak


# Three minutes of churn, and what comes before and after on a machine that has other work.
@pytest.mark.timeout(900)
def test_three_minutes_of_churn_and_faults_leave_nothing_wrong(cluster, tmp_path):
    if cluster.token is None:
        pytest.skip("the cluster's admin has no token")
    outcome = soak(cluster, tmp_path, minutes=3, seed=1)
    show(outcome)
    assert outcome.wrong == []
    before, after = outcome.memory
    assert after <= before * GROWTH
    assert min(outcome.published["words"], outcome.events.total()) > 20
