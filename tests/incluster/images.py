"""The images that run in the cluster, built from local material only: no registry is asked.

The operator's own is built by the Dockerfile as it is shipped, on a base that stands in for
python:3.11-slim: Debian's packages, put together by mmdebstrap. What a build needs is fetched
before it, with the machine's own apt and pip, and kept in the cache; the build itself is cut off
from every index.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.controlplane import ControlPlaneError
from tests.controlplane.binaries import cache_folder, provide
from tests.controlplane.build import cache_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[2]
OPERATOR = "localhost/gpu-triage:test"
DEVICE_PLUGIN = "localhost/device-plugin:test"
IDLE = "localhost/idle:test"
"""Waits for its end: the containers of test pods, and containerd's own of every pod."""
BASE = "localhost/python:3.11-slim-bookworm"

_BASE_PACKAGES = ("python3", "python3-venv", "ca-certificates")
_LOCKS = ("build.lock", "operator.lock")
_SOURCES = (".dockerignore", "Dockerfile", "LICENSE", "README.md", "pyproject.toml")
_PYTHON = "3.11"
_GLIBC_MINORS = range(17, 37)
"""Wheels for glibc 2.17 to 2.36, which Debian 12 has."""
_KEPT = 3
"""Archives of one image, for checkouts that share the cache."""
_MANY = 60
"""Images in the store after some twenty changes of the sources: then it is made anew."""


class Store:
    """buildah's images, in a folder of ours and nowhere else."""

    def __init__(self, folder: Path) -> None:
        """Use the store in a folder."""
        self.folder = folder
        self._buildah = [
            *("buildah", "--root", str(folder / "storage"), "--runroot", str(folder / "run")),
            *("--storage-driver", "overlay"),
        ]

    def run(self, *arguments: str) -> str:
        """Run buildah and return its output.

        Raises:
            ControlPlaneError: It failed.
        """
        return _run([*self._buildah, *arguments])

    def has(self, image: str) -> bool:
        """Tell whether an image is there."""
        command = [*self._buildah, "inspect", "--type", "image", image]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def make(self, image: str, content: Path, target: str, *settings: str) -> None:
        """Make an image of one file or archive."""
        container = self.run("from", "scratch").strip()
        self.run("add", "--quiet", container, str(content), target)
        self.run("config", *settings, container)
        self.run("commit", "--quiet", "--rm", container, image)

    def export(self, image: str, archive: Path) -> None:
        """Write an image into an archive, for containerd."""
        partial = archive.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        self.run("push", "--quiet", image, f"docker-archive:{partial}:{image}")
        partial.rename(archive)

    def trim(self) -> None:
        """Start anew when the remains of old builds have become many."""
        if len(self.run("images", "--all", "--quiet").split()) > _MANY:
            shutil.rmtree(self.folder)


def provide_images() -> dict[str, Path]:
    """Return an archive of each image, building what has changed.

    Raises:
        ControlPlaneError: Something needed cannot be fetched, or a build failed.
    """
    programs = provide(["pause", "device-plugin"])
    cache = cache_folder()
    folder = cache / "images"
    archives = {
        IDLE: _archive(folder, "idle", [programs["pause"]]),
        DEVICE_PLUGIN: _archive(folder, "device-plugin", [programs["device-plugin"]]),
        OPERATOR: _archive(folder, "operator", _operator_sources()),
    }
    with cache_lock(cache):
        folder.mkdir(exist_ok=True)
        store = Store(folder / "store")
        for image, program in ((IDLE, "pause"), (DEVICE_PLUGIN, "device-plugin")):
            if not archives[image].exists():
                _make_program(store, image, programs[program], archives[image])
        if not archives[OPERATOR].exists():
            store.trim()
            _make_operator(store, folder, archives[OPERATOR])
    return archives


def _make_program(store: Store, image: str, program: Path, archive: Path) -> None:
    """Make an image with one program that needs nothing beside it."""
    entry = f'["/{program.name}"]'
    store.make(image, program, f"/{program.name}", "--entrypoint", entry)
    _export(store, image, archive)


