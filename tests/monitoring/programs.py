"""Where Prometheus' programs come from: the machine, or Debian's packages, unpacked in the cache.

Nothing is installed and no service starts: the packages are fetched by apt-get, which checks them,
and only their programs are kept.
"""

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PACKAGES = {
    "promtool": "prometheus",
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
}
"""Each program, by its name in Debian, and the package that has it."""

_ELSEWHERE = {"prometheus-alertmanager": "alertmanager"}


class ProgramError(RuntimeError):
    """What is missing and what to do about it."""


@functools.cache
def program(name: str) -> Path:
    """Return the path of a program.

    Args:
        name: One of `PACKAGES`.

    Raises:
        ProgramError: It is not there and cannot be fetched.
    """
    return _given(name) or _found(name) or _fetched(name)


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


def _fetched(name: str) -> Path:
    path = _cache() / name
    if not path.exists():
        _fetch(PACKAGES[name])
    return path


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("GPU_TRIAGE_CACHE") or Path(base) / "gpu-triage") / "monitoring"


def _fetch(package: str) -> None:
    """Take the programs of a Debian package into the cache."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise ProgramError(
            f"no {package} on the PATH, and no apt-get to fetch it: install Prometheus 2.42 or"
            " newer and Alertmanager, or name them in TEST_ASSET_PROMETHEUS, TEST_ASSET_PROMTOOL"
            " and TEST_ASSET_ALERTMANAGER"
        )
    cache = _cache()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        done = _run(folder, "apt-get", "download", "-q", package)
        if done.returncode and os.geteuid() == 0:  # a fresh machine has no lists of packages
            _run(folder, "apt-get", "update", "-q")
            done = _run(folder, "apt-get", "download", "-q", package)
        files = list(Path(folder).glob("*.deb"))
        if done.returncode or not files:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise ProgramError(
                f"apt-get download {package} failed ({said[-1] if said else 'it said nothing'}):"
                f" run apt-get update as root, or install {package}"
            )
        unpacked = _run(folder, "dpkg-deb", "-x", files[0].name, "root")
        if unpacked.returncode:
            raise ProgramError(f"{files[0].name} cannot be unpacked: {unpacked.stderr.strip()}")
        for name, owner in PACKAGES.items():
            if owner == package:
                # Taken over in one step: another run may be fetching too.
                (Path(folder) / "root" / "usr" / "bin" / name).replace(cache / name)


def _run(folder: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
