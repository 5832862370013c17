#!/usr/bin/env python3
"""A plan is replaced while a connection follows it in a lab of two leaves and four spines: by the counters of the
leaf's devices payload leaves for the newly planned spine within a second. So it does where a spine swallows packets,
and the file is reached through a link whose folder shows no change, as on a file server."""

import json
import os
import sys
import tempfile
import time
import unittest

import lab_fabric
import program
from lab_fabric import LEAF_SPINE, Lab

MATRIX = "from,to,bytes\nh0,h2,1000000\n"
MOST_S = 1
LOOKS = 4       # at least, of _COUNT, each 5 ms after the other, decide where payload goes
MOST_LOOKS = 12_000

# Prints the time and the bytes that each device to a spine has sent.
_COUNT = """
import time
while True:
    with open('/proc/self/net/dev') as file:
        words = [line.replace(':', ' ', 1).split() for line in file.read().splitlines()[2:]]
    print(time.monotonic(), *(f'{one[0]}={one[9]}' for one in words if one[0].startswith('spine')), flush=True)
    time.sleep(0.005)
"""


class Counters:
    """Bytes that leaf0 sends to each spine, read as they come."""

    def __init__(self, lab):
        self.process = lab.start("leaf0", sys.executable, "-c", _COUNT)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def look(self):
        at, *counts = self.process.stdout.readline().split()
        return float(at), {name: int(count) for name, count in (each.split("=") for each in counts)}

    def leaves_for(self, spine):
        """Waits until four fifths of what leaf0 sends goes to this spine; that time. Older counts are passed over."""
        began = time.monotonic()
        looks = []
        for _ in range(MOST_LOOKS):
            looks.append(self.look())
            for before, counts in reversed(looks[:-LOOKS]):  # a busy machine sends less between two looks
                if before < began:
                    break
                sent = {name: count - counts[name] for name, count in looks[-1][1].items()}
                if sum(sent.values()) > 125_000:
                    if sent[spine] > 0.8 * sum(sent.values()):
                        return looks[-1][0]
                    break
        raise AssertionError(f"payload does not leave for {spine}: {looks[-LOOKS - 1:]}")


class Replan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.lab = Lab(self.folder, LEAF_SPINE, "replan")
        self.addCleanup(self.lab.close)
        self.write("matrix.csv", MATRIX)
        self.plan = lab_fabric.planned(self.lab, self.path("matrix.csv"))
        self.counters = Counters(self.lab)
        self.addCleanup(self.counters.close)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def take_spine(self, spine):
        """Replaces the plan by one in which all payload takes this spine; the time before."""
        for flow in self.plan["flows"]:
            flow["paths"] = [{"path": 0, "source_port": 0, "share_per_million": 1_000_000,
                              "via": ["leaf0", spine, "leaf1"]}]
        self.write("next.json", json.dumps(self.plan))
        before = time.monotonic()
        os.rename(self.path("next.json"), self.path("plan.json"))
        return before

    def transfer(self, plan):
        """A transfer from h0 to h2 that follows the plan."""
        words = lambda host: ("lab", "exec", host, "--lab", self.lab.name, "--", program.HEDDLE, "perf")
        server = program.started(*words("h2"), "--listen", "--once")
        self.enterContext(server).wait_for("listens on")
        client = self.enterContext(program.started(
            *words("h0"), "h2", "bw", "-t", "60s", "--set", "log=info", "--set", f"plan={plan}", "--set", "paths=32"))
        client.wait_for("followed to")
        self.counters.leaves_for("spine1")
        return client

    def within_a_second(self, what, before, spine):
        took_s = self.counters.leaves_for(spine) - before
        print(f"{what}: payload left for the planned spine after {took_s * 1e3:.0f} ms", file=sys.stderr)
        self.assertLess(took_s, MOST_S)

    def test_a_replaced_plan_is_followed_at_once(self):
        self.take_spine("spine1")
        client = self.transfer(self.path("plan.json"))
        for spine in ("spine3", "spine0"):
            self.within_a_second("plan replaced", self.take_spine(spine), spine)
        client.wait_for("it was replaced")

    def test_after_a_failure_the_file_is_looked_at_where_no_change_is_shown(self):
        self.take_spine("spine1")
        os.mkdir(self.path("links"))
        os.symlink(self.path("plan.json"), self.path("links/plan.json"))
        client = self.transfer(self.path("links/plan.json"))
        lab_fabric.heddle("lab", "fault", "--lab", self.lab.name, "blackhole", "leaf0", "spine1")
        self.within_a_second("packets swallowed, and the plan replaced", self.take_spine("spine2"), "spine2")
        client.wait_for("it was replaced")


if __name__ == "__main__":
    REASON = lab_fabric.missing()
    if REASON:
        print(f"skipped: {REASON}")
        sys.exit(77)
    unittest.main()
