#!/usr/bin/env python3
"""What a start costs: `heddle --help` 20 ms, and `import heddle_torch` 100 ms beside what torch itself takes. Scripts
start the program many times, and every rank imports the backend. Counted as time of the processor, and as time that
passes for the user, which has disks and waits in it, too: the least of all runs, since other load only adds to it."""

import os
import pathlib
import subprocess
import sys
import time
import unittest

import program

PYTHON_FOLDER = pathlib.Path(program.HEDDLE).resolve().parents[1] / "python"
HELP_MS, IMPORT_MS, RUNS = 20, 100, 15
MOST_RUNS = 4 * RUNS  # where other load has disturbed all of the first
# A child has torch, which takes seconds to import, from its parent: so one import of torch serves all runs.
IMPORTS = f"""
import os, time
import torch, torch.distributed
least, runs = {IMPORT_MS}, 0
while runs < {RUNS} or (least >= {IMPORT_MS} and runs < {MOST_RUNS}):
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        begun, begun_processor = time.perf_counter(), time.process_time()
        import heddle_torch
        passed, processor = time.perf_counter() - begun, time.process_time() - begun_processor
        os.write(there, b"%.3f %.3f\\n" % (passed * 1e3, processor * 1e3))
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit("a child failed")
    line = os.read(here, 100)
    os.write(1, line)
    least, runs = min(least, float(line.split()[0])), runs + 1
    os.close(here)
    os.close(there)
"""


def times_ms(*words):
    """What passes until a command ends, and user and system time of it and of all that it waited for."""
    begun = time.perf_counter()
    child = subprocess.Popen(words, env=program.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    passed = time.perf_counter() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise AssertionError(f"{words} ended with {child.returncode}")
    return passed * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3


@unittest.skipIf(program.sanitized(), "a sanitizer takes several times as long to start")
class StartUp(unittest.TestCase):
    def expect_below(self, most_ms, what, measured):
        passed, processor = (min(each[at] for each in measured) for at in (0, 1))
        print(f"{what}: {passed:.1f} ms at least, {processor:.1f} ms of the processor", file=sys.stderr)
        self.assertGreaterEqual(len(measured), RUNS)
        self.assertLess(processor, most_ms, (what, measured))
        self.assertLess(passed, most_ms, (what, measured))

    def test_help_takes_20_ms(self):
        for words in (("--help",), ("--version",), ("perf", "--help")):
            measured = [times_ms(program.HEDDLE, *words) for _ in range(RUNS)]
            while min(measured)[0] >= HELP_MS and len(measured) < MOST_RUNS:
                measured.append(times_ms(program.HEDDLE, *words))
            self.expect_below(HELP_MS, f"heddle {' '.join(words)}", measured)

    @unittest.skipUnless(list(PYTHON_FOLDER.glob("heddle_torch/_backend*.so")), "no heddle_torch: make torch")
    def test_the_backend_adds_100_ms_to_torch(self):
        done = subprocess.run(["/usr/bin/python3", "-c", IMPORTS], capture_output=True, text=True, timeout=200,
                              check=False, env=program.environment(PYTHONPATH=str(PYTHON_FOLDER)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_below(IMPORT_MS, "import heddle_torch",
                          [tuple(map(float, line.split())) for line in done.stdout.splitlines()])


if __name__ == "__main__":
    unittest.main()
