#!/usr/bin/env python3
"""bench/run: every scenario loads and explains itself, and a short soak in a lab loses and changes nothing."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import lab_fabric
import program

RUN = pathlib.Path(__file__).resolve().parents[2] / "bench" / "run"


def bench(*words, timeout=240):
    settings = {**os.environ, "HEDDLE_BENCH_BIN": str(pathlib.Path(program.HEDDLE).parent)}
    return subprocess.run([sys.executable, str(RUN), *words], capture_output=True, text=True, env=settings,
                          timeout=timeout, check=False)


class Bench(unittest.TestCase):
    def test_every_scenario_explains_itself(self):
        listed = bench("--list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        self.assertEqual(names, sorted(path.parent.name for path in RUN.parent.glob("*/scenario.py")))
        for name in names:
            told = bench(name, "--help")
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn("--json", told.stdout)

    def test_no_scenario_is_an_error(self):
        self.assertEqual(bench().returncode, 2)
        self.assertEqual(bench("nothing").returncode, 2)

    @unittest.skipIf(lab_fabric.missing(), str(lab_fabric.missing()))
    def test_faults_at_random_change_and_lose_nothing(self):
        done = bench("soak", "--seconds", "12", "--seed", "5", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads(done.stdout)
        self.assertGreater(document["messages"], 10)
        self.assertEqual((document["wrong_messages"], document["failures"]), (0, []))
        self.assertGreater(sum(document["faults"].values()), 3)


if __name__ == "__main__":
    unittest.main()
