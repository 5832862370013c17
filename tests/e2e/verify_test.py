#!/usr/bin/env python3
"""heddle verify: a clean fabric passes, and what is wrong with another one is named at its place.

Needs root and network namespaces; skipped where they are not allowed: exit status 77.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

import json_reference_test
import lab_fabric
import program
import ssh_lab
from lab_fabric import Lab, heddle

# Small, so that a test of it is short.
FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
[host_link]
rate = "40Mbit/s"
queue = "50KB"
mtu = 1500
[switch_link]
rate = "10Mbit/s"
queue = "25KB"
mtu = 1500
"""


def verify(*words, **options):
    return program.run("verify", "--quick", *words, timeout=200, **options)


def wrong_rows(report):
    """(check, where) of the rows that failed."""
    return {(row["check"], row["where"]) for stage in report["stages"] for row in stage["rows"]
            if row["grade"] == "fail"}


class Clean(unittest.TestCase):
    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_a_clean_fabric_passes_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            topology = pathlib.Path(folder, "clean.toml")
            topology.write_text(FABRIC, encoding="utf-8")
            target = pathlib.Path(folder, "report")
            done = verify("--topology", topology, "--report", target, "--json")
            report = json.loads(done.stdout)
            self.assertEqual(wrong_rows(report), set(), done.stdout)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([stage["outcome"] for stage in report["stages"]], ["passed"] * 6)
            known = json_reference_test.listed("heddle verify")
            self.assertEqual([field for field in sorted(json_reference_test.fields(report))
                              if not any(each.fullmatch(field) for each in known)], [])
            self.assertEqual(json.loads((target / "report.json").read_text(encoding="utf-8")), report)
            self.assertEqual(program.page_data(target / "report.html"), report)
            suites = xml.etree.ElementTree.parse(target / "junit.xml").getroot()
            self.assertEqual(suites.get("failures"), "0")
            self.assertIn(report["summary"], (target / "report.txt").read_text(encoding="utf-8"))
        self.assertEqual([name for name in os.listdir("/run/heddle/labs") if name.startswith("verify-")], [])


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lab = Lab(folder.name, FABRIC, "faulty")
        self.addCleanup(self.lab.close)

    def report_of(self, *words):
        done = verify("--lab", self.lab.name, "--json", *words)
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)

    def test_an_mtu_and_a_link_are_named_and_later_stages_do_not_run(self):
        heddle("lab", "exec", "--lab", self.lab.name, "h1", "--", "ip", "link", "set", "nic0", "mtu", "1400")
        heddle("lab", "fault", "--lab", self.lab.name, "down", "leaf0", "spine1")
        report = self.report_of()
        self.assertEqual(wrong_rows(report), {("MTU", "h1"), ("link state", "leaf0 - spine1")})
        self.assertEqual([stage["outcome"] for stage in report["stages"]], ["failed"] + ["not run"] * 5)

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_a_slow_link_is_named_with_its_direction(self):
        heddle("lab", "fault", "--lab", self.lab.name, "rate", "leaf0", "spine1", "4Mbit/s", "--one-way")
        report = self.report_of("--stage", "pairs")
        self.assertIn(("link rate", "leaf0 to spine1"), wrong_rows(report))
        self.assertEqual({link["label"] for link in report["links"] if link["named"]}, {"leaf0 - spine1"})


