#!/usr/bin/env python3
"""heddle diagnose on recordings of real ranks: a healthy job, one with a stopped rank, and none."""

import json
import os
import signal
import tempfile
import unittest

import program

LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}


class Diagnose(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "job")

    def recorded_rank(self, rank):
        """The process id of a rank that records."""
        listed = program.run("record", "info", self.folder, "--json")
        for one in json.loads(listed.stdout or "{}").get("recordings", []):
            if one["identity"].get("rank") == str(rank):
                return int(one["identity"]["pid"])
        return None

    def test_a_healthy_job_has_no_verdict(self):
        done = program.run("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE,
                           "bench", "allreduce", "-b", "4M", "-e", "4M", "-n", 120, settings=LOOPBACK)
        self.assertEqual(done.returncode, 0, done.stderr)
        diagnosed = program.run("diagnose", self.folder, "--json")
        self.assertEqual(diagnosed.returncode, 0, diagnosed.stdout + diagnosed.stderr)
        document = json.loads(diagnosed.stdout)
        self.assertEqual(document["verdicts"], [])
        self.assertTrue(document["enough_evidence"])

    def test_a_stopped_rank_is_named(self):
        with self.endless_job() as job:
            pid = self.calling_rank(1)
            os.kill(pid, signal.SIGSTOP)
            try:
                job.wait()
            finally:
                os.kill(pid, signal.SIGKILL) if os.path.exists(f"/proc/{pid}") else None
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

    def test_nothing_to_read_and_too_little(self):
        self.assertEqual(program.run("diagnose", self.folder).returncode, 2)


if __name__ == "__main__":
    unittest.main()
