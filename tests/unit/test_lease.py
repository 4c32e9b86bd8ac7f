"""What a replica does about a Lease: each state of it, and what follows."""

import pytest

from gpu_triage.controller.lease import Act, Seen, Spec, Timing, decide, given_back, held

ME, OTHER = "replica-a", "replica-b"
TIMING = Timing(10)
NOW = 1000.0
NEW_YEAR = 1767225600.0


def seen(holder, seconds_ago=0.0, lasts=10):
    return Seen(Spec(holder_identity=holder, lease_duration_seconds=lasts), NOW - seconds_ago)


@pytest.mark.parametrize(
    ("lease", "act"),
    [
        (None, Act.MAKE),
        (seen(ME), Act.RENEW),
        (seen(ME, 3600), Act.RENEW),
        (seen(OTHER), Act.WAIT),
        (seen(OTHER, 9.9), Act.WAIT),
        (seen(OTHER, 10), Act.TAKE),
        (seen(OTHER, 10, lasts=15), Act.WAIT),
        (seen(OTHER, 15, lasts=15), Act.TAKE),
        (seen(OTHER, 9.9, lasts=None), Act.WAIT),
        (seen(OTHER, 10, lasts=None), Act.TAKE),
        (seen("", 0, lasts=1), Act.TAKE),
        (seen(None, 0, lasts=None), Act.TAKE),
    ],
)
def test_a_replica_that_knows_the_cluster(lease, act):
    assert decide(lease, ME, NOW, TIMING, ready=True, fit=True) is act


@pytest.mark.parametrize(
    ("lease", "not_ready", "unfit"),
    [
        (None, Act.WAIT, Act.WAIT),
        (seen(ME), Act.RENEW, Act.GIVE_BACK),
        (seen(OTHER, 3600), Act.WAIT, Act.WAIT),
        (seen(""), Act.WAIT, Act.WAIT),
    ],
)
def test_a_replica_that_does_not_leaves_the_lease_to_one_that_does(lease, not_ready, unfit):
    assert decide(lease, ME, NOW, TIMING, ready=False, fit=True) is not_ready
    assert decide(lease, ME, NOW, TIMING, ready=True, fit=False) is unfit


def test_a_lease_counts_from_when_it_was_first_seen_unchanged_whatever_time_it_names():
    first = Spec(holder_identity=OTHER, renew_time="2001-01-01T00:00:00.000000Z")
    later = Spec(holder_identity=OTHER, renew_time="2001-01-01T00:00:02.000000Z")
    looked = Seen(first, 5.0)
    assert looked.again(first, 9.0) == Seen(first, 5.0)
    assert looked.again(later, 9.0) == Seen(later, 9.0)


def test_the_first_holder_of_a_lease():
    assert held(None, ME, TIMING, NEW_YEAR) == {
        "holderIdentity": ME,
        "leaseDurationSeconds": 10,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }


def test_a_renewal_keeps_since_when_it_is_held():
    before = Spec(ME, 10, "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z", 3)
    assert held(before, ME, Timing(10.5), NEW_YEAR + 2.5) == {
        "holderIdentity": ME,
        "leaseDurationSeconds": 11,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:02.500000Z",
        "leaseTransitions": 3,
    }


def test_a_change_of_hands_is_counted_once():
    free = given_back(Spec(OTHER, 10, None, None, 3), NEW_YEAR)
    assert (free["holderIdentity"], free["leaseTransitions"]) == ("", 3)
    taken = held(Spec("", 1, None, None, 3), ME, TIMING, NEW_YEAR)
    assert (taken["holderIdentity"], taken["leaseTransitions"]) == (ME, 4)


def test_a_leader_ends_before_its_lease_does():
    for timing in (Timing(5), Timing(10), Timing(300)):
        assert timing.deadline < timing.given_up < timing.duration
        assert timing.retry + timing.patience < timing.deadline, "one answer may fail to come"
