#!/usr/bin/env python3
"""heddle size capture: what a capture shows as text and as JSON, from a file and a pipe, and what it says of files
that are no captures."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import capture_file
import program

MEBIBYTE = 1 << 20


class SizeCapture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "test.pcap")

    def write(self, data):
        self.file.write_bytes(data)
        return self.file

    def read(self, data, *words, status=0):
        done = program.run("size", "capture", self.write(data), *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def writes(self, count, message_bytes=MEBIBYTE):
        packets = -(-message_bytes // 4096)
        return [frame for i in range(count) for frame in capture_file.write_frames(message_bytes, i * packets)]

    def test_a_mebibyte_has_256_packets_of_4096(self):
        text = self.read(capture_file.capture(self.writes(3) + [capture_file.ack_frame(767)])).stdout
        self.assertRegex(text, r"RoCE RC write: 768 packets of 1 flow, 3,145,728 bytes, 3\.2\d Gb/s")
        self.assertRegex(text, r"payload of a packet, bytes\n +4,096 +768 100\.0% #{30}\n")
        self.assertRegex(text, r"message, bytes\n +1,048,576 +3 100\.0% #{30}\n")
        self.assertRegex(text, r"packets of a message\n +256 +3 100\.0% #{30}\n  no packet is missing\n")
        self.assertIn("RoCE also: 1 acknowledgement\n", text)

    def test_json_has_the_same(self):
        frames = self.writes(2)
        del frames[300]
        found = json.loads(self.read(capture_file.capture(frames), "--json").stdout)
        (write,) = found["classes"]
        self.assertEqual(write["packet_bytes"], [{"least": 4096, "most": 4096, "packets": 511}])
        self.assertEqual(write["message_bytes"], [{"least": MEBIBYTE, "most": MEBIBYTE, "messages": 1}])
        self.assertEqual(write["packets_of_message"], [{"least": 256, "most": 256, "messages": 1}])
        self.assertEqual((write["gaps"], write["missing_packets"], write["incomplete_messages"]), (1, 1, 1))
        self.assertEqual((found["snapshot_bytes"], found["ended_early"]), (128, None))

    def test_merged_datagrams_that_were_cut_are_not_known(self):
        frames = [capture_file.heddle_frame(1 + 3 * i, 4200 * i, 16_800, packets=3) for i in range(4)]
        text = self.read(capture_file.capture(frames, snapshot_bytes=600)).stdout
        self.assertRegex(text, r"heddle data: at least 4 packets of 1 flow, at most 17,\d+ bytes, at most \d")
        self.assertIn("  packets of 4 datagrams not known: cut at 600 bytes\n", text)
        self.assertIn("  whether 6 more are missing is not known: cut at 600 bytes\n", text)
        self.assertIn("  whether 1 message came whole, and in how many packets, is not known: cut at 600 bytes\n", text)
        self.assertIn("capture all bytes (-s 0)", text)
        for claim in ("gap", "keys", "encrypted", "no packet", "packets/s", "payload of a packet"):
            self.assertNotIn(claim, text)
        found = json.loads(self.read(capture_file.capture(frames, snapshot_bytes=600), "--json").stdout)
        (data,) = found["classes"]
        fields = ("datagrams_not_known", "packets_not_known", "messages_not_known", "gaps", "messages", "packets_per_s")
        self.assertEqual([data[field] for field in fields], [4, 6, 1, 0, 0, None])
        heddle = found["heddle_protocol"]
        self.assertEqual((heddle["datagrams_not_known"], heddle["protected_wire_ids"]), (4, 0))
        self.assertEqual(found["cut_at_bytes"], 600)
        found = json.loads(self.read(capture_file.capture(frames, snapshot_bytes=65_535), "--json").stdout)
        (whole,) = found["classes"]
        self.assertEqual([whole[field] for field in fields[:5]], [0, 0, 0, 0, 1])
        self.assertEqual(whole["packet_bytes"], [{"least": 1400, "most": 1400, "packets": 12}])

    def test_many_sizes_are_printed_as_ranges(self):
        frames = [frame for i in range(600) for frame in capture_file.write_frames(1 + 5 * i, i)]
        text = self.read(capture_file.capture(frames)).stdout
        self.assertRegex(text, r"message, bytes\n +1 +1 +0\.2% #\n")
        self.assertRegex(text, r"\n +1,026 to 2,046 +205 +34\.2% #+\n")

    def test_a_pipe_is_read_to_its_end(self):
        data = capture_file.capture(self.writes(1))
        done = subprocess.run([program.HEDDLE, "size", "capture", "-"], input=data, capture_output=True, check=False,
                              env=program.environment(), timeout=program.PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"1,048,576            1 100.0%", done.stdout)

    def test_ctrl_c_ends_what_writes_to_the_pipe_and_the_figures_are_printed(self):
        out = self.interrupted_reader(lambda state: True)
        self.assertIn(b"1,048,576            1 100.0%", out)

    def test_ctrl_c_while_the_pipe_is_empty_is_no_error(self):
        """Its read was interrupted, which ended the capture early."""
        out = self.interrupted_reader(lambda state: state["State"].startswith("S"))
        self.assertIn(b"1,048,576            1 100.0%", out)

    def interrupted_reader(self, is_time):
        """What it prints that is interrupted once it catches the signal, and `is_time` of /proc's status."""
        with subprocess.Popen([program.HEDDLE, "size", "capture", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=program.environment()) as reader:
            reader.stdin.write(capture_file.capture(self.writes(1)))
            reader.stdin.flush()
            status = pathlib.Path(f"/proc/{reader.pid}/status")

            def read_status():
                state = dict(line.split(":\t", 1) for line in status.read_text(encoding="utf-8").splitlines()
                             if ":\t" in line)
                return int(state["SigCgt"], 16) >> (signal.SIGINT - 1) & 1, state
            while True:
                caught, state = read_status()
                if caught and is_time(state):
                    break
                os.sched_yield()
            reader.send_signal(signal.SIGINT)
            while read_status()[0]:  # it catches one, and the next one ends it
                os.sched_yield()
            out, errors = reader.communicate(timeout=program.PATIENCE_S)
            self.assertEqual(reader.returncode, 0, errors)
        return out

    def test_a_file_that_is_cut_has_its_figures_and_status_1(self):
        data = capture_file.capture(self.writes(1))
        done = self.read(data[:-10], status=1)
        self.assertIn("255 packets", done.stdout)
        self.assertIn("truncated dump file", done.stderr)
        found = json.loads(self.read(data[:-10], "--json", status=1).stdout)
        self.assertIn("truncated dump file", found["ended_early"])
        self.assertEqual(found["classes"][0]["incomplete_messages"], 1)

    def test_what_is_no_capture_says_why(self):
        for data, why in ((b"no capture at all, but a text", "unknown file format"), (b"", "cannot read"),
                          (b"\x1f\x8b\x08" + bytes(100), "not compressed")):
            done = self.read(data, status=2)
            self.assertEqual(done.stdout, "")
            self.assertIn(why, done.stderr)
        done = program.run("size", "capture", self.file.parent / "none.pcap")
        self.assertEqual(done.returncode, 2)
        self.assertIn("No such file or directory", done.stderr)
        self.assertEqual(program.run("size", "capture").returncode, 2)
        self.assertEqual(program.run("size", "capture", self.file, "--roce-port", "0").returncode, 2)

    def test_an_empty_capture_is_one(self):
        text = self.read(capture_file.capture([])).stdout
        self.assertIn("Ethernet, 0 packets", text)
        self.assertIn("Neither messages of RoCEv2 nor packets of heddle", text)
        self.assertIn("It has no packets: capture on the interface that the job uses", text)

    def test_other_udp_names_the_options_for_its_port(self):
        text = self.read(capture_file.capture(self.writes(1)), "--roce-port", "9").stdout
        self.assertIn("Its UDP has other ports: give --heddle-port or --roce-port", text)

    def test_without_libpcap_it_says_what_to_install(self):
        for name in ("libpcap.so.0.8", "libpcap.so.1"):
            (self.file.parent / name).write_bytes(b"no library")
        done = program.run("size", "capture", self.write(capture_file.capture([])),
                           settings={"LD_LIBRARY_PATH": str(self.file.parent)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get install libpcap0.8", done.stderr)


if __name__ == "__main__":
    unittest.main()
