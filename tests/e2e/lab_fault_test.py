#!/usr/bin/env python3
"""Faults of a lab that is up: each does what it says, to the direction that it names, and ends again.

Needs root and network namespaces; skipped where they are not allowed: exit status 77.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

import lab_fabric
import program
from lab_fabric import Lab, heddle

# Prints the numbers of datagrams that arrived, that were damaged, and that were reordered. A datagram holds a
# number in its first four bytes, then zeros. Twenty datagrams with the highest bit set mark the end; ten of
# them suffice, since some may be lost or reordered.
_RECEIVE = """
import socket
at = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
at.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
at.settimeout(30)
at.bind(('::', 9))
print('ready', flush=True)
count = damaged = late = newest = ends = 0
while ends < 10:
    data = at.recv(65536)
    number = int.from_bytes(data[:4], 'big')
    if number >> 31:
        ends += 1
        continue
    count, damaged = count + 1, damaged + any(data[4:])
    late, newest = late + (number < newest), max(number, newest)
print(count, damaged, late)
"""

_SEND_NUMBERED = """
import socket, sys
to, count, size, tos = sys.argv[1], *map(int, sys.argv[2:])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
for number in range(1, count + 21):
    sender.sendto((number if number <= count else 1 << 31).to_bytes(4, 'big') + bytes(size - 4), (to, 9))
