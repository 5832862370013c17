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

# Hosts with links of two rates, and the switches' fast enough for both.
MIXED = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
[host_link]
rate = "20Mbit/s"
queue = "50KB"
mtu = 1500
[switch_link]
rate = "100Mbit/s"
queue = "100KB"
mtu = 1500
[[override]]
link = ["h1", "leaf0"]
rate = "10Mbit/s"
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
            self.assertEqual([stage["outcome"] for stage in report["stages"]], ["passed"] * 7)
            known = json_reference_test.listed("heddle verify")
            self.assertEqual([field for field in sorted(json_reference_test.fields(report))
                              if not any(each.fullmatch(field) for each in known)], [])
            self.assertEqual(json.loads((target / "report.json").read_text(encoding="utf-8")), report)
            self.assertEqual(program.page_data(target / "report.html"), report)
            suites = xml.etree.ElementTree.parse(target / "junit.xml").getroot()
            self.assertEqual(suites.get("failures"), "0")
            self.assertIn(report["summary"], (target / "report.txt").read_text(encoding="utf-8"))
            self.expect_training(report, target)
            self.expect_plain_sockets(report)
            self.expect_collectives_and_stress(report, (target / "report.txt").read_text(encoding="utf-8"))
        self.assertEqual([name for name in os.listdir("/run/heddle/labs") if name.startswith("verify-")], [])


    def expect_plain_sockets(self, report):
        """Two routes of 10 Mb/s each: a flow of UDP, which is offered 20 Mb/s, has one of them."""
        stage = next(stage for stage in report["stages"] if stage["name"] == "pairs")
        for pair in stage["data"]["pairs"]:
            for name in ("tcp_bits_per_s", "tcp_lat_us", "udp_lat_us", "udp_bw_sent_bits_per_s"):
                self.assertGreater(pair[name], 0, (name, pair))
            self.assertLess(pair["udp_bw_received_bits_per_s"], 12e6, pair)
            self.assertGreater(pair["udp_bw_sent_bits_per_s"], 12e6, pair)
        rows = {row["check"]: row for row in stage["rows"]}
        for name in ("tcp_bw", "tcp_lat", "udp_bw sent", "udp_lat"):
            self.assertEqual((rows[name]["where"], rows[name]["grade"]), ("2 of 2 pairs", "pass"), rows[name])
        self.assertIn("UDP retransmits nothing", rows["udp_bw received"]["todo"])
        self.assertEqual(rows["udp_bw received"]["grade"], "pass")

    def expect_collectives_and_stress(self, report, text):
        stage = next(stage for stage in report["stages"] if stage["name"] == "collectives")
        for size in stage["data"]["sizes"]:
            self.assertEqual(size["count"] * 4, size["bytes"])
            self.assertRegex(text, rf"(?m)^ +{size['bytes']} +{size['count']} +float +[\d.]+ +[\d.]+ +[\d.]+ +0$")
        rows = {row["check"]: row["measured"] for row in stage["rows"]}
        self.assertRegex(rows["wire rate"],
                         r"^[\d.]+ Mb/s to [\d.]+ Mb/s at the hosts' ports, up to \d+% of their rate$")
        self.assertRegex(rows["NCCL"], "^not tried: ")
        stage = next(stage for stage in report["stages"] if stage["name"] == "stress")
        rows = {row["check"]: row["measured"] for row in stage["rows"]}
        self.assertRegex(rows["permutation, dropped by queues"], r"^[\d,]+ of [\d,]+ packets")
        timelines = next(stage for stage in report["stages"] if stage["name"] == "traffic")["data"]["timelines"]
        self.assertEqual([each["name"] for each in timelines], ["all-reduces", "training"])
        for each in timelines:
            self.assertEqual({moment[0] for moment in each["moments"]}, {0, 1})
            self.assertTrue(all(0 <= moment[3] <= moment[4] <= each["span_ns"] for moment in each["moments"]))

    def expect_training(self, report, target):
        trained = next(stage for stage in report["stages"] if stage["name"] == "training")["data"]["built_in"]
        self.assertEqual(trained["ranks"], 2)
        self.assertGreater(trained["step_s"], trained["computing_s"])
        self.assertGreater(trained["step_s"] * 1.02, trained["ideal_step_s"], "no step beats the formula")
        read = next(stage for stage in report["stages"] if stage["name"] == "traffic")["data"]
        self.assertEqual([each["name"] for each in read["matrices"]], ["all-reduces", "training"])
        self.assertEqual([each["name"] for each in read["overlaps"]], ["training"])
        self.assertEqual(len(list((target / "training").glob("*.heddle"))), 2)


