#!/usr/bin/env python3
"""Transfers over RDMA verbs, on soft-RoCE in the virtual machine, while queue pairs, peers or the link fail.

One boot runs the scenarios: a few, or every one with VERBS_FAULTS=all. VERBS_VM_TEST names the program with the tests
of late writes. Needs QEMU and a kernel (scripts/setup --vm); skipped without: exit status 77.
"""

import json
import os
import re
import sys
import tempfile
import unittest

import program

ALL = os.environ.get("VERBS_FAULTS") == "all"
LATE_WRITES = os.environ.get("VERBS_VM_TEST", "")
SCENARIOS = ["pairs:rc", "pairs:uc", "pairs:ud", "killed:rc", "down:uc"]
if ALL:
    SCENARIOS += ["again:rc", "again:uc", "again:ud", "killed:uc", "killed:ud", "down:rc", "down:ud", "down:udp",
                  "removed:rc", "removed:ud", "mtu:rc", "mtu:uc", "short:ud", "mixed:ud", "several:rc", "several:uc",
                  "several:ud", "ipv6"]
BOOT_LIMIT_S, LIMIT_S = (1600, 1700) if ALL else (1300, 1400)
# The tests' environment has no home; the kernel is in the caller's cache.
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
SETTINGS = {"XDG_CACHE_HOME": CACHE}
# Of a silent peer 2 s; the emulated CPU serves two programs, a kernel and this test's host. The transfer that has the
# error would last twice as long as this.
MOST_S = 30


def each_of(scenario):
    """A test of what that scenario found, in each mode."""
    def decorate(test):
        def run(self):
            for name in SCENARIOS:
                if name.split(":")[0] == scenario:
                    with self.subTest(name):
                        test(self, self.results[name])
        return run
    return decorate


