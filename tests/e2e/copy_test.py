#!/usr/bin/env python3
"""heddle copy: trees, keys, either end killed and gone on with, a full disk, two copies at once, a real sshd."""

import contextlib
import json
import os
import pathlib
import signal
import tempfile
import time
import unittest

import file_trees
import lab_fabric
import program
import ssh_lab

# A path's quiet peer is dead after this; one that has no core meanwhile is not.
QUICK = {"HEDDLE_PEER_DEAD_AFTER_MS": "6000"}
# At both ends: a copy of LARGE MiB takes at least a quarter of a minute, so what a test does meanwhile comes before its
# end on a busy machine as well.
SLOW = {"HEDDLE_CONGESTION": "credits", "HEDDLE_RECEIVE_RATE_MBITS_PER_S": "160"}
LARGE = 300


class Copy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source = self.folder / "from"
        self.target = self.folder / "to"
        self.source.mkdir()
        self.target.mkdir()
        self.key = self.folder / "key"
        self.assertEqual(program.run("key", "generate", self.key).returncode, 0)
        self.settings = {"HEDDLE_KEY_FILE": str(self.key), **QUICK}

    @contextlib.contextmanager
    def receiver(self, *more, target=None, settings=None):
        port = program.free_port()
        with program.started("copy", "--listen", target or self.target, "-p", port, *more,
                             settings=self.settings | (settings or {})) as process:
            process.wait_for("receives on")
            yield process, port

    def copy(self, port, *more, source=None):
        return program.run("copy", source or f"{self.source}/", "127.0.0.1:", "-p", port, "--json", *more,
                           settings=self.settings)

    def expect_same(self, left=None, right=None):
        file_trees.expect_same(self, left or self.source, right or self.target)

    def test_a_tree_arrives_whole_and_is_not_copied_twice(self):
        file_trees.write_tree(self.source)
        with self.receiver() as (_, port):
            first = self.copy(port)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertEqual(json.loads(first.stdout)["files"], 303)
            self.expect_same()
            for name in ("empty", "deep/er", "deep/er/large"):
                here, there = os.stat(self.source / name), os.stat(self.target / name)
                self.assertEqual((here.st_mode, here.st_mtime_ns), (there.st_mode, there.st_mtime_ns), name)
            self.assertEqual(os.readlink(self.target / "deep/link"), "er/large")
            again = json.loads(self.copy(port).stdout)
            self.assertEqual((again["files"], again["skipped"], again["bytes"]), (0, 303, 0))
            named = self.copy(port, source=str(self.source))
            self.assertEqual(named.returncode, 0, named.stderr)
            self.expect_same(right=self.target / "from")

    def test_a_listener_needs_keys_unless_the_user_says_so(self):
        refused = program.run("copy", "--listen", self.target)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("anyone who reaches this port could write files", refused.stderr)
        (self.source / "file").write_text("text", encoding="ascii")
        with self.receiver() as (_, port):
            stranger = program.run("copy", f"{self.source}/", "127.0.0.1:", "-p", port,
                                   settings={"HEDDLE_HANDSHAKE_TIMEOUT_MS": "1500"})
            self.assertEqual(stranger.returncode, 2, stranger.stdout)
        self.assertEqual(os.listdir(self.target), [])

    def test_a_dry_run_writes_nothing(self):
        file_trees.write_tree(self.source)
        with self.receiver() as (_, port):
            done = self.copy(port, "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["files"], 303)
        self.assertEqual(os.listdir(self.target), [])

    def write_large(self):
        (self.source / "large").write_bytes(os.urandom(1 << 20) * LARGE)

    def wait_for_part(self, least=20_000_000):
        return file_trees.wait_for_part(self, self.target, least)

    def interrupt(self, victim):
        """Kills one end in mid-copy; what the other one reports, and how much was there then."""
        self.write_large()
        with self.receiver(settings=SLOW) as (receiver, port):
            with program.started("copy", f"{self.source}/", "127.0.0.1:", "-p", port,
                                 settings=self.settings | SLOW) as sender:
                part = self.wait_for_part()
                {"sender": sender, "receiver": receiver}[victim].signal(signal.SIGKILL)
                if victim == "receiver":
                    self.assertEqual(sender.wait(), 2)
                    self.assertIn("run the copy again", sender.said())
                else:
                    receiver.wait_for("is incomplete")
            self.assertFalse((self.target / "large").exists())
            there = part.stat().st_size
        with self.receiver() as (_, port):
            done = self.copy(port)
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["resumed_bytes"], summary["bytes"]), (there, (LARGE << 20) - there))
        self.expect_same()

    def test_a_killed_sender_is_gone_on_with(self):
        self.interrupt("sender")

    def test_a_killed_receiver_is_gone_on_with(self):
        self.interrupt("receiver")

    def test_a_full_disk_ends_the_copy_with_the_files_name(self):
        small = self.folder / "small"
        program.mount_small_disk(self, small, "4m")
        (self.source / "large").write_bytes(os.urandom(8 << 20))
        with self.receiver(target=small) as (receiver, port):
            done = self.copy(port)
            receiver.wait_for("is incomplete")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, "cannot write 'large': No space left")
        self.assertFalse((small / "large").exists())

    def test_links_at_the_destination_are_not_followed(self):
        outside = self.folder / "outside"
        outside.mkdir()
        os.symlink(outside, self.target / "deep")
        (self.source / "deep").mkdir()
        (self.source / "deep/file").write_text("text", encoding="ascii")
        (self.source / "other").write_text("text", encoding="ascii")
        with self.receiver() as (_, port):
            done = self.copy(port)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("symbolic link", done.stderr)
        self.assertEqual(os.listdir(outside), [])
        self.assertTrue((self.target / "other").exists())

    def test_two_copies_at_once_leave_one_whole_file(self):
        self.write_large()
        with self.receiver(settings=SLOW) as (_, port):
            words = ("copy", f"{self.source}/", "127.0.0.1:", "-p", port)
            with program.started(*words, settings=self.settings | SLOW) as one:
                self.wait_for_part(1)
                other = program.run(*words, settings=self.settings | SLOW, timeout=2 * program.PATIENCE_S)
                self.assertEqual(one.wait(2 * program.PATIENCE_S), 0, one.said())
        self.assertIn(other.returncode, (0, 1), other.stderr)  # 0: the first one had ended
        if other.returncode == 1:
            self.assertIn("another copy writes it", other.stderr)
        self.expect_same()

    def test_a_receiver_is_started_by_a_shell_with_a_key_of_its_own(self):
        file_trees.write_tree(self.source)
        new = self.target / "new"
        words = ("copy", "--via", "env CPHOST={host}", "--json", f"{self.source}/")
        done = program.run(*words, f"127.0.0.1:{new}", settings=self.settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["files"], 303)
        self.expect_same(right=new)
        self.write_large()
        with program.started(*words, f"127.0.0.1:{self.target}", settings=SLOW) as sender:
            self.wait_for_part()
            sender.signal(signal.SIGINT)
            self.assertEqual(sender.wait(), 130, sender.said())
        self.assertFalse((self.target / "large").exists())
        refused = program.run(*words, f"127.0.0.1:{self.source}/empty")
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr, "cannot start a receiver on 127.0.0.1: cannot open the folder .*empty'")
        end = time.monotonic() + program.PATIENCE_S
        while left := [line for line in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                       if str(self.folder).encode() in self.words_of(line)]:
            self.assertLess(time.monotonic(), end, left)  # a receiver ends once the disk has what it writes
            time.sleep(0.05)

    @staticmethod
    def words_of(file):
        with contextlib.suppress(OSError):
            return file.read_bytes()
        return b""

    def test_wrong_words_are_refused(self):
        for words, why in ((["a"], "a source and HOST:FOLDER"), (["a", "b"], "names no host")):
            done = program.run("copy", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
        for words in (["--via", "ssh"], ["--relayed", "--via", "ssh"], ["--dry-run"]):
            done = program.run("copy", "--listen", self.folder, *words)
            self.assertEqual(done.returncode, 2)
            option = "--via" if "ssh" in words else words[0]
            self.assertIn(f"--listen and {option} exclude each other", done.stderr)
        with self.receiver() as (_, port):
            missing = self.copy(port, source=str(self.folder / "missing"))
        self.assertEqual(missing.returncode, 1)
        self.assertRegex(missing.stderr, "cannot read .*missing': No such file")


@unittest.skipIf(ssh_lab.MISSING, str(ssh_lab.MISSING))
class Ssh(unittest.TestCase):
    """Host h1 of a lab has an sshd; the sender is on h0."""

    @classmethod
    def setUpClass(cls):
        cls.machines = ssh_lab.SshLab(lab_fabric.LEAF_SPINE, ("h1",), "cpssh")
        cls.addClassCleanup(cls.machines.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source = self.folder / "from"
        self.source.mkdir()
        (self.source / "file").write_bytes(os.urandom(1_000_000))

    def copy(self, via, target, *more):
        return self.machines.at("h0", "copy", "--via", via, "--json", *more, "--", f"{self.source}/", target)

    def test_a_receiver_is_started_by_ssh_also_behind_a_greeting_of_the_shell_there(self):
        for greeting in ("", "echo Welcome to {host}; echo; "):
            target = self.folder / f"to{len(greeting)}"
            done = self.copy(self.machines.via.replace("{command}", greeting + "{command}"), f"h1:{target}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((target / "file").read_bytes(), (self.source / "file").read_bytes())

    def test_a_dry_run_by_ssh_makes_no_folder(self):
        done = self.copy(self.machines.via, f"h1:{self.folder}/to", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["files"], 1)
        self.assertEqual(os.listdir(self.folder), ["from"])

    def test_an_option_of_ssh_is_no_host(self):
        done = self.copy(self.machines.via, f"-oProxyCommand=touch${{IFS}}{self.folder}/evil:to")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("no name of a host", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["from"])


if __name__ == "__main__":
    unittest.main()
