#!/usr/bin/env python3
"""heddle monitor --plan with a host of a lab of two leaves and four spines: by the counters of the leaf's devices the
payload of a running transfer leaves for the spine of each plan that is served. A file that is no plan changes nothing,
nor does the monitor's end."""

import json
import os
import pathlib
import signal
import sys
import tempfile
import unittest

import lab_fabric
import program
from lab_fabric import LEAF_SPINE, Lab
from lab_replan_test import MATRIX, Counters


class ServedPlan(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="heddle-lab-served-")))
        self.lab = Lab(str(self.folder), LEAF_SPINE, "served")
        self.addCleanup(self.lab.close)
        (self.folder / "matrix.csv").write_text(MATRIX, encoding="utf-8")
        self.plan = lab_fabric.planned(self.lab, str(self.folder / "matrix.csv"))
        self.counters = Counters(self.lab)
        self.addCleanup(self.counters.close)
        self.served, self.followed = self.folder / "served.json", self.folder / "there" / "plan.json"
        self.followed.parent.mkdir()

    def serve(self, text):
        """Replaces the served file, as an operator should."""
        fresh = self.folder / "fresh.json"
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(self.served)

    def plan_over(self, spine):
        for flow in self.plan["flows"]:
            flow["paths"] = [{"path": 0, "source_port": 0, "share_per_million": 1_000_000,
                              "via": ["leaf0", spine, "leaf1"]}]
        return json.dumps(self.plan)

    def monitor(self):
        shell = self.folder / "rsh"
        shell.write_text(f'#!/bin/sh\nhost=$1; shift\nexec {program.HEDDLE} lab exec "$host" --lab {self.lab.name} '
                         '-- sh -c "$*"\n', encoding="utf-8")
        shell.chmod(0o755)
        path = f"{os.path.dirname(program.HEDDLE)}:{os.environ['PATH']}"
        return self.enterContext(program.started(
            "monitor", str(self.folder / "job"), "--hosts", "h0", "--via", f"{shell} {{host}} {{command}}", "--plan",
            str(self.served), "--plan-file", str(self.followed), settings={"PATH": path}))

    def transfer(self):
        words = lambda host: ("lab", "exec", host, "--lab", self.lab.name, "--", program.HEDDLE, "perf")
        server = self.enterContext(program.started(*words("h2"), "--listen", "--once"))
        server.wait_for("listens on")
        client = self.enterContext(program.started(
            *words("h0"), "h2", "bw", "-t", "200s", "--set", "log=info", "--set", f"plan={self.followed}", "--set",
            "paths=32"))
        client.wait_for("followed to")
        return client

    def test_payload_leaves_for_the_spines_of_the_served_plans(self):
        self.serve(self.plan_over("spine1"))
        monitor = self.monitor()
        monitor.wait_for("it is on 1 of 1 machines")
        client = self.transfer()
        self.counters.leaves_for("spine1")
        for spine in ("spine3", "spine0", "spine2"):
            self.serve(self.plan_over(spine))
            self.counters.leaves_for(spine)
        self.serve("{")
        monitor.wait_for("the plan from before stays in force")
        self.counters.leaves_for("spine2")
        monitor.process.send_signal(signal.SIGINT)
        self.assertEqual(monitor.wait(), 130, monitor.said())
        self.counters.leaves_for("spine2")
        self.assertEqual(json.loads(self.followed.read_text(encoding="utf-8")), self.plan)
        self.assertEqual(list(self.followed.parent.iterdir()), [self.followed])
        self.assertIsNone(client.process.poll(), client.said())


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped: {REASON}")
        sys.exit(77)
    unittest.main()
