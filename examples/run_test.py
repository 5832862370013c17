#!/usr/bin/env python3
"""Runs one example and checks what it prints: run_test.py ring|all_reduce|torch|elastic|fabric.

Exit status: 0 passed, 1 failed, 77 skipped; the reason is printed.
"""

import json
import os
import pathlib
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


class ElasticRanks:
    """Ranks of elastic.py, each a process of its own, and the lines that they print."""

    def __init__(self, size, folder):
        self.folder, self.prints, self.ranks, self.living = pathlib.Path(folder), [], [], set()
        for rank in range(size):
            self.start(RANK=str(rank), WORLD_SIZE=str(size))

    def start(self, *options, **variables):
        python, settings = torch_settings()
        self.prints.append(self.folder / f"process{len(self.prints)}")
        self.living.add(len(self.ranks))
        with open(self.prints[-1], "w") as printed:
            self.ranks.append(subprocess.Popen(
                [python, HERE / "elastic.py", "--store", self.folder / "store", "--steps", "1000000", *options],
                env={**os.environ, **settings, **variables}, stdout=printed, stderr=subprocess.STDOUT))

    def lines(self, rank):
        printed = self.prints[rank].read_text().splitlines()
        return [json.loads(line) for line in printed if line.startswith("{") and line.endswith("}")]

    def wait_for_steps(self, size, count, since=0.0, limit=60):
        """Until every rank that lives has made steps in a group of `size`; the time of the first on the last rank."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            steps = {rank: [line for line in self.lines(rank)
                            if "step" in line and line["size"] == size and line["time"] > since]
                     for rank in self.living}
            if all(len(made) >= count for made in steps.values()):
                return max(made[0]["time"] for made in steps.values())
            time.sleep(0.05)
        printed = "\n".join(f"rank {rank}: {self.prints[rank].read_text()[-2000:]}" for rank in self.living)
        raise AssertionError(f"no {count} steps of {size} ranks in {limit} s\n{printed}")

    def kill(self, rank):
        """kill -9, and the time from then until the last of the others has finished a step without it."""
        self.ranks[rank].kill()
        killed = time.time()
        self.living.remove(rank)
        return self.wait_for_steps(len(self.living), 3, killed) - killed

    def end(self):
        for rank in self.ranks:
            rank.kill()
            rank.wait()


def elastic():
    with tempfile.TemporaryDirectory(prefix="heddle-example-") as folder:
        ranks = ElasticRanks(4, folder)
        try:
            ranks.wait_for_steps(4, 5)
            for victim in (2, 0):  # at last the one whose model the others take
                print(f"rank {victim} killed: the others' next step after {ranks.kill(victim):.2f} s")
            for _ in range(2):
                ranks.start("--join")
            ranks.wait_for_steps(4, 25, time.time())  # in which they are asked twice more whether to grow
            steps = {line["step"]: set() for line in ranks.lines(1)[-10:] if "step" in line}
            for rank in ranks.living:
                for line in ranks.lines(rank):
                    if line.get("step") in steps:
                        steps[line["step"]].add(line["size"])
            assert all(sizes == {4} for sizes in steps.values()), steps
            ranks.kill(3)
            ranks.kill(4)  # a newcomer
        finally:
            ranks.end()


def fabric():
    printed = check(program.run("sim", "--topology", HERE / "fabric.toml", "--workload", HERE / "training.toml",
                                "--json", timeout=200))
    document = json.loads(printed)
    assert len(document["flows"]) == 7 and all(flow["fct_us"] for flow in document["flows"]), printed
    (job,) = document["jobs"]
    assert len(job["steps"]) == 2, printed


EXAMPLES = {"ring": ring, "all_reduce": all_reduce, "torch": torch, "elastic": elastic, "fabric": fabric}


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
