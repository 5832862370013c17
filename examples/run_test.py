#!/usr/bin/env python3
"""Runs one example and checks what it prints: run_test.py NAME, one of EXAMPLES.

Exit status: 0 passed, 1 failed, 77 skipped; the reason is printed.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import program

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}


class Skip(Exception):
    """Why an example cannot run here."""


def check(done):
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiled(name, folder):
    """A C example, built against the library of this build."""
    if os.environ.get("HEDDLE_SANITIZERS"):
        raise Skip("the system's C compiler cannot link a library that is built with sanitizers")
    library = pathlib.Path(os.environ["HEDDLE_C_LIBRARY"])
    if not library.exists():
        raise Skip(f"{library.name} is not built")
    made = pathlib.Path(folder) / name
    command = ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", HERE / f"{name}.c", f"-I{ROOT}/plugins/c",
               f"-L{library.parent}", "-lheddle", "-o", made]
    check(subprocess.run(command, capture_output=True, text=True, check=False))
    return made, {**LOOPBACK, "LD_LIBRARY_PATH": str(library.parent)}


def ring():
    with tempfile.TemporaryDirectory(prefix="heddle-example-") as folder:
        made, settings = compiled("ring", folder)
        printed = check(program.run("run", "-n", "3", "--", made, settings=settings))
    assert sorted(printed.splitlines()) == [
        f"rank {rank} of 3: heard {(rank + 2) % 3}, all together 3" for rank in range(3)], printed


def all_reduce():
    with tempfile.TemporaryDirectory(prefix="heddle-example-") as folder:
        made, settings = compiled("all_reduce", folder)
        printed = check(program.run("run", "-n", "4", "--", made, settings=settings))
    assert printed == "average of 4 ranks: 1.5\n", printed


def torch_settings():
    """The Python that has torch, and how it finds heddle's backend."""
    python = os.environ.get("HEDDLE_TORCH_PYTHON", "/usr/bin/python3")
    package = pathlib.Path(os.environ.get("HEDDLE_TORCH_PACKAGE", "/nonexistent"))
    if not package.is_dir():
        raise Skip("heddle_torch is not built: make torch")
    return python, {**LOOPBACK, "PYTHONPATH": str(package.parent), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}


def torch():
    python, settings = torch_settings()
    printed = check(program.run("run", "-n", "2", "--", python, HERE / "all_reduce.py", settings=settings, timeout=200))
    assert printed == "average of 2 ranks: 0.5\n", printed


class ElasticJob:
    """A program under `heddle run --elastic` that prints a line a step, and the lines of its ranks."""

    def __init__(self, size, run):
        self.run, self.size = run, size
        self.lines = {}  # by process, of those that live
        self.lost = set()
        self.read = 0
        self.wait_for_steps(size, 5)
        self.ranks = {lines[0]["rank"]: process for process, lines in self.lines.items()}

    def read_lines(self):
        fresh = self.run.lines[self.read:]
        self.read += len(fresh)
        for line in (json.loads(line.partition("] ")[2]) for line in fresh):
            if line["process"] not in self.lost:
                self.lines.setdefault(line["process"], []).append(line)

    def wait_for_steps(self, size, count, since=0.0, watched=None, limit=2 * program.PATIENCE_S):
        """Until all ranks have made steps in a group of `size`; the time of the first on the last rank."""
        end = time.monotonic() + limit
        while time.monotonic() < end and self.run.process.poll() is None:
            self.read_lines()
            steps = [[line for line in lines if "step" in line and line["size"] == size and line["time"] > since]
                     for lines in self.lines.values()]
            if len(steps) == (watched or size) and all(len(made) >= count for made in steps):
                return max(made[0]["time"] for made in steps)
            time.sleep(0.05)
        raise AssertionError(f"no {count} steps of {size} ranks in {limit} s\n{self.run.said()[-4000:]}")

    def kill(self, rank):
        """kill -9 of the rank of this number at the start; the time of it."""
        killed = time.time()
        os.kill(self.ranks[rank], signal.SIGKILL)
        return killed

    def forget(self, process):
        self.lost.add(process)
        del self.lines[process]

    def lose(self, rank):
        """Kills it, and returns the time until the last of the others has finished a step without it."""
        killed = self.kill(rank)
        self.forget(self.ranks[rank])
        size = len(self.lines)
        seconds = self.wait_for_steps(size, 3, killed) - killed
        said = f"rank {rank} was lost: signal 9 (Killed) ended it; {size} of {self.size} ranks are left"
        assert any(said in line for line in self.run.errors), self.run.errors
        return seconds


