#!/usr/bin/env python3
"""`datapath = xdp`: programs over XDP sockets in a lab, also against peers over UDP, and what goes wrong."""

import contextlib
import json
import re
import sys
import tempfile
import time
import unittest

import lab_fabric
import program

CABLE = """version = 1
[[host]]
name = "h0"
[[host]]
name = "h1"
[[link]]
ends = ["h0", "h1"]
rate = "1Gbit/s"
queue = "625KB"
mtu = 1500
"""
XDP = ("--set", "datapath=xdp", "--bind", "nic0")


class Xdp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-xdp-test-")
        self.addCleanup(folder.cleanup)
        self.lab = lab_fabric.Lab(folder.name, CABLE, "xdp")
        self.addCleanup(self.lab.close)

    @contextlib.contextmanager
    def server(self, *words):
        serving = self.lab.start("h1", program.HEDDLE, "perf", "--listen", *words)
        try:
            for line in serving.stdout:
                if re.search(r"listens", line):
                    break
            yield serving
        finally:
            serving.kill()
            serving.communicate()

    def perf(self, *words):
        return json.loads(self.lab.exec("h0", program.HEDDLE, "perf", "h1", *words, "--json", "--check"))["tests"][0]

    def attached(self, host):
        return "prog/xdp" in self.lab.exec(host, "ip", "link", "show", "dev", "nic0")

    def expect_detached(self, host):
        """The kernel takes a dead process's program off in the background."""
        end = time.monotonic() + program.PATIENCE_S
        while self.attached(host):
            self.assertLess(time.monotonic(), end, f"{host} has a program that nobody owns")
            time.sleep(0.05)

    def failure(self, *words):
        done = lab_fabric.heddle("lab", "exec", "h0", "--lab", self.lab.name, "--", *words, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_data_arrives_and_a_killed_process_leaves_no_program(self):
        with self.server(*XDP):
            self.assertTrue(self.attached("h1"))
            self.assertEqual(self.perf("bw", "-s", "64K", "-t", "0.5", *XDP)["wrong_messages"], 0)
            self.assertGreater(self.perf("lat", "-s", "64", "-t", "0.3", *XDP)["rounds"], 0)
        self.expect_detached("h1")
        self.expect_detached("h0")

    def test_busy_polling_is_a_setting_and_the_log_says_what_became_of_it(self):
        busy = (*XDP, "--set", "xdp_busy_poll_us=20")
        with self.server(*busy):
            done = lab_fabric.heddle("lab", "exec", "h0", "--lab", self.lab.name, "--", "env", "HEDDLE_LOG=info",
                                     program.HEDDLE, "perf", "h1", "bw", "-s", "64K", "-t", "0.3", *busy, "--json",
                                     "--check", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["tests"][0]["wrong_messages"], 0)
        self.assertRegex(done.stderr, "AF_XDP: nic0, .*, busy polling")
        # Which of the two is the kernel's matter: Linux 6.13 and newer names no NAPI of veth.
        self.assertRegex(done.stderr, "AF_XDP: nic0, queue [0-9]+: (busy polling begins|no busy polling: the kernel)")

    def test_either_side_may_be_udp(self):
        with self.server():
            self.assertEqual(self.perf("bw", "-s", "64K", "-t", "0.3", *XDP)["wrong_messages"], 0)
        with self.server(*XDP):
            self.assertEqual(self.perf("bw", "-s", "64K", "-t", "0.3")["wrong_messages"], 0)

    def test_two_ranks_reduce_over_it(self):
        with tempfile.TemporaryDirectory(prefix="heddle-xdp-test-") as store:
            settings = [f"HEDDLE_STORE=file://{store}/store", "HEDDLE_SIZE=2", "HEDDLE_BIND=nic0",
                        "HEDDLE_DATAPATH=xdp"]
            ranks = [self.lab.start(f"h{rank}", "env", f"HEDDLE_RANK={rank}", *settings, program.HEDDLE, "bench",
                                    "allreduce", "-b", "1M", "-e", "1M", "-n", "3") for rank in range(2)]
            outputs = [rank.communicate(timeout=program.PATIENCE_S)[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], outputs)
        self.assertIn("# Out of bounds values : 0 OK", outputs[0])

    def test_without_rights_the_error_names_the_capabilities(self):
        rights = "-net_raw,-bpf,-sys_admin"
        error = self.failure("setpriv", "--bounding-set=" + rights, "--inh-caps=" + rights, program.HEDDLE, "perf",
                             "h1", "bw", *XDP)
        self.assertIn("CAP_NET_RAW", error)
        self.assertIn("CAP_BPF", error)

    def test_a_second_process_of_an_interface_gets_the_cause(self):
        with self.server(*XDP):
            done = lab_fabric.heddle("lab", "exec", "h1", "--lab", self.lab.name, "--", program.HEDDLE, "perf", "h0",
                                     "bw", *XDP, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("heddle_xdp", done.stderr)

    def test_an_interface_that_does_not_exist(self):
        error = self.failure(program.HEDDLE, "perf", "h1", "bw", "--set", "datapath=xdp", "--bind", "nic7")
        self.assertIn("nic7", error)


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
