"""How long something has lasted, as kubectl writes it."""

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def age(seconds: float) -> str:
    """``45s``, ``5m30s``, ``3h``, ``2d4h``: two units at most, the smaller one while it matters."""
    left = max(0, int(seconds))
    for index, (unit, size) in enumerate(_UNITS):
        if left >= size or unit == "s":
            whole, rest = divmod(left, size)
            if index + 1 < len(_UNITS) and whole < 10:
                small, small_size = _UNITS[index + 1]
                if rest >= small_size:
                    return f"{whole}{unit}{rest // small_size}{small}"
            return f"{whole}{unit}"
    return "0s"
