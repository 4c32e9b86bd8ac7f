"""What one run takes up on the machine: a folder and ports.

Both are given back at the end of the run. A run that was killed cannot give back its folder, so
every new run looks for folders whose owner is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import socket
import tempfile
from pathlib import Path

_PREFIX = "gpu-triage-lab-"


class RunDirectory:
    """A private temporary folder that says by a lock whether its owner lives.

    The lock is on the folder itself and the kernel drops it with the owner. A pid in a file could
    not tell that: pids are used again, and two containers that share a temporary folder do not
    share their pids.
    """

    def __init__(self) -> None:
        """Remove what dead runs left behind, then create and lock a new folder."""
        sweep()
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            lock = _lock(path)
            if lock is not None:
                break
        self.path = path
        self._lock: int | None = lock

    def remove(self) -> None:
        """Remove the folder with everything in it; a second call does nothing."""
        if self._lock is None:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = None


def sweep() -> None:
    """Remove folders of runs whose owner is dead."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = _lock(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _lock(path: Path) -> int | None:
    """Lock a folder; None if another process holds it, owns it as another user or removed it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between creating a folder and locking it a sweep of another run may have removed it.
        if path.exists() and os.fstat(descriptor).st_uid == os.getuid():
            return descriptor
    os.close(descriptor)
    return None


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on.

    The server binds it a moment later. Ports that the kernel hands out for outgoing connections
    are left alone, because such a connection could take the port in that moment.
    """
    while True:
        port = random.randint(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
