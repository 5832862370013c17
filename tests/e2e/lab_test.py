#!/usr/bin/env python3
"""Labs: fabrics of network namespaces that hash like switches and have the rates of their file.

Needs root and network namespaces; skipped where they are not allowed: exit status 77.
"""

import json
import sys
import tempfile
import unittest

import lab_fabric
import program
from lab_fabric import Lab, heddle


FAT_TREE = """version = 1
[fabric]
kind = "fat_tree"
pods = 2
[host_link]
rate = "1Gbit/s"
[switch_link]
rate = "1Gbit/s"
"""

RAILS = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 4
nics_per_host = 2
rails = true
[host_link]
rate = "1Gbit/s"
[switch_link]
rate = "1Gbit/s"
"""


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
        done = heddle("lab", "exec", "h0", "--lab", self.lab.name, "--", "sh", "-c", "exit 7", check=False)
        self.assertEqual(done.returncode, 7)
        done = heddle("lab", "exec", "h9", "--lab", self.lab.name, "--", "true", check=False)
        self.assertEqual(done.returncode, 125)
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


@unittest.skipUnless(lab_fabric.hashes_apart(), "all switches of this kernel hash alike")
class Tiers(unittest.TestCase):
    def test_tiers_of_a_fat_tree_do_not_polarise(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        lab = Lab(folder.name, FAT_TREE, "tiers")
        self.addCleanup(lab.close)
        for to in ("10.0.7.1", "fd00:0:7::1"):
            with self.subTest(to=to):
                before = {spine: lab.packets(spine) for spine in ("spine0", "spine1")}
                lab.send("h0", to, 256, 4)
                sent = [count - before[spine][name] for spine in before
                        for name, count in lab.settled(spine).items() if name.startswith("core")]
                self.assertEqual(len(sent), 4)
                # 64 of 256 ports each, with a standard deviation below 7; polarised, two get none.
                self.assertGreater(min(sent), 4 * (64 - 35), sent)
                self.assertLess(max(sent), 4 * (64 + 35), sent)


class Nics(unittest.TestCase):
    def test_each_nic_uses_its_own_rail(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        lab = Lab(folder.name, RAILS, "rails")
        self.addCleanup(lab.close)
        for to, device in (("10.0.3.1", "nic0"), ("10.1.3.1", "nic1"), ("fd00:1:3::1", "nic1")):
            with self.subTest(to=to):
                sent = lab.sent_during("h0", lambda: lab.send("h0", to, 4, 50))
                self.assertGreaterEqual(sent[device], 200)
                arrived = lab.settled("h3", "received")
                self.assertGreaterEqual(arrived[device], 200)


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
