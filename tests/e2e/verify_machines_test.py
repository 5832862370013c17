#!/usr/bin/env python3
"""heddle verify of machines that ssh reaches: a clean fabric passes, what is wrong is named, and nothing stays there.

Needs root, network namespaces and sshd; skipped where they are missing: exit status 77.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import unittest

import json_reference_test
import lab_fabric
import program
import ssh_lab
import verify_test


# What a fabric reaches where other programs take the cores.
FORGIVING = """version = 1
pair_share = "5%"
link_share = "5%"
collective_share = "2%"
all_to_all_share = "2%"
training_share = "2%"
incast_share = "2%"
"""


def inventory_without_counts(report):
    """Its first stage, but for counters of NICs, which a test that goes on counts further."""
    stage = report["stages"][0]
    counted = ("link flaps", "NIC errors", "NIC drops", "RDMA errors")
    return {**stage, "rows": [row for row in stage["rows"] if row["check"] not in counted],
            "data": {name: value for name, value in stage["data"].items() if name != "counted"}}


@unittest.skipIf(ssh_lab.MISSING, str(ssh_lab.MISSING))
class Machines(unittest.TestCase):
    """Hosts of a lab as machines that ssh reaches; the test itself runs on one of them. Tests of equal fabrics share
    their machines, on which each leaves nothing."""

    @classmethod
    def setUpClass(cls):
        cls.shared = {}  # machines, by fabric

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.topology = self.folder / "plan.toml"
        self.topology.write_text(verify_test.FABRIC, encoding="utf-8")

    def start(self, text, hosts=("h0", "h1"), **options):
        machines = ssh_lab.SshLab(text, hosts, **options)
        self.addCleanup(machines.close)
        return machines

    def share(self, text, hosts):
        """Machines that are started once, without a server of the test before."""
        if text not in self.shared:
            machines = ssh_lab.SshLab(text, hosts, f"shared{len(self.shared)}")
            self.addClassCleanup(machines.close)
            self.shared[text] = machines
        for host in hosts:
            self.wait_for_server(self.shared[text], False, host)
        return self.shared[text]

    def two(self):
        return self.share(verify_test.FABRIC, ("h0", "h1"))

    def three_of_four(self):
        """The hosts of a larger fabric, of which h3 has no sshd, and its topology."""
        text = verify_test.FABRIC.replace("hosts_per_leaf = 1", "hosts_per_leaf = 2")
        self.topology.write_text(text, encoding="utf-8")
        return self.share(text, ("h0", "h1", "h2"))

    def verify(self, machines, *words, via=None, hosts="h0,h1"):
        return machines.at("h0", "verify", "--quick", "--json", "--via", via or machines.via, "--hosts", hosts,
                           *words, timeout=200)

    def wrapper(self, machines, change, answer="links"):
        """A remote shell that changes the facts, or the counters, which machine h1 answers with."""
        filtered = self.folder / "change.py"
        filtered.write_text("import json, sys, time\nfor line in sys.stdin:\n"
                            f"    if line.startswith('{{\"{answer}\"'):\n"
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
        machines = self.two()
        before = lab_fabric.recordings_left()
        report = self.expect_pass(machines, "--report", self.folder / "report")
        self.assertFalse(report["emulated"])
        for recording in ("recording", "training"):
            self.assertGreater(len(list((self.folder / "report" / recording).glob("*.heddle"))), 1, recording)
        # Those of another test go a moment after its program.
        program.wait_until(lambda: lab_fabric.recordings_left() <= before, "recordings are left")
        self.wait_for_server(machines, False)
        loads = [link["forward"]["peak_bits_per_s"] for link in report["links"] if "h0" in (link["a"], link["b"])]
        self.assertGreater(loads[0], 5e6)
        self.expect_diff_and_baseline(self.folder / "report")

    def expect_pass(self, machines, *words, **options):
        """The report of all stages. Where other programs took the cores, what is slow is judged once more by less:
        that is no test of the fabric, and all but speeds is as before."""
        for expected in (None, FORGIVING):
            more = ()
            if expected:
                shutil.rmtree(self.folder / "report", ignore_errors=True)
                (self.folder / "forgiving.toml").write_text(expected, encoding="utf-8")
                more = ("--expect", self.folder / "forgiving.toml")
            done = self.verify(machines, "--topology", self.topology, *words, *more, **options)
            self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
            report = json.loads(done.stdout)
            if not verify_test.wrong_rows(report) or report["others_busy_share"] <= verify_test.DISTURBED:
                break
        self.assertEqual(verify_test.wrong_rows(report), set(), done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([stage["outcome"] for stage in report["stages"]], ["passed"] * 7)
        return report

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

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_machines_with_ipv6_addresses_alone_pass_and_the_report_says_so(self):
        machines = self.start(verify_test.FABRIC, ipv6=True)
        report = self.expect_pass(machines, hosts="h0=h0-v6,h1=h1-v6")
        self.assertIn("IPv6 is tested: no machine has an IPv4 address by its name", report["notes"])
        rows = [(row["check"], row["measured"]) for stage in report["stages"] for row in stage["rows"]]
        self.assertIn(("MTU end to end", "1500 bytes"), rows)
        self.assertIn(("routes", "2 routes work"), rows)
        pairs = next(stage for stage in report["stages"] if stage["name"] == "pairs")["data"]["pairs"]
        self.assertTrue(all(pair["tcp_bits_per_s"] > 0 for pair in pairs), pairs)
        # 10 Mbit/s twice, of which a packet of 1,514 bytes has 1,412 of payload.
        self.assertAlmostEqual(pairs[0]["allowed_bits_per_s"], 2e7 * 1412 / 1514, delta=1)

    def test_machines_that_have_no_ip_version_in_common_are_refused(self):
        done = self.two().at("h0", "verify", "--hosts", "h0,h1=h1-v6")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("cannot test h1 with h0: h1 has an IPv6 address alone, fd00:0:1::1, and h0 an IPv4 address "
                      "alone, 10.0.0.1", done.stderr)

    def test_a_port_with_another_mtu_is_named(self):
        machines = self.start(verify_test.FABRIC + '[[override]]\nlink = ["h1", "leaf1"]\nmtu = 1400\n')
        done = self.verify(machines, "--topology", self.topology, "--stage", "inventory")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(verify_test.wrong_rows(json.loads(done.stdout)), {("MTU", "h1")})

    def test_a_slow_port_is_named(self):
        machines = self.start(verify_test.FABRIC + '[[override]]\nlink = ["h1", "leaf1"]\nrate = "4Mbit/s"\n')
        done = self.verify(machines, "--topology", self.topology, "--stage", "pairs")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        # Ports of switches are not read: what leaf1 sends to h1 is no more than what leaf0 sends to h0.
        self.assertEqual(verify_test.wrong_rows(report), {("goodput", "h0 to h1"), ("goodput", "h1 to h0"),
                                                          ("link rate", "h1 to leaf1")}, done.stdout)
        self.assertEqual({link["label"] for link in report["links"] if link["named"]}, {"h1 - leaf1"})

    @unittest.skipUnless(os.environ.get("VERIFY_MACHINES") == "all", "minutes of a quiet machine: VERIFY_MACHINES=all")
    def test_of_links_of_two_rates_the_swapped_two_are_named_without_ports_of_switches(self):
        """One that should run at 20 Mbit/s runs at 12, and one that should run at 12 at 20."""
        def fabric(slow):
            return ('version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n'
                    '[host_link]\nrate = "20Mbit/s"\nqueue = "50KB"\nmtu = 1500\n'
                    '[switch_link]\nrate = "50Mbit/s"\nqueue = "100KB"\nmtu = 1500\n' +
                    "".join(f'[[override]]\nlink = ["{host}", "leaf{int(host[1]) // 2}"]\nrate = "12Mbit/s"\n'
                            for host in slow))
        self.topology.write_text(fabric(("h1", "h3")), encoding="utf-8")
        hosts = ("h0", "h1", "h2", "h3")
        machines = self.start(fabric(("h0", "h3")), hosts)
        done = self.verify(machines, "--topology", self.topology, "--stage", "pairs", hosts=",".join(hosts))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual({link["label"] for link in report["links"] if link["named"]}, {"h0 - leaf0", "h1 - leaf0"},
                         done.stdout)
        rows = [row for row in report["stages"][0]["rows"] if row["check"] == "link rate"]
        self.assertTrue(rows and all("are swapped" in row["todo"] for row in rows), rows)

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_the_table_of_nccl_stands_beside_where_machines_have_gpus_and_nccl_tests(self):
        machines = self.two()
        programs = self.folder / "bin"
        programs.mkdir()
        for name, text in (("nvidia-smi", "echo GPU 0: one; echo GPU 1: another"), ("all_reduce_perf", "exit 1"),
                           ("mpirun", "echo '#  size count'; echo \" 65536 16384 float sum -1 80.00 0.82 1.23 0 "
                            "79.00 0.83 1.24 0\"; echo \"$*\" > " + str(self.folder / "asked"))):
            (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (programs / name).chmod(0o755)
        shell = self.folder / "rsh"
        shell.write_text(f'#!/bin/bash\nhost=$1; shift\nexec {machines.via.replace("{host} {command}", "")} "$host" '
                         f'"export PATH={programs}:\\$PATH; $*"\n', encoding="utf-8")
        shell.chmod(0o755)
        done = self.verify(machines, "--topology", self.topology, "--stage", "collectives", "--report",
                           self.folder / "report", via=f"{shell} {{host}} {{command}}")
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        stage = json.loads(done.stdout)["stages"][0]
        rows = {row["check"]: row for row in stage["rows"]}
        self.assertEqual(rows["NCCL"]["where"], "4 GPUs")
        self.assertRegex(rows["NCCL"]["measured"],
                         "^9.84 Gb/s bus bandwidth of 64 KiB, 80.0 us a call; heddle [\\d.]+ Mb/s$")
        self.assertEqual(stage["data"]["nccl_sizes"][0]["count"], 16384)
        asked = (self.folder / "asked").read_text(encoding="utf-8")
        self.assertRegex(asked, r"^-np 4 -H 10\.0\.0\.1:2,10\.0\.\d\.1:2 all_reduce_perf -b 1024 -e \d+ -f 4 -g 1\n$")
        text = (self.folder / "report" / "report.txt").read_text(encoding="utf-8")
        self.assertRegex(text, r"# NCCL\n(  #.*\n)+ +65536 +16384 +float +sum +-1 +80.00 +0.8200 +1.2300 +0 +"
                               r"79.00 +0.8300 +1.2400 +0\n")
        self.assertTrue(any("mpirun" in line for line in stage["commands"]), stage["commands"])
        self.assertFalse(any("nvidia-smi" in line for line in stage["commands"]), stage["commands"])

    def test_what_one_machine_has_otherwise_is_named(self):
        machines = self.two()
        via = self.wrapper(machines, 'document["facts"]["kernel"] = "Linux 2.4"')
        done = self.verify(machines, "--topology", self.topology, "--stage", "inventory", via=via)
        report = json.loads(done.stdout)
        warned = {(row["check"], row["where"]): row["measured"] for row in report["stages"][0]["rows"]
                  if row["grade"] == "warn"}
        self.assertIn("kernel", {check for check, _ in warned}, done.stdout)

    @unittest.skipIf(program.sanitized(), "the clock is moved by a library that is loaded first")
    def test_a_clock_that_is_two_seconds_ahead_or_behind_is_named_with_the_error_of_the_reading(self):
        for seconds, word in ((2, "ahead"), (-2, "behind")):
            machines = ssh_lab.SshLab(verify_test.FABRIC, ("h0", "h1"), clocks={"h1": seconds})
            try:
                done = self.verify(machines, "--topology", self.topology, "--stage", "inventory")
            finally:
                machines.close()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = [row for row in json.loads(done.stdout)["stages"][0]["rows"] if row["check"] == "clock"]
            self.assertEqual([(row["where"], row["grade"]) for row in rows], [("h1", "warn"), ("1 of 2 hosts", "pass")])
            said = re.fullmatch(rf"([\d.]+) s {word}, to within ([\d.]+) ([mu]?s)", rows[0]["measured"])
            self.assertIsNotNone(said, rows[0])
            error_s = float(said[2]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[said[3]]
            self.assertAlmostEqual(float(said[1]), 2, delta=0.1 + error_s)  # of which one digit is shown
            self.assertRegex(rows[1]["measured"], r"^apart by at most [\d.]+ [mu]?s$")

    def test_errors_of_a_nic_while_the_test_runs_are_named_and_an_older_heddle_counts_none(self):
        changes = ('document["nics"][0]["counts"]["rx_crc_errors"] = time.time_ns()', 'document.pop("nics")')
        machines = self.two()
        for change, measured in zip(changes, (r"^nic0: rx_crc_errors \d+$", "^not known$")):
            done = self.verify(machines, "--topology", self.topology, "--stage", "inventory",
                               via=self.wrapper(machines, change, "nics"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = [row for row in json.loads(done.stdout)["stages"][0]["rows"] if row["check"] == "NIC errors"]
            self.assertEqual([row["where"] for row in rows if row["grade"] == "warn"], ["h1"], rows)
            self.assertRegex(next(row["measured"] for row in rows if row["grade"] == "warn"), measured)

    def warnings_of(self, change):
        """{(check, where): row} of the inventory's warnings, where machine h1 answers with changed facts."""
        machines = self.two()
        done = self.verify(machines, "--topology", self.topology, "--stage", "inventory",
                           via=self.wrapper(machines, change))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = json.loads(done.stdout)["stages"][0]["rows"]
        wrong = [row for row in rows if row["grade"] in ("warn", "fail") and not row["todo"]]
        self.assertEqual([row for row in rows if not row["measured"]] + wrong, [])
        return {(row["check"], row["where"]): row for row in rows if row["grade"] == "warn"}

    def test_firmware_gpus_a_firewall_and_a_narrow_slot_of_one_machine_are_named(self):
        warned = self.warnings_of(
            'document["facts"].update({"NIC firmware": "mlx5_core 28.35.1", "GPUs": "7 x H200, driver 550"}); '
            'document["firewall"].update({"dropping": ["input"]}); document["machine"].update({"pcie": [{"name": '
            '"nic0", "gpu": False, "width": 8, "most_width": 16, "speed": 16, "most_speed": 16, "slot_width": 8, '
            '"slot_speed": 16}], "clock": {"synchronized": True, "error_s": 0.5}, '
            '"acs": {"bridges": 3, "redirecting": 2, "gpus": True}})')
        # Of two machines none is the one that differs.
        for check, measured in (("NIC firmware", "mlx5_core 28.35.1 on h1"), ("GPUs", "7 x H200, driver 550 on h1")):
            row = warned[check, "h0, h1"]
            self.assertRegex(row["measured"], rf"^.+ on h0; {measured}$")
            self.assertEqual({where for each, where in warned if each == check}, {"h0, h1"})
        self.assertEqual(warned["firewall", "h1"]["measured"], "drops on input by default")
        narrow = warned["PCIe links", "h1"]
        self.assertEqual(narrow["measured"], "x8 at 16 GT/s of nic0")
        self.assertIn("the port above it has x8", narrow["todo"])
        self.assertRegex(warned["ACS redirection", "h1"]["measured"], "^2 of 3 bridges redirect: ")
        self.assertEqual(warned["clock synchronization", "h1"]["measured"], "set by a program, off by about 500 ms")

    def test_an_older_heddle_without_these_facts_is_accepted_and_named(self):
        warned = self.warnings_of(
            'document.pop("machine"); document.pop("firewall"); document["facts"] = {key: value for key, value in '
            'document["facts"].items() if key in ("offloads", "TCP congestion control", "heddle", "kernel", "NIC", '
            '"largest receive buffer", "path MTU discovery", "processors")}')
        self.assertIn("NIC firmware", warned["facts", "h1"]["measured"])
        self.assertEqual({where for check, where in warned if check == "facts"}, {"h1"})

    def test_a_machine_that_does_not_answer_is_named(self):
        done = self.verify(self.three_of_four(), hosts="h0,h3")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("cannot test h3: cannot start anything on h3", done.stderr)
        self.assertIn("Connection refused", done.stderr)

    def expect_rest_without(self, report, silent, hosts):
        """The last stage names the host that is left out, and the others work."""
        rest = report["stages"][-1]
        self.assertEqual((rest["name"], rest["outcome"]), ("rest", "passed"), rest)
        self.assertEqual([row["where"] for row in rest["rows"] if row["check"] == "left out"], [silent], rest["rows"])
        self.assertEqual(rest["data"]["hosts"], hosts)
        group = next(row for row in rest["rows"] if row["check"] == "largest good group")
        self.assertEqual((group["where"], group["grade"]), (f"{len(hosts)} of {len(hosts) + 1} hosts", "pass"))

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_a_machine_that_does_not_answer_is_left_out_and_the_rest_is_tested(self):
        machines = self.three_of_four()
        expected = self.topology.with_name("expected.toml")  # what other programs slow down is not the question
        expected.write_text(FORGIVING, encoding="utf-8")
        report = self.expect_silent(self.verify(machines, "--topology", self.topology, "--expect", expected,
                                                hosts="h0,h1,h2,h3"))
        self.assertEqual([stage["outcome"] for stage in report["stages"][1:-1]], ["not run"] * 6)
        self.expect_rest_without(report, "h3", ["h0", "h1", "h2"])
        self.expect_silent(self.verify(machines, "--stage", "inventory", hosts="h0,h1,h2,h3"))

    def expect_silent(self, done):
        """h3 has the only failed row of the inventory, which has the facts of the others."""
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["verdict"], "FAIL")
        inventory = report["stages"][0]
        self.assertEqual(inventory["outcome"], "failed")
        failed = [row for row in inventory["rows"] if row["grade"] == "fail"]
        self.assertEqual([(row["check"], row["where"]) for row in failed], [("machine", "h3")])
        self.assertIn("does not answer: cannot start anything on h3: ", failed[0]["measured"])
        self.assertIn("see whether h3 is up", failed[0]["todo"])
        self.assertEqual({place["name"] for place in inventory["data"]["places"]}, {"h0", "h1", "h2"})
        return report

    def test_of_a_machine_that_does_not_answer_a_single_stage_says_so(self):
        done = self.verify(self.three_of_four(), "--stage", "pairs", hosts="h0,h1,h3")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(verify_test.wrong_rows(json.loads(done.stdout)), {("machine", "h3")})

    @unittest.skipUnless(os.environ.get("VERIFY_MACHINES") == "all", "minutes of a quiet machine: VERIFY_MACHINES=all")
    def test_a_machine_that_dies_in_the_middle_is_named_and_the_rest_is_tested(self):
        text = verify_test.FABRIC.replace("hosts_per_leaf = 1", "hosts_per_leaf = 2")
        self.topology.write_text(text, encoding="utf-8")
        machines = self.start(text, ("h0", "h1", "h2", "h3"))
        with program.started("lab", "exec", "h0", "--lab", machines.lab.name, "--", program.HEDDLE, "verify", "--quick",
                             "--json", "--via", machines.via, "--hosts", "h0,h1,h2,h3", "--topology",
                             self.topology) as test:
            self.wait_for_server(machines, True)
            machines.lab.exec("h1", "ip", "link", "set", "nic0", "down")
            self.assertEqual(test.wait(timeout=400), 1, test.said())
            report = json.loads("\n".join(test.lines))
        failed = next(stage for stage in report["stages"] if stage["outcome"] == "failed")
        self.assertIn(failed["name"], ("reach", "pairs"))
        self.assertIn(("machine", "h1"), {(row["check"], row["where"]) for row in failed["rows"]})
        self.expect_rest_without(report, "h1", ["h0", "h2", "h3"])

    def test_a_topology_of_other_hosts_is_refused(self):
        machines = self.two()
        larger = verify_test.FABRIC.replace("hosts_per_leaf = 1", "hosts_per_leaf = 2")
        self.topology.write_text(larger, encoding="utf-8")
        done = self.verify(machines, "--topology", self.topology)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it has 4 hosts, of which 2 are among the 2 machines", done.stderr)

    def test_interrupted_it_leaves_nothing_on_the_machines(self):
        machines = self.two()
        with program.started("lab", "exec", "h0", "--lab", machines.lab.name, "--", program.HEDDLE, "verify", "--via",
                             machines.via, "--hosts", "h0,h1", "--topology", self.topology) as test:
            self.wait_for_server(machines, True)
            test.signal(signal.SIGINT)
            self.assertEqual(test.wait(), 130)
        self.wait_for_server(machines, False)

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_interrupted_while_ranks_record_it_leaves_no_recordings_on_the_machines(self):
        machines = self.two()
        stale = pathlib.Path(f"/tmp/heddle-verify-{os.getpid()}-0")  # as of a test that was killed
        stale.mkdir()
        self.addCleanup(shutil.rmtree, stale, ignore_errors=True)
        os.utime(stale, (0, time.time() - 2 * 86_400))
        with program.started("lab", "exec", "h0", "--lab", machines.lab.name, "--", program.HEDDLE, "verify",
                             "--via", machines.via, "--hosts", "h0,h1", "--topology", self.topology, "--stage",
                             "collectives") as test:
            end = time.monotonic() + program.PATIENCE_S
            while not (folders := list(pathlib.Path("/tmp").glob(f"heddle-verify-{test.process.pid}-*"))):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            test.signal(signal.SIGINT)
            self.assertEqual(test.wait(), 130)
        self.assertEqual([folder for folder in {*folders, stale} if folder.exists()], [])

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_interrupted_in_pairs_it_goes_on_there_and_keeps_the_inventory(self):
        machines = self.two()
        folder, expected = self.folder / "report", self.folder / "expected.toml"
        expected.write_text(FORGIVING, encoding="utf-8")
        reached = ("--via", machines.via, "--hosts", "h0,h1")

        def document():
            return json.loads((folder / "report.json").read_text(encoding="utf-8"))

        with program.started("lab", "exec", "h0", "--lab", machines.lab.name, "--", program.HEDDLE, "verify", "--quick",
                             *reached, "--topology", self.topology, "--expect", expected, "--stage", "inventory",
                             "--stage", "pairs", "--report", folder) as test:
            end = time.monotonic() + program.PATIENCE_S
            while not (folder / "report.json").exists():  # after the stage inventory
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
            self.wait_for_server(machines, True)
            test.signal(signal.SIGINT)
            self.assertEqual(test.wait(), 130, test.said())
        before = document()
        self.assertEqual([stage["outcome"] for stage in before["stages"]], ["passed", "interrupted"])
        done = machines.at("h0", "verify", "--resume", folder, *reached, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        after = document()
        self.assertEqual([stage["outcome"] for stage in after["stages"]], ["passed", "passed"])
        self.assertEqual(len(after["stages"][1]["data"]["pairs"]), 2)
        self.assertEqual(*(inventory_without_counts(each) for each in (before, after)))
        self.assertRegex("\n".join(after["notes"]), r"(?m)^resumed .* UTC; kept: inventory \(")
        self.wait_for_server(machines, False)

    def wait_for_server(self, machines, there, host="h1"):
        end = time.monotonic() + program.PATIENCE_S
        while bool(machines.lab.exec(host, "ss", "-Hlun", "sport = :18700").strip()) != there:
            self.assertLess(time.monotonic(), end, f"a server on {host}: {not there}")
            time.sleep(0.1)


if __name__ == "__main__":
    if ssh_lab.MISSING:
        print(f"skipped: {ssh_lab.MISSING}")
        sys.exit(77)
    unittest.main()