"""

CABLE = """version = 1
[fabric]
kind = "point_to_point"
[host_link]
rate = "100Mbit/s"
queue = "2MB"
mtu = 1500
ecn_threshold = "60KB"
"""


class LinkFaults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lab = Lab(folder.name, CABLE, "cable")
        self.addCleanup(self.lab.close)

    def fault(self, *words):
        heddle("lab", "fault", "--lab", self.lab.name, *words)

    def exchange(self, count, size=200, tos=0):
        """What h1 saw of datagrams from h0: how many, damaged, late."""
        receiver = self.lab.start("h1", sys.executable, "-c", _RECEIVE)
        self.addCleanup(receiver.stdout.close)
        self.addCleanup(receiver.wait)
        self.addCleanup(receiver.kill)
        receiver.stdout.readline()
        self.lab.exec("h0", sys.executable, "-c", _SEND_NUMBERED, "10.0.1.1", str(count), str(size), str(tos))
        return tuple(map(int, receiver.stdout.readline().split()))

    def test_loss_is_the_share_that_was_asked_for(self):
        self.fault("loss", "h0", "h1", "5%", "--one-way")
        self.exchange(5000)
        forward = self.lab.link("h0 - h1")["forward"]
        backward = self.lab.link("h0 - h1")["backward"]
        expected, deviation = forward["packets"] * 0.05, (forward["packets"] * 0.05 * 0.95) ** 0.5
        self.assertGreater(forward["packets"], 4900)
        self.assertLess(abs(forward["lost_packets"] - expected), 6 * deviation, forward)
        self.assertEqual(backward["lost_packets"], 0)
        self.assertEqual(forward["condition"], "5% loss")

    # A veth pair computes no checksums by default: damaged packets would be delivered.
    def test_a_damaged_packet_is_dropped_for_its_checksum(self):
        count, damaged, _ = self.exchange(500)
        self.assertEqual((count, damaged), (500, 0))
        self.fault("corrupt", "h0", "h1", "20%")
        count, damaged, _ = self.exchange(2000)
        self.assertEqual(damaged, 0)
        self.assertGreater(2000 - count, 2000 * 0.1)
        self.assertLess(2000 - count, 2000 * 0.3)

    def test_some_packets_are_overtaken_where_reordering_is_asked_for(self):
        self.assertEqual(self.exchange(1000, 1000)[2], 0)
        self.fault("reorder", "h0", "h1", "2%")
        count, _, late = self.exchange(1000, 1000)
        self.assertEqual(count, 1000)
        self.assertGreater(late, 0)
        self.fault("clear", "h0", "h1")
        self.assertEqual(self.exchange(1000, 1000)[2], 0)

    def test_marks_come_only_when_the_link_fills_up(self):
        self.fault("rate", "h0", "h1", "20Mbit/s")  # slower than any sender
        self.exchange(10, 1000, tos=2)  # ECT(0), below the threshold
        self.assertEqual(self.lab.link("h0 - h1")["forward"]["marked_packets"], 0)
        self.exchange(1000, 1000, tos=0)  # above it, and not capable
        self.assertEqual(self.lab.link("h0 - h1")["forward"]["marked_packets"], 0)
        self.exchange(1000, 1000, tos=2)
        marked = self.lab.link("h0 - h1")["forward"]["marked_packets"]
        self.assertGreater(marked, 0)
        self.assertLess(marked, 500)

    def test_rate_changes_and_comes_back(self):
        self.fault("rate", "h0", "h1", "7Mbit/s", "--one-way")
        self.assertEqual((self.rate("h0"), self.rate("h1")), (7_000_000, 100_000_000))
        self.fault("clear")
        self.assertEqual((self.rate("h0"), self.rate("h1")), (100_000_000, 100_000_000))

    def rate(self, host):
        queues = json.loads(self.lab.exec(host, "tc", "-j", "qdisc", "show", "dev", "nic0"))
        return queues[0]["options"]["rate"] * 8

    def test_link_never_carries_more_than_its_rate(self):
        self.fault("rate", "h0", "h1", "8Mbit/s")
        before = self.lab.link("h0 - h1")
        self.lab.send("h0", "10.0.1.1", 1, 1500, 1000)  # 1.5 s of the link at 8 Mbit/s
        forward = self.lab.link("h0 - h1", interval="1")["forward"]
        self.assertGreater(forward["bytes"], before["forward"]["bytes"])
        # What was counted is a second's worth and the bucket's; reading both ends takes a while too.
        self.assertLess(forward["bits_per_s"], 1.3 * 8e6)

    def test_paused_host_stands_still_and_goes_on(self):
        sleeper = self.lab.start("h1", "sleep", "1000")
        self.addCleanup(sleeper.stdout.close)
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)

        def expect_state(wanted):
            end = time.monotonic() + program.PATIENCE_S  # a signal takes effect later
            while True:
                found = subprocess.run(["ps", "-o", "stat=", "-p", str(sleeper.pid)], capture_output=True, text=True,
                                       check=True).stdout.strip()
                if found[0] == wanted:
                    return
                self.assertLess(time.monotonic(), end, found)
                time.sleep(0.02)

        self.lab.exec("h1", "true")
        while not os.readlink(f"/proc/{sleeper.pid}/exe").endswith("sleep"):
            pass
        self.fault("pause", "h1")
        expect_state("T")
        self.assertEqual(self.lab.status()["paused_hosts"], ["h1"])
        self.fault("resume", "h1")
        expect_state("S")

    def test_wrong_faults_say_what_is_possible(self):
        for words, expected in ((("flood", "h0", "h1"), "'flood' is not down, up,"),
                                (("loss", "h0", "h1"), "it takes a link's two ends and a value"),
                                (("loss", "h0", "h1", "5"), "'5' is no share"),
                                (("down", "h0", "h7"), "there is no host or switch 'h7'"),
                                (("down", "h0", "h1", "--one-way"), "takes both directions"),
                                (("pause", "h9"), "has no host 'h9'")):
            with self.subTest(words=words):
                done = heddle("lab", "fault", "--lab", self.lab.name, *words, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(expected, done.stderr)


class Fabric(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.lab = Lab(folder.name, lab_fabric.LEAF_SPINE, "broken")
        cls.addClassCleanup(cls.lab.close)

    def setUp(self):
        self.addCleanup(self.fault, "clear")

    def fault(self, *words):
        heddle("lab", "fault", "--lab", self.lab.name, *words)

    def carrier(self, place, device):
        return re.search(r"LOWER_UP|NO-CARRIER|DOWN", self.lab.exec(place, "ip", "link", "show", "dev", device))[0]

    def arrivals(self, source, target, to):
        """How many of 640 datagrams on 64 ports arrive."""
        before = self.lab.packets(target, "received")["nic0"]
        self.lab.send(source, to, 64, 10)
        return self.lab.settled(target, "received")["nic0"] - before

    def test_black_hole_swallows_one_way_and_keeps_the_carrier(self):
        self.fault("blackhole", "leaf0", "spine1")
        self.assertEqual(self.carrier("leaf0", "spine1"), "LOWER_UP")
        self.assertEqual(self.carrier("spine1", "leaf0"), "LOWER_UP")
        arrived = self.arrivals("h0", "h3", "10.0.3.1")
        hole = self.lab.link("leaf0 - spine1")
        self.assertGreater(hole["forward"]["black_hole_packets"], 0)
        self.assertLessEqual(abs(arrived - 640 + hole["forward"]["black_hole_packets"]), 20)
        self.assertGreaterEqual(self.arrivals("h3", "h0", "10.0.0.1"), 640)
        self.assertEqual(self.lab.link("leaf0 - spine1")["backward"]["black_hole_packets"], 0)

    def test_switches_route_around_a_link_that_is_down_until_it_is_up(self):
        for to in ("10.0.3.1", "fd00:0:3::1"):
            with self.subTest(to=to):
                self.fault("down", "leaf0", "spine1")
                self.assertNotEqual(self.carrier("leaf0", "spine1"), "LOWER_UP")
                self.assertNotEqual(self.carrier("spine1", "leaf0"), "LOWER_UP")
                self.assertGreaterEqual(self.arrivals("h0", "h3", to), 640)
                self.assertGreaterEqual(self.arrivals("h3", "h0", to.replace("3", "0", 1)), 640)
                self.fault("up", "leaf0", "spine1")
                sent = self.lab.sent_during("leaf0", lambda: self.lab.send("h0", to, 64, 10))
                self.assertGreater(sent["spine1"], 50)

    def test_hosts_link_goes_down_and_comes_back(self):
        self.fault("down", "h3", "leaf1")
        self.assertNotEqual(self.carrier("h3", "nic0"), "LOWER_UP")
        self.fault("up", "h3", "leaf1")
        for to in ("10.0.3.1", "fd00:0:3::1"):
            self.assertGreaterEqual(self.arrivals("h0", "h3", to), 640)

    def test_heddle_goes_around_a_black_hole(self):
        server = program.Process("lab", "exec", "h3", "--lab", self.lab.name, "--", program.HEDDLE,
                                 "perf", "--listen", "--once")
        self.addCleanup(server.close)
        server.wait_for("listens on")
        with program.started("lab", "exec", "h0", "--lab", self.lab.name, "--", program.HEDDLE, "perf",
                             "h3", "bw", "-t", "2", "--check") as client:
            client.wait_for("path")
            self.fault("blackhole", "leaf0", "spine1")
            self.assertEqual(client.wait(), 0, client.said())


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
