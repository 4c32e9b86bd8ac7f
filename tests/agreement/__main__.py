"""`make agreement`: as many random clusters as wanted, on the Kubernetes version that is wanted."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from tests.controlplane import ControlPlaneError

from . import breakages, report
from .judge import judge
from .minimal import as_yaml
from .mutating import broken
from .mutating import outcomes as survivals
from .record import load, save
from .run import PINNED, Outcome, outcomes, plane


def main() -> int:
    """0 where all agree and every breakage is caught or explained; 1 otherwise."""
    options = _parser().parse_args()
    breakage = broken(breakages.named(options.broken)) if options.broken else nullcontext()
    try:
        with breakage:
            found = _replayed(options.replay) if options.replay else _asked(options)
    except ControlPlaneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print()
    print("\n".join(report.summary(found)))
    if options.texts:
        print("\n" + "\n".join(report.texts(found)))
    failed = any(each.tally.disagreements for each in found)
    for number, small in enumerate(small for each in found for small in each.minimal):
        file = Path(options.write) / f"disagreement-{options.seed}-{number}.yaml"
        file.write_text(as_yaml(small))
        print(f"\n{file}\n{as_yaml(small)}")
    if options.record:
        save([each.record for each in found], Path(options.record))
    if options.mutate:
        failed |= not _mutated(found)
    return int(failed)


def _asked(options: argparse.Namespace) -> list[Outcome]:
    """A run on a control plane of its own."""
    found = []
    with plane(options.version) as started:
        for each in outcomes(started, options.seed, options.clusters):
            for disagreement in each.tally.disagreements[:10]:
                print(report.described(disagreement))
            found.append(each)
    return found


def _replayed(path: str) -> list[Outcome]:
    """A run that was recorded, judged anew."""
    return [Outcome(record, judge(record), []) for record in load(Path(path))]


def _mutated(found: list[Outcome]) -> bool:
    """Judges the same answers with a broken classifier, once for each breakage."""
    results = list(survivals([each.record for each in found], breakages.ALL))
    print()
    print("\n".join(report.table(results)))
    caught = sum(bool(each.measure) for each in results)
    print(f"\n{caught} of {len(results)} breakages caught")
    return all(each.measure or each.breakage.hidden for each in results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make agreement", description=__doc__)
    parser.add_argument("--version", default=PINNED, help=f"of Kubernetes (default: {PINNED})")
    parser.add_argument("--clusters", type=int, default=72, help="how many (default: 72)")
    parser.add_argument("--seed", type=int, default=1, help="decides every cluster (default: 1)")
    parser.add_argument(
        "--mutate", action="store_true", help="break the classifier and see whether it is noticed"
    )
    parser.add_argument("--texts", action="store_true", help="compare words with texts")
    parser.add_argument("--record", metavar="FILE", help="keep all that was asked and answered")
    parser.add_argument("--replay", metavar="FILE", help="judge a recorded run, start nothing")
    parser.add_argument("--broken", metavar="BREAKAGE", help="run with this breakage throughout")
    parser.add_argument("--write", metavar="FOLDER", default=".", help="for minimal cases")
    return parser


if __name__ == "__main__":
    sys.exit(main())
