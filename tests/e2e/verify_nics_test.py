#!/usr/bin/env python3
"""heddle verify of hosts with several NICs: each is tested; an unplugged one and one with another MTU are named.

Needs root, network namespaces and, for machines, sshd; skipped where they are missing: exit status 77.
"""

import json
import pathlib
import sys
import tempfile
import unittest

import lab_fabric
import program
import ssh_lab
import verify_test

# NIC 0 of every host is on leaf0, NIC 1 on leaf1.
FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 3
nics_per_host = 2
rails = true
[host_link]
rate = "40Mbit/s"
queue = "50KB"
mtu = 1500
[switch_link]
rate = "40Mbit/s"
queue = "50KB"
mtu = 1500
"""
HOSTS = ("h0", "h1", "h2")


def nic_rows(report):
    """{where: row} of the rows that reach has of further NICs."""
    return {row["where"]: row for stage in report["stages"] for row in stage["rows"] if row["check"] == "reach of NIC"}


@unittest.skipIf(lab_fabric.missing(), str(lab_fabric.missing()))
class NicsOfALab(unittest.TestCase):
    def test_each_nic_is_tested_and_one_with_a_smaller_mtu_and_an_unplugged_one_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            lab = lab_fabric.Lab(folder, FABRIC, "nics")
            self.addCleanup(lab.close)
            words = ("--lab", lab.name, "--stage", "reach", "--json")
            done = verify_test.verify(*words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = nic_rows(json.loads(done.stdout))
            self.assertEqual({where: row["measured"] for where, row in rows.items()},
                             {"6 of 6 pairs": "nic1: answered, payload unchanged"})
            self.expect_slow_nic_to_be_named(lab)
            lab.exec("h2", "ip", "link", "set", "nic1", "mtu", "1400")
            done = verify_test.verify(*words)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertEqual(verify_test.wrong_rows(json.loads(done.stdout)), {("MTU of NIC", "h2")}, done.stdout)
            lab.exec("h2", "ip", "link", "set", "nic1", "mtu", "1500")
            lab.exec("h1", "ip", "link", "set", "nic1", "down")
            done = verify_test.verify(*words)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(verify_test.wrong_rows(report), {("reach of NIC", "h1")}, done.stdout)
            row = nic_rows(report)["h1"]
            self.assertEqual(row["measured"], "nic1: no other host reaches it, and it reaches none")
            self.assertIn("nic1 on h1", row["todo"])
            self.assertEqual(nic_rows(report)["2 of 6 pairs"]["grade"], "pass")


    def expect_slow_nic_to_be_named(self, lab):
        """The second NIC of one host at a quarter of its rate passed."""
        lab_fabric.heddle("lab", "fault", "rate", "h1.1", "leaf1", "10Mbit/s", "--lab", lab.name)
        done = verify_test.verify("--lab", lab.name, "--stage", "pairs", "--json")
        lab_fabric.heddle("lab", "fault", "clear", "--lab", lab.name)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        wrong = verify_test.wrong_rows(json.loads(done.stdout))
        # Pairs only warn where other programs take the cores.
        self.assertLessEqual({check for check, _ in wrong}, {"goodput of NIC", "link rate"})
        self.assertLessEqual({("link rate", "h1.1 to leaf1"), ("link rate", "leaf1 to h1.1")}, wrong, done.stdout)
        self.assertTrue(all("h1" in where for _, where in wrong), wrong)
        rows = [row for row in json.loads(done.stdout)["stages"][0]["rows"] if row["check"] == "goodput of NIC"]
        self.assertTrue(any("h1" in row["where"] and row["grade"] in ("warn", "fail") for row in rows), rows)


@unittest.skipIf(ssh_lab.MISSING, str(ssh_lab.MISSING))
class NicsOfMachines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.topology = pathlib.Path(folder.name, "plan.toml")
        self.topology.write_text(FABRIC, encoding="utf-8")
        self.machines = ssh_lab.SshLab(FABRIC, HOSTS, "nics")
        self.addCleanup(self.machines.close)

    def report_of(self, status, *words):
        done = self.machines.at("h0", "verify", "--quick", "--json", "--via", self.machines.via, "--hosts",
                                ",".join(HOSTS), "--stage", "reach", *words, timeout=200)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_routes_of_both_nics_an_unplugged_one_and_a_network_over_which_no_machine_is_reached(self):
        """On the same machines, one after the other: what is unplugged stays so."""
        self.expect_routes_without_a_topology()
        self.machines.lab.exec("h1", "ip", "link", "set", "nic1", "down")
        self.expect_unplugged_nic_to_be_named()
        for host in HOSTS:
            self.machines.lab.exec(host, "ip", "link", "set", "nic1", "down")
        self.expect_network_to_fail_only_where_the_topology_has_it()

    def expect_unplugged_nic_to_be_named(self):
        for more in program.sample(((), ("--topology", self.topology)), 2):
            report = self.report_of(1, *more)
            self.assertEqual(verify_test.wrong_rows(report), {("reach of NIC", "h1")}, report["stages"])
            self.assertIn("nic1", nic_rows(report)["h1"]["measured"])
            self.assertEqual({(each["from"], each["to"]) for each in report["stages"][0]["data"]["nics"]
                              if each["reached"]}, {("h0", "h2"), ("h2", "h0")})

    def expect_network_to_fail_only_where_the_topology_has_it(self):
        """With sanitizers only where it has it: each of the twelve tries of a pair ends by its time."""
        for status, more in program.sample(((1, ("--topology", self.topology)), (0, ())), 2):
            report = self.report_of(status, *more)
            wrong = {check for check, _ in verify_test.wrong_rows(report)}
            self.assertEqual(wrong, {"reach of NIC"} if status else set(), report["stages"])
            if status == 0:
                self.assertEqual(nic_rows(report)["6 of 6 pairs"]["grade"], "warn")

    def expect_routes_without_a_topology(self):
        """Behind one leaf there is one route; a switch that does not answer leaves it unknown."""
        rows = [row for row in self.report_of(0)["stages"][0]["rows"] if row["check"] == "routes"]
        self.assertEqual([(row["where"], row["measured"], row["expected"]) for row in rows],
                         [("3 of 3 pairs", "1 routes work", ""), ("3 of 3 pairs", "nic1: 1 routes work", "")])


if __name__ == "__main__":
    if lab_fabric.missing():
        print(f"skipped: {lab_fabric.missing()}")
        sys.exit(77)
    unittest.main()
