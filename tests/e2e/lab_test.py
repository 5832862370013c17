#!/usr/bin/env python3
"""Labs: fabrics of network namespaces that hash like switches, keep their rates, and leave nothing behind.

Needs root and network namespaces; skipped where they are not allowed: exit status 77.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import lab_fabric
import program
from lab_fabric import Lab, heddle


def spines(counts):
    return [count for name, count in sorted(counts.items()) if name.startswith("spine")]


class Fabric(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.lab = Lab(cls.folder.name, lab_fabric.LEAF_SPINE, "fabric")
        cls.addClassCleanup(cls.lab.close)

    def test_source_port_determines_the_path(self):
        for to in ("10.0.3.1", "fd00:0:3::1"):
            for port in range(20000, 20008):
                with self.subTest(to=to, port=port):
                    sent = spines(self.lab.sent_during(
                        "leaf0", lambda: self.lab.send("h0", to, 1, 200, first_port=port)))
                    self.assertEqual(sum(count >= 200 for count in sent), 1, sent)
                    self.assertLess(sum(sent), 210)

    def test_many_ports_take_all_paths_evenly(self):
        for to in ("10.0.3.1", "fd00:0:3::1"):
            with self.subTest(to=to):
                sent = spines(self.lab.sent_during("leaf0", lambda: self.lab.send("h0", to, 256, 10)))
                # 64 of 256 ports each, with a standard deviation below 7.
                self.assertGreater(min(sent), 10 * (64 - 35), sent)
                self.assertLess(max(sent), 10 * (64 + 35), sent)

    def test_names_of_the_lab_are_known_on_its_hosts(self):
        self.assertIn("10.0.3.1", self.lab.exec("h0", "getent", "hosts", "h3"))
        self.assertEqual(self.lab.exec("h2", "hostname").strip(), "h2")

    def test_exit_status_is_the_commands(self):
        done = heddle("lab", "exec", "h0", "--name", self.lab.name, "--", "sh", "-c", "exit 7", check=False)
        self.assertEqual(done.returncode, 7)
        done = heddle("lab", "exec", "h9", "--name", self.lab.name, "--", "true", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no host or switch of that name", done.stderr)

    def test_links_have_the_rates_and_queues_of_the_file(self):
        queues = json.loads(self.lab.exec("leaf0", "tc", "-j", "qdisc", "show"))
        options = {queue["dev"]: queue["options"] for queue in queues if queue["kind"] == "tbf"}
        self.assertEqual(set(options), {"h0", "h1", "spine0", "spine1", "spine2", "spine3"})
        self.assertEqual(options["spine2"]["rate"] * 8, 200_000_000)
        self.assertEqual(options["h1"]["rate"] * 8, 1_000_000_000)

    def test_heddle_moves_every_byte_across_it(self):
        server = self.lab.start("h3", program.HEDDLE, "perf", "--listen", "--once")
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.addCleanup(server.stdout.close)
        server.stdout.readline()
        done = json.loads(self.lab.exec("h0", program.HEDDLE, "perf", "h3", "bw", "-t", "0.5", "--check",
                                        "--json"))
        self.assertEqual(done["tests"][0]["wrong_messages"], 0)


class Lives(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "small.toml")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(lab_fabric.LEAF_SPINE)

    def test_run_leaves_nothing_behind(self):
        name = f"run-{os.getpid()}"
        script = f"{program.HEDDLE} lab exec h0 -- sh -c 'sleep 1000 & echo in; exit 3'; exit 4"
        done = heddle("lab", "run", self.file, "--name", name, "--", "sh", "-c", script, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stdout.strip(), "in")
        self.assert_gone(name)

    def test_two_labs_at_once(self):
        one = Lab(self.folder, lab_fabric.LEAF_SPINE, "one")
        self.addCleanup(one.close)
        two = Lab(self.folder, lab_fabric.LEAF_SPINE, "two")
        self.addCleanup(two.close)
        counts = two.sent_during("leaf0", lambda: one.send("h0", "10.0.3.1", 4, 500))
        self.assertLess(sum(counts.values()), 100)  # but for what IPv6 sends by itself
        one.close()
        two.send("h0", "10.0.3.1", 4, 50)

    def assert_gone(self, name):
        self.assertFalse(os.path.exists(f"/run/heddle/labs/{name}"))
        left = [each for each in os.listdir("/run/netns") if each.startswith(f"heddle.{name}.")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
