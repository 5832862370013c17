#!/usr/bin/env python3
"""Peers that die, stop, or are interrupted: the other side says so in time and never hangs."""

import re
import signal
import time
import unittest

import program

SAID_WITHIN_S = 10  # in the default configuration


class Death(unittest.TestCase):
    def test_server_killed_in_mid_transfer(self):
        for arguments in (("bw",), ("lat",), ("bw", "--bidirectional")):
            with program.server() as (serving, port), \
                    program.started("perf", "127.0.0.1", *arguments, "-p", port, "-t",
                                    "60") as client:
                client.wait_for(r"path")
                time.sleep(0.5)  # into the transfer
                serving.signal(signal.SIGKILL)
                killed_at = time.monotonic()
                self.assertEqual(client.wait(), 2, client.said())
                self.assertLess(time.monotonic() - killed_at, SAID_WITHIN_S)
                self.assertRegex(client.errors[-1], r"^heddle: ")
                self.assertNotIn("unknown", client.said())
                self.assertNotIn("segments         = 0 bytes", client.said())

    def test_client_killed_and_server_goes_on(self):
        with program.server() as (serving, port):
            with program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "60") as client:
                client.wait_for(r"path")
                time.sleep(0.5)
                client.signal(signal.SIGKILL)
                client.wait()
                killed_at = time.monotonic()
                serving.wait_for(r"gone: ")
                self.assertLess(time.monotonic() - killed_at, SAID_WITHIN_S)
            done = program.run("ping", "127.0.0.1", "-p", port, "-C", 3)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_client_killed_ends_a_server_that_serves_once(self):
        with program.server("--once") as (serving, port):
            with program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "60") as client:
                client.wait_for(r"path")
                time.sleep(0.5)
                client.signal(signal.SIGKILL)
            self.assertEqual(serving.wait(SAID_WITHIN_S), 2, serving.said())

    def test_one_client_dies_and_the_other_does_not_notice(self):
        with program.server() as (_, port), \
                program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "3",
                                "--check") as living:
            living.wait_for(r"path")
            with program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "60") as dying:
                dying.wait_for(r"path")
                time.sleep(0.3)
                dying.signal(signal.SIGKILL)
            self.assertEqual(living.wait(), 0, living.said())


class Stop(unittest.TestCase):
    """SIGSTOP stops all threads of a process; its sockets stay open and unserved."""

    def test_stopped_server_is_found(self):
        with program.server() as (serving, port), \
                program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "60", "--set",
                                "peer_dead_after_ms=1500") as client:
            client.wait_for(r"path")
            time.sleep(0.5)
            serving.signal(signal.SIGSTOP)
            stopped_at = time.monotonic()
            try:
                self.assertEqual(client.wait(), 2, client.said())
                self.assertGreater(time.monotonic() - stopped_at, 1.0)
                self.assertLess(time.monotonic() - stopped_at, SAID_WITHIN_S)
                self.assertIn("answer", client.said())
            finally:
                serving.signal(signal.SIGCONT)

    def test_server_that_goes_on_in_time_heals(self):
        with program.server() as (serving, port), \
                program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "4",
                                "--check") as client:
            client.wait_for(r"path")
            time.sleep(0.5)
            serving.signal(signal.SIGSTOP)
            time.sleep(2)
            serving.signal(signal.SIGCONT)
            self.assertEqual(client.wait(), 0, client.said())


class Interrupt(unittest.TestCase):
    def test_client_sums_up_and_server_notices(self):
        with program.server() as (serving, port), \
                program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "60") as client:
            client.wait_for(r"path")
            time.sleep(0.5)
            client.signal(program.INTERRUPT)
            self.assertEqual(client.wait(SAID_WITHIN_S), 130, client.said())
            self.assertTrue(any(re.search(r"goodput +=", line) for line in client.lines))
            for row in (r"paths += 16: [\d.]+ ", r"segments += [1-9][\d,]+ bytes, round trip ",
                        r"retransmitted += [\d.]+ %"):
                self.assertTrue(any(re.search(row, line) for line in client.lines), client.said())
            serving.wait_for(r"gone: ", SAID_WITHIN_S)

    def test_counters_of_an_interrupted_latency_test_are_known(self):
        with program.server() as (_, port), \
                program.started("perf", "127.0.0.1", "lat", "-p", port, "-t", "60") as client:
            client.wait_for(r"path")
            time.sleep(0.5)
            client.signal(program.INTERRUPT)
            self.assertEqual(client.wait(SAID_WITHIN_S), 130, client.said())
            self.assertTrue(any(re.search(r"retransmitted += [\d.]+ %", line) for line in client.lines),
                            client.said())

    def test_ping_sums_up(self):
        with program.server(command="ping") as (_, port), \
                program.started("ping", "127.0.0.1", "-p", port, "-v") as client:
            client.wait_for(r"heddle-ping-10:")
            client.signal(program.INTERRUPT)
            self.assertEqual(client.wait(SAID_WITHIN_S), 130, client.said())
            client.wait_for(r"min/avg/max/p99")

    def test_ping_between_two_rounds_does_not_wait_for_the_next(self):
        with program.server(command="ping") as (_, port), \
                program.started("ping", "127.0.0.1", "-p", port, "-v", "-i", "3600") as client:
            client.wait_for(r"heddle-ping-0:")
            time.sleep(0.5)  # into the interval
            client.signal(program.INTERRUPT)
            self.assertEqual(client.wait(SAID_WITHIN_S), 130, client.said())
            client.wait_for(r"^1 round of")

    def test_server_stops_and_its_client_says_so(self):
        with program.server() as (serving, port), \
                program.started("perf", "127.0.0.1", "bw", "-p", port, "-t", "60") as client:
            client.wait_for(r"path")
            time.sleep(0.5)
            serving.signal(program.INTERRUPT)
            self.assertEqual(serving.wait(SAID_WITHIN_S), 130, serving.said())
            self.assertIn("stopped; 1 client served", serving.said())
            self.assertEqual(client.wait(SAID_WITHIN_S), 2, client.said())

    def test_terminated_server_ends_with_its_signal(self):
        with program.server() as (serving, _):
            serving.signal(signal.SIGTERM)
            self.assertEqual(serving.wait(SAID_WITHIN_S), 143)


if __name__ == "__main__":
    unittest.main()
