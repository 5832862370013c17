#!/usr/bin/env python3
"""Bad input gets a clear answer, exit status 2, and nothing hangs."""

import contextlib
import itertools
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import program

WIRE_VERSION = 2
INIT, RETRY, ACCEPT, VERSION, REFUSE, RESET = 1, 2, 3, 4, 5, 6
DATA, CONTROL, CLOSE_FRAME = 8, 9, 6
FULL = 1  # a reason of REFUSE
INIT_BYTES = 512


class BadInput(unittest.TestCase):
    def refused(self, arguments, *wanted, **options):
        """Runs, expects exit status 2 and one line on standard error that has all of `wanted`."""
        done = program.run(*arguments, **options)
        self.assertEqual(done.returncode, 2, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertTrue(done.stderr.startswith("heddle: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in wanted:
            self.assertIn(text, done.stderr, arguments)

    def test_unknown_host(self):
        for command in ("ping", "perf"):
            self.refused((command, "no-such-host.invalid"), "cannot find the host",
                         "no-such-host.invalid")

    def test_nobody_listens(self):
        port = program.free_port()
        for command in ("ping", "perf"):
            self.refused((command, f"127.0.0.1:{port}"), "cannot connect to", "no program listens",
                         f"heddle {command} --listen -p {port}")
            self.refused((command, f"[::1]:{port}"), "cannot connect to", "no program listens")

    def test_no_answer_ends_after_the_handshake_timeout(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            self.refused(("ping", "127.0.0.1", "-p", silent.getsockname()[1], "--set",
                          "handshake_timeout_ms=300"), "cannot connect to", "no host answers")

    def test_port_in_use(self):
        with program.server() as (_, port):
            for command in ("ping", "perf"):
                self.refused((command, "--listen", "-p", port), str(port), "uses it",
                             "choose another port")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become a user without rights")
    def test_no_permission(self):
        first_free = int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
        if first_free < 2:
            self.skipTest("here every user may take every port")
        self.refused(("perf", "--listen", "-p", 1), "permit", "above 1023", user=65534, group=65534,
                     extra_groups=[])

    def test_addresses_that_are_not_ours(self):
        self.refused(("perf", "--listen", "--bind", "192.0.2.1"), "192.0.2.1", "no such address")
        self.refused(("ping", "127.0.0.1", "--bind", "no-such-host.invalid"), "cannot find")

    def test_addresses_of_different_kinds(self):
        """The command once waited for the handshake timeout and reported that no host answers."""
        for command in ("ping", "perf"):
            self.refused((command, "127.0.0.1", "--bind", "::1"), "IPv4", "::1", "--bind")
            self.refused((command, "::1", "--bind", "127.0.0.1"), "IPv6", "127.0.0.1", "--bind")

    def test_impossible_sizes(self):
        for size in program.sample(("0", "-1", "x", "", "1073741825", "2G", "9999999999999999999999", "1.5M", "4Q")):
            self.refused(("perf", "127.0.0.1", "bw", f"--size={size}"))
            self.refused(("ping", "127.0.0.1", f"--size={size}"))
        self.refused(("perf", "127.0.0.1", "-s", "2G"), "at most 1 GiB")
        self.refused(("perf", "127.0.0.1", "-s", "0"), "at least 1 byte")

    def test_impossible_times_and_counts(self):
        for duration in program.sample(("0", "-1", "x", "nan", "1e99")):
            self.refused(("perf", "127.0.0.1", f"--time={duration}"))
        self.refused(("perf", "127.0.0.1", "-t", "1e-9"), "at least 10ms")
        for count in program.sample(("-1", "x", "1.5", "99999999999999999999999")):
            self.refused(("ping", "127.0.0.1", f"--count={count}"), "--count")

    def test_settings_that_cannot_be(self):
        self.refused(("perf", "127.0.0.1", "--paths", "0"), "paths", "1 to 256")
        self.refused(("perf", "127.0.0.1", "--paths", "257"), "paths")
        self.refused(("perf", "127.0.0.1", "--cc", "none"), "none", "cubic")
        self.refused(("perf", "127.0.0.1", "-p", "65536"), "port")
        self.refused(("perf", "127.0.0.1", "--set", "bogus=1"), "bogus")
        self.refused(("perf", "127.0.0.1", "--set", "paths"), "KEY=VALUE")
        self.refused(("perf", "--listen"), "HEDDLE_PORT", settings={"HEDDLE_PORT": "ssh"})
        self.refused(("perf", "127.0.0.1", "--config", "/nonexistent.toml"), "/nonexistent.toml")
        self.refused(("config", "show"), "x.toml:2", "pathes",
                     settings={"HEDDLE_CONFIG": self.file("x.toml", "port = 1\npathes = 3\n")})

    def file(self, name, text):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / name).write_text(text)
        return str(folder / name)

    def test_words_that_are_no_commands(self):
        self.refused(("pong",), "pong", "heddle --help")
        self.refused(("perf",), "host", "heddle perf --help")
        self.refused(("perf", "127.0.0.1", "latency"), "latency", "bw or lat")
        self.refused(("perf", "--listen", "127.0.0.1"), "--listen")
        self.refused(("ping", "127.0.0.1", "--once"), "--listen")
        self.refused(("ping", "127.0.0.1", "--bogus"), "--bogus")
        self.refused(("completion", "tcsh"), "tcsh", "bash, zsh or fish")

    def test_standard_error_that_is_closed_or_full_ends_nothing(self):
        """It ended with an abort: the text of the error could not be written."""
        for stderr in ("&-", "/dev/full"):
            for words, wanted in (("ping no-such-host.invalid", 2), ("pong", 2),
                                  ("config show", 0)):
                done = subprocess.run(["bash", "-c", f"'{program.HEDDLE}' {words} 2>{stderr}"],
                                      stdout=subprocess.DEVNULL, timeout=program.PATIENCE_S,
                                      env=program.environment(HEDDLE_NO_SUCH_SETTING="1"), check=False)
                self.assertEqual(done.returncode, wanted, f"{words} 2>{stderr}")

    def test_hosts_that_are_none(self):
        for host in ("", ":5", "a:b:c:", "host:0", "host:99999", "[::1"):
            self.refused(("ping", host))


class Refused(Exception):
    """With the reason's number on the wire."""


def connect_by_hand(stranger, port, max_posted=1):
    """A handshake of its own with the program at `port`; gives the wire id that it is to use."""
    def parameter(kind, layout, value):
        packed = struct.pack(layout, value)
        return struct.pack("<HH", kind, len(packed)) + packed

    parameters = (parameter(1, "<H", 1) + parameter(2, "<I", 1472) + parameter(3, "<Q", 1 << 16) +
                  parameter(4, "<I", 1) + parameter(5, "<I", max_posted) +
                  parameter(6, "<I", 1024) + parameter(7, "<H", 1) + struct.pack("<H", 0))

    nonce = random.getrandbits(64)

    def init(cookie):
        fixed = struct.pack("<BBHIQqHQB", WIRE_VERSION << 4 | INIT, 0, 0, 77, nonce, 0,
                            stranger.getsockname()[1], 79, len(cookie) > 0)
        packet = fixed + cookie.ljust(24, b"\0") + parameters
        stranger.sendto(packet.ljust(INIT_BYTES, b"\0"), ("127.0.0.1", port))
        return stranger.recv(2048)

    retry = init(b"")
    assert retry[0] == WIRE_VERSION << 4 | RETRY
    accept = init(retry[16:40])
    if accept[0] == WIRE_VERSION << 4 | REFUSE:
        raise Refused(accept[16])
    assert accept[0] == WIRE_VERSION << 4 | ACCEPT
    return struct.unpack_from("<Q", accept, 30)[0]


def introduce(stranger, port, wire_id):
    """Sends perf's hello by hand and waits for the welcome: a client without hello is disconnected after 10 s."""
    text = b'{"hello":1}'
    header = struct.pack("<BBHQQqHHIII", WIRE_VERSION << 4 | DATA, 1, 0, wire_id, 1, 0,
                         stranger.getsockname()[1], 0, 2**32 - 64, 0, len(text))
    stranger.sendto(header + text, ("127.0.0.1", port))
    while b"welcome" not in stranger.recv(2048):
        pass


class ForeignPeers(unittest.TestCase):
    """Peers that speak otherwise, or nonsense."""

    def test_client_names_a_server_of_another_version(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as foreign:
            foreign.bind(("127.0.0.1", 0))
            foreign.settimeout(program.PATIENCE_S)
            port = foreign.getsockname()[1]
            with program.started("ping", "127.0.0.1", "-p", port) as client:
                init, sender = foreign.recvfrom(2048)
                self.assertEqual(init[0], WIRE_VERSION << 4 | INIT)
                connection, nonce, _, reply_port = struct.unpack_from("<IQqH", init, 4)
                answer = struct.pack("<BBHIQBB", WIRE_VERSION << 4 | VERSION, 0, 0, connection,
                                     nonce, 7, 9)
                foreign.sendto(answer, (sender[0], reply_port))
                self.assertEqual(client.wait(), 2)
                self.assertIn("version", client.said())

    def test_server_tells_a_client_of_another_version(self):
        with program.server() as (_, port), \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as foreign:
            foreign.bind(("127.0.0.1", 0))
            foreign.settimeout(program.PATIENCE_S)
            init = struct.pack("<BBHIQqH", 9 << 4 | INIT, 0, 0, 77, 0x1122334455667788, 0,
                               foreign.getsockname()[1])
            foreign.sendto(init.ljust(INIT_BYTES, b"\0"), ("127.0.0.1", port))
            answer = foreign.recv(2048)
            self.assertEqual(answer[0] & 0x0f, VERSION)
            self.assertEqual(struct.unpack_from("<IQ", answer, 4), (77, 0x1122334455667788))
            self.assertLessEqual(answer[16], WIRE_VERSION)
            self.assertGreaterEqual(answer[17], WIRE_VERSION)

    def test_who_connected_before_cannot_end_a_strangers_transfer(self):
        """Ids were a slot and a generation, reused in order; one packet in a peer's name ended its transfer."""
        with program.server() as (_, port), \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.bind(("127.0.0.1", 0))
            stranger.settimeout(program.PATIENCE_S)
            known = connect_by_hand(stranger, port)
            with program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "1",
                                 "--check") as client:
                client.wait_for(r"path")
                tries = [(known + step) % (1 << 64) for step in range(-300, 301) if step != 0]
                tries += [generation << 16 | slot for slot in range(4) for generation in range(1, 400)]
                reply_port = stranger.getsockname()[1]
                for wire_id in tries:
                    header = struct.pack("<BBHQQqH", WIRE_VERSION << 4 | CONTROL, 0, 0, wire_id, 0, 0,
                                         reply_port)
                    for reason in (1, 2, 4):  # aborted, protocol error, not heard
                        stranger.sendto(header + bytes((CLOSE_FRAME, reason)), ("127.0.0.1", port))
                self.assertEqual(client.wait(), 0, client.said())

    def test_strangers_beyond_the_budget_are_refused_and_whoever_is_in_stays(self):
        listening = ("perf", "--listen", "-p", program.free_port(), "--set")
        small = program.run(*listening, "stranger_bytes=67108864")
        self.assertEqual(small.returncode, 2)
        # Beside the client there is space for some ten of the largest strangers.
        budget = int(re.search(r"set it to (\d+) or more", small.stderr)[1]) + (8 << 20)
        # Strangers that answer no probe stay until the test ends.
        with program.server("--set", f"stranger_bytes={budget}",
                            "--set", "peer_dead_after_ms=600000") as (serving, port), \
                contextlib.ExitStack() as strangers, \
                program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "600", "-s", "64K",
                                "--check") as client:
            client.wait_for(r"path")
            accepted = 0
            for most in (1 << 14, 1):  # what remains beside large ones is too little for a small one in the end
                with self.assertRaises(Refused) as refusal:
                    for _ in range(100):
                        stranger = strangers.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                        stranger.bind(("127.0.0.1", 0))
                        stranger.settimeout(program.PATIENCE_S)
                        introduce(stranger, port, connect_by_hand(stranger, port, max_posted=most))
                        accepted += 1
                self.assertEqual(refusal.exception.args, (FULL,))
            self.assertGreater(accepted, 5)
            late = program.run("perf", "127.0.0.1", "bw", "-p", port, "-t", "0.1")
            self.assertEqual(late.returncode, 2, late.stdout)
            self.assertIn("raise stranger_bytes there", late.stderr)
            self.assertIsNone(client.process.poll(), client.said())
            client.signal(signal.SIGINT)  # the end of a client gives back what it held of the budget
            self.assertEqual(client.wait(), 130, client.said())
            self.assertRegex(client.said(), r"messages += [1-9]")
            status = pathlib.Path(f"/proc/{serving.process.pid}/status").read_text(encoding="ascii")
            resident = int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024
            self.assertLess(resident, budget)

    def test_garbage_and_truncated_packets_do_not_disturb_a_transfer(self):
        seed = random.randrange(1 << 32)
        noise = random.Random(seed)
        with program.server() as (serving, port), \
                program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "1.5",
                                "--check") as client, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            client.wait_for(r"path")
            for number in itertools.count():
                if client.process.poll() is not None:
                    break
                if number % 16 == 0:  # what they hold is to disturb the transfer, not that they keep a socket full
                    time.sleep(0.0005)
                data = noise.randbytes(noise.choice((0, 1, 3, 29, 30, 43, 44, 45, 511, 512, 1400)))
                if data and noise.random() < 0.8:  # mostly near what the parser takes
                    kind = noise.choice((INIT, RETRY, ACCEPT, VERSION, REFUSE, RESET, 8, 9, 10, 0))
                    data = bytes([WIRE_VERSION << 4 | kind]) + data[1:]
                sender.sendto(data, ("127.0.0.1", port))
            self.assertEqual(client.wait(), 0, f"seed {seed}: {client.said()}")
            self.assertIsNone(serving.process.poll(), f"seed {seed}: {serving.said()}")
            done = program.run("ping", "127.0.0.1", "-p", port, "-C", 3)
            self.assertEqual(done.returncode, 0, f"seed {seed}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
