#!/usr/bin/env python3
"""HEDDLE_PLAN in a lab of two leaves and four spines: payload crosses the spines that the plan names, in its
shares, by the counters of the leaf's devices; plans that do not fit are not followed, and the log has why."""

import json
import os
import sys
import tempfile
import unittest

import lab_fabric
import program
from lab_fabric import LEAF_SPINE, Lab

MATRIX = "from,to,bytes\nh0,h2,1000000\nh1,h3,1000000\n"


class Plan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.lab = Lab(self.folder, LEAF_SPINE, "plan")
        self.addCleanup(self.lab.close)
        self.file = os.path.join(self.folder, "plan.json")
        self.write("matrix.csv", MATRIX)
        self.plan = lab_fabric.planned(self.lab, os.path.join(self.folder, "matrix.csv"))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def share(self, spines):
        """Writes the plan with these shares (per cent) of spines for each flow."""
        for flow in self.plan["flows"]:
            leaves = [f"leaf{int(flow[end][1:]) // 2}" for end in ("from", "to")]
            flow["paths"] = [{"path": i, "source_port": 0, "share_per_million": share * 10_000,
                              "via": [leaves[0], spine, leaves[1]]} for i, (spine, share) in enumerate(spines.items())]
        self.write("plan.json", json.dumps(self.plan))

    def bytes_to_spines(self):
        """That leaf0 has sent to each, by its devices."""
        lines = self.lab.exec("leaf0", "cat", "/proc/self/net/dev").splitlines()[2:]
        fields = (line.replace(":", " ", 1).split() for line in lines)
        return {words[0]: int(words[9]) for words in fields if words[0].startswith("spine")}

    def measure(self, *settings):
        """Shares (per cent) of what leaf0 sent to spines while h0 sent to h2; and the sender's log."""
        name = self.lab.name
        with program.started("lab", "exec", "h2", "--lab", name, "--", program.HEDDLE, "perf", "--listen",
                             "--once") as server:
            server.wait_for("listens on")
            before = self.bytes_to_spines()
            done = lab_fabric.heddle("lab", "exec", "h0", "--lab", name, "--", program.HEDDLE, "perf", "h2", "bw",
                                     "-t", "2s", "--set", "log=info", "--set", f"plan={self.file}",
                                     "--set", "paths=32", *settings)
        sent = {device: count - before[device] for device, count in self.bytes_to_spines().items()}
        whole = sum(sent.values())
        return {device: 100 * count / whole for device, count in sent.items()}, done.stderr

    def test_counters_of_links_are_as_the_plan_has_them(self):
        self.assertEqual(len(self.plan["flows"]), 2)
        for path in self.plan["flows"][0]["paths"]:
            self.assertEqual([name.rstrip("0123456789") for name in path["via"]], ["leaf", "spine", "leaf"])
        self.share({"spine1": 70, "spine3": 30})
        shares, log = self.measure()
        self.assertIn("followed to", log)
        # Before the routes are known payload takes all spines.
        self.assertAlmostEqual(shares["spine1"], 70, delta=10)
        self.assertAlmostEqual(shares["spine3"], 30, delta=10)

    def test_plans_that_do_not_fit_are_not_followed(self):
        self.share({"spine7": 100})
        shares, log = self.measure()
        self.assertIn("does not fit", log)
        self.assertIn("spine7", log)
        self.assertGreater(min(shares.values()), 5)
        self.write("plan.json", "{}")
        shares, log = self.measure()
        self.assertIn("cannot follow the plan", log)
        self.assertGreater(min(shares.values()), 5)


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped: {REASON}")
        sys.exit(77)
    unittest.main()
