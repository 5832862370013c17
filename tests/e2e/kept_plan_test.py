#!/usr/bin/env python3
"""heddle plan keep: changes on standard input move flows in the plan's file; lines that are no change leave it."""

import json
import os
import signal
import tempfile
import time
import unittest

import program

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 4
spines = 4
hosts_per_leaf = 4
[host_link]
mtu = 4154
[switch_link]
mtu = 4154
"""
NEIGHBORS = "version = 1\n" + "".join(
    f'[[flow]]\nfrom = "h{i}"\nto = "h{(i + 4) % 16}"\nbytes = "8MB"\n' for i in range(16))


class KeptPlan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("fabric.toml", FABRIC)
        self.write("failed.toml", FABRIC + '[[fault]]\nat = "0s"\nlink = ["leaf0", "spine1"]\nkind = "down"\n')
        self.write("flows.toml", NEIGHBORS)
        self.words = ("plan", "keep", "--topology", "fabric.toml", "--workload", "flows.toml", "-o", "plan.json")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def keep(self, changes, *more, status=0):
        done = program.run(*self.words, *more, input=changes, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def lines(self, changes, status=0):
        """The JSON of the first plan and of each line."""
        return [json.loads(line) for line in self.keep(changes, "--json", status=status).stdout.splitlines()]

    def plan(self):
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as file:
            return json.load(file)

    def flows(self):
        return {(flow["from"], flow["to"]): flow["paths"] for flow in self.plan()["flows"]}

    def simulated(self, fabric):
        done = program.run("sim", "--topology", fabric, "--workload", "flows.toml", "--plan", "plan.json", "--json",
                           "--convergence", "0s", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_a_failed_uplink_moves_the_flows_of_its_leaf_alone(self):
        self.keep("")
        before = self.flows()
        first, *changes = self.lines("down leaf0:spine1\n")
        self.assertEqual((first["planned_flows"], first["unreachable"]), (16, 0))
        self.assertEqual([each["change"] for each in changes], ["down leaf0:spine1"])
        after = self.flows()
        moved = {pair for pair, paths in after.items() if paths != before[pair]}
        self.assertEqual(len(moved), changes[0]["moved_flows"])
        self.assertTrue(moved)
        leaf = {f"h{i}" for i in range(4)}
        for one, other in moved:
            self.assertEqual(len({one, other} & leaf), 1, (one, other))
        self.assertEqual(self.plan()["failed_links"], ["leaf0 - spine1"])
        self.assertEqual(changes[0]["longest_us"], max(self.plan()["planned"].values()))
        # It is the plan of a fabric without the cable: the simulator's switches send the packets so.
        self.assertLess(self.simulated("failed.toml")["tail_fct_us"], changes[0]["longest_us"] * 1.2)

    def test_flows_begin_and_end(self):
        done = self.keep("flow h0 h5 8MB\nend h1 h5\n")
        self.assertIn("flow h0 h5 8MB: 1 flow moved", done.stdout)
        self.assertEqual(done.stderr, "")
        flows = self.flows()
        self.assertIn(("h0", "h5"), flows)
        self.assertNotIn(("h1", "h5"), flows)
        self.assertEqual(len(flows), 16)

    def test_a_cable_that_works_again_and_a_slow_one(self):
        self.keep("")
        before = max(self.plan()["planned"].values())
        _, down, up, slow = self.lines("down leaf0:spine1\nup leaf0:spine1\nrate leaf1:spine0 1Gbit/s\n")
        self.assertGreater(down["longest_us"], before * 1.1)
        self.assertAlmostEqual(up["longest_us"], before, delta=before * 0.01)
        self.assertGreater(slow["moved_flows"], 0)
        self.assertLess(slow["longest_us"], before * 3)  # the flows that stay would take 100 times as long
        self.assertEqual(self.plan()["failed_links"], [])

    def test_lines_that_are_no_change_leave_the_plan(self):
        self.keep("")
        before = self.plan()
        lines = ("down leaf0", "down leaf0:spine9", "down leaf0:spine1#", "down leaf0:spine1#4294967296", "up",
                 "fail leaf0:spine1", "rate leaf0:spine1 fast", "rate leaf0:spine1 0Gbit/s", "flow h0 h99 1MB",
                 "flow h0 h0 1MB", "flow h0 h4 1MB", "flow h0 h5 0", "flow h0 h5 much", "end h0 h5", "x" * 5000)
        done = self.keep("\n".join(lines) + "\n\n", status=1)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertIn("16 flows planned in", done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), len(lines), done.stderr)
        self.assertEqual(self.plan(), before)

    def test_each_line_that_is_no_change_has_an_answer_in_json(self):
        lines = ("down leaf0:spine9", "rate leaf0 - spine1", "down leaf0:spine1", "x" * 5000)
        _, *answers = self.lines("\n".join(lines) + "\nflow h0", status=1)
        self.assertEqual([each["change"] for each in answers], [*lines[:3], "x" * 4096, "flow h0"])
        self.assertEqual(["error" in each for each in answers], [True, True, False, True, True])
        self.assertIn("spine9", answers[0]["error"])
        self.assertIn("it has no rate, like 50Gbit/s, at its end", answers[1]["error"])

    def test_links_are_written_with_spaces_too(self):
        _, *answers = self.lines("down leaf0 - spine1\nup leaf0 : spine1 #0\ndown leaf0 - spine2\n"
                                 "rate leaf1 - spine0 1Gbit/s\n")
        self.assertEqual([answer for answer in answers if "error" in answer], [])
        self.assertEqual(self.plan()["failed_links"], ["leaf0 - spine2"])

    def test_an_input_is_not_replaced_by_the_plan(self):
        done = program.run(*self.words[:-1], "flows.toml", input="", cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is what --workload names", done.stderr)
        with open(os.path.join(self.folder, "flows.toml"), encoding="utf-8") as file:
            self.assertEqual(file.read(), NEIGHBORS)

    def test_a_keeper_that_does_not_know_of_a_failed_cable_does_not_replace_the_plan(self):
        self.keep("down leaf0:spine1\n")
        before = self.plan()
        refused = self.keep("", status=2)
        self.assertIn("--failed 'leaf0 - spine1'", refused.stderr)
        self.assertEqual(self.plan(), before)
        self.keep("", "--failed", "leaf0 - spine1")
        self.assertEqual(self.plan()["failed_links"], ["leaf0 - spine1"])

    def test_a_file_that_is_no_plan_is_not_replaced(self):
        self.write("plan.json", FABRIC)
        self.assertIn("no plan of this fabric", self.keep("", status=2).stderr)
        with open(os.path.join(self.folder, "plan.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), FABRIC)

    def test_a_last_line_without_an_end_is_not_applied(self):
        self.assertIn("may be cut", self.keep("flow h0 h5 8MB\nflow h0 h6 8", status=1).stderr)
        self.assertIn(("h0", "h5"), self.flows())
        self.assertNotIn(("h0", "h6"), self.flows())

    def test_many_lines_at_once_do_not_hold_a_signal_back(self):
        self.write("fabric.toml", FABRIC.replace("leaves = 4", "leaves = 32").replace("spines = 4", "spines = 16")
                   .replace("hosts_per_leaf = 4", "hosts_per_leaf = 64"))
        self.write("flows.toml", "version = 1\n" + "".join(
            f'[[flow]]\nfrom = "h{i}"\nto = "h{(i + 64) % 2048}"\nbytes = "8MB"\n' for i in range(2048)))
        lines = b"down leaf0:spine1\nup leaf0:spine1\n" * 20_000
        with tempfile.TemporaryFile() as changes:
            changes.write(lines)
            changes.seek(0)
            with program.started(*self.words, stdin=changes, cwd=self.folder) as running:
                running.wait_for("down leaf0:spine1")
                running.signal(signal.SIGSTOP)  # so that it prints nothing before it has the signal
                while not program.has_stopped(running.process.pid):
                    time.sleep(0.01)
                before = len(running.lines)
                running.signal(signal.SIGTERM)
                running.signal(signal.SIGCONT)
                self.assertEqual(running.wait(), 143)
        # One read has 3,400 lines; what a pipe holds of those that were printed before is below 1,000.
        self.assertLess(len(running.lines) - before, 2000)

    def test_a_signal_ends_it_and_the_file_stays(self):
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        with program.started(*self.words, stdin=read, cwd=self.folder) as running:
            os.close(read)
            until = time.monotonic() + program.PATIENCE_S
            while not os.path.exists(os.path.join(self.folder, "plan.json")) and time.monotonic() < until:
                time.sleep(0.02)
            before = self.plan()
            os.write(write, b"down leaf0:spine1\n")
            while self.plan() == before and time.monotonic() < until:
                time.sleep(0.02)
            running.signal(signal.SIGTERM)
            self.assertEqual(running.wait(), 143)
        self.assertEqual(self.plan()["failed_links"], ["leaf0 - spine1"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["fabric.toml", "failed.toml", "flows.toml", "plan.json"])

    def test_missing_options_and_files_are_named(self):
        for words, why in ((("plan", "keep", "--workload", "flows.toml", "-o", "p.json"), "--topology"),
                           (("plan", "keep", "--topology", "fabric.toml", "--workload", "flows.toml"), "--output"),
                           ((*self.words[:-1], "no/such/plan.json"), "no/such/plan.json")):
            done = program.run(*words, input="", cwd=self.folder)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
