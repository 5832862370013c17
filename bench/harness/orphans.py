"""Orphans: makes daemons that a program leaves behind (Open MPI's) children of this process, so that their
CPU time is counted with it, and so that none remains.
"""

import ctypes
import os
import pathlib
import signal
import time

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_S = 10


class Orphans:
    """Create it before the program starts; call settle() after it has been waited for."""

    def __init__(self):
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._before = _children()

    def settle(self, patience_s=_PATIENCE_S):
        """Waits for the orphans; kills those that have not ended after that time."""
        end = time.monotonic() + patience_s
        while left := _children() - self._before:  # again, since an orphan may leave its own behind
            for pid in left:
                if not _ended(pid) and time.monotonic() > end:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


def _ended(pid):
    """Waits for a process that has ended, which adds its CPU time to that of this process's children."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _children():
    own = str(os.getpid())
    children = set()
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                fields = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if fields[1] == own:
                children.add(int(process.name))
    return children
