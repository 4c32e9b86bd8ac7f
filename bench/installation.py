"""What an installation costs: `python -m bench.installation`, as root (see tests/incluster).

One row for each figure that is wanted, in the lab, with the image there.
"""

import sys
import time

from tests.controlplane import ControlPlaneError
from tests.e2e import laboratory
from tests.e2e.operator_process import wait_for_word
from tests.incluster import NodeCluster
from tests.incluster.archive import Image
from tests.incluster.images import OPERATOR, provide_images
from tests.incluster.release import Release

SECONDS = 120.0


def main() -> int:
    """Prints the rows; 0 when all could be measured."""
    print(f"{'WHAT':44}{'WANTED':>10}{'MEASURED':>10}")
    try:
        with NodeCluster() as cluster:
            measure(cluster)
    except ControlPlaneError as error:
        print(f"bench.installation: {error}", file=sys.stderr)
        return 1
    return 0


def measure(cluster: NodeCluster) -> None:
    """Installs, lays the lab, changes a setting, and uninstalls."""
    with Image(provide_images()[OPERATOR]) as image:
        row("the image above its base, MB", 120, image.added_bytes() / 1e6)
    release = Release(cluster, nodeStartingSeconds=0)
    release.make_namespace()
    row("helm install --wait, s", 10, seconds(release.install))
    laboratory.lay_lab(cluster)
    wait_for_word(cluster, laboratory.LAB, "case-alloc0", "allocatable-zero", SECONDS)
    row("the operator in the lab, most memory, MiB", 96, release.peak_mebibytes())
    row("helm upgrade --wait, s", None, seconds(lambda: release.upgrade(logLevel="debug")))
    row("helm uninstall --wait, annotations gone, s", None, seconds(release.uninstall))


def seconds(work) -> float:
    """How long a piece of work takes."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def row(what: str, wanted: float | None, measured: float) -> None:
    """Prints one figure."""
    print(f"{what:44}{wanted or '':>10}{measured:10.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
