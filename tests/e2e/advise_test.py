#!/usr/bin/env python3
"""heddle plan advise: a job with a bad order of ranks is recorded in a lab, the advice names a better one, and real
packets confirm it; simulated recordings; recordings and options that it must refuse."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import lab_fabric
import program

# One spine as fast as a host: what crosses it from a leaf shares one link.
FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
[host_link]
rate = "40Mbit/s"
queue = "250KB"
mtu = 1500
[switch_link]
rate = "40Mbit/s"
queue = "250KB"
mtu = 1500
"""

# Each hop of the ring crosses the spine.
RING = """version = 1
[[job]]
kind = "all_reduce"
algorithm = "ring"
bytes = "400KB"
count = 7
hosts = ["h0", "h2", "h1", "h3"]
"""

# A computation that takes far longer than what is called before it.
HIDDEN = """version = 1
[[job]]
kind = "program"
ranks = 4
[[job.communicator]]
name = "all"
ranks = ["0..3"]
[[job.program]]
ranks = ["0..3"]
repeat = 6
actions = ["all_reduce all 40KB ring as b0", "compute 200ms", "wait b0"]
"""

# One step only.
ONCE = """version = 1
[[job]]
kind = "all_reduce"
bytes = "400KB"
"""


class Advise(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ad-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("fabric.toml", FABRIC), ("ring.toml", RING), ("hidden.toml", HIDDEN), ("once.toml", ONCE)):
            (self.folder / name).write_text(text, encoding="utf-8")

    def run_here(self, *words, timeout=program.PATIENCE_S):
        return program.run(*words, cwd=self.folder, timeout=timeout)

    def simulated(self, workload, name):
        """A recording of a simulation, with the transport that advice has by default."""
        done = self.run_here("sim", "--topology", "fabric.toml", "--workload", workload, "--trace", name,
                             "--initial-window", "64KB", "--burst", "64KB")
        self.assertEqual(done.returncode, 0, done.stderr)
        return name

    def advice(self, *words, status=0):
        done = self.run_here("plan", "advise", *words, "--json", timeout=4 * program.PATIENCE_S)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def expect_refused(self, *words, why):
        done = self.run_here("plan", "advise", *words)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(why, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_better_order_is_found_and_reproduced(self):
        advice = self.advice(self.simulated("ring.toml", "job"), "--topology", "fabric.toml", "--seeds", "2")
        self.assertTrue(advice["enough_evidence"])
        self.assertLess(abs(advice["off_by"]), 0.05)
        self.assertEqual((advice["ranks"], advice["steps"], advice["steps_left_out"]), (4, 5, 2))
        best = advice["changes"][0]
        self.assertEqual((best["kind"], best["why_not"]), ("rank_order", "gains"))
        # Two hops share each uplink, then one has it: half of the step.
        self.assertAlmostEqual(best["gain"]["mean"], 0.5, delta=0.06)
        self.assertIn("--hosts", best["todo"])

    def test_the_text_is_of_the_same_advice(self):
        self.simulated("ring.toml", "job")
        done = self.run_here("plan", "advise", "job", "--topology", "fabric.toml", "--seeds", "2", "--top", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("heddle run --hosts", done.stdout)
        self.assertIn("not considered", done.stdout)
        self.assertIn("give --model", done.stdout)

    def test_hidden_communication_gains_nothing(self):
        advice = self.advice(self.simulated("hidden.toml", "job"), "--topology", "fabric.toml", "--seeds", "2")
        self.assertTrue(advice["enough_evidence"])
        self.assertEqual({change["why_not"] for change in advice["changes"]}, {"hidden"})
        self.assertIn("communication is hidden", advice["changes"][0]["reason"])

    def test_another_fabric_is_no_evidence(self):
        self.simulated("ring.toml", "job")
        fast = FABRIC.replace("40Mbit/s", "400Mbit/s")
        (self.folder / "fast.toml").write_text(fast, encoding="utf-8")
        advice = self.advice("job", "--topology", "fast.toml", "--seeds", "2", status=1)
        self.assertFalse(advice["enough_evidence"])
        done = self.run_here("plan", "advise", "job", "--topology", "fast.toml", "--seeds", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("NOT ENOUGH EVIDENCE", done.stdout)

    def test_what_cannot_be_advised_on(self):
        self.expect_refused("nothing", "--topology", "fabric.toml", why="nothing")
        (self.folder / "empty").mkdir()
        self.expect_refused("empty", "--topology", "fabric.toml", why="empty")
        self.simulated("once.toml", "once")
        self.expect_refused("once", "--topology", "fabric.toml", why="cannot advise on this recording")
        self.simulated("ring.toml", "job")
        small = FABRIC.replace("hosts_per_leaf = 2", "hosts_per_leaf = 1")
        (self.folder / "small.toml").write_text(small, encoding="utf-8")
        self.expect_refused("job", "--topology", "small.toml", why="is no host of the topology")
        self.expect_refused("job", "--topology", "fabric.toml", "--hosts", "h0,h1", why="names 2 hosts")
        self.expect_refused("job", "--topology", "fabric.toml", "--hosts", "h0,h0,h1,h2", why="two ranks are on 'h0'")
        self.expect_refused("job", "--topology", "fabric.toml", "--model", "no-such-model", why="no-such-model")
        done = self.run_here("plan", "--seed", "2", "advise", "job")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("after 'advise'", done.stderr)


class Lab(unittest.TestCase):
    """With real packets."""

    def setUp(self):
        missing = lab_fabric.missing()
        if missing is not None:
            self.skipTest(missing)
        folder = tempfile.TemporaryDirectory(prefix="ad-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.lab = lab_fabric.Lab(self.folder, FABRIC, "ad")
        self.addCleanup(self.lab.close)
        workload = os.path.join(self.folder, "ring.toml")
        with open(workload, "w", encoding="utf-8") as file:
            file.write(RING)
        self.recording = os.path.join(self.folder, "job")
        done = subprocess.run([program.HEDDLE, "record", "-o", self.recording, "--", program.HEDDLE, "workload", "run",
                               workload, "--lab", self.lab.name], capture_output=True, text=True, check=False,
                              env=program.environment(), timeout=program.PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_better_order_is_faster_for_real(self):
        with program.started("plan", "advise", self.recording, "--topology", self.lab.file, "--seeds", "2", "--bound",
                             "1000", "--try", "1", "--json") as trial:
            self.assertEqual(trial.wait(3 * program.PATIENCE_S), 0, trial.said())
            advice = json.loads("\n".join(trial.lines))
        best = advice["changes"][0]
        self.assertEqual((best["kind"], best["why_not"]), ("rank_order", "gains"))
        self.assertEqual(advice["real_rounds"], 3)
        # Half of the step on a quiet machine (bench/run advise); other tests may take the cores meanwhile.
        self.assertGreater(best["tried"]["mean"], 0)
        self.assertNotIn(f"advise-{trial.process.pid}", lab_fabric.heddle("lab", "list").stdout)

    def test_nothing_is_left_after_a_signal(self):
        trial = subprocess.Popen([program.HEDDLE, "plan", "advise", self.recording, "--topology", self.lab.file,
                                  "--seeds", "2", "--bound", "1000", "--try", "3", "--rounds", "50"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 env=program.environment(TMPDIR=self.folder))
        name = f"advise-{trial.pid}"
        while name not in lab_fabric.heddle("lab", "list").stdout and trial.poll() is None:
            time.sleep(0.1)
        trial.send_signal(signal.SIGTERM)
        trial.communicate(timeout=program.PATIENCE_S)
        self.assertEqual(trial.returncode, 143)
        self.assertNotIn(name, lab_fabric.heddle("lab", "list").stdout)
        self.assertEqual([each for each in os.listdir(self.folder) if each.startswith("heddle-advise")], [])


if __name__ == "__main__":
    unittest.main()
