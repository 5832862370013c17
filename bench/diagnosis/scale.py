"""What one `heddle monitor` does with a job of many ranks: processor time and memory a rank, and how soon a fault is
named.

heddle-bench-paced writes the recordings of all ranks on this machine as time passes, so both share its cores; its own
share is printed, too. A rank becomes slower by half, or stops, in the middle. *behind* is how much later than 3 s after
the job's end the monitor reports that it is over: near zero where it keeps up.
"""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import threading
import time

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built
from harness.report import row

_FAULTS = {"slow": ("non_communication_slow", ["--slowness", "0.5"]), "stopped": ("_hang", [])}
_OVER_S = 3  # insight: monitor/params.h, kOverAfterAll
_PATIENCE_S = 120
_MOST_BEHIND_S = 5  # of a monitor that keeps up: a look a second, and the end of its last one
_TICKS = os.sysconf("SC_CLK_TCK")


def add_arguments(parser):
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024, 4096], metavar="N",
                        help="of scale: sizes of jobs, multiples of 8 [64 256 1024 4096]")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="of scale: how long a job is [60]")
    parser.add_argument("--messages", action="store_true", help="of scale: messages within hosts are recorded, too")
    parser.add_argument("--ring-kib", type=int, default=512, metavar="N", help="of scale: of each file [512]")
    parser.add_argument("--folder", metavar="FOLDER", help="of scale: where recordings are written [/dev/shm]")


class _Lines:
    """What a program prints, with the time of each line."""

    def __init__(self, process):
        self.process, self.lines = process, []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append((time.time(), json.loads(line)))

    def wait_for(self, key):
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            for when, document in list(self.lines):
                if key in document:
                    return when, document
            if not self._reader.is_alive():
                break
            time.sleep(0.02)
        raise CannotMeasure(f"`{' '.join(self.process.args)}` did not print {key}", "run it by hand")

    def join(self):
        self._reader.join()
        self.process.wait()


def _cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0


def _started(stack, words):
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    lines = _Lines(process)
    stack.callback(lines.join)
    stack.callback(lambda: process.poll() is not None or process.kill())
    return lines


def _one(ranks, fault, arguments):
    sign, options = _FAULTS[fault]
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="heddle-scale-", dir=arguments.folder))
        job = _started(stack, [built("heddle-bench-paced"), f"{place}/job", "--ranks", str(ranks), "--steps",
                               str(arguments.seconds), "--fault-step", str(arguments.seconds // 2), "--fault-rank",
                               str(ranks // 3), "--ring-kib", str(arguments.ring_kib), *options,
                               *(["--messages"] if arguments.messages else [])])
        job.wait_for("ready")
        monitor = _started(stack, [built("heddle"), "monitor", f"{place}/job", "--json"])
        pid = monitor.process.pid
        time.sleep(5)  # it has found the files
        begun, before = time.monotonic(), _cpu_s(pid)
        _, onset = job.wait_for("onset_realtime_ns")
        cpu = (_cpu_s(pid) - before) / (time.monotonic() - begun)
        began, before = time.monotonic(), _cpu_s(pid)
        _, end = job.wait_for("events")
        ended = time.time()
        cpu_after = (_cpu_s(pid) - before) / (time.monotonic() - began)
        memory = _memory_mib(pid)
        over, last = monitor.wait_for("whole")
    raised = [(when, alarm) for when, alarm in monitor.lines if alarm["event"] == "raised"]
    onset_s = onset["onset_realtime_ns"] / 1e9
    right = [when - onset_s for when, alarm in raised
             if sign in alarm["class"] and alarm["processes"] == [str(ranks // 3)] and when > onset_s]
    return {"ranks": ranks, "fault": fault, "events_per_s": end["events"] / end["seconds"],
            "monitor_cores": cpu, "monitor_cores_after_onset": cpu_after, "memory_mib": memory,
            "writer_cores": end["cpu_s"] / end["seconds"], "writer_late_s": end["late_s"],
            "delay_s": min(right, default=None), "others": len(raised) - (1 if right else 0),
            "behind_s": over - ended - _OVER_S, "whole": last["whole"]}


def check(runs):
    """What was missed, by job and fault; empty: nothing."""
    wrong = []
    for one in runs:
        name = f"{one['ranks']} ranks, {one['fault']}"
        if one["delay_s"] is None:
            wrong.append(f"{name}: the fault was not named at its rank")
        if one["others"]:
            wrong.append(f"{name}: {one['others']} alarms beside the fault's")
        if not one["whole"]:
            wrong.append(f"{name}: events were overwritten before the monitor had read them")
        if one["behind_s"] > _MOST_BEHIND_S:
            wrong.append(f"{name}: the monitor was {one['behind_s']:.1f} s behind, and the limit is {_MOST_BEHIND_S} s")
    return wrong


def run(arguments, progress):
    arguments.folder = arguments.folder or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
    needed = max(arguments.ranks) * (arguments.ring_kib + 16) << 10
    if shutil.disk_usage(arguments.folder or tempfile.gettempdir()).free < needed:
        raise CannotMeasure(f"the recordings need {needed >> 20} MiB", "give fewer --ranks, or another --folder")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < max(arguments.ranks) + 100:
        raise CannotMeasure("a process may open too few files", f"ulimit -n {max(arguments.ranks) + 100}")
    runs = []
    turns = [(ranks, fault) for ranks in arguments.ranks for fault in _FAULTS]
    for done, (ranks, fault) in enumerate(turns):
        progress.say(done, len(turns), f"{ranks} ranks, {fault}")
        runs.append(_one(ranks, fault, arguments))
    missed = check(runs)
    return {"machine": describe(), "seconds": arguments.seconds, "messages": arguments.messages, "runs": runs,
            "missed": missed, "exit_status": 1 if missed else 0}


def show(document):
    print(f"jobs of {document['seconds']} s, 8 ranks a host, messages {'' if document['messages'] else 'not '}recorded;"
          f" {document['machine']['cores']} cores for the job's writer and its monitor")
    row("ranks, fault", "events/s", "monitor, cores", "us a rank and s", "MiB (KiB a rank)", "delay, s", "behind, s",
        "writer, cores (late, s)")
    for one in document["runs"]:
        row(f"{one['ranks']}, {one['fault']}", f"{one['events_per_s']:.0f}",
            f"{one['monitor_cores']:.2f}, then {one['monitor_cores_after_onset']:.2f}",
            f"{1e6 * one['monitor_cores'] / one['ranks']:.0f}",
            f"{one['memory_mib']:.0f} ({1024 * one['memory_mib'] / one['ranks']:.0f})",
            "not found" if one["delay_s"] is None else f"{one['delay_s']:.1f}"
            + (f" (+{one['others']})" if one["others"] else ""),
            f"{one['behind_s']:.1f}" + ("" if one["whole"] else " (missed)"),
            f"{one['writer_cores']:.2f} ({one['writer_late_s']:.1f})")
    for each in document["missed"]:
        print(f"  MISSED: {each}")
