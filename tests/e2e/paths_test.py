#!/usr/bin/env python3
"""heddle paths: routes of real fabrics of namespaces, counted over IPv4 and IPv6.

Those need root and network namespaces, and are skipped where they are not allowed.
"""

import ipaddress
import json
import sys
import tempfile
import unittest

import lab_fabric
import program
from lab_fabric import Lab

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = {spines}
hosts_per_leaf = 1
[host_link]
mtu = 1500
[switch_link]
mtu = 1500
"""

# 300 invalid datagrams with the addresses and ports of a path of a connection.
_FLOW = """
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind(('', int(sys.argv[1])))
for _ in range(300):
    sender.sendto(bytes(20), ('10.0.1.1', 18700))
"""


class Paths(unittest.TestCase):
    def setUp(self):
        reason = lab_fabric.missing()
        if reason:
            self.skipTest(reason)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def lab(self, spines):
        lab = Lab(self.folder, FABRIC.format(spines=spines), f"paths{spines}")
        self.addCleanup(lab.close)
        listening = lab.start("h1", program.HEDDLE, "perf", "--listen")
        self.addCleanup(listening.stdout.close)
        self.addCleanup(listening.wait)
        self.addCleanup(listening.terminate)
        listening.stdout.readline()
        return lab

    def paths(self, lab, host, *words):
        return lab.exec("h0", program.HEDDLE, "paths", host, *words)

    def failing(self, lab, *words):
        done = lab_fabric.heddle("lab", "exec", "h0", "--lab", lab.name, "--", program.HEDDLE, "paths", "h1",
                                 *words, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stdout

    def test_routes_of_leaf_and_spine_fabrics_are_counted(self):
        for spines in (1, 2, 4, 8):
            lab = self.lab(spines)
            for host in ("h1", "h1-v6"):
                document = self.document_of_all(lab, host, spines)
                self.assertEqual(document["verdict"], "known", document)
                self.assertEqual(document["routes"], spines, host)
                self.assertEqual(document["hops"], 3)
                self.check_routers(document, host.endswith("v6"), spines)
            lab.close()

    def document_of_all(self, lab, host, routes):
        """64 paths miss one of eight routes in one of 500 tries (docs/explanation/paths.md): then it is asked again."""
        for _ in range(3):
            document = json.loads(self.paths(lab, host, "--json"))
            self.assertLessEqual(document["routes"], routes)
            if document["routes"] == routes:
                break
        return document

    def check_routers(self, document, six, spines):
        def router(number):
            return str(ipaddress.ip_address(f"fd00:ff:{number:x}::1" if six else f"10.255.{number}.1"))

        spine_names = {route["routers"][1] for route in document["seen"]}
        self.assertEqual(spine_names, {router(2 + spine) for spine in range(spines)})
        for route in document["seen"]:
            self.assertEqual((route["routers"][0], route["routers"][2]), (router(0), router(1)))
            self.assertTrue(route["works"])
            self.assertGreater(route["round_trip_us_min"], 0)
        ports = [path["source_port"] for route in document["seen"] for path in route["paths"]]
        self.assertEqual(len(set(ports)), 64)
        self.assertEqual(document["paths"], 64)

    def test_the_source_ports_of_a_route_are_those_that_a_switch_sends_there(self):
        lab = self.lab(4)
        document = json.loads(self.paths(lab, "h1", "--json"))
        for route in document["seen"]:
            port = route["paths"][0]["source_port"]
            sent = lab.sent_during("leaf0", lambda port=port: lab.exec(
                "h0", sys.executable, "-c", _FLOW, str(port)))
            number = int(route["routers"][1].split(".")[2]) - 2
            self.assertGreaterEqual(sent[f"spine{number}"], 300, sent)

    def test_the_table_has_one_line_per_route(self):
        lab = self.lab(2)
        text = self.paths(lab, "h1")
        self.assertRegex(text, r"^2 routes to 10\.0\.1\.1:18700, with 3 routers on each\.\n")
        self.assertRegex(text, r"(?m)^1 +10\.255\.0\.1  10\.255\.[23]\.1  10\.255\.1\.1 +[\d.]+ [um]s +\d+ +\d+,")

    def test_a_silent_spine_makes_them_unknown_and_is_named(self):
        lab = self.lab(2)
        lab.exec("spine1", "nft", "add table inet silent; add chain inet silent out "
                 "{ type filter hook output priority 0; }; add rule inet silent out icmp type time-exceeded drop")
        text = self.failing(lab)
        self.assertRegex(text, r"at hop 2, behind 10\.255\.0\.1 the router on \d+ of 64 paths does not answer")
        self.assertIn("10.255.0.1  * ", text)

    def test_with_few_paths_it_says_how_many_would_do(self):
        lab = self.lab(4)
        document = json.loads(self.failing(lab, "--paths", "8", "--json"))
        self.assertEqual((document["verdict"], document["routes"]), ("few_paths", None))


class OnOneHost(unittest.TestCase):
    def test_loopback_is_one_route_without_routers(self):
        with program.server() as (_, port):
            done = program.run("paths", "127.0.0.1", "-p", port)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^1 route to 127\.0\.0\.1:\d+, with 0 routers on each")

    def test_nobody_there_could_not_run(self):
        done = program.run("paths", "127.0.0.1", "-p", program.free_port())
        self.assertEqual(done.returncode, 2)
        self.assertIn("start 'heddle perf --listen", done.stderr)

    def test_keys_change_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            key = folder + "/key"
            self.assertEqual(program.run("key", "generate", key).returncode, 0)
            with program.server("--set", "key_file=" + key) as (_, port):
                done = program.run("paths", "127.0.0.1", "-p", port, "--set", "key_file=" + key, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["routes"], 1)


if __name__ == "__main__":
    unittest.main()
