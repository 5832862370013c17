#!/usr/bin/env python3
"""Between two network namespaces: large MTU, loss, a disconnected cable, a path MTU that shrinks.

Runs itself again in namespaces of its own, as root or in a user namespace; they go with this process.
Where neither is allowed, all of it is skipped: exit status 77.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

import program

INSIDE = "HEDDLE_TEST_INSIDE"
NEAR, FAR = "10.77.1.1", "10.77.1.2"
FAR_NAMESPACE = ("ip", "netns", "exec", "far")


def enter():
    """Becomes a process in new namespaces; returns why that is not possible."""
    for tool in ("unshare", "ip", "nft", "ethtool"):
        if shutil.which(tool) is None:
            return f"there is no program {tool}"
    own = ["unshare", "--net", "--mount"]
    if os.geteuid() != 0:
        own += ["--user", "--map-root-user"]
    script = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add far"
    probe = subprocess.run([*own, "sh", "-c", script], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        return "network namespaces are not allowed here: " + probe.stderr.strip()
    os.environ[INSIDE] = "1"
    again = " ".join(f"'{word}'" for word in (sys.executable, "-B", *sys.argv))
    os.execvp(own[0], [*own, "sh", "-c", f"{script} && exec {again}"])
    return None


def shell(*words, check=True):
    return subprocess.run(words, capture_output=True, text=True, check=check)


class Network(unittest.TestCase):
    def setUp(self):
        shell("ip", "link", "add", "hdl0", "mtu", "9000", "type", "veth", "peer", "name", "hdl1",
              "mtu", "9000", "netns", "far")
        self.addCleanup(shell, "ip", "link", "del", "hdl0", check=False)
        shell("ip", "address", "add", f"{NEAR}/24", "dev", "hdl0")
        shell("ip", "link", "set", "hdl0", "up")
        shell(*FAR_NAMESPACE, "ip", "address", "add", f"{FAR}/24", "dev", "hdl1")
        for device in ("hdl1", "lo"):
            shell(*FAR_NAMESPACE, "ip", "link", "set", device, "up")

    def served(self):
        """A server in the far namespace and its port."""
        port = program.free_port()
        serving = program.Process("perf", "--listen", "-p", port, before=FAR_NAMESPACE)
        self.addCleanup(serving.close)
        serving.wait_for("listens on")
        return serving, port

    def filter(self, rule, *places):
        """Adds a rule of nftables to what arrives in each place: FAR_NAMESPACE, or () for near."""
        for place in places:
            shell(*place, "nft", "add table inet heddle; add chain inet heddle input "
                  "{ type filter hook input priority 0; }; add rule inet heddle input " + rule)
            self.addCleanup(shell, *place, "nft", "delete table inet heddle", check=False)

    def test_every_byte_arrives_at_large_mtu(self):
        _, port = self.served()
        done = program.run("perf", FAR, "bw", "lat", "-p", port, "-t", "0.5", "--check",
                           "--bidirectional")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_loss_is_repaired(self):
        _, port = self.served()
        self.filter("udp dport > 0 numgen random mod 1000 < 10 drop", FAR_NAMESPACE)
        done = program.run("perf", FAR, "bw", "-p", port, "-t", "1", "--check", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        test = json.loads(done.stdout)["tests"][0]
        self.assertEqual(test["wrong_messages"], 0)
        self.assertGreater(test["segments_retransmitted"], 0)

    def test_pulled_cable_is_found_on_both_sides(self):
        serving, port = self.served()
        with program.started("perf", FAR, "bw", "-p", port, "-t", "600") as client:
            client.wait_for("path")
            time.sleep(0.5)  # into the transfer
            self.filter("udp dport > 0 drop", (), FAR_NAMESPACE)
            self.assertEqual(client.wait(), 2, client.said())
            serving.wait_for("gone: ")

    def test_outage_shorter_than_the_limit_heals(self):
        _, port = self.served()
        with program.started("perf", FAR, "bw", "-p", port, "-t", "4", "--check") as client:
            client.wait_for("path")
            time.sleep(0.5)
            shell("ip", "link", "set", "hdl0", "down")
            time.sleep(1.5)
            shell("ip", "link", "set", "hdl0", "up")
            self.assertEqual(client.wait(), 0, client.said())

    def test_mtu_that_shrinks_at_the_far_end_is_no_hang(self):
        _, port = self.served()
        # What is larger than the far end takes is dropped without a word, as switches do. A veth
        # passes rows of segments whole, and the filter drops them as one large packet.
        self.filter("ip length > 2000 drop", FAR_NAMESPACE)
        done = program.run("perf", FAR, "bw", "-p", port, "-t", "2", "--check")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "packets of 1,500 bytes pass, of .* are lost: "
                         "both hosts' interfaces take 9,000")

    def test_nobody_answers_behind_a_silent_filter(self):
        self.filter("udp dport > 0 drop", FAR_NAMESPACE)
        done = program.run("ping", FAR, "--set", "handshake_timeout_ms=500")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no host answers", done.stderr)


if __name__ == "__main__":
    REASON = None if os.environ.get(INSIDE) else enter()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
