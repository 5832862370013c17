#!/usr/bin/env python3
"""heddle relay: perf through one and two relays, killed in the middle, full, with a wrong key, to a host that is not
allowed; and over a cable with a delay, where that can be made.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import tempfile
import time
import unittest
import urllib.request

import lab_fabric
import program

METRICS = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/metrics.md"
SITES = """version = 1
[[host]]
name = "sender"
[[host]]
name = "relay"
[[host]]
name = "receiver"
[[switch]]
name = "site"
[[link]]
ends = ["sender", "site"]
rate = "1Gbit/s"
[[link]]
ends = ["relay", "site"]
rate = "1Gbit/s"
[[link]]
ends = ["receiver", "site"]
rate = "1Gbit/s"
delay = "3ms"
"""

# A peer that was killed is dead after this, with keys; a handshake without an answer ends.
QUICK = {"HEDDLE_PEER_DEAD_AFTER_MS": "3000", "HEDDLE_HANDSHAKE_TIMEOUT_MS": "3000"}
# An end that waits for its timeout of 30 s takes longer than this.
SOON_S = 20


def metric(page, name):
    """The value of a metric without labels."""
    return float(re.search(rf"(?m)^{name} (\S+)$", page).group(1))


class Relay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rl")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.settings = {**QUICK, "HEDDLE_KEY_FILE": self.new_key("key")}
        self.port = program.free_port()

    def new_key(self, name):
        path = str(self.folder / name)
        self.assertEqual(program.run("key", "generate", path).returncode, 0)
        return path

    @contextlib.contextmanager
    def relay(self, to, *more, port=None, settings=None):
        port = port or program.free_port()
        with program.started("relay", "--to", to, "-p", port, *more,
                             settings=settings or self.settings) as process:
            if "--json" in more:
                process.wait_for_port(port)
            else:
                process.wait_for("relays on")
            yield process, port

    @contextlib.contextmanager
    def server(self, *more):
        with program.started("perf", "--listen", "--relayed", "-p", self.port, *more,
                             settings=self.settings) as process:
            process.wait_for("listens on")
            yield process

    def perf(self, relays, *more, settings=None):
        return program.run(*self.words(relays, *more), settings=settings or self.settings)

    def words(self, relays, *more):
        route = ",".join(f"127.0.0.1:{port}" for port in relays)
        return ("perf", "127.0.0.1", "-p", self.port, "--relay", route, *more)

    def expect_measured(self, done, tests=("bw", "lat")):
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual([test["test"] for test in document["tests"]], list(tests))
        for test in document["tests"]:
            self.assertTrue(test["complete"], test)
        return document["tests"]

    def test_messages_pass_two_relays_unchanged(self):
        with self.server("--once") as server, self.relay(f"127.0.0.1:{self.port}") as (far, far_port):
            with self.relay(f"127.0.0.1:{far_port}") as (near, near_port):
                done = self.perf((near_port, far_port), "bw", "lat", "-t", "0.5", "--check", "--json")
                bandwidth, _ = self.expect_measured(done)
                self.assertGreater(bandwidth["server"]["received"]["messages"], 0)
                self.assertEqual(bandwidth["server"]["received"]["wrong_messages"], 0)
                self.assertEqual(server.wait(), 0)
                near.wait_for("there, .* back, in")
                near.signal(signal.SIGINT)
                self.assertEqual(near.wait(), 130)
                self.assertIn("stopped; 1 session relayed", near.said())
                far.signal(signal.SIGTERM)
                self.assertEqual(far.wait(), 143)

    def test_both_directions_at_once(self):
        with self.server(), self.relay(f"127.0.0.1:{self.port}") as (_, port):
            self.expect_measured(self.perf((port,), "bw", "-t", "0.5", "--check", "--bidirectional", "--json"), ("bw",))

    def page_with(self, port, name, least):
        """The page of a relay's metrics, once one of them has this value or more."""
        end = time.monotonic() + program.PATIENCE_S
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=program.PATIENCE_S) as answer:
                page = answer.read().decode()
            if metric(page, name) >= least:
                return page
            self.assertLess(time.monotonic(), end, page)
            time.sleep(0.02)

    def kill_and_start(self, number):
        shown = program.free_port()
        with self.server("--once") as server, contextlib.ExitStack() as relays:
            _, far_port = relays.enter_context(self.relay(f"127.0.0.1:{self.port}"))
            near, near_port = relays.enter_context(self.relay(f"127.0.0.1:{far_port}", "--metrics", shown))
            # Long enough to be in mid-transfer when the relay has ended, also where programs wait for a core.
            with program.started(*self.words((near_port, far_port), "bw", "-t", "8", "--check", "--json"),
                                 settings=self.settings) as client:
                self.page_with(shown, "heddle_relay_bytes_total", 1 << 20)
                near.signal(number)
                near.wait()
                relays.enter_context(self.relay(f"127.0.0.1:{far_port}", port=near_port))
                self.assertEqual(client.wait(), 0, client.said())
                test, = json.loads("\n".join(client.lines))["tests"]
            self.assertEqual(server.wait(), 0, server.said())
        received = test["server"]["received"]
        self.assertEqual((received["wrong_messages"], received["messages"]), (0, test["messages"]))
        # The figures show the gap, and that it ended.
        self.assertGreater(received["longest_gap_us"], 20_000)

    def test_a_relay_that_is_killed_in_the_middle_and_started_again(self):
        self.kill_and_start(signal.SIGKILL)

    def test_a_relay_that_is_stopped_in_the_middle_and_started_again(self):
        self.kill_and_start(signal.SIGTERM)

    def test_a_relay_holds_no_more_than_its_memory(self):
        with self.server(), self.relay(f"127.0.0.1:{self.port}", "--memory", "4M", "--sessions", "2",
                                       "--json") as (relay, port):
            self.expect_measured(self.perf((port,), "bw", "-t", "0.5", "-s", "8M", "--check", "--json"), ("bw",))
            relay.signal(signal.SIGINT)
            self.assertEqual(relay.wait(), 130, relay.said())
            document = json.loads("\n".join(relay.lines))
        self.assertLessEqual(document["most_held_bytes"], 1 << 20)
        self.assertGreater(document["bytes"], 8 << 20)
        self.assertEqual((document["sessions"], document["refused"], document["interrupted"]), (1, 0, True))
        record, = document["records"]
        self.assertEqual((record["to"], record["end"]), (f"127.0.0.1:{self.port}", "closed"))

    def test_more_sessions_than_allowed_are_refused_with_the_reason(self):
        with self.server(), self.relay(f"127.0.0.1:{self.port}", "--sessions", "1") as (_, port):
            with program.started(*self.words((port,), "bw", "-t", "600"), settings=self.settings) as first:
                first.wait_for("through")
                second = self.perf((port,), "lat", "-t", "0.1")
                self.assertEqual(second.returncode, 2)
                self.assertIn("it forwards 1 session already", second.stderr)
                first.signal(signal.SIGINT)
                self.assertEqual(first.wait(), 130)

    def test_keys(self):
        refused = program.run("relay", "--to", "127.0.0.1")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("anyone who reaches this port could send to the destinations", refused.stderr)
        stranger = {**QUICK, "HEDDLE_KEY_FILE": self.new_key("other")}
        with self.server(), self.relay(f"127.0.0.1:{self.port}") as (relay, port):
            done = self.perf((port,), "lat", "-t", "0.1", settings=stranger)
            self.assertEqual(done.returncode, 2)
            self.assertIn("proves to hold the cluster key", done.stderr)
            done = self.perf((port,), "lat", "-t", "0.1", settings=QUICK)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(len(relay.lines), 1, relay.said())  # neither became a session
            self.expect_measured(self.perf((port,), "lat", "-t", "0.1", "--json"), ("lat",))

    def test_without_keys_where_the_user_says_so(self):
        self.settings = QUICK
        with self.server(), self.relay(f"127.0.0.1:{self.port}", "--without-keys") as (_, port):
            self.expect_measured(self.perf((port,), "lat", "-t", "0.1", "--json"), ("lat",))

    def test_destinations_that_are_not_listed(self):
        with self.server(), self.relay("127.0.0.2,127.0.0.1:1") as (relay, port):
            done = self.perf((port,), "lat", "-t", "0.1")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"the relay does not forward to 127.0.0.1:{self.port}", done.stderr)
            self.assertIn("it is not among the relay's destinations", done.stderr)
            relay.wait_for("refused: the relay does not forward")

    def test_a_destination_where_nothing_listens(self):
        with self.relay(f"127.0.0.1:{self.port}") as (_, port):
            done = self.perf((port,), "lat", "-t", "0.1")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"cannot connect to 127.0.0.1:{self.port}", done.stderr)

    def test_a_relay_that_is_not_there(self):
        done = self.perf((program.free_port(),), "lat", "-t", "0.1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot open a session through the relay", done.stderr)
        self.assertIn("start 'heddle relay' there", done.stderr)

    def test_ctrl_c_at_the_client_ends_the_session_everywhere(self):
        shown = program.free_port()
        with self.server("--once") as server, \
                self.relay(f"127.0.0.1:{self.port}", "--metrics", shown) as (relay, port):
            with program.started(*self.words((port,), "bw", "-t", "600"), settings=self.settings) as client:
                client.wait_for("through")
                self.page_with(shown, "heddle_relay_bytes_total", 1 << 20)
                client.signal(signal.SIGINT)
                self.assertEqual(client.wait(SOON_S), 130)
            relay.wait_for("there, .* back, in", timeout=SOON_S)
            self.assertEqual(server.wait(SOON_S), 2, server.said())

    def test_wrong_words(self):
        for words, why in (((), "--to"), (("--to", "no.such.host.invalid"), "no.such.host.invalid"),
                           (("--to", "127.0.0.1", "--memory", "4M", "--sessions", "100"), "they need at least"),
                           (("--to", "127.0.0.1", "--fec", "10"), "it is neither off nor DATA:PARITY"),
                           (("--to", "127.0.0.1", "--fec", "2:3"), "no more than data"),
                           (("--to", "127.0.0.1", "--fec", "10:2", "--set", "datapath=verbs"),
                            "what a NIC writes remotely has no parity"),
                           (("--to", "127.0.0.1:0"), "a port is a number from 1 to 65535")):
            done = program.run("relay", "--without-keys", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(why, done.stderr)
        many = self.perf(range(1, 12), "lat")
        self.assertEqual(many.returncode, 2)
        self.assertIn("1 to 7 are possible", many.stderr)

    def test_metrics(self):
        shown = program.free_port()
        with self.server(), self.relay(f"127.0.0.1:{self.port}", "--metrics", shown) as (_, port):
            self.expect_measured(self.perf((port,), "lat", "-t", "0.1", "--json"), ("lat",))
            page = self.page_with(shown, "heddle_relay_sessions_total", 1)
        self.assertEqual(metric(page, "heddle_relay_sessions_total"), 1)
        reference = METRICS.read_text(encoding="utf-8")
        listed = re.findall(r"\| `(heddle_relay_\w+)` \| (\w+) \|", reference)
        self.assertEqual(set(re.findall(r"^# TYPE (heddle_relay_\w+) (\w+)$", page, re.MULTILINE)), set(listed))

    def fec_counts(self, settings):
        with program.started("perf", "--listen", "--relayed", "-p", self.port, settings=settings) as server:
            server.wait_for("listens on")
            with self.relay(f"127.0.0.1:{self.port}", "--fec", "4:1", "--json") as (relay, port):
                self.expect_measured(self.perf((port,), "bw", "-t", "0.5", "-s", "64K", "--check", "--json"), ("bw",))
                relay.signal(signal.SIGINT)
                self.assertEqual(relay.wait(), 130, relay.said())
                return json.loads("\n".join(relay.lines))

    def test_parity_goes_to_peers_that_read_it(self):
        without = self.fec_counts(self.settings)
        self.assertEqual((without["fec"], without["parity_sent"], without["parity_received"]), ("4:1", 0, 0))
        both = self.fec_counts({**self.settings, "HEDDLE_FEC": "8:2"})
        self.assertGreater(both["parity_sent"], 0)
        self.assertGreater(both["parity_received"], 0)

    @unittest.skipIf(lab_fabric.missing(), str(lab_fabric.missing()))
    def test_losses_on_the_way_to_a_far_host_are_repaired(self):
        lab, addresses = self.lab(SITES + 'loss = "1%"\n')
        self.start_in(lab, "receiver", "perf", "--listen", "--relayed", "--set", "fec=10:2")
        relay = self.start_in(lab, "relay", "relay", "--to", addresses["receiver"], "--without-keys", "--fec", "10:2")
        output = lab.exec("sender", program.HEDDLE, "perf", addresses["receiver"], "bw", "-t", "1", "-s", "64K",
                          "--check", "--bidirectional", "--relay", addresses["relay"], "--json")
        bandwidth, = json.loads(output)["tests"]
        self.assertEqual(bandwidth["server"]["received"]["wrong_messages"], 0)
        relay.send_signal(signal.SIGINT)
        said = relay.stdout.read()
        sent, received, rebuilt = re.search(r"fec 10:2: (\d+) of parity sent, (\d+) received, (\d+) datagram",
                                            said).groups()
        self.assertGreater(min(int(sent), int(received), int(rebuilt)), 0, said)

    def lab(self, sites):
        lab = lab_fabric.Lab(self.folder, sites, "rl")
        self.addCleanup(lab.close)
        addresses = {host["name"]: host["nics"][0]["ipv4"]
                     for one in json.loads(lab_fabric.heddle("lab", "list", "--json").stdout)["labs"]
                     if one["name"] == lab.name for host in one["hosts"]}
        return lab, addresses

    def start_in(self, lab, host, *words):
        process = lab.start(host, program.HEDDLE, *words)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.assertIn("on", process.stdout.readline())
        return process

    @unittest.skipIf(lab_fabric.missing(), str(lab_fabric.missing()))
    def test_a_far_host(self):
        lab, addresses = self.lab(SITES)
        self.start_in(lab, "receiver", "perf", "--listen", "--relayed")
        self.start_in(lab, "relay", "relay", "--to", addresses["receiver"], "--without-keys")
        output = lab.exec("sender", program.HEDDLE, "perf", addresses["receiver"], "bw", "lat", "-t", "1", "-s", "64K",
                          "--check", "--relay", addresses["relay"], "--json")
        bandwidth, latency = json.loads(output)["tests"]
        self.assertEqual(bandwidth["server"]["received"]["wrong_messages"], 0)
        # 3 ms each way, and no further round trip.
        self.assertGreater(latency["half_round_trip_us_min"], 3000)
        self.assertLess(latency["half_round_trip_us_min"], 6000)


if __name__ == "__main__":
    os.environ.pop("HEDDLE_KEY_FILE", None)
    unittest.main()
