"""How a binary is built from its Go module: once, visibly, and never half.

A first build takes minutes, so whoever waits sees what is built and for how long. Two test runs on
one machine share the cache: a lock lets one of them build and the other wait, and a binary gets its
name only when it is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import sys
import time
from typing import TYPE_CHECKING

from .processes import ControlPlaneError, Process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .toolchain import Go

_PLAIN_INTERVAL = 60.0


class BuildError(ControlPlaneError):
    """A binary could not be built."""


@contextlib.contextmanager
def cache_lock(cache: Path) -> Iterator[None]:
    """Hold the right to write into the cache, waiting for another process that has it.

    Raises:
        BuildError: The cache folder cannot be written.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / "lock").open("w")
    except OSError as error:
        raise BuildError(
            f"the cache folder {cache} cannot be written ({error.strerror}): "
            "set GPU_TRIAGE_CACHE to a folder of yours"
        ) from None
    with lock:
        told = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    print("another process builds into the same cache: waiting", file=sys.stderr)
                    told = True
                time.sleep(0.5)
        yield


def go_build(
    go: Go, package: str, target: Path, *, label: str, module: Path, ldflags: str, hint: str
) -> None:
    """Build one package into the file `target`.

    Args:
        go: The compiler.
        package: Import path of the main package.
        target: Where the binary goes; its folder is created.
        label: Name and version to show, such as "etcd v3.7.3".
        module: Folder with the go.mod that pins everything.
        ldflags: What the linker writes into the binary, mostly its version.
        hint: How long it takes on a cold machine, to show.

    Raises:
        BuildError: The compiler failed; the message holds its last lines.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    log = target.with_name(f".{target.name}.log")
    # go cleans its own folder only when it ends by itself.
    work = target.with_name(f".{target.name}.work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    log.unlink(missing_ok=True)
    # Code in the module cache has no repository of its own to stamp a revision from.
    flags = ["-trimpath", "-buildvcs=false", "-ldflags", ldflags]
    compiler = Process(
        f"go build {package}",
        [str(go.binary), "build", *flags, "-o", str(partial), package],
        log,
        cwd=module,
        env={**go.env, "GOTMPDIR": str(work)},
    )
    try:
        compiler.start()
        _show_until_done(compiler, label, hint)
        if compiler.exit_code:
            raise BuildError(
                f"building {label} failed: `go build {package}` in {module} ended with exit code "
                f"{compiler.exit_code}; its last lines:\n{compiler.tail()}"
            )
        partial.replace(target)
    finally:
        compiler.kill()
        partial.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        shutil.rmtree(work, ignore_errors=True)


def _show_until_done(compiler: Process, label: str, hint: str) -> None:
    """Wait for the compiler and tell on stderr how it goes.

    A terminal gets one line that counts seconds; a CI log gets a line now and then, because many
    CI systems end a job that is silent for long.
    """
    begun = time.monotonic()
    terminal = sys.stderr.isatty()
    intro = f"building {label} ({hint} the first time) ..."
    if not terminal:
        print(intro, file=sys.stderr, flush=True)
    next_line = begun + _PLAIN_INTERVAL
    try:
        while compiler.running:
            now = time.monotonic()
            if terminal:
                print(f"\r{intro} {now - begun:.0f} s", end="", file=sys.stderr, flush=True)
            elif now >= next_line:
                print(f"{intro} {now - begun:.0f} s", file=sys.stderr, flush=True)
                next_line = now + _PLAIN_INTERVAL
            time.sleep(0.2)
    finally:
        if terminal:
            print(file=sys.stderr, flush=True)
    if not terminal and not compiler.exit_code:
        print(f"built {label} in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
