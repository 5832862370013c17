#!/usr/bin/env python3
"""The wire bytes of recordings equal the kernel's counters of the interfaces.

A packet's bytes are an Ethernet header (14), IP's (20 or 40), UDP's (8) and the datagram. Without segmentation the
kernel counts the same at an interface, and frames of other protocols beside, which a packet socket counts here.
"""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import lab_fabric
import program

TRIES = 4  # of a transfer, on a machine that does much else

# The queues that fill are the switches': what a host's own queue drops never gets to its interface.
_FAST = """rate = "1Gbit/s"
queue = "8MB"
mtu = 1500
"""
_SLOW = """rate = "100Mbit/s"
queue = "64KB"
mtu = 1500
"""


def rails(nics):
    """Two hosts, each of whose NICs is on a switch with the other's; the way to h1 is slow."""
    text = "version = 1\n"
    for host in range(2):
        text += f'[[host]]\nname = "h{host}"\nnics = {nics}\n'
    for nic in range(nics):
        text += f'[[switch]]\nname = "leaf{nic}"\n'
        for host, speed in enumerate((_FAST, _SLOW)):
            text += f'[[link]]\nends = ["h{host}.{nic}", "leaf{nic}"]\n{speed}'
    return text


# Prints what each device has sent and received of UDP until its standard input ends, in bytes, and the packets that
# the kernel had no time for: its counters without the frames that a packet socket sees, which is all but UDP.
_COUNT = """
import ctypes, json, socket, struct, sys
inside = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
# Ethernet's type, then IPv4's protocol or IPv6's next header: what is UDP's is left out.
code = [(0x28, 0, 0, 12), (0x15, 0, 2, 0x0800), (0x30, 0, 0, 23), (0x15, 4, 3, 17),
        (0x15, 0, 2, 0x86dd), (0x30, 0, 0, 20), (0x15, 1, 0, 17), (0x06, 0, 0, 0x40000), (0x06, 0, 0, 0)]
program = b''.join(struct.pack('HBBI', *line) for line in code)
buffer = ctypes.create_string_buffer(program)
inside.setsockopt(socket.SOL_SOCKET, 26, struct.pack('HL', len(code), ctypes.addressof(buffer)))

def counters():
    rows = (line.replace(':', ' ', 1).split() for line in open('/proc/self/net/dev').read().splitlines()[2:])
    return {row[0]: (int(row[9]), int(row[1]), int(row[12])) for row in rows if row[0] != 'lo'}

def take_others():
    taken = {}
    while True:
        try:
            data, where = inside.recvfrom(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return taken
        bytes_of = taken.setdefault(where[0], [0, 0, 0])
        bytes_of[0 if where[2] == socket.PACKET_OUTGOING else 1] += len(data)

def now():  # counters, and what others sent up to the same moment
    others = {}
    while True:
        before = counters()
        for device, row in take_others().items():
            sum_ = others.get(device, [0, 0, 0])
            others[device] = [a + b for a, b in zip(sum_, row)]
        if counters() == before:
            return before, others

begin, _ = now()
print('ready', flush=True)
sys.stdin.read()
end, others = now()
print(json.dumps({device: [end[device][i] - begin[device][i] - others.get(device, [0, 0, 0])[i] for i in range(3)]
                  for device in begin}))
"""


