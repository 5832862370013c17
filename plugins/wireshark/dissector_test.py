#!/usr/bin/env python3
"""The dissector beside the protocol's description and beside `heddle size capture`: every frame has the fields that
the page of the protocol gives it, a capture of real packets has the same sizes by both readers, and no bytes make it
fail.

Needs tshark with Lua (scripts/setup --wireshark); skipped where that is missing: exit status 77. The real capture also
needs tcpdump and a lab.
"""

import collections
import contextlib
import json
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import lab_fabric
import program

SCRIPT = pathlib.Path(__file__).resolve().parent / "heddle.lua"
PORT = 40001
SET_PORT = 18700  # where the dissector takes every packet as heddle's
CONNECTION = 0x8877665544332211


def missing():
    """Why the dissector cannot run here; None where it can."""
    if shutil.which("tshark") is None:
        return "there is no tshark: scripts/setup --wireshark"
    about = subprocess.run(["tshark", "-v"], capture_output=True, text=True, check=False).stdout
    return None if "with Lua" in about else "this tshark has no Lua"


def no_real_capture():
    if shutil.which("tcpdump") is None:
        return "there is no tcpdump: scripts/setup --wireshark"
    return lab_fabric.missing()


def tshark(capture, *words):
    done = subprocess.run(["tshark", "-X", f"lua_script:{SCRIPT}", "-r", capture, *words], capture_output=True,
                          text=True, timeout=program.PATIENCE_S, check=False)
    if done.returncode != 0 or "Lua" in done.stderr + done.stdout:
        raise AssertionError(f"tshark {words}: {done.returncode}: {done.stderr}{done.stdout[:2000]}")
    return done.stdout


def fields(capture, *names, only="heddle"):
    """A list of values of each name, a packet a row."""
    selected = [word for name in names for word in ("-e", name)]
    lines = tshark(capture, "-Y", only, "-T", "fields", "-E", "separator=|", *selected).splitlines()
    return [[column.split(",") if column else [] for column in line.split("|")] for line in lines]


def write_capture(path, payloads, port=PORT):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        for at, payload in enumerate(payloads):
            udp = struct.pack(">HHHH", 40002, port, len(payload) + 8, 0) + payload
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 2, len(udp) + 20, 0, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2") + udp
            file.write(struct.pack("<IIII", 1, at, len(ip), len(ip)) + ip)


# Packets as docs/explanation/protocol.md has them.

def header(kind, flags=0, path=3, number=7, sent_at=1000, connection=CONNECTION):
    return struct.pack("<BBHQQqH", 0x20 | kind, flags, path, connection, number, sent_at, 18701)


def data(payload, kind=8, offset=0, total=None, **named):
    message = struct.pack("<HIII", 2, 4000000000, offset, len(payload) if total is None else total)
    return header(kind, **named) + message + payload


def control(frames, flags=4, **named):
    return header(9, flags, **named) + frames


def parameter(kind, value):
    return struct.pack("<HH", kind, len(value)) + value


PARAMETERS = (parameter(1, b"\x10\0") + parameter(9, b"swift") + parameter(21, bytes(10) + b"\xff\xff\n\0\0\1") +
              b"\0\0")
INIT = (b"\x21\0\0\0" + struct.pack("<IQqHQB", 5, 6, 1000, 18701, CONNECTION, 1) + bytes(range(24)) +
        PARAMETERS).ljust(512, b"\0")
