#!/usr/bin/env python3
"""heddle matrix --topology: loads of links by traced paths are those that a lab's switches count."""

import json
import os
import sys
import tempfile
import unittest

import lab_fabric
import program

# Long before the second flows, which begin after START, ends the look at the paths.
FLOWS = """version = 1
[[flow]]
from = "h0"
to = "h2"
bytes = "1MB"
[[flow]]
from = "h3"
to = "h1"
bytes = "1MB"
[[flow]]
from = "h0"
to = "h2"
bytes = "10MB"
start = "START"
[[flow]]
from = "h3"
to = "h1"
bytes = "10MB"
start = "START"
"""


class Traced(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-traced-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.job = os.path.join(self.folder, "job")
        self.make_lab()
        self.addCleanup(lambda: self.lab.close())  # the latest

    def make_lab(self):
        self.lab = lab_fabric.Lab(self.folder, lab_fabric.LEAF_SPINE, "traced")

    def fabric(self, *words):
        page = os.path.join(self.folder, "page.html")
        done = program.run("matrix", self.job, "--format", "html", "-o", page, "--topology", self.lab.file, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        fabric = program.page_data(page)["fabric"]
        names = [node["name"] for node in fabric["nodes"]]
        links = {(names[link["a"]], names[link["b"]]): link for link in fabric["links"]}
        loads = {ends: link["there"] for ends, link in links.items()}
        loads.update({(b, a): link["back"] for (a, b), link in links.items()})
        return fabric, links, loads

    def run_flows(self, start_s=3, **settings):
        workload = os.path.join(self.folder, "flows.toml")
        with open(workload, "w", encoding="utf-8") as file:
            file.write(FLOWS.replace("START", f"{start_s}s"))
        done = program.run("record", "-o", self.job, "--", program.HEDDLE, "workload", "run", workload, "--lab",
                           self.lab.name, "--paths", 64, settings=settings)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def test_traced_paths_carry_what_switches_count(self):
        # A machine that does much else may begin to send before the look at the paths has ended: then there is more
        # time for it.
        for number, start_s in enumerate((3, 3, 10, 20, 30)):
            if number > 0:
                self.lab.close()
                self.make_lab()
            self.job = os.path.join(self.folder, f"job{number}")
            self.run_flows(start_s, HEDDLE_DISCOVERY="auto")
            fabric, links, traced = self.fabric()
            if fabric["untraced_bytes"] < 0.1 * fabric["traced_bytes"]:
                break
        counters = os.path.join(self.folder, "counters.json")
        with open(counters, "w", encoding="utf-8") as file:
            json.dump(self.lab.status(), file)
        _, counted_links, counted = self.fabric("--counters", counters)
        self.assertEqual({link["source"] for link in counted_links.values()}, {"counters"})
        between = [ends for ends in links if not ends[0].startswith("h") and not ends[1].startswith("h")]
        self.assertEqual(len(between), 8)
        for ends in between:
            self.assertEqual(links[ends]["source"], "traced", ends)
        for ends, link in links.items():
            if ends not in between:
                self.assertEqual(link["source"], "recorded", ends)
        # Not traced: acknowledgements of hosts that only receive, probes that end at a router, packets that a
        # full queue drops, rendezvous, and other protocols' frames.
        carried = sum(traced[a, b] + traced[b, a] for a, b in between)
        self.assertGreater(carried, 40_000_000)
        self.assertLess(fabric["untraced_bytes"], 0.1 * fabric["traced_bytes"])
        for ends in (*between, *((b, a) for a, b in between)):
            allowance = 0.1 * counted[ends] + fabric["untraced_bytes"] + 200_000
            self.assertLess(abs(traced[ends] - counted[ends]), allowance, ends)

    def test_what_nobody_traced_is_not_measured(self):
        self.run_flows(HEDDLE_DISCOVERY="never")
        fabric, links, loads = self.fabric()
        self.assertEqual(fabric["traced_bytes"], 0)
        self.assertGreater(fabric["untraced_bytes"], 20_000_000)
        for ends, link in links.items():
            host = ends[0].startswith("h") or ends[1].startswith("h")
            self.assertEqual(link["source"], "recorded" if host else None)
            self.assertEqual(loads[ends] is None, not host)


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
