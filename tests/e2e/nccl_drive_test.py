#!/usr/bin/env python3
"""`heddle nccl drive` over a test plugin: ranks as processes, results of all from rank 0, errors that help."""

import json
import os
import pathlib
import signal
import tempfile
import time
import unittest

import program

NETS = pathlib.Path(program.HEDDLE).resolve().parents[1] / "lib"
NET = NETS / "libnccl-net-loopback12.so"


def drive(*words, **settings):
    return program.run("nccl", "drive", *words, settings=settings)


class Drive(unittest.TestCase):
    def test_all_ranks_run_on_this_machine(self):
        done = drive(NET, "--size", "3", "--iterations", "2", "--bytes", "3M", "--check", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual([rank["rank"] for rank in document["ranks"]], [0, 1, 2])
        self.assertEqual({rank["bytes_sent"] for rank in document["ranks"]}, {8 << 20})
        self.assertTrue(document["checked"])

    def test_text_has_a_row_for_each_rank(self):
        done = drive(NET, "--time", "50ms", "--bytes", "64K", "--pattern", "p2p")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("plugin Loopback (v12), device loopback0: p2p with simple", done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), 4)

    def test_ranks_meet_in_an_exchange_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("nccl", "drive", str(NET), "--size", "2", "--exchange", f"{folder}/new", "--iterations", "1")
            with program.started(*words, "--rank", "1", settings={}):
                done = program.run(*words, "--rank", "0")
            self.assertEqual(done.returncode, 0, done.stderr)
            again = program.run(*words, "--rank", "0")
            self.assertEqual(again.returncode, 2, again.stdout)
            self.assertIn("name an empty folder", again.stderr)

    def test_rank_alone_needs_a_folder(self):
        done = drive(NET, "--rank", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--exchange", done.stderr)

    def test_launcher_gives_rank_and_folder(self):
        done = program.run("run", "-n", "2", "--", program.HEDDLE, "nccl", "drive", NET, "--iterations", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("plugin Loopback", done.stdout)

    def test_plugin_that_fails_is_status_1_with_nccls_name(self):
        done = drive(NET, "--iterations", "1", HEDDLE_LOOPBACK="fail=5")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("ncclRemoteError (6)", done.stderr)

    def test_file_that_is_missing_is_status_2(self):
        done = drive("/nonexistent.so", "--iterations", "1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("cannot load the net plugin '/nonexistent.so'", done.stderr)

    def test_message_that_nccl_does_not_send_is_refused(self):
        done = drive(NET, "--message", "2M")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("NCCL sends 1048576 at most", done.stderr)

    def test_interrupt_ends_all_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            with program.started("nccl", "drive", str(NET), "--time", "1h", "--exchange", folder,
                                 settings={}) as running:
                while not os.path.exists(f"{folder}/round.0"):
                    self.assertIsNone(running.process.poll())
                    time.sleep(0.01)
                running.process.send_signal(signal.SIGINT)
                self.assertEqual(running.process.wait(program.PATIENCE_S), 130)


if __name__ == "__main__":
    unittest.main()
