"""Files that are written from something else: writes them, or tells which are stale."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def keep(
    folder: Path, name: str, texts: Mapping[str, str], command: str, arguments: Sequence[str]
) -> int:
    """Write files, or with ``--check`` only look at them; return the exit code.

    Args:
        folder: Where they are.
        name: What the folder is called.
        texts: What is to stand in each.
        command: What writes them.
        arguments: Of the command line.
    """
    if list(arguments) == ["--check"]:
        stale = [file for file, text in texts.items() if _read(folder / file) != text]
        if stale:
            shown = ", ".join(f"{name}/{file}" for file in stale)
            print(f"{shown} stale: run `{command}`", file=sys.stderr)
        return 1 if stale else 0
    for file, text in texts.items():
        (folder / file).write_text(text)
    return 0


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""
