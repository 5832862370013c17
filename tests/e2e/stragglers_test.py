#!/usr/bin/env python3
"""`heddle stragglers` as users run it, on a timeline of a pipeline with a slow worker."""

import json
import pathlib
import re
import tempfile
import unittest

import program

STAGES, RANKS, MICROBATCHES = 2, 4, 4


def operations(rank, stage):
    """Of a step of a worker, in their order: (name, number, microseconds)."""
    slow = 2 if (rank, stage) == (1, 0) else 1
    ahead = STAGES - stage - 1
    made = []
    for i in range(MICROBATCHES + ahead):
        if i < MICROBATCHES:
            made += [("forward-recv", i, 0)] if stage > 0 else []
            made.append(("forward-compute", i, 1000 * slow))
            made += [("forward-send", i, 0)] if stage < STAGES - 1 else []
        if i >= ahead:
            made += [("backward-recv", i - ahead, 0)] if stage < STAGES - 1 else []
            made.append(("backward-compute", i - ahead, 2000 * slow))
            made += [("backward-send", i - ahead, 0)] if stage > 0 else []
    return made + [("grads-reduce-scatter", 0, 10), ("optimizer", 0, 10)]


def timeline(steps=(3, 4)):
    events = []
    for rank in range(RANKS):
        for stage in range(STAGES):
            thread = rank * STAGES + stage
            events.append({"ph": "M", "name": "thread_name", "pid": rank, "tid": thread,
                           "args": {"name": f"PP rank {stage}, TP rank 0, compute"}})
            for step in steps:
                for at, (name, number, took) in enumerate(operations(rank, stage)):
                    events.append({"ph": "X", "name": name, "pid": rank, "tid": thread, "ts": at, "dur": took,
                                   "args": {"step": step, "seq_id": number, "model_chunk": 0}})
    return events


class Stragglers(unittest.TestCase):
    def setUp(self):
        # pylint: disable-next=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, events):
        path = pathlib.Path(self.folder.name) / "timeline.json"
        path.write_text(json.dumps(events), encoding="utf-8")
        return path

    def test_a_slow_worker_is_named(self):
        done = program.run("stragglers", self.write(timeline()))
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("2 steps, 4 data-parallel ranks, 2 stages, 4 microbatches a step", done.stdout)
        self.assertRegex(done.stdout, r"slow workers: \d+\.\d% of the slowdown goes away if these become "
                                      r"even: data-parallel rank 1, stage 0\n")
        first_worker = done.stdout.split("workers\n", 1)[1].splitlines()[0]
        self.assertRegex(first_worker, r"^  data-parallel rank 1, stage 0 +1\.\d{3}$")

    def test_json_says_the_same(self):
        found = json.loads(program.run("stragglers", self.write(timeline()), "--json").stdout)
        self.assertEqual(found["causes"], ["workers"])
        self.assertEqual(found["workers"][0]["data_rank"], 1)
        self.assertAlmostEqual(found["slowdown"], found["measured_s"] / found["even_s"])
        self.assertTrue(found["slow"])

    def test_steps_are_chosen_and_incomplete_ones_left_out(self):
        events = timeline(steps=(3, 4, 5))
        done = program.run("stragglers", self.write(events), "--first-step", "4", "--last-step", "4", "--json")
        self.assertEqual(json.loads(done.stdout)["steps"], 1)
        events.remove(next(event for event in events if event["ph"] == "X" and event["args"]["step"] == 4))
        done = program.run("stragglers", self.write(events), "--json")
        self.assertEqual(json.loads(done.stdout)["steps"], 2)
        self.assertIn("1 step left out", done.stderr)

    def test_rows_are_as_many_as_asked_for(self):
        done = program.run("stragglers", self.write(timeline()), "--rows", "1")
        ranks = done.stdout.split("data-parallel ranks\n", 1)[1].split("workers\n", 1)[0].splitlines()
        self.assertEqual(len(ranks), 1, done.stdout)

    def test_operations_that_are_not_known_are_left_out_with_a_warning(self):
        events = timeline()
        for name in ("a", "b", "c", "d", "e\x1b[31m"):
            events.append({**events[-1], "name": name})
        done = program.run("stragglers", self.write(events), "--json")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^heddle: warning: 5 operations left out[^\n]*: 'a', 'b', 'c', \.\.\.\n$")

    def test_steps_that_are_not_there_are_named(self):
        done = program.run("stragglers", self.write(timeline()), "--first-step", "9")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("the timeline has steps 3 to 4", done.stderr)

    def test_an_even_job_is_not_slow(self):
        events = timeline()
        for event in events:
            if event.get("dur", 0) >= 1000:
                event["dur"] = 1000
        done = program.run("stragglers", self.write(events))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("why", done.stdout)

    def test_what_cannot_be_read_is_refused_in_one_line(self):
        wrong = {"missing.json": None, "text.json": b"hello", "packed.json": b"\x1f\x8b\x08", "empty.json": b"[]",
                 "number.json": b"7"}
        for name, data in wrong.items():
            path = pathlib.Path(self.folder.name) / name
            if data is not None:
                path.write_bytes(data)
            done = program.run("stragglers", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertRegex(done.stderr, rf"^heddle: .*{re.escape(name)}[^\n]*\n$")
        events = timeline()
        for event in events:
            event["args"]["model_chunk"] = 1
        done = program.run("stragglers", self.write(events))
        self.assertEqual(done.returncode, 2)
        self.assertIn("interleaved stages are not supported", done.stderr)


if __name__ == "__main__":
    unittest.main()
