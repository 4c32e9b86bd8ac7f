"""What was laid, asked and answered: enough to judge again without a scheduler."""

from enum import StrEnum
from pathlib import Path

import msgspec


class Measure(StrEnum):
    """The ways in which the scheduler is asked."""

    NARROWED = "narrowed"
    HISTOGRAM = "histogram"
    NOMINATED = "nominated"
    BOUND = "bound"
    WORD = "word"
    """Not asked: it follows from the narrowed answers about one pod."""


class Asked(msgspec.Struct):
    """One pod and the scheduler's answer."""

    measure: Measure
    group: str
    pod: dict
    """As it was written: before the server copied limits to requests or rewrote a quantity."""
    text: str = ""
    """Of the PodScheduled condition; empty where the pod was bound."""
    node: str = ""
    """Narrowed: the node that it was about. Bound: where it went."""
    variant: str = ""
    """Narrowed: what was left of the pod's own placement."""
    stored: dict | None = None
    """The pod as the server held it when it was tried; not kept for narrowed questions."""


class Record(msgspec.Struct):
    """One batch of clusters in one API server."""

    version: str
    restarted: bool
    """The scheduler was started anew after everything was laid."""
    nodes: list[dict] = []
    pods: list[dict] = []
    classes: list[dict] = []
    asked: list[Asked] = []
    written: list[dict] = []
    """Nodes and standing pods as they were drawn, before the server stored them."""
    refused: list[str] = []
    """Objects that the API server does not accept, and why."""
    seconds: dict[str, float] = {}
    """How long each measure took."""


def save(records: list[Record], path: Path) -> None:
    """Writes records to a file."""
    path.write_bytes(msgspec.json.encode(records))


def load(path: Path) -> list[Record]:
    """Reads records from a file."""
    return msgspec.json.decode(path.read_bytes(), type=list[Record])
