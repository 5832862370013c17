"""Orphans: daemons that a program leaves behind (Open MPI's) become children of this process, so that what they took is
counted with it, and so that none stays."""

import ctypes
import os
import pathlib
import signal
import time

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_S = 10


class Orphans:
    """Made before the program starts; settle() comes when it has been waited for."""

    def __init__(self):
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._before = _children()

    def settle(self, patience_s=_PATIENCE_S):
        """Waits for them; those that have not ended by then are killed."""
        end = time.monotonic() + patience_s
        while left := _children() - self._before:  # anew: one that ends may leave its own behind
            for pid in left:
                if not _ended(pid) and time.monotonic() > end:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


def _ended(pid):
    """Waits for it where it has ended, which counts what it took among this process's children."""
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
