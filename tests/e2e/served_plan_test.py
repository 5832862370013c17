#!/usr/bin/env python3
"""heddle monitor --plan: a plan is kept on a job's machine, whose running processes follow it; what is no plan is
refused, and the one before stays, also once the monitor has gone."""

import json
import pathlib
import signal
import tempfile
import time
import unittest

import program

PLAN = {"version": 2, "addresses": {"a": ["127.0.0.1"], "b": ["127.0.0.2"], "s": ["127.0.0.9"]},
        "flows": [{"from": one, "to": other, "paths": [{"path": 0, "source_port": 0, "share_per_million": 1_000_000,
                                                        "via": ["s"]}]} for one, other in (("a", "b"), ("b", "a"))]}

# As ssh is, but to this machine: it can be down, or stand still with the order that it has got.
SHELL = """#!/bin/sh
shift
cd "$(dirname "$0")"
[ -e down ] && exit 255
[ -e frozen ] || exec env -i PATH="$PATH" sh -c "$*"
exec 3<&0
setsid sh -c 'cat > order
while [ ! -e thawed ]; do sleep 0.1; done
(cat order; sleep 2) | env -i PATH="$PATH" sh -c "$*" > said 2>&1
mv said answered' rsh "$@" <&3 >/dev/null 2>&1 &
wait
"""


def wait_until(condition, within=program.PATIENCE_S):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true in time")
        time.sleep(0.05)


class ServedPlan(unittest.TestCase):
    """By a remote shell as ssh is, but to this machine."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-served-plan-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.here = self.place / "plan.json"
        self.there = self.place / "there" / "plan.json"
        self.there.parent.mkdir()
        self.shell = self.place / "rsh"
        self.shell.write_text(SHELL)
        self.shell.chmod(0o755)

    def serve(self, plan):
        """Writes the plan as an operator should."""
        fresh = self.place / "fresh"
        fresh.write_text(plan if isinstance(plan, str) else json.dumps(plan))
        fresh.rename(self.here)

    def plan_for(self, name):
        return json.loads(json.dumps(PLAN).replace('"s"', f'"{name}"'))

    def monitor(self):
        monitor = self.enterContext(program.started(
            "monitor", str(self.place / "job"), "--hosts", "127.0.0.1", "--via", f"{self.shell} {{host}} {{command}}",
            "--plan", str(self.here), "--plan-file", str(self.there), settings={"TMPDIR": str(self.place)}))
        return monitor

    def on_machine(self):
        return json.loads(self.there.read_text()) if self.there.exists() else None

    def left_behind(self):
        return [each.name for each in self.there.parent.iterdir() if each != self.there]

    def test_a_running_job_follows_what_the_monitor_serves(self):
        self.serve(self.plan_for("s"))
        monitor = self.monitor()
        monitor.wait_for("it is on 1 of 1 machines")
        self.assertEqual(self.on_machine(), self.plan_for("s"))
        port = program.free_port()
        at = ("--set", "bind=127.0.0.1", "--set", "log=info")
        server = self.enterContext(program.started("perf", "--listen", "--once", "--port", port, *at))
        server.wait_for("listens on")
        client = self.enterContext(program.started("perf", f"127.0.0.1:{port}", "bw", "-t", "600s", *at,
                                                   "--set", f"plan={self.there}"))
        client.wait_for("no flow to 127.0.0.1")  # it has read the plan
        self.serve(self.plan_for("t"))
        client.wait_for("it was replaced, and is read again")
        self.assertEqual(self.on_machine(), self.plan_for("t"))
        self.assertEqual(self.left_behind(), [])
        monitor.process.send_signal(signal.SIGINT)
        self.assertEqual(monitor.wait(), 130, monitor.said())
        self.assertEqual(self.on_machine(), self.plan_for("t"))
        self.assertIsNone(client.process.poll())

    def test_what_cannot_be_followed_is_refused_and_the_plan_before_stays(self):
        self.serve(PLAN)
        monitor = self.monitor()
        monitor.wait_for("it is on 1 of 1 machines")
        without_route = self.plan_for("s")
        del without_route["flows"][0]["paths"][0]["via"]
        stranger = self.plan_for("s")
        stranger["addresses"]["a"] = ["198.51.100.1"]
        stranger["addresses"]["b"] = ["198.51.100.2"]
        stranger["addresses"]["s"] = ["198.51.100.3"]
        for plan, words in (("{", "no JSON object, or is cut off"), ({"version": 1}, "its version is not 2"),
                            (without_route, "a path without the switches"),
                            (json.dumps(PLAN) + " " * (16 << 20), "are the most"),
                            (json.dumps(PLAN)[:-1] + ', "more": ' + "[" * 300_000 + "]" * 300_000 + "}",
                             "nests deeper than 16 levels"),
                            (stranger, "127.0.0.1 has not taken the plan .*no host of it has an address of this host")):
            self.serve(plan)
            monitor.wait_for(words)
            self.assertEqual(self.on_machine(), PLAN)
        self.here.unlink()
        monitor.wait_for("No such file.*the plan from before stays in force")
        self.assertEqual(self.on_machine(), PLAN)
        self.assertEqual(self.left_behind(), [])
        self.serve(self.plan_for("t"))
        wait_until(lambda: self.on_machine() == self.plan_for("t"))

    def test_a_machine_that_was_lost_gets_the_latest_plan(self):
        self.serve(PLAN)
        (self.place / "down").touch()
        monitor = self.monitor()
        monitor.wait_for("127.0.0.1 has not taken the plan .*255")
        self.serve(self.plan_for("t"))
        (self.place / "down").unlink()
        monitor.wait_for("it is on 1 of 1 machines")
        self.assertEqual(self.on_machine(), self.plan_for("t"))

    def test_a_delivery_that_was_held_up_never_replaces_a_later_plan(self):
        """The machine has the order, but stands still until the monitor has ended that delivery and made another."""
        self.serve(PLAN)
        monitor = self.monitor()
        monitor.wait_for("it is on 1 of 1 machines")
        (self.place / "frozen").touch()
        self.serve(self.plan_for("t"))
        monitor.wait_for("has not taken the plan .*no answer for 30 s")
        (self.place / "frozen").unlink()
        self.serve(self.plan_for("u"))
        wait_until(lambda: self.on_machine() == self.plan_for("u"))
        (self.place / "thawed").touch()
        wait_until((self.place / "answered").exists)
        self.assertEqual(self.on_machine(), self.plan_for("u"))
        self.assertEqual(self.left_behind(), [])

    def test_what_cannot_be_served_at_all_is_refused_at_once(self):
        self.serve("{}")
        hosts = ("--hosts", "127.0.0.1", "--plan")
        for options, words in (((*hosts, self.here), "version"), ((*hosts, "nowhere"), "cannot read nowhere"),
                               (("--plan", self.here), "--hosts"), (("--plan-file", "x"), "--plan")):
            done = program.run("monitor", str(self.place / "job"), *map(str, options))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
