#!/usr/bin/env python3
"""Recording as users have it: a command and what it did, killed or not; and what goes wrong."""

import collections
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import program


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "job")
        self.parent = folder.name

    def info(self, *more):
        return program.run("record", "info", self.folder, *more)

    def recordings(self):
        done = self.info("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["recordings"]

    def events(self, kind):
        done = program.run("record", "dump", self.folder, "--kind", kind)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_ping_and_its_peer(self):
        port = program.free_port()
        with program.started("ping", "--listen", "-p", port, settings={"HEDDLE_RECORD": self.folder}) as serving:
            serving.wait_for("listens")
            done = program.run("ping", "127.0.0.1", "-p", port, "-C", 5, "-S", 3000,
                               settings={"HEDDLE_RECORD": self.folder})
            self.assertEqual(done.returncode, 0, done.stderr)
            serving.signal(signal.SIGTERM)
            serving.wait()
        self.assertEqual(len(self.recordings()), 2)
        self.assertTrue(all(one["ended_well"] and one["dropped_events"] == 0 for one in self.recordings()))
        by_sequence = collections.defaultdict(set)
        for event in self.events("message_completed"):
            by_sequence[event["sequence"], event["bytes"], event["channel"]].add(event["direction"])
        both = [key for key, directions in by_sequence.items() if directions == {"sent", "received"}]
        # Each message was sent by one process and received by the other.
        self.assertGreaterEqual(sum(size == 3000 for _, size, _ in both), 5)
        opened = self.events("connection_opened")
        self.assertEqual(len(opened), 2)
        self.assertEqual(opened[0]["connection"], opened[1]["peer_connection"])

    def completed(self):
        """Messages that the only process sent or received."""
        one, = self.recordings()
        return one["events_by_kind"].get("message_completed", 0)

    def test_a_killed_process_leaves_what_it_did(self):
        port = program.free_port()
        with program.started("ping", "--listen", "-p", port, settings={"HEDDLE_RECORD": self.folder}) as serving:
            serving.wait_for("listens")
            self.assertEqual(program.run("ping", "127.0.0.1", "-p", port, "-C", 3).returncode, 0)
            end = time.monotonic() + program.PATIENCE_S
            while self.completed() < 6:  # the last answer is complete once the server knows that it came
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
            serving.signal(signal.SIGKILL)
            serving.process.wait()
        one, = self.recordings()
        self.assertFalse(one["ended_well"])
        self.assertGreaterEqual(self.completed(), 6)
        self.assertIn("killed, or still running", self.info().stdout)

    def matrix(self, *more):
        done = program.run("matrix", self.folder, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_matrix_of_ranks_that_find_each_other(self):
        done = program.run("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE,
                           "ranks")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(self.matrix("--format", "json"))
        self.assertEqual([party["rank"] for party in document["parties"]], [0, 1, 2])
        measured = document["measured"]
        self.assertEqual([measured[i][i] for i in range(3)], [0, 0, 0])
        self.assertTrue(all(measured[i][j] > 0 for i in range(3) for j in range(3) if i != j), measured)
        self.assertEqual(document["unplaced"], 0)
        # All of a host in one cell, and every message in the list of events once.
        host, = json.loads(self.matrix("--format", "json", "--by", "host"))["measured"]
        self.assertEqual(host[0], sum(map(sum, measured)))
        received = sum(event["bytes"] for event in self.events("message_completed")
                       if event["direction"] == "received")
        self.assertEqual(host[0], received)
        self.assertEqual(len(self.matrix("--format", "csv").splitlines()), 1 + 6)
        self.assertIn("rank 2 on", self.matrix())

    def test_the_folder_is_its_owners(self):
        self.test_a_killed_process_leaves_what_it_did()
        self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o700)
        for folder, folders, names in os.walk(self.folder):
            self.assertEqual({os.stat(os.path.join(folder, name)).st_mode & 0o777 for name in folders} - {0o700}, set())
            self.assertEqual({os.stat(os.path.join(folder, name)).st_mode & 0o777 for name in names} - {0o600}, set())

    def test_a_command_that_records_nothing(self):
        done = program.run("record", "-o", self.folder, "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("nothing was recorded", done.stderr)
        done = program.run("record", "-o", self.folder, "--", "sh", "-c", "exit 7")
        self.assertEqual(done.returncode, 7)

    def test_two_recordings_do_not_share_a_folder(self):
        self.test_a_killed_process_leaves_what_it_did()
        done = program.run("record", "-o", self.folder, "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("holds a recording already", done.stderr)

    def test_of_two_at_once_one_records(self):
        with program.started("record", "-o", self.folder, "--", program.HEDDLE, "ping", "--listen", "-p",
                             program.free_port()) as recording:
            recording.wait_for("listens")
            done = program.run("record", "-o", self.folder, "--", program.HEDDLE, "ping", "127.0.0.1")
            self.assertEqual(done.returncode, 125)
            self.assertIn("another `heddle record` records there now", done.stderr)
            recording.signal(signal.SIGTERM)
            recording.process.wait(timeout=program.PATIENCE_S)
        self.assertEqual(len(self.recordings()), 1)

    def test_of_two_that_begin_together_one_records(self):
        command = [program.HEDDLE, "record", "-o", self.folder, "--", "sh", "-c", "echo began; read line"]
        both = [subprocess.Popen(command, env=program.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(2)]
        began = [each.stdout.readline() for each in both]
        said = [each.communicate("go on\n", timeout=program.PATIENCE_S) for each in both]
        self.assertEqual(sorted(began), ["", "began\n"])
        # The one that ran recorded nothing.
        self.assertEqual([each.returncode for each in both], [125, 125])
        refused = said[began.index("")][1]
        self.assertIn("another `heddle record` records there now", refused)
        self.assertEqual(os.listdir(self.folder) if os.path.exists(self.folder) else [], [])

    def test_a_folder_in_memory_is_refused_where_it_is_to_last(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("there is no folder in memory to write in")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            folder = os.path.join(memory, "job")
            port = program.free_port()
            done = program.run("record", "-o", folder, "--durable", "1s", "--", program.HEDDLE, "ping", "--listen",
                               "-p", port)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("memory", done.stderr)
            self.assertIn("nothing was recorded", done.stderr)
            self.assertEqual(os.listdir(memory), [])

    def test_durable_takes_whole_seconds(self):
        for wrong in ("-1", "soon", "1e99", "1500ms"):
            done = program.run("record", "-o", self.folder, "--durable", wrong, "--", "true")
            self.assertEqual(done.returncode, 125, wrong)
            self.assertIn("durable" if wrong != "1500ms" else "whole second", done.stderr, wrong)

    def test_a_command_line_of_any_bytes(self):
        done = subprocess.run([b"hed\xff\x1b", b"ping", b"--listen", b"-p", b"1"], executable=program.HEDDLE,
                              env=program.environment(HEDDLE_RECORD=self.folder, HEDDLE_BIND="192.0.2.77"),
                              capture_output=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        port = program.free_port()
        with subprocess.Popen([b"hed\xff\x1b", b"ping", b"--listen", b"-p", str(port).encode()],
                              executable=program.HEDDLE, env=program.environment(HEDDLE_RECORD=self.folder),
                              stdout=subprocess.PIPE) as serving:
            serving.stdout.readline()
            serving.kill()
        self.assertIn("hed\ufffd", self.recordings()[0]["identity"]["command"])
        self.assertNotIn("\x1b", program.run("record", "info", self.folder, errors="replace").stdout)

    def test_a_full_disk_keeps_the_newest(self):
        program.mount_small_disk(self, self.folder, "1m")
        with program.server(command="ping") as (_, port):
            done = program.run("ping", f"127.0.0.1:{port}", "-C", 20000, timeout=200,
                               settings={"HEDDLE_RECORD": self.folder, "HEDDLE_RECORD_LEVEL": "segments"})
            self.assertEqual(done.returncode, 0, done.stderr)
        one, = self.recordings()
        self.assertGreater(one["events"], 1000)
        self.assertGreater(one["dropped_events"], 0)
        self.assertTrue(one["endpoints"])
        # Its peer is known by name of address, although that came first and the disk was small.
        self.assertEqual(json.loads(self.matrix("--format", "json"))["unplaced"], 0)

    def test_mistakes(self):
        record = ("record", "-o", self.folder)
        for words, status, sign in ((("record",), 125, "--output"), (record, 125, "command"),
                                    ((*record, "--level", "all", "--", "true"), 125, "level"),
                                    ((*record, "--max-size", "1.5M", "--", "true"), 125, "--max-size"),
                                    ((*record, "--max-size", "1500K", "--", "true"), 125, "whole mebibytes"),
                                    (("record", "info", self.folder), 2, "cannot read"),
                                    ((*record, "--", "/nonexistent/program"), 127, "cannot run")):
            done = program.run(*words)
            self.assertEqual(done.returncode, status, words)
            self.assertIn(sign, done.stderr)

    def test_a_folder_that_cannot_be_used_is_told_at_once(self):
        done = program.run("ping", "--listen", "-p", program.free_port(),
                           settings={"HEDDLE_RECORD": os.path.join(self.parent, "no", "such")})
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot record in", done.stderr)

    def test_a_folder_that_cannot_be_made_is_told_once_before_anything_starts(self):
        file = os.path.join(self.parent, "file")
        with open(file, "w", encoding="ascii"):
            pass
        for folder, why in ((file, "Not a directory"), (os.path.join(self.parent, "no", "such"), "No such file"),
                            (os.path.join(file, "below"), "Not a directory")):
            done = program.run("record", "-o", folder, "--", "sh", "-c", "echo it ran")
            self.assertEqual((done.returncode, done.stdout), (125, ""), folder)
            self.assertRegex(done.stderr, f"\\Aheddle: cannot record in [^\n]*{why}[^\n]*\n\\Z")

    def test_a_damaged_file_is_read_and_told(self):
        self.test_a_killed_process_leaves_what_it_did()
        name, = program.recordings(self.folder)
        os.truncate(os.path.join(self.folder, name), 20_000)
        done = self.info()
        self.assertEqual(done.returncode, 1)
        self.assertIn("damaged", done.stdout)

    def test_a_signal_to_end_reaches_the_command(self):
        with program.started("record", "-o", self.folder, "--", program.HEDDLE, "ping", "--listen", "-p",
                             program.free_port()) as recording:
            recording.wait_for("listens")
            recording.signal(signal.SIGTERM)
            recording.process.wait(timeout=program.PATIENCE_S)
            self.assertEqual(recording.process.returncode, 143)
        self.assertTrue(self.recordings()[0]["ended_well"])


if __name__ == "__main__":
    unittest.main()