# Marks where more than a quarter of a queue waits.
MARKING = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
[host_link]
rate = "20Mbit/s"
queue = "50KB"
ecn = true
mtu = 1500
[switch_link]
rate = "40Mbit/s"
queue = "50KB"
ecn = true
mtu = 1500
"""


class Stress(unittest.TestCase):
    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_four_hosts_have_an_incast_an_all_to_all_and_marks_where_links_mark(self):
        with tempfile.TemporaryDirectory() as folder:
            topology = pathlib.Path(folder, "marking.toml")
            topology.write_text(MARKING, encoding="utf-8")
            done = verify("--topology", topology, "--stage", "stress", "--json",
                          settings={"HEDDLE_CONGESTION": "dctcp"})
        report = json.loads(done.stdout)
        rows = {row["check"]: row["measured"] for row in report["stages"][0]["rows"]}
        self.assertRegex(rows["latency beside it"], r"at p99, [\d.]+ times the [\d.]+ [mu]?s of the idle fabric$")
        self.assertRegex(rows["all-to-all"], r"^[\d.]+ Mb/s bus bandwidth of \d+ KiB, [\d.]+ [mu]?s a call$")
        self.assertRegex(rows["ECN marks"], r"^permutation [\d,]+, incast [1-9][\d,]*, all-to-all [\d,]+$")
        all_to_all = report["stages"][0]["data"]["all_to_all"]
        # Each host sends at 20 Mb/s; two of its three flows leave the leaf, whose 40 Mb/s carry four of them.
        self.assertAlmostEqual(all_to_all["bound_bits_per_s"], 20e6 * 1432 / 1514, delta=2e5)
        self.assertLess(all_to_all["bus_bits_per_s"], all_to_all["bound_bits_per_s"] * 1.2)


# In place of a Python that has PyTorch: prints what heddle_torch.train does.
TRAINER = '''#!/bin/bash
[ "$1" = -c ] && exit "${MISSING:-0}"
[ "$RANK" = 0 ] || exit 0
while [ $# -gt 0 ]; do
  case "$1" in --backend) backend=$2;; --batch) batch=$2;; --weights) weights=$2;; esac; shift
done
[ "$backend" = heddle ] && loss=${LOSS:-2.0} || loss=2.0
printf '{"backend": "%s", "model": "resnet18", "ranks": %d, "data": "made images", "weights": "%s",
 "losses": [2.5, %s], "step_s": %d, "images_per_s": %d.5, "batch_per_rank": %d, "parameters": 11181642,
 "split": {"compute_s": 2, "communicate_s": 1, "overlapped_s": 2.25, "exposed_s": 0.25}}\n' \
 "$backend" "$WORLD_SIZE" "$weights" "$loss" 1 $((8 * WORLD_SIZE)) "$batch"
'''


class PyTorch(unittest.TestCase):
    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_resnet18_on_one_host_and_on_all_beside_gloo(self):
        for settings, failed in (({"LOSS": "2.2"}, {("ResNet-18 over Gloo", "2 hosts")}), ({"MISSING": "1"}, set())):
            with self.subTest(**settings), tempfile.TemporaryDirectory() as folder:
                topology = pathlib.Path(folder, "clean.toml")
                topology.write_text(FABRIC, encoding="utf-8")
                python = pathlib.Path(folder, "python")
                python.write_text(TRAINER, encoding="utf-8")
                python.chmod(0o755)
                done = verify("--topology", topology, "--stage", "training", "--python", python, "--weights", "w.pt",
                              "--json", settings=settings)
                self.assertEqual(done.returncode, 1 if failed else 2, done.stderr)
                report = json.loads(done.stdout)
                self.assertEqual(wrong_rows(report), failed)
                rows = {(row["check"], row["where"]): row["measured"] for row in report["stages"][0]["rows"]}
                if "MISSING" in settings:
                    reason = report["stages"][0]["reason"]
                    self.assertRegex(reason, "^cannot train with PyTorch: .*python of h0: exit status 1")
                    self.assertIn(("training step", "2 hosts"), rows)
                    continue
                alone = rows["ResNet-18", "one host"]
                self.assertEqual(alone, "8.5 images/s, 50,000 in 98.0 min (made images, from w.pt)")
                self.assertIn("1.94 times one host", rows["ResNet-18", "2 hosts"])
                self.assertIn("75% is hidden", rows["ResNet-18, a step", "2 hosts"])
                batches = [line.split("--batch ")[1].split()[0] for line in report["stages"][0]["commands"]
                           if "--batch" in line]
                self.assertEqual(int(batches[1]), 2 * int(batches[2]), "as many images in a step on one host")


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

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_an_incast_of_slow_links_has_figures_of_each_flow(self):
        """Each flow had 8 MiB of messages in flight, which arrive in 10 s there: long after the test's time."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        fabric = FABRIC.replace("hosts_per_leaf = 1", "hosts_per_leaf = 2").replace("40Mbit/s", "20Mbit/s")
        lab = Lab(folder.name, fabric, "incast")
        self.addCleanup(lab.close)
        report = json.loads(verify("--lab", lab.name, "--json", "--stage", "stress").stdout)
        incast = report["stages"][0]["data"]["incast"]
        self.assertEqual(len(incast["flows"]), 3)
        self.assertTrue(all(each["goodput_bits_per_s"] > 0 for each in incast["flows"]), incast)
        self.assertGreater(incast["goodput_bits_per_s"], 0.5 * incast["allowed_bits_per_s"])

    def test_an_mtu_and_a_link_are_named_and_later_stages_do_not_run(self):
        heddle("lab", "exec", "--lab", self.lab.name, "h1", "--", "ip", "link", "set", "nic0", "mtu", "1400")
        heddle("lab", "fault", "--lab", self.lab.name, "down", "leaf0", "spine1")
        report = self.report_of()
        self.assertEqual(wrong_rows(report), {("MTU", "h1"), ("link state", "leaf0 - spine1")})
        outcomes = [stage["outcome"] for stage in report["stages"]]
        self.assertEqual(outcomes[:-1], ["failed"] + ["not run"] * 6)
        self.assertEqual((report["stages"][-1]["name"], outcomes[-1]), ("rest", "not run"))
        self.assertIn("fewer than two hosts are left", report["stages"][-1]["reason"])

    def test_a_link_that_is_down_for_a_moment_while_the_test_runs_is_a_flap_of_the_inventory(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "report")
            with program.started("verify", "--quick", "--lab", self.lab.name, "--stage", "inventory", "--stage",
                                 "pairs", "--report", report) as test:
                end = time.monotonic() + program.PATIENCE_S
                while not (report / "report.json").exists():  # after the stage inventory
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
                heddle("lab", "fault", "--lab", self.lab.name, "down", "leaf0", "spine1")
                heddle("lab", "fault", "--lab", self.lab.name, "clear")
                self.assertEqual(test.wait(), 1)
            inventory = json.loads((report / "report.json").read_text(encoding="utf-8"))["stages"][0]
        flaps = {row["where"]: row for row in inventory["rows"] if row["check"] == "link flaps"}
        self.assertEqual(inventory["outcome"], "failed")
        self.assertEqual({where for where, row in flaps.items() if row["grade"] == "fail"},
                         {"leaf0 port spine1", "spine1 port leaf0"}, flaps)
        self.assertEqual(flaps["10 of 12 NICs"]["measured"], "0")

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_a_slow_link_is_named_with_its_direction(self):
        heddle("lab", "fault", "--lab", self.lab.name, "rate", "leaf0", "spine1", "4Mbit/s", "--one-way")
        report = self.report_of("--stage", "pairs")
        self.assertIn(("link rate", "leaf0 to spine1"), wrong_rows(report))
        self.assertEqual({link["label"] for link in report["links"] if link["named"]}, {"leaf0 - spine1"})
        self.assertEqual([stage["name"] for stage in report["stages"]], ["pairs"])

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_the_rest_without_a_link_that_is_down_is_tested_and_works(self):
        heddle("lab", "fault", "--lab", self.lab.name, "down", "leaf0", "spine1")
        report = self.report_of()
        rest = report["stages"][-1]
        self.assertEqual((rest["name"], rest["outcome"]), ("rest", "passed"), rest)
        self.assertEqual(rest["data"]["hosts"], ["h0", "h1"])
        rows = {row["check"]: row for row in rest["rows"]}
        self.assertEqual(rows["left out"]["where"], "leaf0 - spine1")
        self.assertEqual(rows["largest good group"]["measured"], "h0, h1 work together")
        self.assertIn("all-reduce", rows)


