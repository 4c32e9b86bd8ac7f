"""`python -m tests.monitoring`: install what these tests need and the machine lacks."""

import sys

from tests.monitoring.programs import PROGRAMS, ProgramError, program


def main():
    """Print where each program is; 1 and a sentence if one cannot be had."""
    try:
        for name in PROGRAMS:
            print(f"{name}: {program(name)}")
    except ProgramError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
