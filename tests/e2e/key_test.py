#!/usr/bin/env python3
"""Cluster keys as users have them: files, wrong keys, and a rotation that breaks no connection."""

import json
import os
import pathlib
import signal
import tempfile
import unittest

import program

SHORT = {"HEDDLE_HANDSHAKE_TIMEOUT_MS": "4000"}  # of who is not to be answered
PATIENT = {"HEDDLE_HANDSHAKE_TIMEOUT_MS": "30000"}


class Keys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name):
        return os.path.join(self.folder, name)

    def generate(self, name):
        done = program.run("key", "generate", self.file(name))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()[0]

    def write(self, name, *sources):
        """A file with the keys of others, in their order."""
        text = "".join(pathlib.Path(self.file(source)).read_text("ascii") for source in sources)
        with open(os.open(self.file(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                  encoding="ascii") as out:
            out.write(text)

    def settings(self, name):
        return {"HEDDLE_KEY_FILE": self.file(name), **PATIENT}

    def reload(self, serving, ids):
        """The server reads its key file anew, and says which keys it found."""
        serving.signal(signal.SIGHUP)
        serving.wait_for("read anew: " + " ".join(ids) + "$")

    def ping(self, port, name):
        return program.run("ping", "127.0.0.1", "-p", port, "-C", 3, settings=self.settings(name))

    def ping_in_vain(self, port, name=None):
        """With these keys or none; the complaint."""
        done = program.run("ping", "127.0.0.1", "-p", port, "-C", 3,
                           settings=(self.settings(name) if name else {}) | SHORT)
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stderr

    def test_generate_and_show(self):
        first = self.generate("one")
        self.assertEqual(os.stat(self.file("one")).st_mode & 0o777, 0o600)
        self.assertEqual(program.run("key", "show", self.file("one")).stdout.split()[0], first)
        again = program.run("key", "generate", self.file("one"))
        self.assertEqual(again.returncode, 2)
        self.assertIn("not overwritten", again.stderr)
        second = self.generate("two")
        self.write("both", "two", "one")
        shown = json.loads(program.run("key", "show", self.file("both"), "--json").stdout)
        self.assertEqual([key["id"] for key in shown["keys"]], [second, first])
        self.assertEqual([key["connects"] for key in shown["keys"]], [True, False])

    def test_a_file_that_others_may_read_is_refused(self):
        self.generate("one")
        os.chmod(self.file("one"), 0o640)
        for command in (("perf", "--listen"), ("ping", "127.0.0.1"), ("config", "show")):
            done = program.run(*command, settings=self.settings("one"))
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("0640", done.stderr)
            self.assertIn("chmod 600", done.stderr)

    def test_sealed_payload_arrives_unchanged_and_the_document_says_that_it_was(self):
        self.generate("one")
        with program.server(settings=self.settings("one")) as (_, port):
            done = program.run("perf", "127.0.0.1", "bw", "-p", port, "-t", "0.3", "--check",
                               "--bidirectional", "--json", settings=self.settings("one"))
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertTrue(document["sealed"])
        self.assertEqual(document["tests"][0]["wrong_messages"], 0)
        self.assertEqual(document["dropped_datagrams"]["bad_tag"], 0)

    def test_who_lacks_the_key_is_not_answered(self):
        self.generate("one")
        self.generate("two")
        with program.server("--json", settings=self.settings("one")) as (serving, port):
            # It prints nothing before its end: this succeeds once it listens.
            while self.ping(port, "one").returncode != 0:
                pass
            for other in ("two", None):
                self.assertIn("key_file", self.ping_in_vain(port, other))
            serving.signal(program.INTERRUPT)
            serving.wait()
            dropped = json.loads("\n".join(serving.lines))["dropped_datagrams"]
        self.assertGreater(dropped["no_key"], 0)

    def test_levels_of_protection_that_differ_are_refused_by_name(self):
        self.generate("one")
        for ours, theirs in (("headers", "full"), ("full", "headers")):
            with program.server(settings=self.settings("one") | {"HEDDLE_PROTECTION": theirs}) as (_, port):
                done = program.run("ping", "127.0.0.1", "-p", port, "-C", 1,
                                   settings=self.settings("one") | SHORT | {"HEDDLE_PROTECTION": ours})
                self.assertEqual(done.returncode, 2)
                self.assertIn("protection is '" + ours + "' here", done.stderr)
                self.assertIn("'" + theirs + "'", done.stderr)

    def test_headers_are_protected_and_payload_moves(self):
        self.generate("one")
        settings = self.settings("one") | {"HEDDLE_PROTECTION": "headers"}
        with program.server(settings=settings) as (_, port):
            done = program.run("perf", "127.0.0.1", "bw", "-p", port, "-t", "0.3", "--check", "--bidirectional",
                               "--json", settings=settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["protection"], document["sealed"]), ("headers", False))
        self.assertEqual(document["tests"][0]["wrong_messages"], 0)
        self.assertEqual(document["dropped_datagrams"]["bad_tag"], 0)

    def test_protection_without_a_key_is_an_error(self):
        for level in ("headers", "full"):
            done = program.run("ping", "127.0.0.1", "-C", 1, settings={"HEDDLE_PROTECTION": level})
            self.assertEqual(done.returncode, 2)
            self.assertIn("no key_file is set", done.stderr)

    def test_a_server_without_keys_says_so(self):
        self.generate("one")
        with program.server() as (_, port):
            self.assertIn("the peer has no cluster keys", self.ping_in_vain(port, "one"))

    def test_a_rotation_breaks_no_connection(self):
        """docs/explanation/security.md: the new key is accepted everywhere, then used, then the old one goes."""
        ids = {name: self.generate(name) for name in ("old", "new")}
        for name in ("server", "client"):
            self.write(name, "old")
        with program.server(settings={"HEDDLE_LOG": "info", **self.settings("server")}) as (
                serving, port), program.started(
                    "ping", "127.0.0.1", "-p", port, "-i", "0.01", "-v",
                    settings=self.settings("client")) as running:
            running.wait_for(r"heddle-ping-3:")
            for keys in (("old", "new"), ("new", "old"), ("new",)):
                # Hosts take turns, so what the client still has meets what the server has by now.
                self.write("server", *keys)
                self.reload(serving, [ids[name] for name in keys])
                self.assertEqual(self.ping(port, "client").returncode, 0, keys)
                self.write("client", *keys)
                self.assertEqual(self.ping(port, "client").returncode, 0, keys)
            self.ping_in_vain(port, "old")
            rounds = len(running.lines)
            running.wait_for(rf"heddle-ping-{rounds + 5}:")
            running.signal(program.INTERRUPT)
            self.assertEqual(running.wait(), 130)
            self.assertEqual(running.errors, [])

    def test_a_key_file_that_turned_bad_changes_nothing(self):
        self.generate("one")
        with program.server(settings=self.settings("one")) as (serving, port):
            os.chmod(self.file("one"), 0o644)
            serving.signal(signal.SIGHUP)
            serving.wait_for("stay in use")
            os.chmod(self.file("one"), 0o600)
            self.assertEqual(self.ping(port, "one").returncode, 0)


if __name__ == "__main__":
    unittest.main()
