"""A rank that is killed, wedged (it lives and does nothing) or slow, and the time until the job goes on without it: by
heddle's elastic ranks, and by torchelastic, which starts all ranks again from the last checkpoint.

A rank that is slow breaks no call, so a policy of `heddle monitor` ends it once an alarm names it. What a restart loses
is the steps since the last checkpoint; a checkpoint is written every CHECKPOINT steps.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from elastic.job import Lines, first_steps
from harness.failure import CannotMeasure
from harness.orphans import Orphans
from harness.pair import built, start
from harness.ranks import end_group
from harness.report import row
from harness.rounds import spread, text
from monitor.faults import Throttle

CHECKPOINT = 50  # steps
_HERE = pathlib.Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_STEPS_BEFORE = 2 * CHECKPOINT  # and, run by run, another part of the way to the next checkpoint
_RUNS_APART = 13                # steps
_STARTS_S = 120     # until a job steps
_PATIENCE_S = 60    # until it goes on
_RESTARTS = 3
FAULTS = ("killed", "wedged", "slow")

_POLICY = """version = 1
[[rule]]
name = "end a slow rank"
class = ["non_communication_slow", "mixed_slow", "degradation"]
place = ["rank"]
confidence = 0.8
persists = "0s"
confirm = []
action = "command"
command = {command}
"""


class Program:
    """`command(folder)`: what starts the job; `size_after`: ranks that go on; `restarts`: they are new processes."""

    def __init__(self, name, command, size_after, restarts, steps, over_heddle=True):
        self.name, self.command, self.size_after, self.restarts = name, command, size_after, restarts
        self.steps, self.over_heddle = steps, over_heddle


def programs(python, ranks):
    def torchelastic(backend):
        # Output and errors to files: PyTorch 1.13 under Python 3.11 fails where a stream is not redirected.
        return lambda folder: [python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks),
                               "--max_restarts", str(_RESTARTS), "--monitor_interval", "0.1", "--redirects", "2",
                               "--tee", "1", "--log_dir", folder, str(_HERE / "restarting.py"), folder, "--backend",
                               backend, "--checkpoint", str(CHECKPOINT)]
    elastic = [built("heddle"), "run", "-n", str(ranks), "--elastic", "1", "--tag-output", "--", python,
               str(_ROOT / "examples" / "elastic.py"), "--steps", "1000000000"]
    return [Program("heddle run --elastic", lambda folder: elastic, ranks - 1, False, "output"),
            Program("heddle, torchelastic", torchelastic("heddle"), ranks, True, "steps"),
            Program("Gloo, torchelastic", torchelastic("gloo"), ranks, True, "steps", over_heddle=False)]


class Case:
    """One run of a program, another rank and step of which get the fault each time."""

    def __init__(self, program, fault, ranks, run, variables):
        self._program, self._fault, self._ranks, self._rank = program, fault, ranks, run % ranks
        self._steps_before = _STEPS_BEFORE + (CHECKPOINT // 2 + _RUNS_APART * run) % CHECKPOINT
        self._variables = {**os.environ, **variables}
        self._stack = contextlib.ExitStack()

    def run(self):
        """Seconds until the job goes on, None where it does not in time, and the steps that were made again."""
        orphans = Orphans()
        try:
            with self._stack:
                return self._measure()
        finally:
            orphans.settle()

    def _measure(self):
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="heddle-bench-elastic-"))
        recording = f"{folder}/recording"
        command = self._program.command(folder)
        if self._fault == "slow":
            command = [built("heddle"), "record", "-o", recording, "--", *command]
        process = self._start(command, folder)
        lines = Lines(f"{folder}/{self._program.steps}")
        self._stack.callback(lines.close)
        if self._fault == "slow":
            self._steer(folder, recording)
        everyone = self._wait(process, lines, lambda: first_steps(lines, set(), self._ranks, 0,
                                                                  self._steps_before), _STARTS_S)
        if everyone is None:
            errors = pathlib.Path(f"{folder}/errors").read_text(encoding="utf-8").strip()[-600:]
            raise CannotMeasure(f"{self._program.name} does not step: {errors}", "run it by hand")
        before = {step["process"]: step["rank"] for step in lines.steps}
        victim = next(pid for pid, rank in before.items() if rank == self._rank)
        old = set(before) if self._program.restarts else {victim}
        began = time.time()
        self._make(victim)
        after = self._wait(process, lines, lambda: first_steps(lines, old, self._program.size_after, began, 1),
                           _PATIENCE_S)
        if after is None:
            return {"seconds": None, "lost_steps": None}
        return {"seconds": max(one["time"] for one in after) - began, "lost_steps": _lost(lines, after)}

    def _start(self, command, folder):
        out = self._stack.enter_context(open(f"{folder}/output", "w", encoding="utf-8"))
        errors = self._stack.enter_context(open(f"{folder}/errors", "w", encoding="utf-8"))
        process = start(command, stdout=out, stderr=errors, process_group=0, env=self._variables)
        self._stack.callback(end_group, process)
        return process

    def _steer(self, folder, recording):
        policy = pathlib.Path(folder) / "policy.toml"
        command = [sys.executable, str(_HERE / "evict.py"), built("heddle"), recording]
        policy.write_text(_POLICY.format(command=command), encoding="utf-8")
        monitor = start([built("heddle"), "monitor", recording, "--policy", str(policy), "--act", "--audit",
                         f"{folder}/audit.jsonl"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._stack.callback(monitor.wait)
        self._stack.callback(monitor.terminate)

    def _make(self, victim):
        if self._fault == "killed":
            os.kill(victim, signal.SIGKILL)
        elif self._fault == "wedged":
            os.kill(victim, signal.SIGSTOP)
            self._stack.callback(_end, victim)
        else:
            self._stack.callback(Throttle(victim).close)

    def _wait(self, process, lines, done, patience_s):
        end = time.monotonic() + patience_s
        while time.monotonic() < end and process.poll() is None:
            lines.read()
            if found := done():
                return found
            time.sleep(0.02)
        return None


def _end(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _lost(lines, after):
    """Steps that were finished before, and are made again."""
    resumed = min(after, key=lambda one: one["time"])
    finished = max(one["step"] for one in lines.steps if one["time"] < resumed["time"])
    return max(0, finished - resumed["step"] + 1)


def compare(python, ranks, runs, variables, progress):
    made = []
    cases = [(program, fault) for program in programs(python, ranks) for fault in FAULTS
             if fault != "slow" or program.over_heddle]
    turns = [(program, fault, run) for run in range(runs) for program, fault in cases]
    found = {}
    for done, (program, fault, run) in enumerate(turns):
        progress.say(done, len(turns), f"{program.name}, {fault}")
        found.setdefault((program, fault), []).append(Case(program, fault, ranks, run, variables).run())
    for (program, fault), results in found.items():
        made.append({"program": program.name, "over_heddle": program.over_heddle, "fault": fault, "runs": results})
    missed = check(made)
    return {"ranks": ranks, "checkpoint_steps": CHECKPOINT, "patience_s": _PATIENCE_S, "cases": made, "missed": missed,
            "exit_status": 1 if missed else 0}


def check(cases):
    """Of heddle's programs, the runs that did not go on in time; empty: none."""
    wrong = []
    for case in cases:
        late = sum(one["seconds"] is None for one in case["runs"])
        if late and case["over_heddle"]:
            wrong.append(f"{case['program']}, {case['fault']}: {late} of {len(case['runs'])} runs did not go on in "
                         f"{_PATIENCE_S} s")
    return wrong


def show(document):
    print(f"{document['ranks']} ranks, a checkpoint every {document['checkpoint_steps']} steps where all are started "
          "again")
    row("", "went on", "after, s", "steps made again")
    for case in document["cases"]:
        went_on = [one for one in case["runs"] if one["seconds"] is not None]
        row(f"{case['program']}, {case['fault']}", f"{len(went_on)} of {len(case['runs'])}",
            text(spread([one["seconds"] for one in went_on]), 2) if went_on else
            f"not in {document['patience_s']}",
            text(spread([one["lost_steps"] for one in went_on]), 0) if went_on else "")
    for each in document["missed"]:
        print(f"  MISSED: {each}")
