"""Jobs of four ranks in a lab, a host each, that run until they are ended, and the monitor that watches them."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

from harness.failure import CannotMeasure
from harness.fabric import leaf_spine
from harness.pair import ROOT, built

RANKS = 4
_PYTHON = "/usr/bin/python3"
_PATIENCE_S = 180  # until the job runs
_LEAST_CALLS = 50


def _fabric(spines=4, more=""):
    """At this rate the links and not the cores limit a transfer: between leaves packets pass more programs."""
    rate, queue = "100Mbit/s", "250KB"
    return leaf_spine(spines=spines, host_rate=rate, host_queue=queue, spine_rate=rate, spine_queue=queue, more=more)


class Kind:
    """`fabric`: of a topology file; `sets`: settings of the job's ranks; `command(folder)`: of one."""

    def __init__(self, fabric, command, sets=None):
        self.fabric, self.command, self.sets = fabric, command, sets or {}


def _collectives(_):
    return [built("heddle"), "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", "1000000", "-c", "0", "--algorithm",
            "allreduce:ring"]


def _training(folder):
    return [_PYTHON, str(pathlib.Path(__file__).resolve().parent / "training_rank.py"), str(folder)]


def _module():
    return os.environ.get("HEDDLE_TORCH_MODULE", str(ROOT / "build" / "release" / "python"))


_TRAINING_SETS = {"PYTHONPATH": os.pathsep.join([_module(), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
                  "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
KINDS = {
    "all-reduces": Kind(_fabric(), _collectives),
    "all-reduces over one spine": Kind(_fabric(spines=1), _collectives),
    "all-reduces, routes known": Kind(_fabric(), _collectives, {"HEDDLE_DISCOVERY": "auto"}),
    "all-reduces over two NICs": Kind(
        _fabric().replace("hosts_per_leaf = 2", "hosts_per_leaf = 2\nnics_per_host = 2"), _collectives,
        {"HEDDLE_BIND": "nic0,nic1"}),
    "training": Kind(_fabric(), _training, _TRAINING_SETS),
}


def need_torch():
    needed = "import torch.distributed, heddle_torch"
    done = subprocess.run([_PYTHON, "-c", needed], env={**os.environ, **_TRAINING_SETS}, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"{_PYTHON} cannot `{needed}`: {done.stderr.strip().splitlines()[-1:]}",
                            "run scripts/setup --torch and make torch")


class Job:
    """In the lab, and its monitor. `place`: where its ranks keep files; a temporary folder otherwise."""

    def __init__(self, fabric, kind, place=None):
        self.fabric, self._kind = fabric, KINDS[kind]
        self._heddle = built("heddle")
        self._stack = contextlib.ExitStack()
        self._place = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="heddle-bench-")))
        self.files, self.folder = pathlib.Path(place or self._place), self._place / "job"
        self._alarms = []
        self._errors = self._stack.enter_context(open(self._place / "errors", "w+", encoding="utf-8"))

    def __enter__(self):
        words = ["record", "-o", str(self.folder), "--level", "messages", "--", self._heddle, "run", "--lab",
                 self.fabric.name, "-n", str(RANKS), "--", *self._kind.command(self.files)]
        self._job = self._start(words, subprocess.DEVNULL)
        self._monitor = self._start(["monitor", str(self.folder), "--json"], subprocess.PIPE)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def _start(self, words, output):
        process = subprocess.Popen([self._heddle, *words], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=self._errors, text=True, env={**os.environ, **self._kind.sets})
        self._stack.callback(process.wait)
        self._stack.callback(process.terminate)
        return process

    def __exit__(self, *_):
        self._stack.close()
        self._reader.join()

    def _read(self):
        for line in self._monitor.stdout:
            self._alarms.append((time.monotonic(), json.loads(line)))

    def closing(self, something):
        """It is closed before the job ends."""
        self._stack.callback(something.close)

    def alarms(self):
        return [(when, alarm) for when, alarm in list(self._alarms) if alarm["event"] == "raised"]

    def calls_a_second(self, seconds):
        """In the next seconds."""
        began, before = time.monotonic(), self.calls()
        time.sleep(seconds)
        after = self.calls()
        return (after - before) / (time.monotonic() - began)

    def wait_until_it_runs(self):
        end = time.monotonic() + _PATIENCE_S
        while self.calls() < _LEAST_CALLS:
            if self._job.poll() is not None or time.monotonic() > end:
                self._errors.seek(0)
                raise CannotMeasure(f"the job does not run: {self._errors.read().strip()}", "see the lines above")
            time.sleep(0.2)

    def _recordings(self):
        done = subprocess.run([self._heddle, "record", "info", str(self.folder), "--json"], capture_output=True,
                              text=True, check=False)
        return json.loads(done.stdout or "{}").get("recordings", [])

    def calls(self):
        """That each rank has ended."""
        found = [one["events_by_kind"].get("call_ended", 0) for one in self._recordings()
                 if "rank" in one["identity"]]
        return min(found) if len(found) >= RANKS else 0

    def process_of(self, rank):
        return next(int(one["identity"]["pid"]) for one in self._recordings()
                    if one["identity"].get("rank") == str(rank))
