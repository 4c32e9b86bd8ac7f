"""How one child process is started, watched and ended.

A control plane is five servers that must never outlive the test run that started them. Every child
therefore asks the kernel to kill it when its parent dies, however the parent dies, and lives in a
session of its own, so that a Ctrl-C in the terminal reaches only the parent, which then stops its
children in a sensible order.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Runs between fork and exec in a small interpreter instead of in subprocess' preexec_fn, which may
# deadlock in a program with threads. 1 is PR_SET_PDEATHSIG. A parent that died before the call
# would never be noticed, hence the second look at the parent's pid.
_LAUNCHER = (
    "import ctypes, os, signal, sys\n"
    "if sys.platform == 'linux': ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
    "if os.getppid() != int(sys.argv[1]): os._exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)


class ControlPlaneError(RuntimeError):
    """What failed, where, and what to do about it: meant to be shown without a traceback."""


@functools.lru_cache(maxsize=1)
def _spawner(owner_pid: int) -> ThreadPoolExecutor:
    """Return the one thread that starts children, which lives as long as the interpreter.

    The kernel's "parent died" signal is sent when the starting *thread* ends, so a child started
    from a short-lived worker thread would be killed with that thread. The pid is the cache key
    because threads do not survive a fork.
    """
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"spawner-{owner_pid}")


class Process:
    """One child process with its log file."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        log: Path,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Describe the process; nothing runs before `start`.

        Args:
            name: What error messages call it.
            argv: Path of the binary and its arguments; the same at every restart.
            log: File that collects its output, over all restarts.
            cwd: Its working folder, ours if not given.
            env: Its whole environment, ours if not given.
        """
        self.name = name
        self.argv = list(argv)
        self.log = log
        self._cwd = cwd
        self._env = dict(env) if env is not None else None
        self._popen: subprocess.Popen[bytes] | None = None

    def __repr__(self) -> str:
        """Name and state, for pytest's reports."""
        state = f"pid {self.pid}" if self.running else "not running"
        return f"<Process {self.name}: {state}>"

    @property
    def pid(self) -> int:
        """Pid of the present or last run.

        Raises:
            ControlPlaneError: It was never started.
        """
        if self._popen is None:
            raise ControlPlaneError(f"{self.name} was never started")
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code of the last run; None while it runs or before the first start."""
        return None if self._popen is None else self._popen.poll()

    @property
    def running(self) -> bool:
        """Whether it runs now; a paused process runs."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start it and return at once.

        Raises:
            ControlPlaneError: It runs already.
        """
        if self.running:
            raise ControlPlaneError(f"{self.name} runs already (pid {self.pid})")
        self._popen = _spawner(os.getpid()).submit(self._spawn, os.getpid()).result()

    def _spawn(self, owner_pid: int) -> subprocess.Popen[bytes]:
        """Create the child process, on the thread that will never end before us."""
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(owner_pid)]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*launcher, *self.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._cwd,
                env=self._env,
                start_new_session=True,
            )

    def check(self) -> None:
        """Make sure that it still runs.

        Raises:
            ControlPlaneError: It has ended; the message holds the end of its log.
        """
        if not self.running:
            raise ControlPlaneError(
                f"{self.name} ended by itself with exit code {self.exit_code}; its last lines:\n"
                f"{self.tail()}"
            )

    def stop(self, grace: float = 5.0) -> None:
        """End it: TERM, then KILL after `grace` seconds, and wait until it is gone.

        Only after its exit its port is free again. An API server with open watches takes over 20 s
        to leave on TERM, so waiting for it without a KILL is no option.
        """
        if self._popen is None or not self.running:
            return
        self._signal(signal.SIGTERM)
        # A stopped process would take TERM only when somebody continues it.
        self._signal(signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(grace)
        self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would, and wait until it is gone."""
        if self._popen is not None and self.running:
            self._signal(signal.SIGKILL)
            self._popen.wait()

    def restart(self, grace: float = 5.0) -> None:
        """Stop it and start it again with the same arguments, so on the same port."""
        self.stop(grace)
        self.start()

    def pause(self) -> None:
        """Freeze it: its sockets stay open and nobody answers."""
        self.check()
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self.check()
        self._signal(signal.SIGCONT)

    def tail(self, lines: int = 10) -> str:
        """Return the last lines of its log."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to children of its own (a compiler has some)."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


def stop_together(processes: Sequence[Process | None], grace: float) -> None:
    """Stop several processes in the time that the slowest takes, and not in the sum of all."""
    running = [process for process in processes if process is not None and process.running]
    for process in running:
        process._signal(signal.SIGTERM)
        process._signal(signal.SIGCONT)
    deadline = time.monotonic() + grace
    for process in running:
        process.stop(max(0.0, deadline - time.monotonic()))
