#!/usr/bin/env python3
"""Links with a delay in a lab: how long a question and its answer take at least, in which order packets arrive, and
what is left when the lab, its owner or the forwarder ends.

Needs root and network namespaces; skipped where they are not allowed: exit status 77.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lab_fabric
import program
from lab_fabric import Lab, heddle

CABLE = """version = 1
[fabric]
kind = "point_to_point"
[host_link]
rate = "100Mbit/s"
queue = "125KB"
mtu = 1500
delay = "4ms"
"""
DELAY_S = 0.004

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
[switch_link]
delay = "2ms"
"""

# Answers forever, or the given number of times.
_ECHO = """
import itertools, socket, sys
answers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
answers.bind(("", 7777))
print("begun", flush=True)
for _ in range(int(sys.argv[1])) if len(sys.argv) > 1 else itertools.count():
    text, asker = answers.recvfrom(2000)
    answers.sendto(text, asker)
"""

# Sends the given number of requests at once; prints the shortest round trip in seconds, and the answers in order.
_ASK = """
import json, socket, sys, time
to, count = sys.argv[1], int(sys.argv[2])
asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asks.settimeout(20)
sent = {}
for number in range(count):
    sent[number] = time.monotonic()
    asks.sendto(number.to_bytes(4, "big") + bytes(number % 251 for _ in range(number % 1000)), (to, 7777))
shortest, order = 1e9, []
for _ in range(count):
    text = asks.recv(2000)
    number = int.from_bytes(text[:4], "big")
    assert text[4:] == bytes(number % 251 for _ in range(number % 1000))
    shortest = min(shortest, time.monotonic() - sent[number])
    order.append(number)
print(json.dumps({"shortest_s": shortest, "order": order}))
"""

# Ends the forwarder of the lab that this runs in, and waits until `heddle lab run` has had time to see it.
_KILL_FORWARDER = """
import json, os, subprocess, sys, time
listed = subprocess.run([sys.argv[1], "lab", "list", "--json"], capture_output=True, check=True).stdout
labs = json.loads(listed)["labs"]
os.kill(next(lab for lab in labs if lab["name"] == os.environ["HEDDLE_LAB"])["delays"]["process"], 9)
time.sleep(1.2)
"""


