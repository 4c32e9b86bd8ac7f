import pytest

from gpu_triage.core.quantity import QuantityError, count


@pytest.mark.parametrize(
    ("written", "devices"),
    [
        ("1", 1),
        (1, 1),
        (2.0, 2),
        ("+1", 1),
        ("0", 0),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+1", 10),
        ("1E", 10**18),
        ("2000m", 2),
        ("1500m", 2),
        ("1m", 1),
        ("1n", 1),
        ("0.5", 1),
        (".5", 1),
        ("5.", 5),
        ("0.5k", 500),
        ("2e-1", 1),
        ("-1", -1),
        ("-1500m", -1),
        ("9223372036854775807", 2**63 - 1),
        ("99999999999999999999", 2**63 - 1),
        ("1e999999999", 2**63 - 1),
        ("1e-999999999", 1),
        ("0e999999999", 0),
    ],
)
def test_a_quantity_is_read_in_full_and_rounded_up(written, devices):
    assert count(written) == devices


@pytest.mark.parametrize(
    "text",
    ["", "one", "1x", "1 ", " 1", "0x10", "1KI", "1e", "--1", ".", "1e1.5", "1_000", "\u0661"],
)
def test_what_is_no_quantity_is_said(text):
    with pytest.raises(QuantityError, match="is no quantity"):
        count(text)
