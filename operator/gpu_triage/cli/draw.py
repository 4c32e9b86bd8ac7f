"""The terminal: colour where it is wanted, its width, progress of long reads."""

import os
import shutil
import sys
from collections.abc import Iterable
from typing import TextIO

from gpu_triage.cli.failure import AnswerError
from gpu_triage.cli.lists import Progress
from gpu_triage.publish.columns import Paint, plain

_CODES = {"heading": "1", "bad": "31;1", "wait": "33;1", "good": "32;1", "faint": "2"}
_WIDEST = 120
_ROUND = 5000
"""Objects between two lines of progress."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at a stream."""
    return stream is not None and not stream.closed and stream.isatty()


def paint_for(stream: TextIO | None) -> Paint:
    """How texts get their look: by ANSI codes on a terminal, unless NO_COLOR is set."""
    if not is_terminal(stream) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return plain
    return _ansi


def _ansi(text: str, style: str) -> str:
    return f"\033[{_CODES[style]}m{text}\033[0m"


def width_of(stream: TextIO | None) -> int | None:
    """Characters in a line; None where lines may be as long as they get."""
    if not is_terminal(stream):
        return None
    return min(shutil.get_terminal_size().columns, _WIDEST)


def write(lines: Iterable[str]) -> None:
    """Writes lines to stdout. A reader who has seen enough (``| head``) is no error."""
    if sys.stdout is None:
        return
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError as error:
        # Python flushes once more at exit: give it something that takes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            text = f"standard output: {error.strerror}. Not all was written."
            raise AnswerError(text) from error


def note(text: str) -> None:
    """Writes a line to stderr."""
    if sys.stderr is not None:
        sys.stderr.write(f"gpu-triage: {text}\n")


def progress() -> Progress:
    """Shows on a terminal how far a long read is; elsewhere nothing."""
    stream = sys.stderr
    if not is_terminal(stream):
        return lambda what, n: None

    def show(what: str, n: int) -> None:
        if n % _ROUND == 0:
            stream.write(f"gpu-triage: {n} {what} read …\n")
            stream.flush()

    return show
