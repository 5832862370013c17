"""Resources of long-lived processes, measured every few seconds: memory, descriptors, threads, and bytes of
their recordings.
"""

import os
import pathlib
import re
import threading
import time

# Allowed growth an hour: a share, and an amount below which growth cannot be distinguished from noise.
MEASURES = {
    "resident_kib": (0.01, 256), "proportional_kib": (0.01, 256), "private_dirty_kib": (0.01, 256),
    "shared_memory_kib": (0.01, 256), "descriptors": (0.01, 2), "threads": (0, 0.5), "recording_kib": (0.01, 256),
}


def _number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


def measure(pid):
    """Measures one process; None if it has ended."""
    folder = pathlib.Path(f"/proc/{pid}")
    try:
        rollup = (folder / "smaps_rollup").read_text(encoding="ascii")
        status = (folder / "status").read_text(encoding="utf-8", errors="replace")
        descriptors = len(os.listdir(folder / "fd"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    if "Rss:" not in rollup:
        return None  # it has ended, but has not been waited for
    return {"resident_kib": _number(r"\nRss:\s+(\d+)", rollup), "proportional_kib": _number(r"\nPss:\s+(\d+)", rollup),
            "private_dirty_kib": _number(r"\nPrivate_Dirty:\s+(\d+)", rollup),
            "shared_memory_kib": _number(r"\nRssShmem:\s+(\d+)", status),
            "descriptors": descriptors, "threads": _number(r"\nThreads:\s+(\d+)", status)}


def children(pid):
    """All descendants, in the order of their starts."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        found = [int(word) for task in tasks
                 for word in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [one for child in sorted(found) for one in (child, *children(child))]


def shared_memory_files(pid):
    """Names in /dev/shm of files that a process has mapped."""
    try:
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return {name for name in re.findall(r" (/dev/shm/\S+)$", maps, re.MULTILINE) if os.path.exists(name)}


def folder_kib(folder):
    return sum(path.stat().st_blocks for path in pathlib.Path(folder).rglob("*") if path.is_file()) // 2


class Census(threading.Thread):
    """Measures until stopped. All processes must keep running: `dead` has those that ended."""

    def __init__(self, pids, recordings, every_s, stop):
        super().__init__()
        self._pids, self._recordings, self._every_s, self._stop_asked = pids, recordings, every_s, stop
        self.began = time.monotonic()
        self.times = []
        self.curves = {name: [] for name in [*pids, *recordings]}
        self.dead, self.shared_files = set(), set()
        self.latest_s = 0.0  # delay of a measurement, when other programs had the cores

    def run(self):
        due = self.began + self._every_s
        while not self._stop_asked.wait(self._every_s):
            self.latest_s = max(self.latest_s, time.monotonic() - due)
            self.times.append(time.monotonic() - self.began)
            for name, pid in self._pids.items():
                seen = measure(pid)
                if seen is None:
                    self.dead.add(name)
                self.curves[name].append(seen)
                self.shared_files |= shared_memory_files(pid)
            for name, folder in self._recordings.items():
                self.curves[name].append({"recording_kib": folder_kib(folder)})
            due = time.monotonic() + self._every_s

    def curve(self, name, key, after_s):
        """(times, values) after that time, while the process was running."""
        pairs = [(t, seen[key]) for t, seen in zip(self.times, self.curves[name])
                 if seen and key in seen and t >= after_s]
        return [t for t, _ in pairs], [value for _, value in pairs]