class Faults(unittest.TestCase):
    """Each looks at what the scenarios of the one boot found."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs_faults_inside.py")
            late = [f"late:{LATE_WRITES}:{'*' if ALL else '*Fenced*/?c_ipv4'}"] if LATE_WRITES else []
            done = program.run("lab", "vm", "--timeout", f"{BOOT_LIMIT_S}s", "--out", folder, "--", sys.executable,
                               "-B", inside, program.HEDDLE, *SCENARIOS, *late, settings=SETTINGS, timeout=LIMIT_S)
            path = os.path.join(folder, "results.json")
            if done.returncode != 0 or not os.path.exists(path):
                raise AssertionError(f"exit status {done.returncode}:\n{done.stdout}{done.stderr}")
            with open(path, encoding="utf-8") as file:
                cls.results = json.load(file)

    def assert_complete(self, client):
        """The transfer took its whole time, and each byte of it was right."""
        self.assertEqual(client["status"], 0, client)
        test = json.loads(client["output"])["tests"][0]
        self.assertTrue(test["complete"], client)
        received = test["server"]["received"]
        self.assertEqual((test["wrong_messages"], received["wrong_messages"]), (0, 0), test)
        self.assertGreater(received["messages"], 0)
        self.assertEqual(received["messages"], test["messages"])

    def assert_one_error(self, client):
        self.assertEqual(client["status"], 2, client)
        errors = [line for line in client["errors"].splitlines() if not re.search(r"^[0-9:.]+ (info|warn) ", line)]
        self.assertEqual(len(errors), 1, client["errors"])
        return errors[0]

    def assert_stopped(self, served):
        self.assertEqual(served["status"], 143, served)
        self.assertNotRegex(served["errors"], r"(?m)^[0-9:.]+ error ")

    @each_of("pairs")
    def test_transfers_go_on_over_new_queue_pairs(self, found):
        self.assertTrue(found["began"], found)
        self.assertEqual([(step["broken"] > 0, step["flows"]) for step in found["steps"]], [(True, True)] * 4)
        self.assertGreater(found["steps"][2]["broken"], 1)
        self.assert_complete(found["client"])
        self.assertTrue(found["released"])
        self.assert_stopped(found["served"])

    @each_of("again")
    def test_queue_pairs_that_fail_again_and_again_end_no_transfer(self, found):
        self.assertTrue(found["began"], found)
        self.assertGreater(found["broken"], 6)
        self.assert_complete(found["client"])
        self.assertTrue(found["released"])
        self.assert_stopped(found["served"])
        gap_us = json.loads(found["client"]["output"])["tests"][0]["server"]["received"]["longest_gap_us"]
        print(f"longest gap of messages: {gap_us / 1e3:.0f} ms", file=sys.stderr)

    @each_of("killed")
    def test_a_killed_sender_leaves_nothing_and_the_next_connects(self, found):
        self.assertTrue(found["began"], found)
        self.assert_complete(found["next client"])
        self.assertTrue(found["released"])

    @each_of("killed")
    def test_a_killed_receiver_is_one_error_in_time(self, found):
        self.assertTrue(found["began again"], found)
        self.assertRegex(self.assert_one_error(found["client"]), "peer")
        self.assertLess(found["error after s"], MOST_S)
        self.assert_complete(found["client of the new listener"])
        self.assertTrue(found["released at last"])
        self.assert_stopped(found["served"])

    @each_of("several")
    def test_connections_beside_a_killed_one_are_unharmed(self, found):
        self.assertTrue(found["began"] and found["all ran"], found)
        for client in found["others"]:
            self.assert_complete(client)
        self.assertTrue(found["released"])
        self.assert_stopped(found["served"])

    @each_of("down")
    def test_a_short_interruption_of_the_link_ends_nothing(self, found):
        self.assertTrue(found["began"] and found["goes on"], (found["client"]["errors"], found))
        self.assert_complete(found["client"])

    @each_of("down")
    def test_a_long_one_is_one_error_and_the_next_peer_connects(self, found):
        self.assertTrue(found["began again"], found)
        self.assertRegex(self.assert_one_error(found["cut off"]), "peer")
        self.assertLess(found["error after s"], MOST_S)
        self.assert_complete(found["next client"])
        self.assertTrue(found["released"])
        self.assert_stopped(found["served"])

    @each_of("removed")
    def test_a_device_goes_when_the_programs_that_use_it_have_ended(self, found):
        self.assertTrue(found["began"], found)
        self.assert_complete(found["client"])
        self.assert_stopped(found["served"])
        self.assertEqual(found["removal"], 0)
        self.assert_complete(found["next client"])

    @each_of("mtu")
    def test_packets_fit_the_smaller_mtu_of_both_ends(self, found):
        self.assertTrue(found["flows"], found)
        self.assert_complete(found["client"])
        self.assert_stopped(found["served"])

    @each_of("short")
    def test_links_whose_packets_are_too_short_for_datagrams_are_one_error(self, found):
        for each in found.values():
            if isinstance(each, dict):
                self.assertEqual(each["status"], 2, each)
                self.assertIn("packets of rxe1 port 1 carry 1024 bytes, and datagrams need 1200", each["errors"])

    @each_of("mixed")
    def test_peers_with_other_datapaths_get_datagrams_by_udp(self, found):
        for peer in ("rc", "udp"):
            self.assert_complete(found[f"client of {peer}"])
            self.assert_stopped(found[f"{peer} served"])

    @each_of("ipv6")
    def test_ipv6_alone(self, found):
        for mode in ("rc", "uc", "ud"):
            self.assert_complete(found[f"{mode} perf"])
            self.assertEqual(found[f"{mode} ping"]["status"], 0, found[f"{mode} ping"])
            self.assertIn("each verified", found[f"{mode} ping"]["output"])
            self.assertGreater(found[f"{mode} packets"], 200)
        for bind, used in (("", "rxe0 port 1 is used: GID 2, fd09::1 of h0"),
                           ("h1", "rxe1 port 1 is used: GID 2, fd09::2 of h1")):
            lines = [each["what"] for each in json.loads(found[f"doctor {bind}"]["output"])["findings"]
                     if each["grade"] == "ok"]
            self.assertTrue(any(line.startswith(used) for line in lines), lines)

    @unittest.skipUnless(LATE_WRITES, "VERBS_VM_TEST names no program")
    def test_late_writes_land_nowhere(self):
        found = next(each for name, each in self.results.items() if name.startswith("late:"))
        self.assertEqual(found["status"], 0, found["output"])
        self.assertRegex(found["output"], r"\[  PASSED  \] [1-9]")


def missing():
    done = program.run("lab", "vm", "--timeout", "1s", "--kernel", "/nonexistent", "--", "true", settings=SETTINGS)
    if "is not installed" in done.stderr:
        return done.stderr.strip()
    if program.sanitized():
        return "transfers on an emulated CPU are too slow with sanitizers"
    found = os.path.isdir(os.path.join(CACHE, "heddle/vm")) and os.listdir(os.path.join(CACHE, "heddle/vm"))
    return "" if found else "there is no kernel for the virtual machine: run scripts/setup --vm"


if __name__ == "__main__":
    REASON = missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