ACCEPT = b"\x23\0\0\0" + struct.pack("<IQIqHQ", 5, 6, 8, 1000, 18701, CONNECTION + 1) + PARAMETERS
OTHER_HANDSHAKE = (
    (b"\x22\0\0\0" + struct.pack("<IQ", 5, 6) + bytes(24), {"type": 2, "id": 5, "nonce": 6}),
    (b"\x25\0\0\0" + struct.pack("<IQB", 5, 6, 3), {"type": 5, "refuse_reason": 3}),
    (b"\x24\0\0\0" + struct.pack("<IQBB", 5, 6, 1, 2), {"lowest_version": 1, "highest_version": 2}),
    (b"\x26\0\x09\0" + struct.pack("<QQ", CONNECTION, 77), {"connection": CONNECTION, "path": 9, "number": 77}),
)
PARITY = (
    (struct.pack("<BBBBHH", 0x2b, 1, 0, 0, 18701, 0),
     {"type": 11, "parity.format": 1, "parity.kind": 0, "reply_port": 18701}),
    (struct.pack("<BBBBHBBQ", 0x2b, 1, 1, 2, 513, 5, 2, CONNECTION) + struct.pack("<BBHBBH", 3, 4, 700, 9, 1, 65535) +
     bytes(range(60)),
     {"type": 11, "parity.kind": 1, "parity.row": 2, "parity.group": 513, "parity.members": 5, "parity.runs": 2,
      "connection": CONNECTION, "parity.path": [3, 9], "parity.count": [4, 1], "parity.number": [700, 65535],
      "parity.sum": bytes(range(60)).hex()}),
)
NO_PARITY = (  # another format, a row beyond 7, runs of other packets than the members, no sum
    struct.pack("<BBBBHH", 0x2b, 2, 0, 0, 18701, 0),
    struct.pack("<BBBBHBBQBBH", 0x2b, 1, 1, 8, 1, 4, 1, CONNECTION, 3, 4, 700) + bytes(20),
    struct.pack("<BBBBHBBQBBH", 0x2b, 1, 1, 0, 1, 5, 1, CONNECTION, 3, 4, 700) + bytes(20),
    struct.pack("<BBBBHBBQBBH", 0x2b, 1, 1, 0, 1, 4, 1, CONNECTION, 3, 4, 700),
)
GREETINGS = tuple(
    (struct.pack("<BBBBHHIIQ", 0x2c, 1, kind, mtu, 18701, 0, pair, key, 2**63 + 5),
     {"type": 12, "greeting.format": 1, "greeting.kind": kind, "greeting.mtu": mtu, "reply_port": 18701,
      "greeting.queue_pair": pair, "greeting.key": key, "nonce": 2**63 + 5})
    for kind, mtu, pair, key in ((1, 1, 0, 0), (2, 5, 0xffffff, 0x7fffffff), (3, 4, 17, 99)))
NO_GREETING = (  # another format, kinds, MTUs, no port, bytes that are not 0, a length
    *(struct.pack("<BBBBHHIIQ", 0x2c, *values, 1)
      for values in ((2, 1, 4, 1, 0, 17, 99), (1, 0, 4, 1, 0, 17, 99), (1, 4, 4, 1, 0, 17, 99), (1, 1, 0, 1, 0, 17, 99),
                     (1, 1, 6, 1, 0, 17, 99), (1, 1, 4, 0, 0, 17, 99), (1, 1, 4, 1, 1, 17, 99),
                     (1, 1, 4, 1, 0, 1 << 24, 99), (1, 1, 4, 1, 0, 17, 1 << 31))),
    GREETINGS[0][0] + b"x", GREETINGS[0][0][:23])