class Refusals(unittest.TestCase):
    def test_what_cannot_run_has_status_2(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "report.json").write_text("{}", encoding="utf-8")
            done = verify("--report", folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("there is a report already", done.stderr)
        self.assertEqual(verify("--lab", "no-such-lab").returncode, 2)
        done = verify(settings={"TMPDIR": "/nonexistent"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("set TMPDIR to a folder where you may write", done.stderr)
        self.assertEqual(verify("--stage", "training").returncode, 2)

    def test_ctrl_c_takes_the_fabric_down_and_keeps_what_there_is(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, "report")
            process = subprocess.Popen([program.HEDDLE, "verify", "--full", "--report", target], text=True,
                                       env=program.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            while process.poll() is None and not self.is_measuring(process.pid):
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=program.PATIENCE_S)
            self.assertEqual(process.returncode, 130, errors + output)
            self.assertIn("INCOMPLETE", output)
            report = json.loads((target / "report.json").read_text(encoding="utf-8"))
            self.assertEqual(report["signal"], signal.SIGINT)
            self.assertEqual(report["stages"][0]["outcome"], "passed")
            self.assertFalse(os.path.exists(f"/run/heddle/labs/verify-{process.pid}"))

    @staticmethod
    def is_measuring(verifier):
        """Whether one of its children is a client of heddle perf."""
        children = subprocess.run(["ps", "--ppid", str(verifier), "-o", "args="], capture_output=True, text=True,
                                  check=False).stdout
        return "perf h" in children


@unittest.skipIf(ssh_lab.MISSING, str(ssh_lab.MISSING))
class Machines(unittest.TestCase):
    """Hosts of a lab as machines that ssh reaches; the test itself runs on one of them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.topology = self.folder / "plan.toml"
        self.topology.write_text(FABRIC, encoding="utf-8")

    def start(self, text=FABRIC):
        machines = ssh_lab.SshLab(text, ("h0", "h1"))
        self.addCleanup(machines.close)
        return machines

    def verify(self, machines, *words, via=None):
        return machines.at("h0", "verify", "--quick", "--json", "--via", via or machines.via, "--hosts", "h0,h1",
                           *words, timeout=200)

    def wrapper(self, machines, change):
        """A remote shell that changes the facts which machine h1 answers with."""
        filtered = self.folder / "change.py"
        filtered.write_text("import json, sys\nfor line in sys.stdin:\n    if line.startswith('{\"links\"'):\n"
                            f"        document = json.loads(line)\n        {change}\n"
                            "        line = json.dumps(document) + '\\n'\n    sys.stdout.write(line)\n"
                            "    sys.stdout.flush()\n", encoding="utf-8")
        shell = self.folder / "rsh"
        ssh = machines.via.replace("{host} {command}", "")
        shell.write_text('#!/bin/bash\nset -o pipefail\nhost=$1; shift\n'
                         f'[ "$host" = h1 ] || exec {ssh} "$host" "$*"\n'
                         f'{ssh} "$host" "$*" | {sys.executable} {filtered}\n', encoding="utf-8")
        shell.chmod(0o755)
        return f"{shell} {{host}} {{command}}"

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_clean_machines_pass_and_nothing_stays_on_them(self):
        machines = self.start()
        before = set(pathlib.Path("/tmp").glob("heddle-verify-*"))
        done = self.verify(machines, "--topology", self.topology, "--report", self.folder / "report")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(wrong_rows(report), set(), done.stdout)
        self.assertEqual([stage["outcome"] for stage in report["stages"]], ["passed"] * 6)
        self.assertFalse(report["emulated"])
        self.assertGreater(len(list((self.folder / "report" / "recording").glob("*.heddle"))), 1)
        self.assertEqual(set(pathlib.Path("/tmp").glob("heddle-verify-*")), before)
        self.wait_for_server(machines, False)
        loads = [link["forward"]["peak_bits_per_s"] for link in report["links"] if "h0" in (link["a"], link["b"])]
        self.assertGreater(loads[0], 5e6)
        self.expect_diff_and_baseline(self.folder / "report")

    def expect_diff_and_baseline(self, report):
        same = program.run("verify", "diff", report, report / "report.json", "--json")
        self.assertEqual(same.returncode, 0, same.stderr)
        document = json.loads(same.stdout)
        self.assertEqual((document["worse"], document["changes"]), (False, []))
        self.assertGreater(document["figures"], 5)
        expect = self.folder / "expect.toml"
        made = program.run("verify", "baseline", report, "-o", expect)
        self.assertEqual((made.returncode, made.stdout), (0, ""), made.stderr)
        self.assertIn("pair_share = ", expect.read_text(encoding="utf-8"))
        later = json.loads((report / "report.json").read_text(encoding="utf-8"))
        for pair in next(stage for stage in later["stages"] if stage["name"] == "pairs")["data"]["pairs"]:
            pair["goodput_bits_per_s"] /= 2
        (self.folder / "later.json").write_text(json.dumps(later), encoding="utf-8")
        worse = program.run("verify", "diff", report, self.folder / "later.json")
        self.assertEqual(worse.returncode, 1)
        self.assertRegex(worse.stdout, r"(?m)^worse +pairs +goodput +h0 to h1 .*\(-50%\)$")
        known = json_reference_test.listed("heddle verify diff")
        document = json.loads(program.run("verify", "diff", report, self.folder / "later.json", "--json").stdout)
        self.assertEqual([field for field in json_reference_test.fields(document)
                          if not any(each.fullmatch(field) for each in known)], [])
        refused = program.run("verify", "diff", report, self.topology)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("cannot read a report", refused.stderr)

    def test_a_port_with_another_mtu_is_named(self):
        machines = self.start(FABRIC + '[[override]]\nlink = ["h1", "leaf1"]\nmtu = 1400\n')
        done = self.verify(machines, "--topology", self.topology, "--stage", "inventory")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(wrong_rows(json.loads(done.stdout)), {("MTU", "h1")})

    def test_a_slow_port_is_named(self):
        machines = self.start(FABRIC + '[[override]]\nlink = ["h1", "leaf1"]\nrate = "4Mbit/s"\n')
        done = self.verify(machines, "--topology", self.topology, "--stage", "pairs")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertTrue({where for _, where in wrong_rows(json.loads(done.stdout))} &
                        {"h1", "h0 to h1", "h1 to h0", "h1 to leaf1", "leaf1 to h1"}, done.stdout)

    def test_what_one_machine_has_otherwise_is_named(self):
        machines = self.start()
        via = self.wrapper(machines, 'document["wall_seconds"] += 60; document["facts"]["kernel"] = "Linux 2.4"')
        done = self.verify(machines, "--topology", self.topology, "--stage", "inventory", via=via)
        report = json.loads(done.stdout)
        warned = {(row["check"], row["where"]): row["measured"] for row in report["stages"][0]["rows"]
                  if row["grade"] == "warn"}
        self.assertIn("kernel", {check for check, _ in warned}, done.stdout)
        self.assertRegex(warned["clock", "h1"], r"^(59|60)\.\d s ahead$")

    def test_a_machine_that_does_not_answer_is_named(self):
        machines = ssh_lab.SshLab(FABRIC, ("h0",))
        self.addCleanup(machines.close)
        done = self.verify(machines)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("cannot test h1: cannot start anything on h1", done.stderr)
        self.assertIn("Connection refused", done.stderr)

    def test_a_topology_of_other_hosts_is_refused(self):
        machines = self.start()
        self.topology.write_text(FABRIC.replace("hosts_per_leaf = 1", "hosts_per_leaf = 2"), encoding="utf-8")
        done = self.verify(machines, "--topology", self.topology)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it has 4 hosts, of which 2 are among the 2 machines", done.stderr)

    def test_interrupted_it_leaves_nothing_on_the_machines(self):
        machines = self.start()
        with program.started("lab", "exec", "h0", "--lab", machines.lab.name, "--", program.HEDDLE, "verify", "--via",
                             machines.via, "--hosts", "h0,h1", "--topology", self.topology) as test:
            self.wait_for_server(machines, True)
            test.signal(signal.SIGINT)
            self.assertEqual(test.wait(), 130)
        self.wait_for_server(machines, False)

    def wait_for_server(self, machines, there):
        end = time.monotonic() + 30
        while bool(machines.lab.exec("h1", "ss", "-Hlun", "sport = :18700").strip()) != there:
            self.assertLess(time.monotonic(), end, f"a server on h1: {not there}")
            time.sleep(0.1)


if __name__ == "__main__":
    WHY = lab_fabric.missing()
    if WHY:
        print(f"skipped: {WHY}")
        sys.exit(77)
    unittest.main()
