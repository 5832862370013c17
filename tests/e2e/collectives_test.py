#!/usr/bin/env python3
"""Collectives between real processes: `heddle bench` shows right results, and a rank that dies, stops or means
another call is named by all others."""

import contextlib
import json
import os
import signal
import socket
import tempfile
import unittest

import program

# Call after call, for longer than any test; when the first row is there, all ranks are connected.
LONG = ["allreduce", "-b", "1M", "-e", "4000M", "-i", "1M", "-n", "1"]
FIRST_ROW = r"^ +1048576 "

KINDS = ["allreduce", "allgather", "reducescatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather",
         "scatter"]


class OverNetwork(unittest.TestCase):
    """Between ranks of one host, with shared memory disabled so that they use the network."""

    WAY = "never"
    ADDRESS = "127.0.0.1"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-collectives-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    @contextlib.contextmanager
    def ranks(self, *words, **settings):
        """One `heddle bench` a list of arguments, all of one run."""
        store = f"file://{self.folder}/store"
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(program.started("bench", *arguments, settings={
                "HEDDLE_RANK": str(rank), "HEDDLE_SIZE": str(len(words)), "HEDDLE_STORE": store,
                "HEDDLE_BIND": self.ADDRESS, "HEDDLE_SHARED_MEMORY": self.WAY, **settings}))
                for rank, arguments in enumerate(words)]

    def test_every_collective_is_right(self):
        document = os.path.join(self.folder, "out.json")
        calls = ["bench", "all", "-b", "8", "-e", "200K", "-f", "20", "-n", "2", "-J", document]
        ended = program.run("run", "-n", "3", "--", program.HEDDLE, *calls,
                            settings={"HEDDLE_BIND": self.ADDRESS, "HEDDLE_SHARED_MEMORY": self.WAY})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("# Out of bounds values : 0 OK", ended.stdout)
        for kind in KINDS:
            self.assertIn(f"{kind} on 3 ranks", ended.stdout)
        with open(document, encoding="utf-8") as file:
            results = json.load(file)["results"]
        self.assertEqual([row["experiment_name"] for row in results], [kind for kind in KINDS for _ in range(4)])
        for row in results:
            self.assertGreater(row["out_of_place"]["time"], 0)
            self.assertEqual(row["out_of_place"]["nwrong"], 0)

    def test_a_pinned_algorithm_is_the_one_that_runs(self):
        document = os.path.join(self.folder, "out.json")
        ended = program.run("run", "-n", "2", "--", program.HEDDLE, "bench", "-b", "1M", "-e", "1M", "-n", "1", "-J",
                            document, settings={"HEDDLE_BIND": self.ADDRESS, "HEDDLE_ALGORITHM": "allreduce:tree"})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        with open(document, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["heddle"]["results"][0]["algorithm"], "tree")

    def expect_all_name(self, survivors, text):
        for survivor in survivors:
            self.assertEqual(survivor.wait(), 2)
            self.assertIn(text, "\n".join(survivor.errors))

    def test_a_killed_rank_is_named_by_all_others(self):
        with self.ranks(LONG, LONG, LONG) as ranks:
            ranks[0].wait_for(FIRST_ROW)
            ranks[1].process.send_signal(signal.SIGKILL)
            self.expect_all_name([ranks[0], ranks[2]], "rank 1 is gone")

    def test_a_stopped_rank_is_named_by_all_others(self):
        with self.ranks(LONG, LONG, LONG, HEDDLE_RANK_DEAD_AFTER_MS="6000") as ranks:
            ranks[0].wait_for(FIRST_ROW)
            ranks[2].process.send_signal(signal.SIGSTOP)
            self.expect_all_name(ranks[:2], "rank 2 is gone")
            ranks[2].process.send_signal(signal.SIGKILL)

    def test_a_rank_that_means_another_call_is_named_by_all(self):
        usual = ["allreduce", "-b", "1M", "-e", "1M"]
        with self.ranks(usual, usual, [*usual, "-d", "int32"]) as ranks:
            self.expect_all_name(ranks, "allreduce of 262144 int32, sum")


class OverSharedMemory(OverNetwork):
    WAY = "auto"


class ThroughSlots(OverNetwork):
    WAY = "slots"


class OverIpv6(OverNetwork):
    ADDRESS = "::1"

    def setUp(self):
        try:
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
                probe.bind((self.ADDRESS, 0))
        except OSError:
            self.skipTest("this host has no IPv6")
        super().setUp()


if __name__ == "__main__":
    unittest.main()