def _make_operator(store: Store, folder: Path, archive: Path) -> None:
    """Build the operator's image as it is shipped, but from what was fetched before."""
    print("building the operator's image (2 min the first time) ...", file=sys.stderr, flush=True)
    if not store.has(BASE):
        path = "PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
        store.make(BASE, _base(folder), "/", "--env", path)
    # chroot: buildah's usual runtime wants control groups v2, and no build step needs more.
    store.run(
        *("build", "--quiet", "--layers", "--isolation", "chroot", "--pull=never"),
        *("--build-arg", f"BASE_IMAGE={BASE}", "--build-arg", "VERSION=test"),
        *("--build-arg", "PIP_NO_INDEX=1", "--build-arg", "PIP_FIND_LINKS=/wheels"),
        *("--volume", f"{_wheels(folder)}:/wheels:ro", "--tag", OPERATOR, str(ROOT)),
    )
    _export(store, OPERATOR, archive)


def _export(store: Store, image: str, archive: Path) -> None:
    """Export an image; of what it was before only what somebody may just be importing is kept."""
    store.export(image, archive)
    siblings = archive.parent.glob(f"{archive.stem.rpartition('-')[0]}-*.tar")
    for old in sorted(siblings, key=lambda file: file.stat().st_mtime)[:-_KEPT]:
        old.unlink()


def _base(folder: Path) -> Path:
    """Return the archive of the base's file system."""
    archive = folder / f"base-{_digest(','.join(_BASE_PACKAGES).encode())}.tar"
    if not archive.exists():
        partial = archive.with_name("partial.tar")
        command = ["mmdebstrap", "--quiet", "--variant=minbase"]
        command += [f"--include={','.join(_BASE_PACKAGES)}"]
        for part in ("doc", "man", "locale"):
            command.append(f"--dpkgopt=path-exclude=/usr/share/{part}/*")
        for name in ("python", "python3"):
            command.append(f'--customize-hook=ln -s /usr/bin/python3 "$1/usr/local/bin/{name}"')
        _run([*command, "bookworm", str(partial)])
        partial.rename(archive)
    return archive


def _wheels(folder: Path) -> Path:
    """Return a folder with every wheel of the locks, for the base's Python."""
    locks = [ROOT / "requirements" / name for name in _LOCKS]
    wheels = folder / f"wheels-{_digest(*(lock.read_bytes() for lock in locks))}"
    if not wheels.exists():
        partial = folder / "wheels.partial"
        shutil.rmtree(partial, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet"]
        command += ["--disable-pip-version-check", "--require-hashes", "--only-binary=:all:"]
        command += ["--implementation", "cp", "--python-version", _PYTHON, "--dest", str(partial)]
        for minor in _GLIBC_MINORS:
            command += ["--platform", f"manylinux_2_{minor}_{platform.machine()}"]
        for lock in locks:
            _run([*command, "-r", str(lock)])
        for old in folder.glob("wheels-*"):
            shutil.rmtree(old)
        partial.rename(wheels)
    return wheels


def _operator_sources() -> Iterable[Path]:
    """Return the files that the operator's image is made of."""
    yield from (ROOT / name for name in _SOURCES)
    yield from (ROOT / "requirements" / name for name in _LOCKS)
    yield from sorted((ROOT / "operator").rglob("*.py"))


def _archive(folder: Path, name: str, files: Iterable[Path]) -> Path:
    """Return where the archive of an image is that is made of these files."""
    parts = []
    for file in files:
        path = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file.name
        parts += [str(path).encode(), file.read_bytes()]
    return folder / f"{name}-{_digest(*parts)}.tar"


def _digest(*parts: bytes) -> str:
    """Return a short name for content."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:16]


def _run(command: Sequence[str]) -> str:
    """Run a command and return its output.

    Raises:
        ControlPlaneError: It failed; the message holds its last lines.
    """
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode:
        told = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise ControlPlaneError(f"`{' '.join(command)}` failed:\n{told}")
    return done.stdout
