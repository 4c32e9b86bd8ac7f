"""Text in columns: widths, alignment, wrapping, and words that may be painted."""

import textwrap
from collections.abc import Callable, Sequence

Paint = Callable[[str, str], str]
"""Gives a text the look of a style: ``heading``, ``bad``, ``wait``, ``good``, ``faint``."""
GAP = "  "


def plain(text: str, style: str) -> str:
    """No look at all: for files, pipes and tests."""
    del style
    return text


class Cell(str):
    """A text with a style."""

    style: str

    def __new__(cls, text: str, style: str = "") -> "Cell":
        """A cell."""
        made = super().__new__(cls, text)
        made.style = style
        return made


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], paint: Paint, indent: str = ""
) -> list[str]:
    """Lines of a table; columns whose header ends in ``>`` are aligned to the right."""
    right = [name.endswith(">") for name in header]
    names = [Cell(name.removesuffix(">"), "heading") for name in header]
    every: list[Sequence[str]] = [names, *rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(names))]
    return [
        (indent + GAP.join(_cells(row, widths, right, paint))).rstrip() if row else ""
        for row in every
    ]


def _cells(
    row: Sequence[str], widths: Sequence[int], right: Sequence[bool], paint: Paint
) -> list[str]:
    cells = []
    for column, text in enumerate(row):
        space = " " * (widths[column] - len(text))
        style = getattr(text, "style", "")
        shown = paint(str(text), style) if style and text else str(text)
        last = column == len(row) - 1
        cells.append(space + shown if right[column] else shown + ("" if last else space))
    return cells


def wrapped(text: str, width: int | None, indent: str = "") -> list[str]:
    """A sentence in lines of at most ``width`` characters; None: in one line."""
    if width is None:
        return [indent + text]
    return textwrap.wrap(
        text,
        max(width, len(indent) + 20),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
