"""The token bucket: how fast, and how many at once."""

import pytest

from gpu_triage.publish.bucket import Bucket


def take_all(bucket, now):
    taken = 0
    while bucket.wait(now) == 0:
        bucket.take(now)
        taken += 1
    return taken


def test_it_begins_full_and_is_filled_at_its_rate():
    bucket = Bucket(50, 100)
    assert take_all(bucket, 1000.0) == 100
    assert bucket.wait(1000.0) == pytest.approx(0.02)
    assert take_all(bucket, 1001.0) == 50
    assert take_all(bucket, 1000000.0) == 100


@pytest.mark.parametrize("rate", [3, 5, 50])
def test_in_no_span_of_time_are_there_more_than_rate_and_burst_allow(rate):
    bucket, now, times = Bucket(rate, 10), 0.0, []
    while now < 20:
        now += bucket.wait(now)
        bucket.take(now)
        times.append(now)
    for start in range(len(times)):
        for end in range(start, len(times)):
            assert end - start + 1 <= 10 + (times[end] - times[start]) * rate + 0.001
    assert len(times) >= 20 * rate


def test_a_clock_that_was_set_back_stops_nothing():
    bucket = Bucket(50, 100)
    take_all(bucket, 1000.0)
    assert bucket.wait(0.0) == pytest.approx(0.02)
    assert take_all(bucket, 1.0) == 50