def is_alive(process):
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class Delays(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        self.name = f"delay-{os.getpid()}"
        self.addCleanup(lambda: heddle("lab", "down", self.name, check=False))

    def written(self, text, name="delayed.toml"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def up(self, text):
        lab = Lab(self.folder, text, "delays")
        self.addCleanup(lab.close)
        self.name = lab.name
        return lab

    def listed(self):
        labs = json.loads(heddle("lab", "list", "--json").stdout)["labs"]
        return next(lab for lab in labs if lab["name"] == self.name)

    def forwarder(self):
        delays = self.listed()["delays"]
        if delays["by"] == "netem":
            self.skipTest("this kernel has netem, so there is no forwarder")
        self.assertTrue(is_alive(delays["process"]))
        return delays["process"]

    def wait_until_dead(self, process):
        end = time.monotonic() + program.PATIENCE_S
        while is_alive(process):
            self.assertLess(time.monotonic(), end, f"process {process} lives on")
            time.sleep(0.01)

    def assert_gone(self):
        self.assertFalse(os.path.exists(f"/run/heddle/labs/{self.name}"))
        left = [each for each in os.listdir("/run/netns") if each.startswith(f"heddle.{self.name}.")]
        self.assertEqual(left, [])

    def echo(self, lab, host):
        server = lab.start(host, sys.executable, "-c", _ECHO)
        self.assertEqual(server.stdout.readline().strip(), "begun")
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

    def asked(self, lab, host, to, count):
        return json.loads(lab.exec(host, sys.executable, "-c", _ASK, to, str(count)))

    def started(self):
        """A run that has begun its command."""
        running = program.Process("lab", "run", self.written(CABLE), "--lab", self.name, "--", "sh", "-c",
                                  "echo begun; exec sleep 300")
        self.addCleanup(running.close)
        running.wait_for("begun")
        return running

    def test_round_trip_takes_at_least_twice_the_delay(self):
        lab = self.up(CABLE)
        self.echo(lab, "h1")
        self.assertGreaterEqual(self.asked(lab, "h0", "10.0.1.1", 10)["shortest_s"], 2 * DELAY_S)

    def test_delays_of_a_path_add_up(self):
        lab = self.up(FABRIC)
        self.echo(lab, "h1")
        self.assertGreaterEqual(self.asked(lab, "h0", "10.0.1.1", 10)["shortest_s"], 4 * 0.002)

    def test_packets_keep_their_order_and_their_bytes(self):
        lab = self.up(CABLE)
        self.echo(lab, "h1")
        self.assertEqual(self.asked(lab, "h0", "10.0.1.1", 100)["order"], list(range(100)))

    def test_up_says_what_makes_the_delay(self):
        done = heddle("lab", "up", self.written(CABLE), "--lab", self.name)
        by = {"netem": "netem", "forwarder": "heddle's forwarder"}[self.listed()["delays"]["by"]]
        self.assertIn(f"1 links, 1 delayed by {by}", done.stdout)
        self.assertEqual(self.listed()["delays"]["links"], 1)

    def test_default_delay_needs_no_forwarder(self):
        lab = self.up(lab_fabric.LEAF_SPINE)
        self.assertEqual(self.listed()["delays"], {"by": "none", "links": 0, "process": 0, "trouble": ""})
        self.assertNotIn("delay", lab.said)

    def test_delays_too_short_for_a_lab_are_told(self):
        self.assertIn("delays below 50 us are not made", self.up(CABLE.replace("4ms", "10us")).said)

    def test_down_leaves_nothing_behind(self):
        heddle("lab", "up", self.written(CABLE), "--lab", self.name)
        process = self.forwarder()
        heddle("lab", "down", self.name)
        self.wait_until_dead(process)
        self.assert_gone()

    def test_forwarder_ends_with_the_run_that_is_killed(self):
        running = self.started()
        process = self.forwarder()
        running.process.kill()
        running.wait()
        self.wait_until_dead(process)
        self.assertEqual(self.listed()["status"], "left over")
        heddle("lab", "down", self.name)
        self.assert_gone()

    def test_signals_end_the_forwarder(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number=number):
                running = self.started()
                process = self.forwarder()
                running.process.send_signal(number)
                running.process.send_signal(number)  # twice: at once
                running.wait()
                self.wait_until_dead(process)
                self.assert_gone()

    def test_forwarder_that_dies_is_reported_by_run(self):
        done = heddle("lab", "run", self.written(CABLE), "--lab", self.name, "--", sys.executable, "-c",
                      _KILL_FORWARDER, program.HEDDLE, check=False)
        self.assertIn("the forwarder of delayed links", done.stderr)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assert_gone()

    def test_forwarder_that_dies_is_reported_by_list_status_and_exec(self):
        heddle("lab", "up", self.written(CABLE), "--lab", self.name)
        process = self.forwarder()
        os.kill(process, signal.SIGKILL)
        self.wait_until_dead(process)
        sentence = f"the forwarder of delayed links (process {process}) has ended"
        self.assertIn(sentence, self.listed()["delays"]["trouble"])
        self.assertIn("up, without its delays", heddle("lab", "list").stdout)
        self.assertIn(sentence, heddle("lab", "status", "--lab", self.name, "--interval", "0.05").stdout)
        self.assertIn(sentence, heddle("lab", "exec", "h0", "--lab", self.name, "--", "true").stderr)
        heddle("lab", "down", self.name)
        self.assert_gone()

    def test_link_that_goes_down_takes_both_carriers_and_comes_back(self):
        lab = self.up(FABRIC)
        self.echo(lab, "h1")
        self.asked(lab, "h0", "10.0.1.1", 3)
        carrier = ("cat", "/sys/class/net/spine0/carrier")
        self.assertEqual(lab.exec("leaf0", *carrier).strip(), "1")
        heddle("lab", "fault", "--lab", lab.name, "down", "leaf0", "spine0")
        self.assertEqual(lab.exec("leaf0", *carrier).strip(), "0")
        heddle("lab", "fault", "--lab", lab.name, "up", "leaf0", "spine0")
        self.assertEqual(lab.exec("leaf0", *carrier).strip(), "1")
        self.assertGreaterEqual(self.asked(lab, "h0", "10.0.1.1", 3)["shortest_s"], 4 * 0.002)

    def test_bad_delays_are_told_with_their_line(self):
        cases = {'delay = "fast"': "which is no time", 'delay = "-1us"': "which is no time", "delay = 4": "delay",
                 'delay = "11s"': "more than 10 s", 'dellay = "1ms"': "dellay"}
        for line, why in cases.items():
            with self.subTest(line=line):
                file = self.written(CABLE.replace('delay = "4ms"', line), "bad.toml")
                done = heddle("lab", "run", file, "--", "true", check=False)
                self.assertEqual(done.returncode, 125)
                self.assertIn("bad.toml:8: ", done.stderr)
                self.assertIn(why, done.stderr)

    def test_nobody_has_delays_in_a_user_namespace(self):
        become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        where = os.path.join(self.folder, "heddle")
        shutil.copy(program.HEDDLE, where)
        probe = subprocess.run([*become, "unshare", "--user", "--map-root-user", "--net", "--mount", "true"],
                               capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            self.skipTest("user namespaces are not allowed here: " + probe.stderr.strip())
        python = shutil.which("python3", path="/usr/bin:/bin")
        if python is None:
            self.skipTest("there is no Python that any user may run")
        echo, ask = self.written(_ECHO, "echo.py"), self.written(_ASK, "ask.py")
        script = (f"{where} lab exec h1 -- {python} {echo} 5 | (read begun; "
                  f"{where} lab exec h0 -- {python} {ask} 10.0.1.1 5)")
        done = subprocess.run([*become, where, "lab", "run", self.written(CABLE), "--", "sh", "-c", script],
                              capture_output=True, text=True, check=False, env=program.environment(),
                              timeout=program.PATIENCE_S)
        self.assertIn('"shortest_s"', done.stdout, done.stderr)
        self.assertGreaterEqual(json.loads(done.stdout)["shortest_s"], 2 * DELAY_S)


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
