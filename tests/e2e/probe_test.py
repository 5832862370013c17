#!/usr/bin/env python3
"""heddle probe: the fabric of a lab is found as it is, and a broken link is named.

That needs root and network namespaces, and is skipped where they are not allowed.
"""

import json
import os
import tempfile
import unittest

import json_reference_test
import lab_fabric
import program
from lab_fabric import LEAF_SPINE, Lab, heddle

_RAILS = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 4
spines = 2
hosts_per_leaf = 2
nics_per_host = 2
rails = true
[host_link]
mtu = 1500
[switch_link]
mtu = 1500
"""

_SILENCE = ("add table inet silent; add chain inet silent out { type filter hook output priority 0; }; "
            "add rule inet silent out icmp type time-exceeded drop")


class Probe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reason = lab_fabric.missing()
        if cls.reason:
            return
        cls.folder = tempfile.TemporaryDirectory()
        cls.lab = Lab(cls.folder.name, LEAF_SPINE, "probe")

    @classmethod
    def tearDownClass(cls):
        if not cls.reason:
            cls.lab.close()
            cls.folder.cleanup()

    def setUp(self):
        if self.reason:
            self.skipTest(self.reason)

    def probe(self, *words, status, lab=None):
        done = heddle("probe", "--lab", (lab or self.lab).name, "--json", *words, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout[-4000:])
        document = json.loads(done.stdout)
        self.expect_listed(document)
        return document

    def expect_listed(self, document):
        """The reference has every field."""
        known = json_reference_test.listed("heddle probe")
        missing = [field for field in json_reference_test.fields(document)
                   if not any(expression.fullmatch(field) for expression in known)]
        self.assertEqual(missing, [])

    def fault(self, *words):
        heddle("lab", "fault", *words, "--lab", self.lab.name)
        self.addCleanup(heddle, "lab", "fault", "clear", "--lab", self.lab.name)

    def places(self, document, kind):
        """Of findings of a kind: the places, each as [(from, to), ...]."""
        return [[(place["from"], place["to"]) for place in finding["places"]]
                for finding in document["findings"] if finding["kind"] == kind]

    def test_a_healthy_fabric_is_found_as_it_is(self):
        output = os.path.join(self.folder.name, "found.toml")
        document = self.probe("--no-rates", "-o", output, status=0)
        self.assertEqual(document["comparison"]["differences"], [])
        self.assertEqual(document["comparison"]["equal_links"], 12)
        self.assertEqual(sorted(each["name"] for each in document["switches"]),
                         ["leaf0", "leaf1", "spine0", "spine1", "spine2", "spine3"])
        self.assertEqual(document["findings"], [])
        for route in document["routes"]:
            self.assertTrue(route["arrives"], route)
            self.assertIn(len(route["switches"]), (1, 3))
        # Others read the file.
        again = self.probe("--no-rates", "--compare", output, status=0)
        self.assertEqual(again["comparison"]["equal_links"], 12)

    def test_rates_are_measured(self):
        document = self.probe(status=0)
        for link in document["links"]:
            if not link["b"].startswith("spine"):
                continue
            for direction in ("forward", "backward"):
                # 200 Mb/s; trains on a busy machine are slower, and at times faster.
                self.assertGreater(link[direction]["rate_bits_per_s"], 100e6, link)
                self.assertLess(link[direction]["rate_bits_per_s"], 600e6, link)

    def test_a_dead_link_is_named_with_its_direction(self):
        self.fault("blackhole", "spine1", "leaf0")
        document = self.probe("--no-rates", status=1)
        self.assertEqual(self.places(document, "dead"), [[("spine1", "leaf0")]])
        self.assertEqual(document["comparison"]["differences"], [])

    def test_a_lossy_link_is_named_with_its_direction(self):
        self.fault("loss", "spine2", "leaf1", "8%", "--one-way")
        document = self.probe("--no-rates", status=1)
        self.assertEqual(self.places(document, "lossy"), [[("spine2", "leaf1")]])
        self.assertAlmostEqual(document["findings"][0]["loss"], 0.08, delta=0.05)

    def test_a_link_that_switches_route_around_is_missing(self):
        """No route between two leaves takes a spine that has lost the link to one of them."""
        self.fault("down", "leaf1", "spine3")
        document = self.probe("--no-rates", status=1)
        missing = [each["subject"] for each in document["comparison"]["differences"] if each["kind"] == "missing"]
        self.assertEqual(sorted(missing), ["leaf0 - spine3", "leaf1 - spine3", "spine3"])

    def test_rails_and_a_silent_spine(self):
        lab = Lab(self.folder.name, _RAILS, "probe-rails")
        self.addCleanup(lab.close)
        document = self.probe("--no-rates", "--entropies", "24", status=0, lab=lab)
        self.assertEqual(document["comparison"]["equal_links"], 16)
        self.assertEqual(len(document["nics"]), 8)
        lab.exec("spine1", "nft", _SILENCE)
        document = self.probe("--no-rates", "--entropies", "24", status=0, lab=lab)
        self.assertEqual(document["comparison"]["differences"], [])
        self.assertEqual([each["kind"] for each in document["findings"]], ["silent"])

    def test_the_table_names_faults_and_what_is_equal(self):
        done = heddle("probe", "--lab", self.lab.name, "--no-rates", "--hosts", "h0,h2", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^leaf0 +1 +seen +10\.255\.0\.1$")
        self.assertIn("No fault was found.", done.stdout)
        self.assertIn("10 equal links, no difference", done.stdout)

    def test_machines_are_probed_over_a_remote_shell(self):
        via = f"{program.HEDDLE} lab exec {{host}} --lab {self.lab.name} --"
        done = heddle("probe", "--via", via, "--hosts", "h0=10.0.0.1,h2=10.0.2.1,h3=10.0.3.1", "--no-rates", "--json",
                      "--compare", self.lab.file, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout[-2000:])
        document = json.loads(done.stdout)
        self.assertEqual(document["comparison"]["differences"], [])
        self.assertEqual(document["comparison"]["invisible_links"], 1)  # h1's
        self.assertEqual(len(document["switches"]), 6)

    def test_hosts_that_the_lab_does_not_have_are_an_error(self):
        done = heddle("probe", "--lab", self.lab.name, "--hosts", "h0,h9", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no host 'h9'", done.stderr)


class WrongUse(unittest.TestCase):
    def expect_error(self, text, *words):
        done = program.run("probe", *words)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(text, done.stderr)

    def test_errors_say_what_to_do(self):
        self.expect_error("neither a lab nor hosts are given")
        self.expect_error("there is no lab", "--lab", "none-of-this-name")
        self.expect_error("probes go between hosts, and this is one", "--via", "sh -c {command} {host}", "--hosts",
                          "one=127.0.0.1")
        here = ("--via", "sh -c {command} {host}", "--hosts")
        self.expect_error("both have the address", *here, "one=127.0.0.1+127.0.0.1")
        self.expect_error("some addresses are IPv4", *here, "one=127.0.0.1+::1")
        self.expect_error("cannot test", "--via", "false {host}", "--hosts", "one=192.0.2.1,other=192.0.2.2")


    def test_files_are_looked_at_before_anything_is_probed(self):
        for option in ("-o", "--compare"):
            self.expect_error("/none/of/this/name", "--lab", "none-of-this-name", option, "/none/of/this/name")


if __name__ == "__main__":
    unittest.main()
