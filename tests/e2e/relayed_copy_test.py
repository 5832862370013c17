#!/usr/bin/env python3
"""heddle copy through heddle relay: trees, relays and receivers that are killed in mid-copy, Ctrl-C at either end, a
full disk, and routes that do not work.
"""

import contextlib
import json
import os
import pathlib
import signal
import tempfile
import unittest

import file_trees
import program

# A peer that was killed is dead after this, with keys; a handshake without an answer ends.
QUICK = {"HEDDLE_PEER_DEAD_AFTER_MS": "3000", "HEDDLE_HANDSHAKE_TIMEOUT_MS": "3000"}
LARGE = 600 << 20
# An end that waits for its timeout of 30 s takes longer than this.
SOON_S = 20
# A copy of LARGE takes longer where all of its programs have two cores together with other tests.
COPIED_S = 200


class RelayedCopy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rc")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source, self.target = self.folder / "from", self.folder / "to"
        self.source.mkdir()
        self.target.mkdir()
        self.settings = {**QUICK, "HEDDLE_KEY_FILE": self.new_key("key")}
        self.port = program.free_port()

    def new_key(self, name):
        path = str(self.folder / name)
        self.assertEqual(program.run("key", "generate", path).returncode, 0)
        return path

    def write_large(self, size=LARGE):
        block = os.urandom(1 << 20)
        with open(self.source / "large", "wb") as file:
            for number in range(size >> 20):
                file.write(number.to_bytes(8, "little") + block[8:])

    @contextlib.contextmanager
    def relay(self, to, port=None):
        port = port or program.free_port()
        with program.started("relay", "--to", to, "-p", port, settings=self.settings) as process:
            process.wait_for("relays on")
            yield process, port

    @contextlib.contextmanager
    def relays(self):
        """Two of them before the receiver: the processes and their ports, in their order."""
        with self.relay(f"127.0.0.1:{self.port}") as (far, far_port):
            with self.relay(f"127.0.0.1:{far_port}") as (near, near_port):
                yield (near, far), (near_port, far_port)

    @contextlib.contextmanager
    def receiver(self, *more, target=None):
        with program.started("copy", "--listen", target or self.target, "--relayed", "-p", self.port, *more,
                             settings=self.settings) as process:
            process.wait_for("receives on")
            yield process

    def words(self, ports, *more):
        route = ",".join(f"127.0.0.1:{port}" for port in ports)
        return ("copy", f"{self.source}/", "127.0.0.1:", "-p", self.port, "--relay", route, "--json", *more)

    def copy(self, ports, *more, settings=None):
        return program.run(*self.words(ports, *more), settings=settings or self.settings, timeout=COPIED_S)

    def sender(self, ports):
        return program.started(*self.words(ports), settings=self.settings)

    def expect_copied(self, summary, **fields):
        self.assertEqual({name: summary[name] for name in fields}, fields)
        file_trees.expect_same(self, self.source, self.target)

    def test_a_tree_arrives_whole_and_is_not_copied_twice(self):
        file_trees.write_tree(self.source)
        with self.relays() as (_, ports):
            with self.receiver() as receiver:
                dry = json.loads(self.copy(ports, "--dry-run").stdout)
                self.assertEqual((dry["files"], os.listdir(self.target)), (303, []))
                first = self.copy(ports)
                self.assertEqual(first.returncode, 0, first.stderr)
                summary = json.loads(first.stdout)
                self.expect_copied(summary, files=303, failed=0, peer=f"127.0.0.1 through 127.0.0.1:{ports[0]}")
                receiver.wait_for("303 files, ")
                again = self.copy(ports)
                self.assertEqual(again.returncode, 0, again.stderr)
                self.expect_copied(json.loads(again.stdout), files=0, skipped=303, bytes=0)
            (self.source / "new").write_text("new", encoding="ascii")
            with self.receiver("--once") as receiver:
                self.expect_copied(json.loads(self.copy(ports).stdout), files=1, skipped=303)
                self.assertEqual(receiver.wait(SOON_S), 0, receiver.said())

    def end_a_relay(self, place, number):
        """Ends the near or the far relay in mid-copy, and starts it again at its address."""
        self.write_large()
        with contextlib.ExitStack() as stack:
            receiver = stack.enter_context(self.receiver("--once"))
            relays, ports = stack.enter_context(self.relays())
            sender = stack.enter_context(self.sender(ports))
            file_trees.wait_for_part(self, self.target)
            relays[place].signal(number)
            relays[place].wait()
            self.assertFalse((self.target / "large").exists())
            to = (ports[1], self.port)[place]
            again, _ = stack.enter_context(self.relay(f"127.0.0.1:{to}", port=ports[place]))
            self.assertEqual(sender.wait(COPIED_S), 0, sender.said())
            self.assertEqual(receiver.wait(SOON_S), 0, receiver.said())
            again.signal(signal.SIGINT)
            again.wait()
            self.assertIn("stopped; 1 session relayed", again.said())
        summary = json.loads("\n".join(sender.lines))
        self.expect_copied(summary, files=1, bytes=LARGE, resumed_bytes=0, failed=0)
        self.assertRegex(receiver.said(), "1 file, 600 ?M")

    def test_the_first_relay_is_killed_in_mid_copy(self):
        self.end_a_relay(0, signal.SIGKILL)

    def test_the_last_relay_is_killed_in_mid_copy(self):
        self.end_a_relay(1, signal.SIGKILL)

    def test_a_relay_is_stopped_in_mid_copy(self):
        self.end_a_relay(0, signal.SIGTERM)

    def interrupt(self, victim):
        """Ctrl-C at one end in mid-copy; the next copy goes on with the incomplete file."""
        self.write_large()
        with self.relays() as (_, ports):
            with self.receiver() as receiver, self.sender(ports) as sender:
                part = file_trees.wait_for_part(self, self.target)
                stopped = {"sender": sender, "receiver": receiver}[victim]
                stopped.signal(signal.SIGINT)
                self.assertEqual(stopped.wait(SOON_S), 130, stopped.said())
                if victim == "sender":
                    receiver.wait_for("is incomplete", SOON_S)
                else:
                    self.assertEqual(sender.wait(SOON_S), 2, sender.said())
                    self.assertIn("run the copy again", sender.said())
            self.expect_continued(ports, part)

    def expect_continued(self, ports, part):
        self.assertEqual(os.listdir(self.target), [part.name])
        there = part.stat().st_size
        with self.receiver():
            done = self.copy(ports)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_copied(json.loads(done.stdout), files=1, bytes=LARGE - there, resumed_bytes=there)

    def test_ctrl_c_at_the_sender(self):
        self.interrupt("sender")

    def test_ctrl_c_at_the_receiver(self):
        self.interrupt("receiver")

    def test_a_receiver_that_is_killed_and_started_again(self):
        self.write_large()
        with self.relays() as (_, ports):
            with self.receiver() as receiver, self.sender(ports) as sender:
                part = file_trees.wait_for_part(self, self.target)
                receiver.signal(signal.SIGKILL)
                receiver.wait()
                with self.receiver():
                    self.assertEqual(sender.wait(SOON_S), 2, sender.said())
                self.assertIn("no longer knows it", sender.said())
                self.assertIn("run the copy again", sender.said())
            self.expect_continued(ports, part)

    def test_a_full_disk_ends_the_copy_with_the_files_name(self):
        small = self.folder / "small"
        program.mount_small_disk(self, small, "4m")
        self.write_large()  # more than the relays and both ends hold
        with self.relays() as (_, ports), self.receiver("--once", target=small) as receiver:
            done = self.copy(ports)
            self.assertEqual(receiver.wait(SOON_S), 2, receiver.said())
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, "cannot write 'large': No space left")
        self.assertRegex(receiver.said(), "is incomplete: cannot write 'large': No space left")
        self.assertEqual(os.listdir(small), [".large.heddle-part"])

    def expect_refused(self, done, *texts):
        self.assertEqual(done.returncode, 2, done.stdout)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertEqual(os.listdir(self.target), [])

    def test_routes_that_do_not_work(self):
        (self.source / "file").write_text("text", encoding="ascii")
        there = f"127.0.0.1:{self.port}"
        with self.relay(there) as (_, port):
            self.expect_refused(self.copy((port,)), f"cannot connect to {there}", "no program listens on that port")
            self.expect_refused(self.copy((program.free_port(),)), "cannot open a session through the relay",
                                "start 'heddle relay' there")
            with self.receiver():
                stranger = {**QUICK, "HEDDLE_KEY_FILE": self.new_key("other")}
                self.expect_refused(self.copy((port,), settings=stranger), "proves to hold the cluster key")
                with self.relay("127.0.0.2") as (_, other):
                    self.expect_refused(self.copy((other,)), f"does not forward to {there}",
                                        "not among the relay's destinations")
                done = self.copy((port,))
        self.assertEqual(done.returncode, 0, done.stderr)
        file_trees.expect_same(self, self.source, self.target)

    def test_wrong_words(self):
        for words, why in ((("--relayed", "a", "b:"), "--listen"),
                           (("--relay", "r", "--via", "ssh", "a", "b:"), "--via"),
                           (("--relay", ",".join("abcdefgh"), "a", "b:"), "1 to 7 are possible")):
            done = program.run("copy", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    os.environ.pop("HEDDLE_KEY_FILE", None)
    unittest.main()
