#!/usr/bin/env python3
"""Two NICs per host in a lab: both carry payload, each on its own cable; a failed one is suspect, then restored."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lab_fabric
import program

_RATE = """rate = "100Mbit/s"
queue = "62500B"
mtu = 1500
"""
# NIC 0 of both hosts is on leaf0, NIC 1 on leaf1; nothing joins the two but the hosts.
RAILS = "version = 1\n" + "".join(f"""[[host]]
name = "h{host}"
nics = 2
""" for host in range(2)) + "".join(f"""[[switch]]
name = "leaf{rail}"
""" for rail in range(2)) + "".join(f"""[[link]]
ends = ["h{host}.{rail}", "leaf{rail}"]
{_RATE}""" for host in range(2) for rail in range(2))
BOTH = "nic0,nic1"


class Nics(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-nics-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.lab = lab_fabric.Lab(folder.name, RAILS, "nics")
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
            serving.terminate()
            serving.communicate()

    def perf(self, to, *words):
        done = self.lab.exec("h0", program.HEDDLE, "perf", to, "bw", "-s", "64K", "--json", "--check", *words)
        return json.loads(done)["tests"][0]

    def shares(self, test):
        self.assertEqual(test["wrong_messages"], 0)
        return {(nics["nic"], nics["peer_nic"]): nics["share"] for nics in test["nics"]}

    def test_both_nics_carry_payload_each_by_its_own_cable(self):
        with self.server("--bind", BOTH):
            before = self.lab.packets("h0")
            test = self.perf("h1", "--bind", BOTH, "-t", "1")
            after = self.lab.settled("h0")
        shares = self.shares(test)
        self.assertEqual(sorted(shares), [(0, 0), (1, 1)])
        self.assertGreater(min(shares.values()), 0.3)
        for nic in ("nic0", "nic1"):
            self.assertGreater(after[nic] - before[nic], 1000, "packets by " + nic)

    def test_ipv4_beside_ipv6_and_the_other_order(self):
        with self.server("--bind", "h1,h1-nic1-v6"):
            self.assertEqual(sorted(self.shares(self.perf("h1", "--bind", "h0,h0-nic1-v6", "-t", "0.5"))),
                             [(0, 0), (1, 1)])
        with self.server("--bind", "nic1,nic0"):
            self.assertEqual(sorted(self.shares(self.perf("h1-nic1", "--bind", BOTH, "-t", "1"))), [(0, 1), (1, 0)])

    def test_one_nic_as_before(self):
        with self.server():
            self.assertEqual(sorted(self.shares(self.perf("h1", "-t", "0.3"))), [(0, 0)])

    def test_a_nic_whose_cable_dies_is_left_and_taken_back(self):
        with self.server("--bind", BOTH):
            command = [program.HEDDLE, "perf", "h1", "bw", "--json", "--check", "--bind", BOTH, "-t", "60"]
            with subprocess.Popen([program.HEDDLE, "lab", "exec", "h0", "--lab", self.lab.name, "--", *command],
                                  env=program.environment(), stdout=subprocess.PIPE, text=True) as client:
                self.wait_for_packets("nic1")
                self.lab_fault("blackhole", "h0.1", "leaf1")
                self.wait_for_silence("nic1")
                self.lab_fault("clear", "h0.1", "leaf1")
                self.wait_for_packets("nic1")
                client.send_signal(signal.SIGINT)
                output, _ = client.communicate()
        self.assertEqual(sorted(self.shares(json.loads(output)["tests"][0])), [(0, 0), (1, 1)])

    def lab_fault(self, *words):
        lab_fabric.heddle("lab", "fault", "--lab", self.lab.name, *words)

    def wait_for_packets(self, nic):
        """Until this NIC sends payload, many packets at a time."""
        self.wait_until(lambda rate: rate > 50, nic)

    def wait_for_silence(self, nic):
        """Until it sends probes at most."""
        self.wait_until(lambda rate: rate <= 20, nic)

    def wait_until(self, good, nic):
        end = time.monotonic() + program.PATIENCE_S
        before = self.lab.packets("h0")[nic]
        while time.monotonic() < end:
            time.sleep(0.05)
            after = self.lab.packets("h0")[nic]
            if good(after - before):
                return
            before = after
        self.fail("never")

    def test_an_all_reduce_uses_both(self):
        settings = [f"HEDDLE_STORE=file://{self.folder}/store", "HEDDLE_SIZE=2", f"HEDDLE_BIND={BOTH}"]
        before = self.lab.packets("h0")
        ranks = [self.lab.start(f"h{rank}", "env", f"HEDDLE_RANK={rank}", *settings, program.HEDDLE, "bench",
                                "allreduce", "-b", "2M", "-e", "2M", "-n", "3") for rank in range(2)]
        outputs = [rank.communicate(timeout=program.PATIENCE_S)[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], outputs)
        self.assertIn("# Out of bounds values : 0 OK", outputs[0])
        after = self.lab.settled("h0")
        for nic in ("nic0", "nic1"):
            self.assertGreater(after[nic] - before[nic], 1000, "packets by " + nic)


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
