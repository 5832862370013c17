#!/usr/bin/env python3
"""`heddle nccl drive` over a test plugin: ranks as processes, results of all from rank 0, errors that help."""

import contextlib
import errno
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


def await_rounds(test, folder, running):
    """Waits until all ranks have met and traffic begins."""
    while not list(pathlib.Path(folder).glob("*.round.0")):
        test.assertIsNone(running.process.poll(), running.said())
        time.sleep(0.01)


def without_waiting(lines):
    """Without what a rank says that has waited for others for seconds, as it does where they wait for a core."""
    return [line for line in lines if not line.startswith("heddle: waiting for rank")]


def command_lines():
    """The words of every process."""
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield file.read_text(errors="replace").rstrip("\0").split("\0")


class Drive(unittest.TestCase):
    def test_all_ranks_run_on_this_machine(self):
        done = drive(NET, "--ranks", "3", "--iterations", "2", "--bytes", "3M", "--check", "--json")
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
            words = ("nccl", "drive", str(NET), "--ranks", "2", "--exchange", f"{folder}/new", "--iterations", "1")
            with program.started(*words, "--rank", "1", settings={}):
                done = program.run(*words, "--rank", "0")
            self.assertEqual(done.returncode, 0, done.stderr)
            again = program.run(*words, "--rank", "0")
            self.assertEqual(again.returncode, 2, again.stdout)
            self.assertIn("delete the folder before the next run", again.stderr)
            late = program.run(*words, "--rank", "1")
            self.assertEqual(late.returncode, 2, late.stdout)
            self.assertIn("delete the folder before the next run", late.stderr)
            both = program.run(*words)
            self.assertEqual(both.returncode, 2, both.stdout)
            self.assertEqual(len(without_waiting(both.stderr.splitlines())), 1, both.stderr)

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
        self.assertEqual(done.stderr.count("ncclRemoteError (6)"), 1, done.stderr)
        self.assertEqual(len(without_waiting(done.stderr.splitlines())), 1, done.stderr)
        # The plugin logs nothing that is not shown.
        self.assertNotIn("HEDDLE_LOG", done.stderr)

    def test_data_that_changes_is_status_1(self):
        done = drive(NET, "--iterations", "1", "--check", HEDDLE_LOOPBACK="corrupt=3")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("its bytes differ from those sent"), 1, done.stderr)

    def test_init_that_refuses_its_arguments_is_the_plugins_failure(self):
        done = drive(NET, "--iterations", "1", HEDDLE_LOOPBACK="init=4")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("ncclInvalidArgument (4)", done.stderr)

    def test_file_that_is_missing_is_status_2(self):
        done = drive("/nonexistent.so", "--iterations", "1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("cannot load the net plugin '/nonexistent.so'"), 1, done.stderr)
        self.assertEqual(len(without_waiting(done.stderr.splitlines())), 1, done.stderr)

    def test_device_that_is_missing_is_status_2(self):
        done = drive(NET, "--device", "1", "--ranks", "3")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("the plugin reports 1 device ("), 1, done.stderr)

    def test_folder_that_cannot_be_used_is_status_2(self):
        with tempfile.NamedTemporaryFile() as file:
            for folder in ("/nonexistent/folder", file.name, f"{file.name}/folder"):
                for rank in ((), ("--rank", "0")):
                    done = drive(NET, "--exchange", folder, *rank)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(folder, done.stderr)
                    self.assertEqual(len(without_waiting(done.stderr.splitlines())), 1, done.stderr)

    def test_full_disk_has_a_remedy(self):
        with tempfile.TemporaryDirectory() as folder:
            disk = os.path.join(folder, "disk")
            program.mount_small_disk(self, disk, "64k")
            try:
                with open(f"{disk}/filler", "wb", buffering=0) as filler:
                    while True:
                        filler.write(bytes(4096))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)
            done = drive(NET, "--rank", "0", "--exchange", disk)
            self.doCleanups()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("No space left on device (free some space there", done.stderr)

    def test_options_that_differ_are_named_by_both_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("nccl", "drive", str(NET), "--exchange", folder, "--iterations", "1")
            with program.started(*words, "--rank", "0", settings={}) as first:
                done = program.run(*words, "--rank", "1", "--check")
                self.assertEqual(first.wait(), 2, first.said())
            for text in (done.stderr, first.said()):
                self.assertIn("rank 1 has --check, rank 0 has not (start all ranks with the same options)", text)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_rank_that_is_not_one_of_the_ranks_is_named(self):
        done = drive(NET, "--rank", "5", "--ranks", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("rank 5 is not one of 2 ranks", done.stderr)

    def test_heddles_plugin_is_found_beside_the_program(self):
        if not (NETS / "libnccl-net-heddle.so").exists():
            self.skipTest("libnccl-net-heddle.so is not built")
        done = drive("heddle", "--iterations", "1", "--bytes", "64K", "--device", "1000")
        self.assertIn("cannot use device 1000", done.stderr)

    def test_too_little_memory_for_strangers_is_an_error_at_the_start(self):
        if not (NETS / "libnccl-net-heddle.so").exists():
            self.skipTest("libnccl-net-heddle.so is not built")
        done = drive("heddle", "--iterations", "1", "--bytes", "64K", HEDDLE_IFNAME="lo",
                     HEDDLE_STRANGER_BYTES=str(64 << 20))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("stranger_bytes is too small for 1 peer without a cluster key", done.stderr)

    def test_ranks_have_the_programs_name(self):
        with tempfile.TemporaryDirectory() as folder:
            with program.started("nccl", "drive", str(NET), "--time", "1h", "--exchange", folder,
                                 settings={}) as running:
                await_rounds(self, folder, running)
                commands = [words for words in command_lines() if folder in words]
                running.signal(signal.SIGINT)
                running.wait()
        self.assertEqual(sum(words[:3] == ["heddle", "nccl", "drive"] for words in commands), 2, commands)
        self.assertFalse([words for words in commands if words[0].startswith("/proc")])

    def test_rank_that_is_stopped_ends_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("nccl", "drive", str(NET), "--time", "1h", "--exchange", folder)
            with program.started(*words, "--rank", "0", settings={}) as first, \
                    program.started(*words, "--rank", "1", settings={}) as other:
                await_rounds(self, folder, first)
                first.signal(signal.SIGINT)
                self.assertEqual(first.wait(), 130, first.said())
                self.assertEqual(other.wait(), 2, other.said())
        self.assertEqual(without_waiting(first.errors), ["heddle: stopped"])
        self.assertIn("rank 0 was stopped", other.said())

    def test_launchers_ranks_print_an_error_once(self):
        done = program.run("run", "-n", "3", "--", program.HEDDLE, "nccl", "drive", "/nonexistent.so")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("cannot load the net plugin"), 1, done.stderr)

    def test_help_explains_columns_and_statuses(self):
        text = " ".join(drive("--help").stdout.split())
        self.assertIn("p50 to max: from isend until done", text)
        self.assertIn("1 the plugin failed, or data arrived changed 2 could not begin", text)

    def test_missing_rank_is_named_and_a_stopped_run_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("nccl", "drive", str(NET), "--exchange", folder)
            with program.started(*words, "--rank", "0", settings={}) as running:
                running.wait_for("waiting for rank 1$")
                running.signal(signal.SIGINT)
                self.assertEqual(running.wait(), 130)
                self.assertEqual(running.lines, [])
                self.assertEqual(running.errors, ["heddle: waiting for rank 1", "heddle: stopped"])
            late = program.run(*words, "--rank", "1")
        self.assertEqual(late.returncode, 2, late.stderr)
        self.assertIn("rank 0 was stopped (delete the folder before the next run)", late.stderr)

    def test_message_that_nccl_does_not_send_is_refused(self):
        done = drive(NET, "--message", "2M")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("NCCL sends 1048576 at most", done.stderr)

    def test_interrupt_ends_all_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            with program.started("nccl", "drive", str(NET), "--time", "1h", "--exchange", folder,
                                 settings={}) as running:
                await_rounds(self, folder, running)
                running.signal(signal.SIGINT)
                self.assertEqual(running.wait(), 130)
                self.assertEqual(without_waiting(running.errors), ["heddle: stopped"])


if __name__ == "__main__":
    unittest.main()