def elastic():
    python, settings = torch_settings()
    with tempfile.TemporaryDirectory(prefix="heddle-example-") as folder:
        train = (python, HERE / "elastic.py", "--steps", "1000000", "--store", f"{folder}/store")
        with program.started("run", "-n", "4", "--elastic", "2", "-t", "--", *train, settings=settings) as run:
            job = ElasticJob(4, run)
            for victim in (2, 0):  # at last the one whose model the others take
                print(f"rank {victim} killed: the others' next step after {job.lose(victim):.2f} s")
            newcomers = [subprocess.Popen([*train, "--join"], env={**os.environ, **settings},
                                          stdout=subprocess.DEVNULL) for _ in range(2)]
            try:
                job.wait_for_steps(4, 15, time.time(), watched=2)
            finally:
                for size, newcomer in zip((3, 2), newcomers):
                    newcomer.kill()
                    newcomer.wait()
                    job.wait_for_steps(size, 3, time.time(), watched=2)
            job.kill(3)
            status = run.wait()
            assert status == 128 + signal.SIGKILL, status
            ended = "rank 3 failed: signal 9 (Killed) ended it (1 of 4 ranks is left, at least 2 are needed"
            assert ended in run.said()


def train_elastic():
    python, settings = torch_settings()
    train = (python, ROOT / "plugins/torch/examples/elastic.py", "--model", "small", "--batch", "24", "--steps",
             "1000000")
    with program.started("run", "-n", "3", "--elastic", "2:4", "-t", "--", *train, settings=settings) as run:
        job = ElasticJob(3, run)
        print(f"rank 1 killed: the others' next step after {job.lose(1):.2f} s")
        job.wait_for_steps(3, 5, time.time())  # with a newcomer
        check(program.run("resize", "4", "--run", run.process.pid))
        job.wait_for_steps(4, 5, time.time())
        check(program.run("resize", "3", "--run", run.process.pid))
        run.wait_for("rank 4 is ended, as 3 ranks are wanted")
        job.forget(list(job.lines)[-1])
        job.wait_for_steps(3, 5, time.time())
        end = time.monotonic() + 2 * program.PATIENCE_S
        while len(job.lines[job.ranks[0]]) < 60 and time.monotonic() < end:  # a loss falls with steps, not with time
            time.sleep(0.05)
            job.read_lines()
        run.signal(signal.SIGTERM)
        assert run.wait() == 128 + signal.SIGTERM
    for lines in job.lines.values():
        steps = [line["step"] for line in lines]
        assert all(after - before in (0, 1, 2) for before, after in zip(steps, steps[1:])), steps
    losses = [line["loss"] for line in job.lines[job.ranks[0]]]
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5]), losses


def local_steps():
    python, settings = torch_settings()
    results = {}
    for name, options in {"synchronous": ["--synchronous"], "local": ["--every", "20", "--bits", "8"]}.items():
        command = [python, HERE / "local_steps.py", "--steps", "300", *options]
        printed = check(program.run("run", "-n", "2", "--", *command, settings=settings, timeout=200))
        results[name] = json.loads(printed.splitlines()[-1])
    # 80 times fewer bytes, and nearly as good: a network that does not learn is at 2.3.
    assert results["local"]["bytes"] * 75 < results["synchronous"]["bytes"], results
    assert results["local"]["loss"] < results["synchronous"]["loss"] + 0.15 < 0.6, results


def fabric():
    printed = check(program.run("sim", "--topology", HERE / "fabric.toml", "--workload", HERE / "training.toml",
                                "--json", timeout=200))
    document = json.loads(printed)
    assert len(document["flows"]) == 7 and all(flow["fct_us"] for flow in document["flows"]), printed
    (job,) = document["jobs"]
    assert len(job["steps"]) == 2, printed


EXAMPLES = {"ring": ring, "all_reduce": all_reduce, "torch": torch, "elastic": elastic, "train_elastic": train_elastic,
            "local_steps": local_steps, "fabric": fabric}


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in EXAMPLES:
        print(__doc__, file=sys.stderr)
        return 1
    try:
        EXAMPLES[arguments[0]]()
    except Skip as reason:
        print(f"skipped '{reason}'")  # as unittest writes it, for the list of reasons
        return 77
    except AssertionError as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
