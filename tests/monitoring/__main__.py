"""`python -m tests.monitoring`: fetch what the tests of this folder need and the machine lacks."""

import sys

from tests.monitoring.programs import PACKAGES, ProgramError, program


def main():
    """Print where each program is; 1 and a sentence if one cannot be had."""
    try:
        for name in PACKAGES:
            print(f"{name}: {program(name)}")
    except ProgramError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