class SwappedRates(unittest.TestCase):
    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_both_links_whose_rates_are_swapped_are_named_and_no_other(self):
        with tempfile.TemporaryDirectory() as folder:
            lab = Lab(folder, MIXED, "swapped")
            self.addCleanup(lab.close)
            heddle("lab", "fault", "--lab", lab.name, "rate", "h0", "leaf0", "10Mbit/s")
            heddle("lab", "fault", "--lab", lab.name, "rate", "h1", "leaf0", "20Mbit/s")
            done = verify("--lab", lab.name, "--json", "--stage", "pairs")
        self.assertEqual(done.returncode, 1, done.stderr)
        expect_swapped_rates(self, json.loads(done.stdout))


def expect_swapped_rates(test, report):
    """h0's link carries less than it should, h1's more; the plan is MIXED."""
    found = {row["where"]: row["expected"].split()[:2] for stage in report["stages"] for row in stage["rows"]
             if row["grade"] == "fail" and row["check"] == "link rate"}
    test.assertEqual(found, {"h0 to leaf0": ["at", "least"], "leaf0 to h0": ["at", "least"],
                             "h1 to leaf0": ["at", "most"], "leaf0 to h1": ["at", "most"]}, report)
    test.assertEqual({link["label"] for link in report["links"] if link["named"]}, {"h0 - leaf0", "h1 - leaf0"})


