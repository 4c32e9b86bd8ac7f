"""How many devices a Kubernetes quantity stands for: "2000m" is 2, "1k" is 1000.

The grammar is that of apimachinery's resource.Quantity: an optional sign, a decimal number, then
one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or a decimal exponent. Devices are whole, and
``Quantity.Value()`` rounds up, so this does too.
"""

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

_MAX = 2**63 - 1
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,9}))?"
)
_SCALE = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}


class QuantityError(ValueError):
    """The text is no Kubernetes quantity."""


def count(value: str | int | float) -> int:
    """The whole number that a quantity stands for, rounded up and capped at 2^63-1.

    Raises:
        QuantityError: the value follows no form that the API server accepts.
    """
    if isinstance(value, int):
        return min(value, _MAX)
    if isinstance(value, float):
        return _parse(repr(value))
    return _parse(value)


@lru_cache(maxsize=4096)
def _parse(text: str) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise QuantityError(f"{text!r} is no quantity (such as 1, 2000m, 1k, 1Ki or 1e3)")
    number = Decimal(match["number"])
    if match["suffix"]:
        number *= _SCALE[match["suffix"]]
    elif match["exponent"]:
        exponent = int(match["exponent"])
        if number and exponent + number.adjusted() > 18:
            return _MAX if number > 0 else -_MAX
        number = number.scaleb(max(exponent, -40)) if number else number
    return min(int(number.to_integral_value(ROUND_CEILING)), _MAX)
