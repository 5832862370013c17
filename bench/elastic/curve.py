"""Curve: the losses of a training job whose ranks are killed, added and ended, beside those of undisturbed runs."""

import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

from elastic.job import Lines
from harness.failure import CannotMeasure
from harness.pair import built, start
from harness.ranks import end_group

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_RANKS, _MIN, _MAX = 4, 2, 6
# At these shares of the steps a rank is killed, or another number of ranks is asked for.
_EVENTS = ((0.2, "kill"), (0.4, "resize", 6), (0.55, "kill"), (0.7, "resize", 3), (0.85, "kill"))
_LAST_SHARE = 0.1  # of the steps: their mean is a run's last loss
_PATIENCE_S = 120


class Curve:
    """A run of the ResNet-18 example; `disturbed`: with the events."""

    def __init__(self, python, steps, seed, variables, disturbed):
        self._command = [python, str(_ROOT / "plugins" / "torch" / "examples" / "elastic.py"), "--steps", str(steps),
                         "--seed", str(seed)]
        self._steps, self._variables = steps, variables
        self._left = list(_EVENTS) if disturbed else []
        self.next_step_s = []  # after each kill
        self.sizes = []
        self.losses = []

    def run(self):
        with tempfile.TemporaryDirectory(prefix="heddle-bench-elastic-") as folder:
            with open(f"{folder}/output", "w", encoding="utf-8") as out, open(f"{folder}/errors", "w+",
                                                                             encoding="utf-8") as errors:
                process = start([built("heddle"), "run", "-n", str(_RANKS), "--elastic", f"{_MIN}:{_MAX}",
                                 "--tag-output", "--", *self._command], stdout=out, stderr=errors, process_group=0,
                                env={**os.environ, **self._variables})
                lines = Lines(f"{folder}/output")
                try:
                    self._watch(process, lines)
                    if process.wait(_PATIENCE_S) != 0:
                        raise TimeoutError(f"exit status {process.returncode}")
                except (TimeoutError, subprocess.TimeoutExpired) as late:
                    errors.seek(0)
                    raise CannotMeasure(f"the training: {late}: {errors.read().strip()[-600:]}",
                                        "run it by hand") from late
                finally:
                    lines.close()
                    end_group(process)
        return self

    def _watch(self, process, lines):
        last_at, seen, killed = time.monotonic(), 0, None
        while process.poll() is None:
            lines.read()
            if len(lines.steps) > seen:
                last_at, seen = time.monotonic(), len(lines.steps)
            elif time.monotonic() > last_at + _PATIENCE_S:
                raise TimeoutError(f"no step in {_PATIENCE_S} s")
            if killed and (finished := self._finished_without(lines, *killed)):
                self.next_step_s.append(finished - killed[0])
                killed = None
            newest = lines.steps[-1]["step"] if lines.steps else 0
            if not killed and self._left and newest >= self._left[0][0] * self._steps:
                killed = self._disturb(process, lines, *self._left.pop(0)[1:])
            time.sleep(0.02)
        lines.read()
        whole = {}
        for step in lines.steps:
            whole[step["step"]] = step
        if sorted(whole) != list(range(1, self._steps + 1)):
            raise TimeoutError(f"{len(whole)} of {self._steps} steps were finished")
        self.losses = [whole[step]["loss"] for step in sorted(whole)]
        self.sizes = [whole[step]["size"] for step in sorted(whole)]

    @staticmethod
    def _disturb(process, lines, what, ranks=0):
        """When a rank was killed, and how many are left; None: none was."""
        if what == "resize":
            subprocess.run([built("heddle"), "resize", str(ranks), "--run", str(process.pid)], check=True,
                           capture_output=True)
            return None
        size = lines.steps[-1]["size"]
        at_work = {step["process"]: step["rank"] for step in lines.steps[-size:]}
        victim = max(at_work, key=lambda one: at_work[one] % 2)  # of an odd rank
        killed = time.time()
        os.kill(victim, signal.SIGKILL)
        return killed, size - 1

    @staticmethod
    def _finished_without(lines, killed, left):
        """When the last of those that are left had finished its first step without the victim; None: not all have."""
        times = {}
        for step in lines.steps:
            if step["time"] > killed and step["size"] == left:
                times.setdefault(step["process"], step["time"])
        return max(times.values()) if len(times) >= left else None

    @property
    def last_loss(self):
        return statistics.fmean(self.losses[-max(1, round(_LAST_SHARE * self._steps)):])


def compare(python, steps, seeds, variables, progress):
    """Of each seed one undisturbed and one disturbed run."""
    runs = []
    for at, seed in enumerate(range(1, seeds + 1)):
        for disturbed in (False, True):
            progress.say(2 * at + disturbed, 2 * seeds, "ResNet-18, disturbed" if disturbed else "ResNet-18")
            run = Curve(python, steps, seed, variables, disturbed).run()
            runs.append({"seed": seed, "disturbed": disturbed, "last_loss": round(run.last_loss, 4),
                         "losses": run.losses, "sizes": run.sizes,
                         "next_step_s": [round(each, 2) for each in run.next_step_s]})
    missed = check(runs)
    return {"steps": steps, "ranks": _RANKS, "elastic": f"{_MIN}:{_MAX}", "runs": runs, "missed": missed,
            "exit_status": 1 if missed else 0}


def check(runs):
    """Disturbed runs in which the ranks that were left did not all go on after each kill; empty: none."""
    kills = sum(event[1] == "kill" for event in _EVENTS)
    return [f"seed {run['seed']}: the ranks went on after {len(run['next_step_s'])} of {kills} kills"
            for run in runs if run["disturbed"] and len(run["next_step_s"]) < kills]
