"""Where Prometheus' programs come from: the machine, or Debian's packages, installed by root.

Alertmanager of Debian reads its templates from the system, so that unpacking it does not do. No
service is started.
"""

import contextlib
import functools
import os
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ("promtool", "prometheus", "prometheus-alertmanager")
"""By their names in Debian."""

_PACKAGES = ("prometheus", "prometheus-alertmanager")
_ELSEWHERE = {"prometheus-alertmanager": "alertmanager"}
_POLICY = Path("/usr/sbin/policy-rc.d")
"""Asked by Debian's packages before they start a service."""


class ProgramError(RuntimeError):
    """What is missing and what to do about it."""


@functools.cache
def program(name: str) -> Path:
    """Return the path of a program.

    Args:
        name: One of `PROGRAMS`.

    Raises:
        ProgramError: It is not there and cannot be installed.
    """
    path = _given(name) or _found(name)
    if path is None:
        _install()
        path = _found(name)
    if path is None:
        raise ProgramError(f"the packages {' and '.join(_PACKAGES)} hold no {name}")
    return path


def _given(name: str) -> Path | None:
    """Return what the environment names, as for the control plane's programs."""
    variable = "TEST_ASSET_" + _ELSEWHERE.get(name, name).upper()
    value = os.environ.get(variable)
    if not value:
        return None
    if not os.access(value, os.X_OK):
        raise ProgramError(f"{variable}={value}: no program there; correct or unset {variable}")
    return Path(value).absolute()


def _found(name: str) -> Path | None:
    found = shutil.which(name) or shutil.which(_ELSEWHERE.get(name, name))
    return Path(found) if found else None


def _install() -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise ProgramError(
            "Prometheus or Alertmanager is missing, and only root can install them here: run"
            f" apt-get install {' '.join(_PACKAGES)}, or name programs (Prometheus 2.42 or newer)"
            " in TEST_ASSET_PROMETHEUS, TEST_ASSET_PROMTOOL and TEST_ASSET_ALERTMANAGER"
        )
    with _without_services():
        done = _apt("install", "--no-install-recommends", *_PACKAGES)
        if done.returncode:  # a fresh machine has no lists of packages
            _apt("update")
            done = _apt("install", "--no-install-recommends", *_PACKAGES)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ProgramError(
            f"apt-get install {' '.join(_PACKAGES)} failed: {said[-1] if said else 'no word why'}"
        )


@contextlib.contextmanager
def _without_services():
    """Forbid services to start, unless the machine has a policy of its own."""
    try:
        _POLICY.touch(mode=0o755, exist_ok=False)
    except FileExistsError:
        yield
        return
    try:
        _POLICY.write_text("#!/bin/sh\nexit 101\n")
        yield
    finally:
        _POLICY.unlink()


def _apt(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["apt-get", "-qy", "-o", "DPkg::Lock::Timeout=600", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