class Resumed(unittest.TestCase):
    """A test that was ended before its last stage."""

    STAGES = ("--stage", "inventory", "--stage", "reach", "--stage", "stress")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.report = pathlib.Path(folder.name, "report")
        self.lab = Lab(folder.name, FABRIC, "resumed")
        self.addCleanup(self.lab.close)

    def document(self):
        return json.loads((self.report / "report.json").read_text(encoding="utf-8"))

    def outcomes(self):
        return [stage["outcome"] for stage in self.document()["stages"]]

    def kill_after_reach(self):
        """SIGKILL, as when this machine loses power; the report is that of the stages before.

        Until then the test's process is in no host's namespace: a pause of the host would stop it, too, for ever.
        """
        with program.started("verify", "--quick", "--lab", self.lab.name, *self.STAGES, "--coverage", "ring",
                             "--report", self.report) as test:
            end = time.monotonic() + program.PATIENCE_S
            while not (self.report / "report.json").exists() or self.outcomes()[1] != "passed":
                self.assertLess(time.monotonic(), end)
                self.assertTrue(os.path.samefile(f"/proc/{test.process.pid}/ns/net", "/proc/self/ns/net"))
                time.sleep(0.001)
            refused = program.run("verify", "--resume", self.report)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("another test writes there now", refused.stderr)
            test.process.kill()
            test.wait()

    @unittest.skipIf(program.sanitized(), "it measures, and would measure the sanitizer")
    def test_it_goes_on_with_the_first_stage_that_had_not_passed(self):
        self.kill_after_reach()
        before = self.document()
        self.assertEqual((before["verdict"], before["complete"], self.outcomes()),
                         ("INCOMPLETE", False, ["passed", "passed", "not run"]))
        file = pathlib.Path(self.report, "report.json")
        kept = file.read_text(encoding="utf-8")
        file.write_text(json.dumps({**before, "asked": {**before["asked"], "language": "../x"}}), encoding="utf-8")
        done = program.run("verify", "--resume", self.report)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("a language that is not known", done.stderr)
        file.write_text(kept, encoding="utf-8")
        done = program.run("verify", "--resume", self.report, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        after = self.document()
        self.assertEqual((after["complete"], self.outcomes()), (True, ["passed"] * 3))
        # NICs count to the end of the test, which the earlier one has not reached.
        inventory = self.document()["stages"][0]
        self.assertEqual([row["where"] for row in inventory["rows"] if row["check"] == "link flaps"], ["12 of 12 NICs"])
        counted = ("link flaps", "NIC errors", "NIC drops", "RDMA errors")
        inventory["rows"] = [row for row in inventory["rows"] if row["check"] not in counted]
        inventory["data"].pop("counted")
        self.assertEqual([inventory, after["stages"][1]], before["stages"][:2])
        self.assertAlmostEqual(before["seconds"] + after["stages"][2]["seconds"], after["seconds"], delta=15)
        for link, loads in zip(after["links"], zip(*(stage["loads"] for stage in after["stages"]))):
            self.assertEqual(link["forward"]["bytes"], sum(load["forward"]["bytes"] for load in loads))
        self.assertEqual((after["asked"], after["coverage"], after["started"]),
                         (before["asked"], "ring", before["started"]))
        self.assertRegex("\n".join(after["notes"]), r"(?m)^resumed .* UTC; kept: inventory \(.*\), reach \(")
        done = program.run("verify", "--resume", self.report)
        self.assertEqual(done.returncode, 2)
        self.assertIn("all its stages passed", done.stderr)
        self.assertEqual(self.document(), after)


class Pages(unittest.TestCase):
    def test_a_page_in_japanese_and_a_pdf_are_written_with_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            topology = pathlib.Path(folder, "clean.toml")
            topology.write_text(FABRIC, encoding="utf-8")
            target = pathlib.Path(folder, "report")
            browser = pathlib.Path(folder, "chromium")
            browser.write_text("#!/bin/sh\nfor each; do case $each in --print-to-pdf=*) echo %PDF-1.7 > ${each#*=};; "
                               "esac; done\n", encoding="utf-8")
            browser.chmod(0o755)
            done = verify("--topology", topology, "--stage", "inventory", "--report", target, "--language", "ja",
                          "--pdf", settings={"PATH": f"{folder}:{os.environ['PATH']}"})
            self.assertIn(done.returncode, (0, 1), done.stderr)
            for name in ("report.html", "report.ja.html", "report.ja.pdf"):
                self.assertIn(f"report: {target}/{name}\n", done.stdout)
            self.assertIn('<html lang="ja">', (target / "report.ja.html").read_text(encoding="utf-8"))
            self.assertIn('<html lang="en">', (target / "report.html").read_text(encoding="utf-8"))
            self.assertEqual(program.page_data(target / "report.ja.html"), program.page_data(target / "report.html"))
            self.assertEqual((target / "report.ja.pdf").read_bytes(), b"%PDF-1.7\n")

    def test_what_cannot_be_written_is_refused_before_anything_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, "report")
            done = verify("--report", target, "--pdf", settings={"PATH": "/nonexistent"})
            self.assertEqual(done.returncode, 2)
            self.assertIn("install the package chromium", done.stderr)
            self.assertFalse(target.exists())
        for words in (("--pdf",), ("--language", "ja")):
            done = verify(*words, settings={"PATH": "/nonexistent"})
            self.assertEqual(done.returncode, 2)
            self.assertIn("give --report FOLDER", done.stderr)
        self.assertEqual(verify("--language", "xx").returncode, 2)


class Refusals(unittest.TestCase):
    def test_what_cannot_run_has_status_2(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "report.json").write_text("{}", encoding="utf-8")
            done = verify("--report", folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("there is a report already", done.stderr)
            done = program.run("verify", "--resume", folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot read a report of `heddle verify`", done.stderr)
            done = program.run("verify", "--resume", folder, "--quick")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--resume", done.stderr)
        self.assertEqual(program.run("verify", "--resume", "/nonexistent").returncode, 2)
        self.assertEqual(verify("--lab", "no-such-lab").returncode, 2)
        done = verify(settings={"TMPDIR": "/nonexistent"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("set TMPDIR to a folder where you may write", done.stderr)
        self.assertEqual(verify("--stage", "no-such-stage").returncode, 2)

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


if __name__ == "__main__":
    WHY = lab_fabric.missing()
    if WHY:
        print(f"skipped: {WHY}")
        sys.exit(77)
    unittest.main()
