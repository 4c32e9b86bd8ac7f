"""How the text of a setting is read: one function a kind of value.

Each returns the value or raises ValueError with a sentence that says what to do.
"""

import fnmatch
import math
import re
from collections.abc import Callable
from pathlib import Path

_NATIVE = ("cpu", "memory", "ephemeral-storage", "storage", "pods", "hugepages-2Mi")
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_DNS_NAME = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})+")
_PATTERN = re.compile(r"[-A-Za-z0-9_./*?\[\]!]+")
_YES, _NO = ("true", "yes", "1", "on"), ("false", "no", "0", "off")


def listed(text: str) -> tuple[str, ...]:
    """Names or patterns, separated by commas or spaces."""
    found = tuple(part for part in re.split(r"[\s,]+", text) if part)
    for part in found:
        if not _PATTERN.fullmatch(part):
            raise ValueError(f"{part!r} is no name or pattern; separate several by commas")
    if not found:
        raise ValueError("holds no name; unset it for the default")
    return found


def resources(text: str) -> tuple[str, ...]:
    """Patterns of extended resource names."""
    patterns = listed(text)
    for pattern in patterns:
        for native in _NATIVE:
            if fnmatch.fnmatchcase(native, pattern):
                raise ValueError(
                    f"the pattern {pattern} matches {native}, which is no GPU; "
                    "name a domain, such as nvidia.com/*"
                )
        if "/" not in pattern:
            raise ValueError(
                f"the pattern {pattern} has no domain; GPUs are named like nvidia.com/gpu"
            )
    return patterns


def seconds(lowest: float, highest: float) -> Callable[[str], float]:
    """A number of seconds within limits."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not lowest <= number <= highest:
            raise ValueError(f"give a number of seconds from {lowest:g} to {highest:g}")
        return number

    return read


def number(lowest: int, highest: int) -> Callable[[str], int]:
    """A whole number within limits."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or not lowest <= int(text) <= highest:
            raise ValueError(f"give a whole number from {lowest} to {highest}")
        return int(text)

    return read


def one_of(*words: str) -> Callable[[str], str]:
    """One of a few words."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"choose one of {', '.join(words)}")
        return text.lower()

    return read


def switch(text: str) -> bool:
    """True or false."""
    if text.lower() not in _YES + _NO:
        raise ValueError("choose true or false")
    return text.lower() in _YES


def domain(text: str) -> str:
    """A DNS name that is not reserved."""
    if len(text) > 253 or not _DNS_NAME.fullmatch(text):
        raise ValueError("is no DNS name in lower case, such as gpu-triage.io")
    if text.endswith(("kubernetes.io", "k8s.io")):
        raise ValueError("kubernetes.io and k8s.io are reserved; use a domain of your own")
    return text


def lease(text: str) -> str:
    """NAMESPACE/NAME of a Lease."""
    namespace, _, name = text.partition("/")
    if not re.fullmatch(_DNS_LABEL, namespace) or not re.fullmatch(
        rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*", name
    ):
        raise ValueError("give NAMESPACE/NAME of a Lease, such as gpu-triage/gpu-triage")
    return text


def domains(text: str) -> tuple[str, ...]:
    """DNS names that are not reserved."""
    return tuple(domain(each) for each in listed(text))


def address(text: str) -> str:
    """HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError("give HOST:PORT, such as 0.0.0.0:8080 or [::]:8080")
    return text


def paths(text: str) -> str:
    """Paths of files, separated by colons, at least one of which is there."""
    if not any(Path(part).expanduser().is_file() for part in text.split(":") if part):
        raise ValueError("there is no such file; give the path of a kubeconfig")
    return text
