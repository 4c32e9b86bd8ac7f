"""Half an hour of churn and faults on a real control plane: `make soak [MINUTES=30] [SEED=1]`."""

import argparse
import sys
import tempfile

from tests.controlplane import open_cluster
from tests.soak.soak import soak

GROWTH = 1.1
"""The memory that the operator may have at the end, as a part of what it had after its start."""


def main():
    """Exit 0 when nothing is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with open_cluster("alive") as cluster, tempfile.TemporaryDirectory() as folder:
        outcome = soak(
            cluster,
            folder,
            minutes=given.minutes,
            seed=given.seed,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )
    show(outcome)
    before, after = outcome.memory
    return 1 if outcome.wrong or after > before * GROWTH else 0


def show(outcome):
    """Print what happened, what people saw, and what is wrong."""
    before, after = outcome.memory
    print(
        f"\nSeed {outcome.seed}, {outcome.minutes:g} minutes: {outcome.changes} changes of the "
        f"cluster, {sum(outcome.faults.values())} faults, {outcome.lives} lives of the operator.\n"
    )
    table("fault", outcome.faults)
    table("published", outcome.published)
    table("word → next word", outcome.words)
    table("Events made", outcome.events)
    print(
        f"memory: {before:.1f} MiB after its last start, {after:.1f} MiB at the end "
        f"({after / before - 1:+.1%})"
    )
    print(f"differences: {len(outcome.wrong)}")
    for line in outcome.wrong:
        print(f"  {line}")


def table(title, counts):
    """Print counts."""
    print(f"| {title} | count |\n|---|---:|")
    for name, number in sorted(counts.items(), key=lambda each: -each[1]):
        print(f"| {name} | {number} |")
    print()


if __name__ == "__main__":
    sys.exit(main())
