#!/usr/bin/env python3
"""heddle diagnose on recordings of real ranks: a job with a stopped rank, one that is too short, and none."""

import json
import os
import pathlib
import signal
import tempfile
import time
import unittest

import program

FABRIC = pathlib.Path(__file__).resolve().parents[2] / "examples" / "fabric.toml"
LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}
# Of a rank that has no core meanwhile the others must not believe that it is dead.
SLOW = {**LOOPBACK, "HEDDLE_PEER_DEAD_AFTER_MS": "10000"}


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
        """The process id of a rank in whose recording calls have ended."""
        listed = program.run("record", "info", self.folder, "--json")
        for one in json.loads(listed.stdout or "{}").get("recordings", []):
            if one["identity"].get("rank") == str(rank) and "call_ended" in one["events_by_kind"]:
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
                job.wait(2 * program.PATIENCE_S)
            finally:
                program.kill(pid)
        self.expect_hang_of(1)

    def test_a_killed_rank_is_named_though_the_launcher_ends_the_others(self):
        # With the usual grace the others, without a core, might be killed before they have noticed anything.
        with self.endless_job("--grace", "60s") as job:
            pid = self.calling_rank(1)
            os.kill(pid, signal.SIGSTOP)
            while not program.has_stopped(pid):
                time.sleep(0.01)
            # Killed between two calls, before the others have made the next one, it would have kept none waiting.
            while job.process.poll() is None and not self.others_wait_for(1):
                time.sleep(0.1)
            program.kill(pid)
            job.wait(2 * program.PATIENCE_S)
        self.expect_hang_of(1)

    def endless_job(self, *options):
        return program.started("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, *options, "--",
                               program.HEDDLE, "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", 10_000_000,
                               settings=SLOW)

    def others_wait_for(self, stopped):
        """Whether they have called the operation that is the next to end at the rank that was stopped."""
        listed = json.loads(program.run("record", "info", self.folder, "--json").stdout)
        kinds = {one["identity"]["rank"]: one["events_by_kind"] for one in listed["recordings"]
                 if "rank" in one["identity"]}
        ended = kinds.pop(str(stopped)).get("call_ended", 0)
        return len(kinds) == 2 and all(each.get("call_made", 0) > ended for each in kinds.values())

    def calling_rank(self, rank):
        """The process id of a rank, once calls have ended there."""
        while (pid := self.recorded_rank(rank)) is None:
            time.sleep(0.1)
        return pid

    def expect_hang_of(self, rank):
        diagnosed = program.run("diagnose", self.folder, "--json")
        self.assertEqual(diagnosed.returncode, 1, diagnosed.stdout + diagnosed.stderr)
        verdict = json.loads(diagnosed.stdout)["verdicts"][0]
        self.assertIn(verdict["class"], ("non_communication_hang", "communication_hang"))
        self.assertEqual(verdict["place"], "rank")
        self.assertIn(f"rank {rank} ", verdict["place_text"])

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
