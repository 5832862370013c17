#!/usr/bin/env python3
"""Runs one example and checks what it prints: run_test.py ring|all_reduce|torch|fabric.

Exit status: 0 passed, 1 failed, 77 skipped; the reason is printed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

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


def torch():
    python = os.environ.get("HEDDLE_TORCH_PYTHON", "/usr/bin/python3")
    package = pathlib.Path(os.environ.get("HEDDLE_TORCH_PACKAGE", "/nonexistent"))
    if not package.is_dir():
        raise Skip("heddle_torch is not built: make torch")
    settings = {**LOOPBACK, "PYTHONPATH": str(package.parent), "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
    printed = check(program.run("run", "-n", "2", "--", python, HERE / "all_reduce.py", settings=settings, timeout=200))
    assert printed == "average of 2 ranks: 0.5\n", printed


def fabric():
    printed = check(program.run("sim", "--topology", HERE / "fabric.toml", "--workload", HERE / "training.toml",
                                "--json", timeout=200))
    document = json.loads(printed)
    assert len(document["flows"]) == 7 and all(flow["fct_us"] for flow in document["flows"]), printed
    (job,) = document["jobs"]
    assert len(job["steps"]) == 2, printed


EXAMPLES = {"ring": ring, "all_reduce": all_reduce, "torch": torch, "fabric": fabric}


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
