#!/usr/bin/env python3
"""heddle summary and heddle timeline of a real run, and of one that was killed."""

import collections
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import program

RANKS = 3
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.parent.cleanup)
        cls.folder = os.path.join(cls.parent.name, "job")
        done = program.run("record", "-o", cls.folder, "--", program.HEDDLE, "run", "-n", RANKS, "--",
                           program.HEDDLE, "bench", "allgather", "-b", "64K", "-e", "256K", "-f", 2, "-n", 4,
                           settings={"HEDDLE_SHARED_MEMORY": "never"})
        assert done.returncode == 0, done.stderr

    def run_well(self, *arguments):
        done = program.run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def events(self, kind):
        dumped = self.run_well("record", "dump", self.folder, "--kind", kind)
        return [json.loads(line) for line in dumped.splitlines()]

    def trace(self, *more):
        return json.loads(self.run_well("timeline", self.folder, *more))["traceEvents"]

    def test_the_summary_adds_up(self):
        document = json.loads(self.run_well("summary", self.folder, "--json"))
        ranks = [process for process in document["processes"] if process["calls"] > 0]
        self.assertEqual(len(ranks), RANKS)
        self.assertEqual(sum(rank["calls"] for rank in ranks), len(self.events("call_made")))
        for rank in ranks:
            self.assertEqual(rank["exposed_ns"] + rank["hidden_ns"], rank["communicating_ns"])
            self.assertLess(rank["communicating_ns"], rank["span_ns"])
            self.assertGreater(rank["exposed_ns"], 0)
        self.assertEqual(sum(sum_["calls"] for sum_ in document["operations"].values()),
                         sum(event["call"] != 0 for event in self.events("call_ended")))  # 0: the agreement's own
        took = [call["took_ns"] for call in document["slowest"]]
        self.assertEqual(took, sorted(took, reverse=True))
        matrix = json.loads(self.run_well("matrix", self.folder, "--format", "json"))
        self.assertEqual(document["delivered_bytes"], matrix["totals"]["measured"])

    def test_the_summary_is_a_page(self):
        text = self.run_well("summary", self.folder)
        for part in ("exposed", "hidden", "allgather", "Slowest calls", "Loss recovery", "rank 0 on"):
            self.assertIn(part, text)
        self.assertLess(len(text.splitlines()), 70)

    def test_a_trace_has_every_call_once_and_nothing_overlaps(self):
        trace = self.trace()
        made = collections.Counter(event["operation"] for event in self.events("call_made"))
        told = collections.Counter(event["name"] for event in trace if event.get("cat") == "call")
        self.assertEqual(told, made)
        rows = collections.defaultdict(list)
        for event in trace:
            if event["ph"] == "X":
                rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for spans in rows.values():
            spans.sort()
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                self.assertLessEqual(end, begin + 0.001)  # microseconds with three places
        names = {event["args"]["name"] for event in trace if event["name"] == "process_name"}
        self.assertTrue(any(name.startswith("rank 2 on") for name in names), names)
        phases = [event["name"] for event in trace if event.get("cat") == "phase"]
        self.assertEqual(len(phases), 3 * RANKS)  # heddle bench marks each size
        self.assertTrue(all(name.startswith("allgather ") for name in phases), phases)
        self.assertEqual(sum(event.get("cat") == "message" for event in trace),
                         len(self.events("message_completed")))

    def test_part_of_it(self):
        spans = [event for event in self.trace() if event["ph"] == "X"]
        middle = sorted(event["ts"] for event in spans)[len(spans) // 2] / 1e6
        early = [event for event in self.trace("--until", middle) if event["ph"] == "X"]
        late = [event for event in self.trace("--since", middle) if event["ph"] == "X"]
        self.assertTrue(all(event["ts"] <= middle * 1e6 + 0.001 for event in early))
        self.assertTrue(all(event["ts"] + event["dur"] >= middle * 1e6 - 0.001 for event in late))
        self.assertLess(len(early), len(spans))
        self.assertGreaterEqual(len(early) + len(late), len(spans))

    def test_as_a_table_and_into_a_file(self):
        path = os.path.join(self.parent.name, "moments.csv")
        self.assertEqual(self.run_well("timeline", self.folder, "--format", "csv", "-o", path), "")
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(sum(row["kind"] == "call" for row in rows), len(self.events("call_made")))
        self.assertTrue(all(int(row["begin_ns"]) <= int(row["end_ns"]) for row in rows))
        only = self.run_well("timeline", self.folder, "--format", "csv", "--only", "call,wait")
        self.assertEqual({row["kind"] for row in csv.DictReader(io.StringIO(only))} - {"wait"}, {"call"})
        self.assertEqual(sum(row["kind"] == "call" for row in csv.DictReader(io.StringIO(only))),
                         sum(row["kind"] == "call" for row in rows))
        self.assertEqual(program.run("timeline", self.folder, "--only", "calls").returncode, 2)
        done = program.run("timeline", self.folder, "-o", "/no/such/folder/file")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write /no/such/folder/file: No such file or directory", done.stderr)

    def test_a_time_without_anything_is_told(self):
        for form in ("csv", "perfetto"):
            done = program.run("timeline", self.folder, "--format", form, "--since", 1e6)
            self.assertEqual(done.returncode, 2, form)
            self.assertIn("cannot say what happened: no operation, message or wait was recorded in that time",
                          done.stderr)

    def page(self, *more):
        path = os.path.join(self.parent.name, "load.html")
        self.assertEqual(self.run_well("timeline", self.folder, "--format", "html", "-o", path, *more), "")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("http", text)
        self.assertNotIn("@DATA@", text)
        return path, program.page_data(path)

    def test_the_page_of_load_holds_every_byte(self):
        _, data = self.page()
        self.assertEqual(data["bin"], 100_000)
        for way, direction in enumerate(("sent", "received")):
            told = sum(event["bytes"] for event in self.events("wire_bin") if event["direction"] == direction)
            self.assertEqual(sum(nic["total"][way] for nic in data["nics"]), told)
            self.assertEqual(sum(sum(nic["ways"][way]["bytes"]) for nic in data["nics"]), told)
        self.assertEqual({name for _, _, name in data["calls"]} - {"allgather"}, {"allreduce", "barrier", "broadcast"}
                         & {event["operation"] for event in self.events("call_made")})
        self.assertTrue(all(name.startswith("allgather ") for _, _, name in data["phases"]))
        for burst in data["bursts"]:
            self.assertGreaterEqual(burst["times"], 4)
            self.assertLessEqual(burst["peak"], data["nics"][burst["nic"]]["peak"][burst["way"]])

    def test_part_of_the_load(self):
        _, whole = self.page()
        way = whole["nics"][0]["ways"][0]
        half = len(way["steps"]) // 2
        middle = (sum(way["steps"][:half]) + 0.123) * whole["bin"] / 1e9
        halves = [self.page(*part)[1] for part in (("--until", middle), ("--since", middle))]
        sums = [sum(nic["total"][0] for nic in data["nics"]) for data in (whole, *halves)]
        self.assertGreater(min(sums), 0)
        self.assertEqual(sums[0], sums[1] + sums[2])
        done = program.run("timeline", self.folder, "--format", "html", "--since", 1e6)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot show the load", done.stderr)

    @unittest.skipIf(BROWSER is None, "no chromium on this machine")
    def test_the_page_of_load_works_in_a_browser(self):
        path, data = self.page()
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={self.parent.name}/browser", "--dump-dom", f"file://{path}"],
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertIn('data-ready="yes"', done.stdout, done.stderr[-2000:])
        self.assertIn(f'data-bytes="{sum(nic["total"][0] for nic in data["nics"])}"', done.stdout)
        self.assertIn(f'data-painted="{len(data["nics"])}"', done.stdout)

    def test_of_nothing(self):
        for command in ("summary", "timeline"):
            done = program.run(command, os.path.join(self.parent.name, "none"))
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot read the recordings", done.stderr)

    def test_what_was_killed_is_told(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = os.path.join(parent, "job")
            port = program.free_port()
            with program.started("ping", "--listen", "-p", port, settings={"HEDDLE_RECORD": folder}) as serving:
                serving.wait_for("listens")
                serving.signal(signal.SIGKILL)
                serving.process.wait()
            text = self.run_well("summary", folder)
            self.assertIn("was killed, or still runs", text)
            self.assertIn("No collective was called", text)


if __name__ == "__main__":
    unittest.main()
