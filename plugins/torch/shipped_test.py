#!/usr/bin/env python3
"""Some of the tests of torch.distributed that PyTorch ships, for the backend heddle: those of what a user of Gloo would
miss. All of them: testing/shipped.py --compare.
"""

import json
import pathlib
import subprocess
import sys
import unittest

import backend_test
import program

SHIPPED = pathlib.Path(__file__).resolve().parent / "testing" / "shipped.py"

TESTS = [
    "test_all_gather_coalesced_simple",
    "test_all_gather_object_default_pg",
    "test_all_reduce_coalesced_group_max",
    "test_all_reduce_coalesced_sum",
    "test_barrier_timeout_full_group",
    "test_barrier_timeout_global",
    "test_batch_isend_irecv_gloo_tags",
    "test_get_future",
    "test_irecv",
    "test_monitored_barrier_failure_order",
    "test_monitored_barrier_gloo",
    "test_monitored_barrier_gloo_rank_0_timeout",
    "test_monitored_barrier_gloo_subgroup",
    "test_monitored_barrier_wait_all_ranks",
    "test_scatter_object_list",
    "test_reduce_full_group_product",
    "test_send_recv_any_source",
    "test_send_recv_any_source_autograd_profiler",
    "test_send_recv_with_tag",
    "test_sparse_all_reduce_sum",
]


class Shipped(unittest.TestCase):
    def run_shipped(self, *words):
        # A process of PyTorch's tests opens endpoints by itself: no ranks of `heddle run`.
        done = subprocess.run([backend_test.PYTHON, "-B", SHIPPED, *map(str, words)], text=True,
                              env=program.environment(**backend_test.settings()), capture_output=True,
                              check=False, timeout=400)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"test"')]
        return done, {row["test"]: (row["outcome"], row["reason"]) for row in rows}

    def test_heddle_passes_what_gloo_passes(self):
        done, outcomes = self.run_shipped("--backend", "heddle", *TESTS)
        self.assertEqual(outcomes, {name: ("passed", "") for name in TESTS}, done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_test_that_fails_is_said_to_fail(self):
        """A difference that stays, and a name that PyTorch does not have."""
        done, outcomes = self.run_shipped("--backend", "heddle", "--ranks", 2, "test_ddp_logging_data_cpu")
        self.assertEqual(outcomes["test_ddp_logging_data_cpu"][0], "failed", done.stderr)
        done, outcomes = self.run_shipped("test_of_nothing")
        self.assertEqual((done.returncode, outcomes), (1, {}))
        self.assertIn("PyTorch ships no test_of_nothing", done.stderr)


if __name__ == "__main__":
    if backend_test.MISSING:
        print(f"skipped '{backend_test.MISSING}'")
        sys.exit(77)
    unittest.main()
