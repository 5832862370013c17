#!/usr/bin/env python3
"""heddle diagnose on the recording of a healthy job, and heddle monitor beside one: there is no verdict and no alarm.
Nothing else may run beside it: a rank that waits for a core is slow."""

import json
import time
import unittest
import urllib.request

import diagnose_test
import program


class Healthy(diagnose_test.JobCase):
    WATCHED_NS = 8_000_000_000  # a rank is called slow that has been so for 5 s

    def test_a_healthy_job_has_no_verdict(self):
        diagnosed = self.diagnose_all_reduces(3, "4M", 600)
        self.assertEqual(diagnosed.returncode, 0, diagnosed.stdout + diagnosed.stderr)
        document = json.loads(diagnosed.stdout)
        self.assertEqual(document["verdicts"], [])
        self.assertTrue(document["enough_evidence"])
        (rhythm,) = document["rhythms"]
        self.assertEqual(rhythm["operations_a_step"], 1)  # every call is alike
        self.assertGreater(rhythm["step_ns"], 0)
        self.assertEqual(document["delays"], [])  # between hosts alone

    def test_a_healthy_job_that_is_watched_for_as_long_as_a_slow_rank_has_no_alarm(self):
        port = program.free_port()
        with program.started("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 2, "--", program.HEDDLE,
                             "bench", "allreduce", "-b", "4M", "-e", "4M", "-n", 10_000_000,
                             settings=diagnose_test.LOOPBACK) as job, \
                program.started("monitor", self.folder, "--json", "--serve", port) as monitor:
            try:
                monitor.wait_for("the page is at")
                state = self.state_once_watched(port)
            finally:
                job.process.terminate()
                job.wait()
            self.assertGreater(state["operations"], 0, state)
            self.assertEqual((state["alarms_raised"], state["alarms"]), (0, []), state)

    def state_once_watched(self, port):
        end = time.monotonic() + program.PATIENCE_S
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/state.json", timeout=program.PATIENCE_S) as answer:
                state = json.load(answer)
            if state["job_ns"] >= self.WATCHED_NS:
                return state
            self.assertLess(time.monotonic(), end, state)
            time.sleep(0.2)


if __name__ == "__main__":
    unittest.main()
