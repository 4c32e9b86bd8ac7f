"""An image, read out of its archive layer by layer."""

from __future__ import annotations

import json
import tarfile
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Image:
    """An image whose first layer is the whole of its base."""

    def __init__(self, path: Path) -> None:
        """Open the archive; use it in a `with` block."""
        self._archive = tarfile.open(path)  # noqa: SIM115 - closed by __exit__
        self._manifest = self._json("manifest.json")[0]
        self.config = self._json(self._manifest["Config"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def added(self) -> Iterator[tarfile.TarInfo]:
        """Return what the layers after the base add."""
        for layer in self._manifest["Layers"][1:]:
            with tarfile.open(fileobj=self._archive.extractfile(layer)) as files:
                yield from files

    def added_bytes(self) -> int:
        """Return how much larger than its base the image is, unpacked."""
        return sum(file.size for file in self.added())

    def _json(self, name: str) -> Any:
        file = self._archive.extractfile(name)
        assert file is not None
        return json.load(file)