class Wire(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-wire-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def make_lab(self, text):
        lab = lab_fabric.Lab(self.folder, text, "wire")
        self.addCleanup(lab.close)
        return lab

    def counted(self, nics, to, settings=(), bind=(), lossy=False):
        """A lab, and what its interfaces counted of a transfer: again, with another lab, where the kernel had no time
        for packets, or where a `lossy` one lost nothing."""
        for number in range(TRIES):
            lab, self.job = self.make_lab(rails(nics)), os.path.join(self.folder, f"job{number}")
            counted, kept_up = self.transfer(lab, to, settings, bind)
            # A sender that waits for a core fills no queue.
            lost = counted["h1"]["nic0"][1] < counted["h0"]["nic0"][0]
            if kept_up and (lost or not lossy):
                return lab, counted
            lab.close()
        self.fail("this machine did not keep up")

    def started(self, lab, host, *words, **options):
        command = [program.HEDDLE, "lab", "exec", host, "--lab", lab.name, "--", *words]
        process = subprocess.Popen(command, env=program.environment(), stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def transfer(self, lab, to, settings=(), bind=()):
        """What the interfaces counted of UDP in a recorded transfer: {host: {device: (sent, received)}}; and whether
        the kernel had time for all packets."""
        hosts = ("h0", "h1")
        counting = {host: self.started(lab, host, sys.executable, "-c", _COUNT, stdin=subprocess.PIPE)
                    for host in hosts}
        for process in counting.values():
            self.assertEqual(process.stdout.readline(), "ready\n")
        perf = ("env", f"HEDDLE_RECORD={self.job}", *settings, program.HEDDLE, "perf")
        serving = self.started(lab, "h1", *perf, "--listen", *bind)
        for line in serving.stdout:
            if re.search("listens", line):
                break
        lab.exec("h0", *perf, to, "bw", "-s", "256K", "-t", "1", *bind)
        serving.send_signal(signal.SIGTERM)
        serving.communicate()
        counted, kept_up = {}, True
        for host in hosts:
            lab.settled(host)
            said, _ = counting[host].communicate("")
            devices = json.loads(said)
            kept_up = kept_up and not any(overrun for _, _, overrun in devices.values())
            counted[host] = {device: (sent, received) for device, (sent, received, _) in devices.items()}
        return counted, kept_up

    def told(self):
        """What the recordings say: {(host, direction): bytes}."""
        told = collections.Counter()
        for name in os.listdir(self.job):
            path = os.path.join(self.job, name)
            info = json.loads(lab_fabric.heddle("record", "info", path, "--json").stdout)["recordings"][0]
            self.assertEqual(info["dropped_events"], 0)
            dumped = [json.loads(line) for line in
                      lab_fabric.heddle("record", "dump", path).stdout.splitlines()]
            serves = "--listen" in info["identity"]["command"]
            for event in dumped:
                if event["event"] == "wire_bin":
                    told["h1" if serves else "h0", event["direction"]] += event["bytes"]
        return told

    def expect_exact(self, counted):
        told = self.told()
        sent, received = ({host: sum(device[way] for device in devices.values()) for host, devices in counted.items()}
                          for way in (0, 1))
        for host, bytes_ in sent.items():
            self.assertEqual(told[host, "sent"], bytes_, host)
        # The server ends after its client, which may miss the final close frame.
        self.assertEqual(told["h1", "received"], received["h1"])
        self.assertLessEqual(told["h0", "received"], received["h0"])
        self.assertGreater(told["h0", "received"], received["h0"] * 0.99)
        matrix = json.loads(lab_fabric.heddle("matrix", self.job, "--format", "json").stdout)
        self.assertEqual(matrix["totals"]["wire"] + matrix["unplaced_wire"], sum(sent.values()))
        return matrix

    def links(self, lab):
        """Bytes of each direction of the page's fabric, with the counters of the lab: {(from, to): bytes}."""
        counters, page = os.path.join(self.folder, "counters.json"), os.path.join(self.folder, "page.html")
        with open(counters, "w", encoding="utf-8") as file:
            json.dump(lab.status(), file)
        lab_fabric.heddle("matrix", self.job, "--format", "html", "-o", page, "--topology", lab.file,
                          "--counters", counters)
        fabric = program.page_data(page)["fabric"]
        names = [node["name"] for node in fabric["nodes"]]
        both = [((names[link["a"]], names[link["b"]]), link["there"]) for link in fabric["links"]]
        return dict(both + [((names[link["b"]], names[link["a"]]), link["back"]) for link in fabric["links"]])

    def test_with_losses_and_repeats(self):
        lab, counted = self.counted(1, "h1", ["HEDDLE_RECORD_LEVEL=bins"], lossy=True)
        self.expect_exact(counted)
        links = self.links(lab)
        self.assertEqual(len(links), 4)
        for host in ("h0", "h1"):  # beside other protocols' frames
            sent = counted[host]["nic0"][0]
            self.assertGreaterEqual(links[host, "leaf0"], sent)
            self.assertLess(links[host, "leaf0"], sent + 100_000)
        self.assertLess(counted["h1"]["nic0"][1], counted["h0"]["nic0"][0], "nothing was lost: this shows too little")

    def test_ipv6_sealed(self):
        key = os.path.join(self.folder, "key")
        lab_fabric.heddle("key", "generate", key)
        _, counted = self.counted(1, "h1-v6", [f"HEDDLE_KEY_FILE={key}"])
        matrix = self.expect_exact(counted)
        self.assertGreater(matrix["totals"]["measured"], 1 << 20)

    def test_each_of_two_nics(self):
        _, counted = self.counted(2, "h1", bind=("--bind", "nic0,nic1"))
        self.expect_exact(counted)
        by_nic = json.loads(lab_fabric.heddle("matrix", self.job, "--by", "nic", "--format", "json").stdout)
        self.assertEqual(by_nic["counted"], "wire")
        names = [party["name"] for party in by_nic["parties"]]
        for nic in (0, 1):
            row = by_nic["measured"][names.index(f"10.{nic}.0.1")]
            self.assertEqual(row.index(max(row)), names.index(f"10.{nic}.1.1"), "each by its own cable")
            self.assertEqual(sum(row), counted["h0"][f"nic{nic}"][0])


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