# A frame and its fields; names with several values have a list.
FRAMES = (
    (b"\x01" + struct.pack("<HqqIBQIIIII", 32768, 11, 12, 13, 3, 100, 5, 2, 1, 9, 4),
     {"path": [3, 32768], "echoed_sent_at": 11, "ack.received_at": 12, "ack.marked": 13, "ack.ranges": 3,
      "ack.newest": 100, "ack.length": [5, 1, 4], "ack.step": [2, 9]}),
    (b"\x02" + struct.pack("<qQ", 21, 22), {"ack.made_at": 21, "ack.window": 22}),
    (b"\x03" + struct.pack("<HIHI", 1, 4294967232, 31, 32),
     {"channel": 1, "first_sequence": 4294967232, "count": 31, "capacity": 32}),
    (b"\x04" + struct.pack("<HIB", 1, 41, 1), {"channel": 1, "sequence": 41, "cancel_reason": 1}),
    (b"\x05" + struct.pack("<HIB", 1, 42, 0), {"sequence": 42, "cancel_reason": 0}),
    (b"\x06\x03", {"close_reason": 3}),
    (b"\x07", {}),
    (b"\x08" + struct.pack("<HIIBQB", 1, 51, 52, 53, 54, 4) + b"\xaa\xbb\xcc\xdd",
     {"sequence": 51, "capacity": 52, "slot": 53, "remote_offset": 54}),
    (b"\x09" + struct.pack("<HI", 61, 62), {"chunk_path": 61, "epoch": 62}),
    (b"\x0a" + struct.pack("<HI", 63, 64), {"chunk_path": 63, "epoch": 64}),
    (b"\x0b" + struct.pack("<HI", 1, 71) + b"a whole message", {"channel": 1, "sequence": 71, "payload_bytes": 15}),
    (b"\x0c" + struct.pack("<HIB", 1, 81, 0), {"sequence": 81}),
    (b"\x0d" + struct.pack("<IQQ", 91, 92, 93), {"serial": 91, "settled": 92, "wanted": 93}),
    (b"\x0e" + struct.pack("<QI", 94, 95), {"limit": 94, "allowance": 95}),
    (b"\x0f" + struct.pack("<Q", 96), {"nic_token": 96}),
    (b"\x10" + struct.pack("<Q", 97), {"nic_token": 97}),
    (b"\x11" + struct.pack("<HQ", 98, 99), {"path": [3, 98], "number": [7, 99]}),
    (bytes(20), {}),
)


