#!/usr/bin/env python3
"""heddle workload from: a real job, recorded and simulated, moves the same bytes between the same ranks."""

import json
import os
import tempfile
import unittest

import program

RANKS = 4
FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
hosts_per_leaf = 4
"""


class Workload(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.parent.cleanup)
        cls.folder = os.path.join(cls.parent.name, "job")
        cls.fabric = os.path.join(cls.parent.name, "fabric.toml")
        with open(cls.fabric, "w", encoding="utf-8") as file:
            file.write(FABRIC)
        done = program.run("record", "-o", cls.folder, "--", program.HEDDLE, "run", "-n", RANKS, "--",
                           program.HEDDLE, "bench", "all", "-b", "40000", "-e", "80000", "-f", 2, "-n", 1, "-w", 1,
                           settings={"HEDDLE_SHARED_MEMORY": "never"})
        assert done.returncode == 0, done.stderr
        told = json.loads(program.run("matrix", cls.folder, "--format", "json", "--by", "communicator").stdout)
        # What is of no communicator is how ranks found each other.
        (cls.matrix,) = (part for part in told["parts"] if part["name"] != "none")

    def simulate(self, workload, *more):
        done = program.run("sim", "--topology", self.fabric, "--workload", workload, "--json", "--delivered", *more)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout[-2000:])
        (job,) = json.loads(done.stdout)["jobs"]
        return job

    def workload(self, *more):
        path = os.path.join(self.parent.name, "job.toml")
        done = program.run("workload", "from", self.folder, "-o", path, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_the_bytes_of_each_pair_are_those_of_the_recording(self):
        job = self.simulate(self.workload())
        self.assertEqual((job["ranks"], job["ranks_done"]), (RANKS, RANKS))
        simulated = [[0] * RANKS for _ in range(RANKS)]
        for source, destination, count in job["delivered"]:
            simulated[source][destination] = count
        self.assertEqual(simulated, self.matrix["measured"])
        self.assertGreater(sum(map(sum, simulated)), 1_000_000)
        self.assertGreater(job["messages"], 0)  # sendrecv
        kinds = {call["operation"] for call in job["calls"]}
        self.assertLessEqual({"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all"}, kinds)

    def size(self, *words, status=0):
        done = program.run("size", "workload", *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_a_recording_is_sized_without_a_topology(self):
        page = os.path.join(self.parent.name, "job.html")
        answer = json.loads(self.size("--recording", self.folder, "--report", page, "--json").stdout)
        recorded = {figure["name"]: figure for figure in answer["figures"]}
        described = json.loads(self.size("--workload", self.workload(), "--topology", self.fabric, "--json").stdout)
        for figure in described["figures"]:
            self.assertEqual(recorded[figure["name"]]["value"], figure["value"], figure["name"])
        terms = {term["symbol"]: term["value"] for term in recorded["exposed_share"]["terms"]}
        ranks = json.loads(program.run("summary", self.folder, "--json").stdout)["processes"]
        waits = sum(rank["exposed_ns"] for rank in ranks if rank["calls"]) / 1e9
        self.assertAlmostEqual(terms["E"], waits, places=6)
        self.assertTrue(0 < recorded["exposed_share"]["value"] == terms["E"] / terms["D"] < 1)
        self.assertTrue(any(f"heddle size report {self.folder} --topology" in each for each in answer["advice"]))
        with open(page, encoding="utf-8") as file:
            self.assertIn("exposed_share", file.read())

    def test_a_recording_that_is_given_as_a_workload_names_what_to_do(self):
        for words in ((), ("--topology", self.fabric)):
            error = self.size("--workload", self.folder, *words, status=2).stderr
            self.assertIn("it is a recording, not a workload", error)
            self.assertIn(f"heddle workload from {self.folder} -o job.toml", error)
            self.assertIn("--recording", error)
        other = os.path.join(self.parent.name, "other.toml")
        with open(other, "w", encoding="utf-8") as file:
            file.write("answer = 42\n")
        for words in ((), ("--topology", self.fabric)):
            self.assertIn("heddle workload from", self.size("--workload", other, *words, status=2).stderr)
        self.assertIn("exclude each other", self.size("--workload", other, "--recording", self.folder,
                                                      status=2).stderr)
        self.assertIn("--workload or --recording", self.size(status=2).stderr)

    def test_what_ranks_compute_is_what_they_did_between_calls(self):
        job = self.simulate(self.workload())
        summary = json.loads(program.run("summary", self.folder, "--json").stdout)
        spans = [process["span_ns"] - process["exposed_ns"] for process in summary["processes"] if process["calls"]]
        (step,) = job["steps"]
        self.assertGreater(step["computed_us"], 0)
        self.assertLess(step["computed_most_us"], max(spans) / 1e3)

    def test_a_job_of_one_communicator_can_have_more_ranks(self):
        folder = os.path.join(self.parent.name, "reduce")
        done = program.run("record", "-o", folder, "--", program.HEDDLE, "run", "-n", 2, "--",
                           program.HEDDLE, "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", 3,
                           settings={"HEDDLE_SHARED_MEMORY": "never"})
        self.assertEqual(done.returncode, 0, done.stderr)
        path = os.path.join(self.parent.name, "more.toml")
        done = program.run("workload", "from", folder, "--ranks", 6, "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("it had 2 ranks, and has 6", done.stderr)
        job = self.simulate(path)
        self.assertEqual((job["ranks"], job["ranks_done"]), (6, 6))
        reduced = [call for call in job["calls"] if call["operation"] == "all_reduce" and call["bytes"] == 1 << 20]
        self.assertGreaterEqual(len(reduced), 3)

    def test_workloads_that_cannot_be_made_are_refused(self):
        done = program.run("workload", "from", self.folder, "--ranks", 8)
        self.assertEqual(done.returncode, 2)
        self.assertIn("change the workload file by hand", done.stderr)
        done = program.run("workload", "from", os.path.join(self.parent.name, "nothing"))
        self.assertEqual(done.returncode, 2)
        alone = os.path.join(self.parent.name, "alone")
        program.run("record", "-o", alone, "--", program.HEDDLE, "run", "-n", 1, "--", program.HEDDLE, "bench",
                    "allreduce", "-b", "1K", "-e", "1K")
        done = program.run("workload", "from", alone)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no communicator of two ranks", done.stderr)
        (first, *_) = sorted(name for name in os.listdir(self.folder) if name.endswith(".heddle"))
        missing = os.path.join(self.parent.name, "missing")
        os.mkdir(missing)
        for name in os.listdir(self.folder):
            if name.endswith(".heddle") and name != first:
                os.link(os.path.join(self.folder, name), os.path.join(missing, name))
        done = program.run("workload", "from", missing)
        self.assertIn(done.returncode, (0, 2))
        if done.returncode == 2:
            self.assertIn("was not recorded", done.stderr)


if __name__ == "__main__":
    unittest.main()
