"""Job: a job of several ranks that print their steps, and the kill of one of them."""

import json
import os
import signal
import tempfile
import time

from harness.failure import CannotMeasure
from harness.meanwhile import Meanwhile
from harness.orphans import Orphans
from harness.pair import start
from harness.ranks import end_group

_PATIENCE_S = 120
_STEPS_BEFORE = 20


class Lines:
    """What the ranks have written so far; `heddle run --tag-output` writes the rank before each line."""

    def __init__(self, path):
        self._file = open(path, "a+", encoding="utf-8")
        self._file.seek(0)
        self._rest = ""
        self.steps = []

    def read(self):
        whole, _, self._rest = (self._rest + self._file.read()).rpartition("\n")
        for line in whole.splitlines():
            if '{"time"' in line:
                values = json.loads(line[line.index("{"):])
                if "step" in values:
                    self.steps.append(values)

    def close(self):
        self._file.close()


def first_steps(lines, old, size, since, count):
    """The first line of each of `size` ranks that are not `old`, in a group of that size; None while not all have
    made `count`.
    """
    steps = {}
    for step in lines.steps:
        if step["process"] not in old and step["size"] == size and step["time"] > since:
            steps.setdefault(step["process"], []).append(step)
    if len(steps) < size or min(map(len, steps.values())) < count:
        return None
    return [made[0] for made in steps.values()]


class Sample:
    def __init__(self, seconds, meanwhile):
        self.seconds, self.meanwhile = seconds, meanwhile


class Job:
    """A contest of harness.rounds: each run kills another rank. `command_of(folder)`: what starts the job.
    `size_after`: how many ranks go on; `restarts`: they are new processes; `steps`: the file of the folder in which
    their lines are, "output" what the launcher prints.
    """

    def __init__(self, name, ranks, size_after, restarts, steps, command_of, variables):
        self.name = name
        self._ranks, self._size_after, self._restarts = ranks, size_after, restarts
        self._steps, self._command_of, self._variables = steps, command_of, variables
        self._runs = 0

    def run(self):
        """The seconds from kill -9 of a rank until the last of those that go on has finished a step without it."""
        meanwhile, orphans = Meanwhile(), Orphans()
        with tempfile.TemporaryDirectory(prefix="heddle-bench-elastic-") as folder:
            with open(f"{folder}/output", "w", encoding="utf-8") as out, open(f"{folder}/errors", "w+",
                                                                             encoding="utf-8") as errors:
                with meanwhile:
                    process = start(self._command_of(folder), stdout=out, stderr=errors, process_group=0,
                                    env={**os.environ, **self._variables})
                    lines = Lines(f"{folder}/{self._steps}")
                    try:
                        seconds = self._lose_a_rank(process, lines)
                    except TimeoutError as late:
                        errors.seek(0)
                        raise CannotMeasure(f"{self.name}: {late}: {errors.read().strip()[-600:]}",
                                            "run it by hand") from late
                    finally:
                        lines.close()
                        end_group(process)
                orphans.settle()
                meanwhile.settle()
        return Sample(seconds, meanwhile)

    def _lose_a_rank(self, process, lines):
        self._wait(process, lines, lambda: self._have_stepped(lines, set(), self._ranks, 0, _STEPS_BEFORE))
        victim = self._runs % self._ranks
        self._runs += 1
        before = {step["process"]: step["rank"] for step in lines.steps}
        killed = time.time()
        os.kill(next(pid for pid, rank in before.items() if rank == victim), signal.SIGKILL)
        old = set(before) if self._restarts else {pid for pid, rank in before.items() if rank == victim}
        return self._wait(process, lines, lambda: self._have_stepped(lines, old, self._size_after, killed, 1)) - killed

    def _wait(self, process, lines, done):
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end and process.poll() is None:
            lines.read()
            if at := done():
                return at
            time.sleep(0.02)
        raise TimeoutError(f"no steps in {_PATIENCE_S} s" if process.poll() is None else "it has ended")

    @staticmethod
    def _have_stepped(lines, old, size, since, count):
        """The time at which the last of them finished its first step; None while not all have made `count`."""
        first = first_steps(lines, old, size, since, count)
        return first and max(one["time"] for one in first)
