#!/usr/bin/env python3
"""heddle verify --metrics: what it serves while it tests, and that it leaves nothing behind.

Needs root and network namespaces; skipped where they are not allowed: exit status 77.
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import gpus_test
import lab_fabric
import program
import ssh_lab
import verify_test

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"
_SAMPLE = re.compile(r'^(\w+)\{(.*)\} (\S+)$')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def listed():
    """{name: (type, names of labels)} of the reference page."""
    rows = re.findall(r"^\| `(heddle_verify_\w+)` \| (\w+) \| (.*?) \|", REFERENCE.read_text(encoding="utf-8"),
                      re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def samples_of(page):
    """{(name, labels): value}, labels as sorted pairs."""
    found = (_SAMPLE.match(line) for line in page.splitlines() if not line.startswith("#"))
    return {(match.group(1), tuple(sorted(_LABEL.findall(match.group(2))))): float(match.group(3)) for match in found}


def value(samples, name, **labels):
    """The value of the only sample with these labels, among others."""
    values = [number for (each, pairs), number in samples.items()
              if each == "heddle_verify_" + name and labels.items() <= dict(pairs).items()]
    return values[0] if len(values) == 1 else values


def exceeds(samples, least, name, **labels):
    """Whether there is one sample with these labels, and it is above `least`."""
    found = value(samples, name, **labels)
    return isinstance(found, float) and found > least


def address_of(verify):
    return verify.wait_for(r"metrics are at http://").split()[-1]


@contextlib.contextmanager
def verifying(*words, **options):
    """A test that takes its lab down, whatever happens here."""
    with program.started(*words, **options) as verify:
        try:
            yield verify
        finally:
            verify.signal(signal.SIGINT)  # nothing if it has ended
            verify.wait()


def scrape(url):
    with urllib.request.urlopen(url, timeout=program.PATIENCE_S) as answer:
        return answer.read().decode()


class Served(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.topology = pathlib.Path(folder.name, "small.toml")
        self.topology.write_text(verify_test.FABRIC, encoding="utf-8")

    def wait_until(self, url, condition):
        """All samples until one scrape fulfils the condition."""
        pages = []
        end = time.monotonic() + program.PATIENCE_S
        while not pages or not condition(pages[-1]):
            self.assertLess(time.monotonic(), end, pages[-1] if pages else "no page")
            pages.append(samples_of(scrape(url)))
            time.sleep(0.2)
        return pages

    def test_it_serves_while_it_tests_and_ends_with_ctrl_c(self):
        with verifying("verify", "--topology", self.topology, "--metrics", "0") as verify:
            url = address_of(verify)
            self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/metrics$")
            # A NIC's counters are read after those of the links: both must have grown.
            pages = self.wait_until(url, lambda page: exceeds(page, 500_000, "link_transmitted_bytes_total",
                                                              **{"from": "h0"}) and
                                    exceeds(page, 100_000, "nic_bytes_total", host="h0", device="nic0",
                                            direction="sent") and
                                    exceeds(page, 100_000, "nic_bytes_total", host="h0", device="nic0",
                                            direction="received"))
            self.expect_known(scrape(url), pages[-1])
            self.expect_counters_that_never_fall(pages)
            last = pages[-1]
            self.assertEqual(value(last, "stage_state", stage="inventory", state="passed"), 1)
            self.assertEqual(value(last, "stage_state", stage="traffic", state="not_run"), 1)
            self.assertEqual(value(last, "checks", stage="inventory", grade="fail"), 0)
            self.assertEqual(value(last, "link_rate_bytes_per_second", **{"from": "leaf0", "to": "spine1"}), 1.25e6)
            self.assertEqual(sorted({dict(pairs)["from"] for name, pairs in last if "_link_" in name}),
                             ["h0", "h1", "leaf0", "leaf1", "spine0", "spine1"])
            self.expect_nics(pages, "nic0")
            with self.assertRaises(urllib.error.HTTPError) as refused:
                scrape(url.removesuffix("metrics") + "other")
            self.assertEqual(refused.exception.code, 404)
            refused.exception.close()
            verify.signal(signal.SIGINT)
            self.assertEqual(verify.wait(), 130, verify.said())
            self.assertIn("INCOMPLETE", verify.said())
            self.assertFalse(os.path.exists(f"/run/heddle/labs/verify-{verify.process.pid}"))
        with self.assertRaises(urllib.error.URLError):
            scrape(url)

    def expect_known(self, text, samples):
        """All that is served is listed, with the type and labels that it has."""
        known = listed()
        types = dict(re.findall(r"^# TYPE (heddle_verify_\w+) (\w+)$", text, re.MULTILINE))
        self.assertEqual({name: known.get(name, ["not listed"])[0] for name in types}, types)
        for name, pairs in samples:
            if name.startswith("heddle_gpu_"):
                continue  # gpus_test has these
            self.assertEqual({label for label, _ in pairs}, known[name][1], name)
            self.assertIn(("fabric", "small"), pairs)

    def expect_nics(self, pages, device):
        """Of both hosts and no switch: bytes that grew with the test, and a carrier."""
        last = pages[-1]
        self.assertEqual({dict(pairs)["host"] for name, pairs in last if "_nic_" in name}, {"h0", "h1"})
        for direction in ("received", "sent"):
            self.assertGreater(value(last, "nic_bytes_total", host="h0", device=device, direction=direction), 100_000)
        self.assertEqual(value(last, "nic_carrier", host="h1", device=device), 1)
        self.assertEqual(value(last, "nic_carrier_changes_total", host="h1", device=device), 0)

    def expect_counters_that_never_fall(self, pages):
        for before, after in zip(pages, pages[1:]):
            fallen = [key for key, number in before.items() if key[0].endswith("_total") and after[key] < number]
            self.assertEqual(fallen, [])

    def test_gpus_of_this_machine_are_beside_them_where_there_is_nvidia_smi(self):
        place = pathlib.Path(self.topology.parent, "bin")
        place.mkdir()
        smi = place / "nvidia-smi"
        smi.write_text(f"#!/bin/sh\ncat <<'E'\n{gpus_test.ROWS}E\n", encoding="utf-8")
        smi.chmod(0o755)
        with verifying("verify", "--full", "--topology", self.topology, "--metrics", "0",
                       settings={"PATH": f"{place}:{os.environ['PATH']}"}) as verify:
            url = address_of(verify)
            page = self.wait_until(url, lambda each: "heddle_gpu_utilization_ratio" in {key[0] for key in each})[-1]
            busy = {dict(pairs)["gpu"]: number for (name, pairs), number in page.items()
                    if name == "heddle_gpu_utilization_ratio"}
            self.assertEqual(busy, {"0": 0.97})
            self.assertRegex(scrape(url), r"(?m)^# HELP heddle_gpu_utilization_ratio .* Of the machine that runs the "
                             r"test, not of those of --hosts\.$")

    def test_figures_of_pairs_follow_their_stage(self):
        with verifying("verify", "--quick", "--stage", "pairs", "--stage", "collectives", "--topology",
                             self.topology, "--metrics", "[::1]:0") as verify:
            url = address_of(verify)
            self.assertRegex(url, r"^http://\[::1\]:\d+/metrics$")
            page = self.wait_until(url, lambda page: value(page, "stage_state", stage="pairs", state="running") == 0 and
                                   value(page, "stage_state", stage="pairs", state="not_run") == 0)[-1]
            for name in ("pair_goodput_bytes_per_second", "pair_allowed_bytes_per_second"):
                self.assertGreater(value(page, name, **{"from": "h0", "to": "h1"}), 0, name)
            paths = value(page, "path_goodput_bytes_per_second", **{"from": "h0", "to": "h1"})
            self.assertGreater(len(paths), 1)
            # All paths of a pair sent what arrived, and what had not arrived when the time was over, which may be most
            # where the receiver waits for a core. Bits in place of bytes would be eight times as many.
            goodput = value(page, "pair_goodput_bytes_per_second", **{"from": "h0", "to": "h1"})
            self.assertGreater(sum(paths), 0.5 * goodput)
            self.assertLess(sum(paths), 7 * goodput)
            self.assertGreater(max(value(page, "path_rtt_seconds", **{"from": "h0", "to": "h1"})), 0)
            self.assertEqual(sum(value(page, "verdict")), 1)

    def test_without_root_it_is_reached_all_the_same(self):
        """The fabric is in a user namespace with a network of its own then."""
        with verifying("verify", "--quick", "--metrics", "0", user=65534, group=65534, extra_groups=[],
                             cwd="/") as verify:
            try:
                url = address_of(verify)
                # It may begin and end between two scrapes.
                page = self.wait_until(url, lambda each: value(each, "stage_state", stage="reach",
                                                              state="not_run") == 0)
                self.assertIn(("fabric", "emulated"), next(iter(page[-1]))[1])
            except (AssertionError, OSError):
                if "cannot make a lab" in verify.said():
                    self.skipTest("this host allows no user namespaces")
                raise
            verify.signal(signal.SIGTERM)
            self.assertEqual(verify.wait(), 143, verify.said())

    @unittest.skipIf(ssh_lab.MISSING, str(ssh_lab.MISSING))
    def test_machines_have_the_same_metrics(self):
        machines = ssh_lab.SshLab(verify_test.FABRIC, ("h0", "h1"))
        self.addCleanup(machines.close)
        with verifying("lab", "exec", "h0", "--lab", machines.lab.name, "--", program.HEDDLE, "verify",
                             "--via", machines.via, "--hosts", "h0,h1", "--topology", self.topology, "--metrics",
                             "0") as verify:
            url = address_of(verify)
            end = time.monotonic() + program.PATIENCE_S
            page = {}
            # Each machine sends its counters by itself.
            while not (any(name.endswith("bytes_total") and number > 500_000 for (name, _), number in page.items()) and
                       exceeds(page, 0, "link_peak_bytes_per_second", **{"from": "h0"}) and
                       exceeds(page, 0, "nic_bytes_total", host="h1", device="nic0", direction="received")):
                self.assertLess(time.monotonic(), end, page)
                page = samples_of(machines.lab.exec("h0", "curl", "-sS", url))
                time.sleep(0.2)
            self.assertEqual(value(page, "link_rate_bytes_per_second", **{"from": "h1"}), 5e6)
            verify.signal(signal.SIGINT)
            self.assertEqual(verify.wait(), 130, verify.said())


class Refused(unittest.TestCase):
    def test_a_port_in_use_is_an_error_before_anything_is_made(self):
        with socket.socket() as other, tempfile.TemporaryDirectory() as folder:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            report = pathlib.Path(folder, "report")
            done = program.run("verify", "--quick", "--report", report, "--metrics", port)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertEqual(done.stderr, f"heddle: cannot serve metrics on 127.0.0.1 port {port}: another program "
                             "listens there (choose another port, or port 0 for one that is free)\n")
            self.assertFalse(report.exists())

    def test_what_is_no_address_of_this_machine_is_an_error(self):
        done = program.run("verify", "--quick", "--metrics", "192.0.2.1:0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this machine has no such address", done.stderr)
        for wrong in ("localhost:1", "65536", "::1:9000", ""):
            done = program.run("verify", "--quick", "--metrics", wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn("--metrics", done.stderr)


if __name__ == "__main__":
    WHY = lab_fabric.missing()
    if WHY:
        print(f"skipped: {WHY}")
        sys.exit(77)
    unittest.main()
