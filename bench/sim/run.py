"""heddle sim on texts of a topology and a workload, several runs at once, and rows that a later command does not make
again.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import threading

from harness.failure import CannotMeasure
from harness.pair import built

_PAIR = "version = 1\n[fabric]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n"
_PERMUTATION = "version = 1\n[[job]]\nkind = \"permutation\"\nbytes = \"200KB\"\n"


def simulate(topology, workload, options):
    """The document of a run; flows that did not end are no error."""
    with tempfile.TemporaryDirectory(prefix="heddle-bench-sim-") as folder:
        names = ("fabric.toml" if topology.startswith("version") else "fabric.topo",
                 "flows.toml" if workload.startswith("version") else "flows.cm")
        for name, text in zip(names, (topology, workload)):
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
        command = [built("heddle"), "sim", "--topology", names[0], "--workload", names[1], "--json", *map(str, options)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise CannotMeasure(f"heddle sim failed: {done.stderr.strip()[-300:]}", "run it by hand")
    return json.loads(done.stdout)


def each_of(work, parts, jobs, progress):
    """work(*part) of each of the parts, in their order; `jobs` at once, None: one for each core."""
    results = []
    with concurrent.futures.ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(work, *part) for part in parts]
        for number, (future, part) in enumerate(zip(futures, parts)):
            progress.say(number, len(parts), ", ".join(map(str, part)))
            try:
                results.append(future.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    return results


def behavior():
    """Equal for builds that simulate the same: the histories of a small run over either transport."""
    return [simulate(_PAIR, _PERMUTATION, ("--transport", transport))["history"] for transport in ("heddle", "roce")]


class KeptRows:
    """Rows of a file, one JSON document a line, by what they were made of. Without a file nothing is kept."""

    def __init__(self, path):
        self._path = path and pathlib.Path(path)
        self._lock = threading.Lock()
        self._behavior = behavior() if path else []
        self._rows = {}
        if self._path and self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    kept = json.loads(line)
                    self._rows[kept["key"]] = kept["row"]
                except (ValueError, KeyError):
                    continue  # a command that was killed left half a line

    def get(self, make, *parts):
        """The row made of `parts`: that of the file, or what make() returns, which is written there."""
        key = hashlib.sha256(json.dumps([self._behavior, *parts]).encode()).hexdigest()
        with self._lock:
            if key in self._rows:
                return self._rows[key]
        found = make()
        with self._lock:
            self._rows[key] = found
            if self._path:
                with open(self._path, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "row": found}) + "\n")
        return found
