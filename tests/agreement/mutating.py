"""How the classifier is broken in one small place, for as long as a record is judged anew.

A breakage is a changed piece of a function's source. The piece must stand there exactly once, so a
table of breakages cannot outlive the code that it is about.
"""

import contextlib
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec

from .judge import Judge
from .record import Record


class Breakage(msgspec.Struct, frozen=True):
    """One small way to be wrong."""

    what: str
    where: str
    """Module and function below ``gpu_triage``, such as ``core.fit:node_code``."""
    old: str
    new: str
    hidden: str = ""
    """Why the scheduler's answers cannot show it; empty where they must."""


class Outcome(msgspec.Struct, frozen=True):
    """Whether the scheduler's answers show a breakage."""

    breakage: Breakage
    measure: str
    """By which measure it was caught first; empty where it survived."""


def outcomes(records: list[Record], breakages: list[Breakage]) -> Iterator[Outcome]:
    """What becomes of each breakage on answers that are there already."""
    for breakage in breakages:
        with broken(breakage):
            yield Outcome(breakage, _caught(records))


def _caught(records: list[Record]) -> str:
    for record in records:
        for disagreement in Judge(record).all():
            return disagreement.asked.measure if disagreement.asked else "manifest"
    return ""


@contextlib.contextmanager
def broken(breakage: Breakage) -> Iterator[None]:
    """The classifier with this breakage.

    Raises:
        ValueError: The piece to change does not stand exactly once in the function.
    """
    path, _, qualified = breakage.where.partition(":")
    module = importlib.import_module(f"gpu_triage.{path}")
    owner_name, _, name = qualified.rpartition(".")
    owner: Any = getattr(module, owner_name) if owner_name else module
    before = owner.__dict__[name]
    source = _source(before)
    if source.count(breakage.old) != 1:
        raise ValueError(f"{breakage.where} does not hold {breakage.old!r} exactly once")
    space: dict[str, Any] = {}
    exec(source.replace(breakage.old, breakage.new), module.__dict__, space)
    places = [owner] if owner_name else _importers(name, before)
    for place in places:
        setattr(place, name, space[name])
    try:
        yield
    finally:
        for place in places:
            setattr(place, name, before)


def _source(thing: Any) -> str:
    function = thing.fget if isinstance(thing, property) else thing
    return textwrap.dedent(inspect.getsource(function))


def _importers(name: str, thing: Any) -> list[ModuleType]:
    """The modules that know the function by this name."""
    return [
        module
        for path, module in list(sys.modules.items())
        if path.startswith(("gpu_triage.", "tests.agreement."))
        and getattr(module, name, None) is thing
    ]