class Packets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "packets.pcap")

    def expect_fields(self, payload, expected, port=PORT):
        """One packet has these values, as the only ones of their names."""
        write_capture(self.file, [payload], port)
        rows = fields(self.file, *(f"heddle.{name}" for name in expected))
        self.assertEqual(len(rows), 1, payload)
        for (name, value), found in zip(expected.items(), rows[0]):
            values = value if isinstance(value, list) else [value]
            self.assertEqual([int(each, 0) if isinstance(values[0], int) else each for each in found], values, name)

    def test_each_frame_has_its_fields(self):
        for frame, expected in FRAMES:
            with self.subTest(frame=frame[0]):
                self.expect_fields(control(frame), {"type": 9, "frame": frame[0], **expected})

    def test_frames_follow_each_other(self):
        frames = [frame for frame, _ in FRAMES if frame[0] not in (0, 11)] + [FRAMES[10][0]]
        self.expect_fields(control(b"".join(frames)), {"frame": [frame[0] for frame in frames]})

    def test_parity_of_forward_error_correction(self):
        for packet, expected in PARITY:
            with self.subTest(length=len(packet)):
                self.expect_fields(packet, expected, SET_PORT)
        for packet in NO_PARITY:
            with self.subTest(packet=packet.hex()):
                write_capture(self.file, [packet], SET_PORT)
                self.assertEqual(len(fields(self.file, "heddle.type", only="heddle.malformed")), 1)

    def test_parity_is_recognized_at_any_port(self):
        write_capture(self.file, [data(b"payload"), *(packet for packet, _ in PARITY), NO_PARITY[0]], port=5555)
        self.assertEqual(fields(self.file, "heddle.type"), [[["8"]], [["11"]], [["11"]]])

    def test_greetings_of_queue_pairs(self):
        for packet, expected in GREETINGS:
            with self.subTest(kind=packet[2]):
                self.expect_fields(packet, expected, SET_PORT)
        write_capture(self.file, NO_GREETING, SET_PORT)
        self.assertEqual(len(fields(self.file, "heddle.type", only="heddle.malformed")), len(NO_GREETING))

    def test_greetings_are_recognized_at_any_port(self):
        write_capture(self.file, [*(packet for packet, _ in GREETINGS), *NO_GREETING], port=5555)
        self.assertEqual(fields(self.file, "heddle.type"), [[["12"]]] * len(GREETINGS))

    def test_handshakes(self):
        self.expect_fields(INIT, {"type": 1, "version": 2, "id": 5, "nonce": 6, "reply_port": 18701, "has_cookie": 1,
                                  "connection": CONNECTION, "parameter": [1, 9, 21], "parameter.name": ["swift"],
                                  "parameter.number": 16, "parameter.address": ["::ffff:10.0.0.1"]})
        self.expect_fields(ACCEPT, {"type": 3, "acceptor_id": 8, "echoed_sent_at": 1000, "reply_port": 18701,
                                    "connection": CONNECTION + 1, "parameter": [1, 9, 21]})
        for packet, expected in OTHER_HANDSHAKE[:3]:
            self.expect_fields(packet, expected)
        write_capture(self.file, [INIT, OTHER_HANDSHAKE[3][0]])  # a reset counts for a connection that was seen
        reset = fields(self.file, "heddle.number", "heddle.path", only="heddle.type == 6")
        self.assertEqual(reset, [[["77"], ["9"]]])

    def test_data_and_repeats(self):
        self.expect_fields(data(b"x" * 100, offset=50, total=1000, flags=3),
                           {"type": 8, "flags.ack_now": 1, "flags.retransmission": 1, "flags.numbered": 0, "path": 3,
                            "connection": CONNECTION, "number": 7, "sent_at": 1000, "channel": 2,
                            "sequence": 4000000000, "offset": 50, "message_bytes": 1000, "payload_bytes": 100})
        original = 9 << 56 | 300 << 40 | 12345
        self.expect_fields(data(b"x", kind=10, sent_at=original),
                           {"type": 10, "original.path": 9, "original.epoch": 300, "original.number": 12345})

    def test_packets_that_an_offload_merged_are_taken_apart(self):
        merged = b"".join(data(bytes(200 if i < 3 else 50), number=7 + i, offset=200 * i, total=650) for i in range(4))
        self.expect_fields(merged, {"number": [7, 8, 9, 10], "payload_bytes": [200, 200, 200, 50]})

    def test_what_is_protected_is_shown_as_encrypted(self):
        keyed = INIT[:59] + parameter(18, bytes(16)) + INIT[59:-20]
        write_capture(self.file, [keyed, control(b"\x06\x03" + bytes(16), connection=CONNECTION),
                                  data(bytes(116), total=100, connection=CONNECTION)])
        rows = fields(self.file, "heddle.frame", "heddle.payload_bytes", only="heddle.type > 7")
        self.assertEqual(rows, [[[], []], [[], ["100"]]])
        self.assertEqual(len(fields(self.file, "heddle.encrypted", only="heddle.encrypted")), 2)

    def test_other_protocols_are_left_alone(self):
        others = [b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\7example\0\0\1\0\1", b"\x28" * 400, b"\x29" * 400, b"!",
                  data(b"x" * 90, total=10), data(b"x")[:40], INIT[:1] + b"\1" + INIT[2:]]
        write_capture(self.file, others)
        self.assertEqual(fields(self.file, "frame.number"), [])

    def test_a_port_is_a_preference(self):
        write_capture(self.file, [control(b"\xe7" * 20)], port=4999)
        self.assertEqual(fields(self.file, "heddle.type"), [])
        chosen = tshark(self.file, "-o", "heddle.ports:4999", "-Y", "heddle", "-T", "fields", "-e", "heddle.type")
        self.assertEqual(chosen.split(), ["9"])

    def test_no_bytes_make_it_fail(self):
        seeds = [INIT, ACCEPT, *(packet for packet, _ in OTHER_HANDSHAKE), data(bytes(60)), data(b"x", kind=10),
                 *(control(frame) for frame, _ in FRAMES), *(packet for packet, _ in PARITY + GREETINGS)]
        chance = random.Random(7)
        packets = [packet[:length] for packet in seeds for length in range(0, len(packet), 1 + len(packet) // 60)]
        for _ in range(3000):
            packet = bytearray(chance.choice(seeds))
            for _ in range(chance.randrange(1, 6)):
                packet[chance.randrange(1, len(packet))] = chance.randrange(256)
            packets.append(bytes(packet))
        write_capture(self.file, packets, port=18700)  # so that each is dissected
        self.assertEqual(len(tshark(self.file, "-V").split("User Datagram Protocol")) - 1, len(packets))


@unittest.skipIf(no_real_capture(), str(no_real_capture()))
class RealCapture(unittest.TestCase):
    """Packets of `heddle perf` between two hosts of a lab."""

    def capture(self, folder, *, keys):
        capture = pathlib.Path(folder, "real.pcap")
        settings = ("--set", f"key_file={folder}/keys") if keys else ()
        if keys:
            program.run("key", "generate", f"{folder}/keys")
        with contextlib.closing(lab_fabric.Lab(folder, lab_fabric.LEAF_SPINE, "wireshark")) as lab, \
                contextlib.ExitStack() as stack:
            name = ["lab", "exec", "h1", "--lab", lab.name, "--"]
            sniffer = subprocess.Popen([program.HEDDLE, *name, "tcpdump", "-Z", "root", "-i", "any", "-s", "0", "-B",
                                        "65536", "-U", "-w", str(capture), "udp"], stderr=subprocess.PIPE, text=True,
                                       env=program.environment())
            stack.callback(sniffer.communicate)
            stack.callback(sniffer.send_signal, signal.SIGINT)
            while "listening on" not in (line := sniffer.stderr.readline()):
                self.assertTrue(line, "tcpdump ended")
            serve = (program.HEDDLE, "perf", "--listen", "--once", *settings)
            server = stack.enter_context(program.started(*name, *serve))
            server.wait_for("listens")
            lab.exec("h0", program.HEDDLE, "perf", "h1", "bw", "-s", "64K", "-t", "0.1", *settings)
            self.wait_until_written(capture)
        return capture

    def wait_until_written(self, capture):
        """A signal ends tcpdump before it has read what it has got: for longer than it lets packets wait none came."""
        size, since = 0, time.monotonic()
        end = since + program.PATIENCE_S
        while size < 1 << 18 or time.monotonic() - since < 1.5:
            self.assertLess(time.monotonic(), end, size)
            time.sleep(0.1)
            if capture.stat().st_size != size:
                size, since = capture.stat().st_size, time.monotonic()

    def expect_same_sizes(self, capture, *, keys):
        measured = json.loads(program.run("size", "capture", capture, "--json").stdout)
        classes = {each["name"]: each for each in measured["classes"]}
        rows = fields(capture, "heddle.payload_bytes", only="heddle.type == 8")
        sizes = collections.Counter(int(value) for row in rows for value in row[0])
        self.assertEqual(sizes, {each["least"]: each["packets"] for each in classes["heddle data"]["packet_bytes"]})
        lengths = {each["least"]: each["messages"] for each in classes["heddle data"]["message_bytes"]}
        self.assertGreater(lengths[65536], 0, lengths)
        self.assertEqual(measured["heddle_protocol"]["protected_wire_ids"], 2 if keys else 0)
        opaque = len(fields(capture, "frame.number", only="heddle.type == 9 && heddle.encrypted"))
        self.assertEqual(opaque, measured["heddle_protocol"]["encrypted_control_packets"])
        self.assertEqual(opaque > 0, keys)
        self.assertEqual(tshark(capture, "-Y", "heddle.malformed || (udp && !heddle && !icmp && !icmpv6)"), "")

    def test_both_readers_find_the_same_sizes(self):
        for keys in (False, True):
            with self.subTest(keys=keys), tempfile.TemporaryDirectory() as folder:
                self.expect_same_sizes(self.capture(folder, keys=keys), keys=keys)


if __name__ == "__main__":
    if missing():
        print(f"skipped: {missing()}")
        sys.exit(77)
    unittest.main()
