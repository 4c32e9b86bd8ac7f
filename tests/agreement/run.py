"""A whole run: a control plane, batch after batch of random clusters, every answer judged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from tests.controlplane import ControlPlane
from tests.controlplane.binaries import BINARIES

from . import vocabulary as words
from .batch import Batch
from .clusters import cluster
from .judge import Tally, judge
from .minimal import Minimal, minimal
from .record import Record
from .versions import Version

SIDE_BY_SIDE = 36
"""Clusters in one batch: enough for long histograms, few enough for quick answers."""
SERVED = ((), (words.LARGE_MIG,), (), (words.LARGE_MIG, words.OTHER_VENDOR))
"""Resources that DeviceClasses serve, by batch in turn."""
SHRUNK = 1
"""Disagreements that are shrunk, of each batch."""


PINNED = BINARIES["kube-apiserver"].version.lstrip("v")
"""The version of Kubernetes that the tests run on."""


class Outcome(msgspec.Struct):
    """One batch, asked and judged."""

    record: Record
    tally: Tally
    minimal: list[Minimal]


@contextmanager
def plane(version: str = PINNED) -> Iterator[ControlPlane]:
    """A control plane of a version in which everything stays as it is written."""
    gates = [f"--feature-gates={','.join(Version(version).gates)}"]
    with ControlPlane(
        "still",
        version=version,
        profiles=words.PROFILES,
        apiserver_flags=gates,
        scheduler_flags=gates,
    ) as started:
        yield started


def outcomes(
    started: ControlPlane, seed: int, clusters: int, told: Callable[[str], None] = print
) -> Iterator[Outcome]:
    """Batches of random clusters until there were as many as wanted.

    Args:
        started: the control plane.
        seed: decides every cluster.
        clusters: how many.
        told: takes a line about what happens.
    """
    version = str(started.get("/version")["gitVersion"])
    batch = Batch(started, version)
    try:
        for number, start in enumerate(range(0, clusters, SIDE_BY_SIDE)):
            # Every other batch is one that a new scheduler finds as it stands.
            restart = number % 2 == 1
            drawn = [
                cluster(seed, index, parked=not restart)
                for index in range(start, min(start + SIDE_BY_SIDE, clusters))
            ]
            record = batch.run(drawn, SERVED[number % len(SERVED)], restart=restart)
            tally = judge(record)
            told(
                f"{version}: clusters {start} to {start + len(drawn) - 1}, "
                f"{sum(tally.verdicts.values())} verdicts in {sum(record.seconds.values()):.0f} s, "
                f"{len(tally.disagreements)} disagreements"
            )
            small = [minimal(batch, record, each) for each in tally.disagreements[:SHRUNK]]
            yield Outcome(record, tally, [each for each in small if each is not None])
    finally:
        batch.close()
