#!/usr/bin/env python3
"""Rendezvous with the environment variables of each launcher, by `heddle ranks`."""

import contextlib
import json
import os
import re
import socket
import tempfile
import unittest

import program

WAIT_MS = "15000"  # for ranks that do not come; within it, those that come have started on a busy machine


@contextlib.contextmanager
def ranks(environments, *arguments):
    """One `heddle ranks` an environment, all at once."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(program.started("ranks", *arguments, settings=settings))
               for settings in environments]


def heddle(rank, size, store, **more):
    return {"HEDDLE_RANK": str(rank), "HEDDLE_SIZE": str(size), "HEDDLE_STORE": store, **more}


def torchrun(rank, size, port, host="127.0.0.1"):
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "MASTER_ADDR": host,
            "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "none"}


def open_mpi(rank, size, namespace):
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), "OMPI_COMM_WORLD_LOCAL_SIZE": str(size),
            "PMIX_NAMESPACE": namespace}


def slurm(rank, size, job):
    return {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": str(size), "SLURM_JOB_ID": str(job),
            "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NODELIST": "n0",
            "SLURM_LAUNCH_NODE_IPADDR": "127.0.0.1"}


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-ranks-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def expect_a_group(self, environments, launcher):
        with ranks(environments, "--json") as processes:
            for process in processes:
                self.assertEqual(process.wait(), 0, process.said())
            found = json.loads("\n".join(processes[0].lines))
        self.assertEqual(found["launcher"], launcher)
        self.assertEqual([row["rank"] for row in found["ranks"]], list(range(len(environments))))
        for row in found["ranks"]:
            self.assertEqual(row["unreached"], [])
            self.assertEqual(row["host"], socket.gethostname())
        return found

    def test_a_store_at_an_address(self):
        for scheme in ("udp", "tcp"):
            store = f"{scheme}://127.0.0.1:{program.free_port()}"
            self.expect_a_group([heddle(rank, 4, store) for rank in range(4)], "heddle")

    def test_a_store_over_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("this host has no IPv6")
        store = f"udp://[::1]:{program.free_port()}"
        found = self.expect_a_group([heddle(rank, 3, store) for rank in range(3)], "heddle")
        for row in found["ranks"]:
            self.assertTrue(row["address"].startswith("[::1]:"), row)

    def test_a_store_in_a_file(self):
        store = f"file://{self.folder}/store"
        with open(f"{self.folder}/store", "w", encoding="utf-8") as file:
            file.write("heddle store 1\nticket 0000000000000005\nrun \nat 127.0.0.1:9\n")
        self.expect_a_group([heddle(rank, 3, store) for rank in range(3)], "heddle")
        self.assertEqual(os.listdir(self.folder), [])

    def test_torchruns_environment(self):
        """The master's TCP port is taken, as by torchrun's own store."""
        with socket.create_server(("127.0.0.1", program.free_port())) as master:
            port = master.getsockname()[1]
            self.expect_a_group([torchrun(rank, 3, port) for rank in range(3)], "torchrun")

    def test_open_mpis_environment(self):
        more = {"TMPDIR": self.folder}
        self.expect_a_group([{**open_mpi(rank, 3, "123"), **more} for rank in range(3)], "Open MPI")
        self.assertEqual(os.listdir(self.folder), [])

    def test_slurms_environment(self):
        job = program.free_port()
        self.expect_a_group([slurm(rank, 2, job) for rank in range(2)], "Slurm")

    def test_cluster_keys_prove_the_store(self):
        keys = [f"{self.folder}/key{number}" for number in range(2)]
        for key in keys:
            self.assertEqual(program.run("key", "generate", key).returncode, 0)
        store = f"udp://127.0.0.1:{program.free_port()}"
        same = [heddle(rank, 2, store, HEDDLE_KEY_FILE=keys[0]) for rank in range(2)]
        self.expect_a_group(same, "heddle")
        other = [heddle(rank, 2, store, HEDDLE_KEY_FILE=keys[rank],
                        HEDDLE_RENDEZVOUS_TIMEOUT_MS=WAIT_MS) for rank in range(2)]
        with ranks(other) as (first, second):
            self.assertEqual((first.wait(), second.wait()), (2, 2))
            self.assertIn("rank 1 of 2 did not come", first.said())
            self.assertIn("key_file", second.said())

    def test_missing_ranks_are_named(self):
        store = f"udp://127.0.0.1:{program.free_port()}"
        there = [heddle(rank, 5, store, HEDDLE_RENDEZVOUS_TIMEOUT_MS=WAIT_MS) for rank in (0, 3)]
        with ranks(there) as processes:
            for process in processes:
                self.assertEqual(process.wait(), 2)
                self.assertRegex(process.said(), r"ranks 1-2, 4 of 5 did not come to \S+ within \d[\d.]* s")

    def test_without_a_launcher_it_says_what_to_do(self):
        done = program.run("ranks")
        self.assertEqual(done.returncode, 2)
        self.assertIn("heddle run -n N", done.stderr)
        done = program.run("ranks", settings={"HEDDLE_RANK": "0", "HEDDLE_SIZE": "2"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("HEDDLE_STORE", done.stderr)

    def test_an_interrupt_ends_the_wait(self):
        port = program.free_port()
        with ranks([heddle(0, 2, f"udp://127.0.0.1:{port}")]) as (first,):
            first.wait_for_port(port)
            first.signal(program.INTERRUPT)
            self.assertEqual(first.wait(), 130)

    def test_the_table_names_host_and_address(self):
        store = f"udp://127.0.0.1:{program.free_port()}"
        with ranks([heddle(rank, 2, store) for rank in range(2)]) as (first, second):
            self.assertEqual((first.wait(), second.wait()), (0, 0), first.said() + second.said())
            self.assertEqual(second.said(), "")
            table = "\n".join(first.lines)
        self.assertRegex(table, rf"(?m)^ +1  {re.escape(socket.gethostname())} +127\.0\.0\.1:\d+$")
        self.assertIn("2 ranks, started by heddle", table)


if __name__ == "__main__":
    unittest.main()
