"""Faults of real ranks in a lab while `heddle monitor` watches them: which are named, where, and how soon; and healthy
jobs, in which none may be.

Four ranks, a host each, all-reduce in a ring without a pause. A fault begins once the job has run for some seconds; the
delay is from then to the line that the monitor prints.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built
from harness.report import row
from harness.rounds import spread, text

SUMMARY = "live diagnosis: real faults in a lab, found where and how soon; healthy jobs"

_RANK, _HOST, _LEAF = 2, "h2", "leaf1"  # where faults are
_WARM_S = 8        # of the job, before a fault
_EFFECT_S = 10     # of a slow job, in which calls are counted
_PATIENCE_S = 40   # for an alarm
_AIM_S = 5


def add_arguments(parser):
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="of each fault [5]")
    parser.add_argument("--fault", action="append", choices=sorted(_FAULTS), help="this fault only; may be repeated")
    parser.add_argument("--healthy", type=int, default=2, metavar="N", help="healthy jobs [2]")
    parser.add_argument("--healthy-seconds", type=int, default=300, metavar="N", help="how long each is watched [300]")


class Throttle:
    """A process that has a tenth of the time: 5 of 50 ms."""

    def __init__(self, pid):
        self._pid, self._over = pid, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        with contextlib.suppress(ProcessLookupError):
            while not self._over.is_set():
                os.kill(self._pid, signal.SIGSTOP)
                time.sleep(0.045)
                os.kill(self._pid, signal.SIGCONT)
                time.sleep(0.005)

    def close(self):
        self._over.set()
        self._thread.join()


# By name: what makes the fault, and the classes that say so.
_FAULTS = {
    "stopped rank": (lambda job: os.kill(job.rank_process(), signal.SIGSTOP), "hang"),
    "killed rank": (lambda job: os.kill(job.rank_process(), signal.SIGKILL), "hang"),
    "paused host": (lambda job: job.fabric.fault("pause", _HOST), "hang"),
    "NIC without carrier": (lambda job: job.fabric.fault("down", _HOST, _LEAF), "hang"),
    "NIC of a quarter of its rate": (lambda job: job.fabric.fault("rate", _HOST, _LEAF, "25Mbit/s"), "slow"),
    "NIC that loses 20%": (lambda job: job.fabric.fault("loss", _HOST, _LEAF, "20%"), "slow"),
    "rank that has a tenth of its core": (lambda job: job.closing(Throttle(job.rank_process())), "slow"),
}


class Job:
    """An endless job in the lab, and its monitor."""

    def __init__(self, fabric):
        self.fabric = fabric
        self._heddle = built("heddle")
        self._stack = contextlib.ExitStack()
        self._place = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="heddle-bench-")))
        self.folder = self._place / "job"
        self._alarms = []
        self._errors = self._stack.enter_context(open(self._place / "errors", "w+", encoding="utf-8"))

    def __enter__(self):
        words = ["record", "-o", str(self.folder), "--level", "messages", "--", self._heddle, "run", "--lab",
                 self.fabric.name, "-n", "4", "--", self._heddle, "bench", "allreduce", "-b", "1M", "-e", "1M",
                 "-n", "1000000", "-c", "0", "--algorithm", "allreduce:ring"]
        self._job = self._start(words, subprocess.DEVNULL)
        self._monitor = self._start(["monitor", str(self.folder), "--json"], subprocess.PIPE)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def _start(self, words, output):
        process = subprocess.Popen([self._heddle, *words], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=self._errors, text=True)
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
        self._stack.callback(something.close)

    def alarms(self):
        return [(when, alarm) for when, alarm in list(self._alarms) if alarm["event"] == "raised"]

    def calls_a_second(self, seconds):
        """In the next seconds."""
        began, before = time.monotonic(), self._calls()
        time.sleep(seconds)
        after = self._calls()
        return (after - before) / (time.monotonic() - began)

    def wait_until_it_runs(self):
        end = time.monotonic() + _PATIENCE_S
        while self._calls() < 50:
            if self._job.poll() is not None or time.monotonic() > end:
                self._errors.seek(0)
                raise CannotMeasure(f"the job does not run: {self._errors.read().strip()}", "see the lines above")
            time.sleep(0.2)

    def _recordings(self):
        done = subprocess.run([self._heddle, "record", "info", str(self.folder), "--json"], capture_output=True,
                              text=True, check=False)
        return json.loads(done.stdout or "{}").get("recordings", [])

    def _calls(self):
        found = self._recordings()
        return min((one["events_by_kind"].get("call_ended", 0) for one in found), default=0) if len(found) >= 4 else 0

    def rank_process(self):
        return next(int(one["identity"]["pid"]) for one in self._recordings()
                    if one["identity"].get("rank") == str(_RANK))


def _at_the_place(alarm):
    return (alarm["host"] == _HOST or str(_RANK) in alarm["processes"]) and alarm["place"] not in ("group", "job")


def _run_of(name, fabric):
    make, kind = _FAULTS[name]
    with Job(fabric) as job:
        job.wait_until_it_runs()
        pace = job.calls_a_second(_WARM_S)
        before = [alarm["summary"] for _, alarm in job.alarms()]
        began = time.monotonic()
        try:
            make(job)
            slowed = 1 - job.calls_a_second(_EFFECT_S) / pace if kind == "slow" else 1
            while time.monotonic() - began < _PATIENCE_S and len(job.alarms()) == len(before):
                time.sleep(0.05)
            time.sleep(3)  # for wrong ones that follow
        finally:
            fabric.fault("clear")
            if name == "paused host":
                fabric.fault("resume", _HOST)
        found = job.alarms()[len(before):]
    right = [when - began for when, alarm in found if kind in alarm["class"] or alarm["class"] == "degradation"
             if _at_the_place(alarm)]
    return {"before": before, "effect": slowed, "delay_s": right[0] if right else None,
            "found": [f"{alarm['class']}: {alarm['place_text']}" for _, alarm in found],
            "others": len(found) - (1 if right else 0)}


def _healthy(fabric, seconds):
    with Job(fabric) as job:
        job.wait_until_it_runs()
        time.sleep(seconds)
        return [f"{alarm['class']}: {alarm['place_text']}" for _, alarm in job.alarms()]


def run(arguments, progress):
    need_network_rights()
    faults, healthy = {}, []
    names = arguments.fault or list(_FAULTS)
    with Fabric(leaf_spine(host_rate="100Mbit/s", host_queue="250KB", spine_rate="100Mbit/s",
                           spine_queue="250KB")) as fabric:
        turns = [name for _ in range(arguments.runs) for name in names]
        for done, name in enumerate(turns):
            progress.say(done, len(turns) + arguments.healthy, name)
            faults.setdefault(name, []).append(_run_of(name, fabric))
        for turn in range(arguments.healthy):
            progress.say(len(turns) + turn, len(turns) + arguments.healthy, "a healthy job")
            healthy.append(_healthy(fabric, arguments.healthy_seconds))
    return {"scenario": "monitor", "machine": describe(), "faults": faults, "healthy": healthy,
            "healthy_seconds": arguments.healthy_seconds}


def show(document):
    print("four ranks in a lab, all-reduces in a ring, links of 100 Mb/s; faults at rank 2 and its host")
    row("", "at the right place", "delay, s", "calls fewer by", "other alarms")
    delays = []
    for name, runs in document["faults"].items():
        found = [one["delay_s"] for one in runs if one["delay_s"] is not None]
        delays += found
        row(name, f"{len(found)} of {len(runs)}", text(spread(found)) if found else "",
            f"{spread([one['effect'] for one in runs])['median']:.0%}",
            str(sum(one["others"] + len(one["before"]) for one in runs)))
    if delays:
        print(f"  median of all delays: {spread(delays)['median']:.1f} s (aim: {_AIM_S} s)")
    alarms = sum(len(one) for one in document["healthy"])
    print(f"  healthy: {alarms} alarms in {len(document['healthy'])} jobs of {document['healthy_seconds']} s")
