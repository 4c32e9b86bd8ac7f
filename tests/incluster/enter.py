"""Run a program in the namespaces of a process: `enter.py PID net[,pid,mnt,…] PROGRAM ARGUMENT…`.

Does what nsenter does, but where the program has to be a child (a PID namespace takes only
children), this process ends when the child has ended and not when a signal meant for both arrives.
"""

import ctypes
import os
import signal
import sys

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Enter, then become the program, or wait for it."""
    pid, kinds, command = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    # All are opened first: behind the mount namespace /proc is another one.
    for descriptor in [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in kinds]:
        if _LIBC.setns(descriptor, 0):
            sys.exit(f"setns: {os.strerror(ctypes.get_errno())}")
        os.close(descriptor)
    if "pid" not in kinds:
        os.execv(command[0], command)
    child = os.fork()
    if child == 0:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execv(command[0], command)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    sys.exit(max(os.waitstatus_to_exitcode(status), 0))


main()
