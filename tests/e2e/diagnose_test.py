#!/usr/bin/env python3
"""heddle diagnose on recordings of real ranks: a job with a stopped rank, one that is too short, and none."""

import json
import os
import pathlib
import signal
import tempfile
import unittest

import program

FABRIC = pathlib.Path(__file__).resolve().parents[2] / "examples" / "fabric.toml"
LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}


class JobCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "job")

    def diagnose_all_reduces(self, ranks, size, count):
        """Of a job that does nothing else, recorded to its end."""
        done = program.run("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", ranks, "--", program.HEDDLE,
                           "bench", "allreduce", "-b", size, "-e", size, "-n", count, settings=LOOPBACK)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program.run("diagnose", self.folder, "--json")


class Diagnose(JobCase):
    def recorded_rank(self, rank):
        """The process id of a rank that records."""
        listed = program.run("record", "info", self.folder, "--json")
        for one in json.loads(listed.stdout or "{}").get("recordings", []):
            if one["identity"].get("rank") == str(rank):
                return int(one["identity"]["pid"])
        return None

    def test_delays_between_hosts_are_a_matrix_of_ranks(self):
        jobs = pathlib.Path(self.folder).with_name("jobs.toml")
        jobs.write_text('version = 1\n[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "8MB"\ncount = 40\n'
                        'gap = "15ms"\nhosts = ["h0..h2"]\n', encoding="utf-8")
        done = program.run("sim", "--topology", FABRIC, "--workload", jobs, "--trace", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        (delays,) = json.loads(program.run("diagnose", self.folder, "--json").stdout)["delays"]
        self.assertEqual(delays["processes"], ["0", "1", "2"])
        for sender, row in enumerate(delays["seconds"]):
            self.assertEqual([each is not None for each in row], [to == (sender + 1) % 3 for to in range(3)])
            self.assertLess(abs(row[(sender + 1) % 3]), 0.1)

    def test_a_stopped_rank_is_named(self):
        with self.endless_job() as job:
            pid = self.calling_rank(1)
            os.kill(pid, signal.SIGSTOP)
            try:
                job.wait()
            finally:
                program.kill(pid)
        self.expect_hang_of(1)

    def test_a_killed_rank_is_named_though_the_launcher_ends_the_others(self):
        with self.endless_job() as job:
            os.kill(self.calling_rank(1), signal.SIGKILL)
            job.wait()
        self.expect_hang_of(1)

    def endless_job(self):
        return program.started("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE,
                               "bench", "allreduce", "-b", "64K", "-e", "64K", "-n", 10_000_000, settings=LOOPBACK)

    def calling_rank(self, rank):
        """The process id of a rank, once calls have ended."""
        pid = None
        while pid is None or not self.has_calls():
            pid = self.recorded_rank(rank)
        return pid

    def expect_hang_of(self, rank):
        diagnosed = program.run("diagnose", self.folder, "--json")
        self.assertEqual(diagnosed.returncode, 1, diagnosed.stdout + diagnosed.stderr)
        verdict = json.loads(diagnosed.stdout)["verdicts"][0]
        self.assertIn(verdict["class"], ("non_communication_hang", "communication_hang"))
        self.assertEqual(verdict["place"], "rank")
        self.assertIn(f"rank {rank} ", verdict["place_text"])

    def has_calls(self):
        return '"call_ended"' in program.run("record", "info", self.folder, "--json").stdout

    def test_nothing_to_read_is_an_error(self):
        done = program.run("diagnose", self.folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(self.folder, done.stderr)

    def test_a_few_calls_are_too_little_to_judge(self):
        diagnosed = self.diagnose_all_reduces(2, "64K", 2)
        self.assertEqual(diagnosed.returncode, 2, diagnosed.stdout + diagnosed.stderr)
        document = json.loads(diagnosed.stdout)
        self.assertEqual((document["verdicts"], document["enough_evidence"], document["operations"]), ([], False, 0))
        self.assertRegex(document["not_judged"][0], r"^slowness in communicator [0-9a-f]{16}, which completed \d+ ")
        text = program.run("diagnose", self.folder)
        self.assertEqual(text.returncode, 2)
        self.assertIn("not judged: slowness in communicator", text.stdout)
        self.assertTrue(text.stdout.endswith("not enough evidence\n"), text.stdout)
        self.assertNotIn("no fault found", text.stdout)
        own = program.run("diagnose", self.folder, "--hung-for", "10m")
        self.assertEqual(own.returncode, 2)
        self.assertIn("cannot use --hung-for", own.stderr)


if __name__ == "__main__":
    unittest.main()
