#!/usr/bin/env python3
"""Plants mistakes in the protocol, one at a time, and demands that the proof finds each.

    tests/vopr/mutants/run.py BUILD_DIR [--jobs N] [NAME...]

A mutant is one source file with one edit (table.py). It is compiled with the build's own command
at a lower optimization level, and linked before the build's libraries into a separate heddle-vopr in
BUILD_DIR/vopr/mutants. Seeds run until one fails. Mutants of the agreement on ranks are linked into the
test program that has its histories, which must fail. The source tree is not changed. Exit status: 0
every mutant was caught, 1 a mutant survived or could not be planted, 2 there is no such build.
"""

import argparse
import concurrent.futures
import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

import table

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Time limit of a mutant's seeds.
TIMEOUT_S = 120


def compile_commands(build):
    """Source path in the tree to its compile command, as a list of words."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source.is_relative_to(ROOT):
            commands[str(source.relative_to(ROOT))] = shlex.split(entry["command"])
    return commands


@functools.cache
def link_command(build, program):
    """The link command of a program, as a list of words."""
    lines = subprocess.run(["ninja", "-C", build, "-t", "commands", program], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [word for word in shlex.split(lines[-1]) if word not in (":", "&&")]


def compile_mutant(mutant, folder, build, commands):
    """Compiles the mutated file; returns (object path, None), or (None, error text)."""
    original = (ROOT / mutant.file).read_text()
    if original.count(mutant.original) != 1:
        return None, f"its original text is found {original.count(mutant.original)} times in {mutant.file}"
    source = folder / (mutant.name + ".cc")
    source.write_text(original.replace(mutant.original, mutant.mutated))
    made = folder / (mutant.name + ".o")
    words = [word for word in commands[mutant.file] if word != "-Werror"
             and not re.match(r"-O|-g", word)]
    words[words.index("-o") + 1] = str(made)
    words[words.index("-c") + 1] = str(source)
    compiled = subprocess.run([*words, "-w", "-O1"], cwd=build, capture_output=True, text=True,
                              check=False)
    if compiled.returncode != 0:
        return None, "it does not compile:\n" + compiled.stderr
    return made, None


def link(mutant, made, folder, build):
    """Links the mutant before the libraries, so that it replaces the original object."""
    program = folder / (mutant.name + ".program")
    words = link_command(build, mutant.program)
    out = words.index("-o")
    linked = [*words[:out], str(made), "-o", str(program), *words[out + 2:]]
    done = subprocess.run(linked, cwd=build, capture_output=True, text=True, check=False)
    return (program, None) if done.returncode == 0 else (None, "it does not link:\n" + done.stderr)


def hunt_by_tests(mutant, program):
    """The same by the tests of a mutant, of which one must fail."""
    try:
        run = subprocess.run([program, f"--gtest_filter={mutant.tests}", "--gtest_fail_fast"],
                             capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"it was not caught within {TIMEOUT_S} s"
    failed = re.search(r"^\[  FAILED  \] (\S+)", run.stdout, re.MULTILINE)
    if run.returncode == 1 and failed:
        return failed[1], None
    return None, f"no test of {mutant.tests} failed (exit status {run.returncode})"


def hunt(mutant, program):
    """Runs seeds until one fails; returns (how it was caught, None), or (None, why not)."""
    if mutant.tests:
        return hunt_by_tests(mutant, program)
    try:
        run = subprocess.run([program, "--seeds", f"{mutant.first}..{mutant.first + mutant.seeds - 1}"],
                             capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None, f"it was not caught within {TIMEOUT_S} s"
    failed = re.search(r"^seed (\d+) FAILED.*\n +(.*)$", run.stdout, re.MULTILINE)
    if run.returncode == 1 and failed:
        return f"seed {failed[1]}: {failed[2]}", None
    aborted = re.search(r"--seed (\d+)", run.stderr)
    if run.returncode < 0 and aborted:
        return f"seed {aborted[1]}: {run.stderr.strip().splitlines()[0]}", None
    return None, f"it survived {mutant.seeds} seeds (exit status {run.returncode})"


def try_mutant(mutant, folder, build, commands):
    """Returns (caught, line to print) for one mutant."""
    began = time.monotonic()
    made, why = compile_mutant(mutant, folder, build, commands)
    if made is not None:
        program, why = link(mutant, made, folder, build)
    caught = None
    if why is None:
        caught, why = hunt(mutant, program)
        program.unlink()
    took = time.monotonic() - began
    if caught is None:
        return False, f"NOT CAUGHT  {mutant.name} ({mutant.breaks}): {why}"
    return True, f"caught  {mutant.name} ({mutant.breaks}) in {took:.0f} s by {caught}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*", help="only these mutants")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    if not (build / "compile_commands.json").exists():
        print(f"error: {build} is no build with compile_commands.json", file=sys.stderr)
        return 2
    mutants = [mutant for mutant in table.MUTANTS
               if not arguments.names or mutant.name in arguments.names]
    folder = build / "vopr" / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    commands = compile_commands(build)
    good = True
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tries = [pool.submit(try_mutant, mutant, folder, build, commands)
                 for mutant in mutants]
        for one in tries:
            caught, line = one.result()
            good = good and caught
            print(line, flush=True)
    return 0 if good and mutants else 1


if __name__ == "__main__":
    sys.exit(main())
