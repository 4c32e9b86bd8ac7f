"""`python -m tests.incluster`: build what a real node needs, or say why this machine takes none."""

from __future__ import annotations

import sys

from tests.controlplane import ControlPlaneError
from tests.controlplane.binaries import provide

from .cluster import NEEDED_HERE
from .images import provide_images
from .machine import prepare, why_not


def main() -> int:
    """Build.

    Returns:
        0, also where no node can run; 1 after an error.
    """
    if reason := why_not():
        print(f"no real node on this machine, its tests will be skipped: {reason}")
        return 0
    try:
        prepare()
        provide(NEEDED_HERE)
        images = provide_images()
    except ControlPlaneError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"built or found: {', '.join(images)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
