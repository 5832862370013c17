#!/usr/bin/env python3
"""Reading recordings of jobs that never ran, whose truth is known: many ranks, drifting clocks, and files that
were damaged in any way."""

import json
import os
import random
import shutil
import subprocess
import tempfile
import unittest

import program

GENERATE = os.path.join(os.path.dirname(program.HEDDLE), "heddle-bench-generate")
SEED = 5


def generate(folder, *arguments):
    made = subprocess.run([GENERATE, folder, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(made.stdout)


@unittest.skipUnless(os.path.exists(GENERATE), "heddle-bench-generate is not built")
class Reading(unittest.TestCase):
    def setUp(self):
        parent = tempfile.TemporaryDirectory()
        self.addCleanup(parent.cleanup)
        self.parent = parent.name
        self.folder = os.path.join(self.parent, "job")

    def document(self, *words, status=0):
        done = program.run(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def test_counts_are_exact(self):
        truth = generate(self.folder, "--ranks", 64, "--events", 50_000)
        info = self.document("record", "info", self.folder, "--json")
        self.assertEqual((info["events"], info["ranks"], info["ranks_missing"]), (truth["events"], 64, []))
        matrix = self.document("matrix", self.folder, "--format", "json")
        self.assertEqual(matrix["totals"]["measured"], truth["sent_bytes"])
        self.assertEqual(matrix["measured"], matrix["expected"])
        summary = self.document("summary", self.folder, "--json")
        self.assertEqual(summary["delivered_bytes"], truth["sent_bytes"])
        self.assertEqual(summary["findings"], [])

    def test_clocks_are_as_near_as_is_said(self):
        truth = generate(self.folder, "--ranks", 128, "--events", 60_000, "--drift-ppm", 80)
        info = self.document("record", "info", self.folder, "--json")
        hosts = {f"h{i:05}": clock for i, clock in enumerate(truth["clock_of_host"])}
        self.assertEqual(len(info["clocks"]), 16)
        for clock in info["clocks"][1:]:
            self.assertEqual(clock["basis"], "messages")
            # A simulated host's wall clock is its other clock: both began so far from the reference's.
            ahead = hosts[clock["name"]]["offset_ns"] - hosts["h00000"]["offset_ns"]
            self.assertLessEqual(abs(clock["wall_clock_ahead_ns"] - ahead), clock["error_ns"] + 2)
            drift = hosts[clock["name"]]["drift_ppm"] - hosts["h00000"]["drift_ppm"]
            self.assertLessEqual(abs(clock["drift_ppm"] - drift), clock["drift_error_ppm"] + 0.1)
            self.assertLess(clock["error_ns"], 1_000_000)

    def test_above_1024_ranks_cells_come_as_triples(self):
        generate(self.folder, "--ranks", 1032, "--events", 40_000)
        matrix = self.document("matrix", self.folder, "--format", "json")
        self.assertNotIn("measured", matrix)
        self.assertEqual(sum(value for _, _, value in matrix["measured_triples"]), matrix["totals"]["measured"])
        self.assertEqual(matrix["measured_triples"], matrix["expected_triples"])
        text = program.run("matrix", self.folder).stdout
        self.assertIn("stands for 9", text)
        self.assertLess(max(map(len, text.splitlines())), 160)
        hosts = self.document("matrix", self.folder, "--by", "host", "--format", "json")
        self.assertEqual(hosts["totals"]["measured"], matrix["totals"]["measured"])

    def test_memory_does_not_grow_with_the_events(self):
        for events in (20_000, 400_000):
            generate(f"{self.parent}/{events}", "--ranks", 8, "--events", events)
        most = {}
        # AddressSanitizer keeps what was freed, which grows with every event that is read.
        options = f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=1"
        for events in (20_000, 400_000):
            words = ["/usr/bin/env", "python3", "-c",
                     "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                     "stdout=subprocess.DEVNULL); "
                     "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                     program.HEDDLE, "summary", f"{self.parent}/{events}"]
            done = subprocess.run(words, capture_output=True, text=True, check=True,
                                  env={**os.environ, "ASAN_OPTIONS": options})
            most[events] = int(done.stdout)
        self.assertLess(most[400_000], most[20_000] + 4096)  # KiB; the events are 10 MB

    def damage(self, path, choose):
        """One of what happens to files."""
        size = os.path.getsize(path)
        way = choose.randrange(4)
        if way == 0:
            os.truncate(path, choose.randrange(size))
            return
        with open(path, "r+b") as file:
            if way == 1:  # some bytes, mostly where headers are
                for _ in range(choose.randrange(1, 20)):
                    file.seek(choose.choice((choose.randrange(size), choose.randrange(2048),
                                             16384 + choose.randrange(40))))
                    file.write(choose.randbytes(1))
            else:  # a hole of zeros, or noise, as a disk leaves it
                file.seek(choose.randrange(0, size, 4096))
                file.write(bytes(4096) if way == 2 else choose.randbytes(4096))

    def test_whatever_is_damaged_the_rest_is_read(self):
        whole = os.path.join(self.parent, "whole")
        # With sanitizers as much is damaged, of a job of which less is read.
        ranks, events = (8, 8_000) if program.sanitized() else (16, 30_000)
        generate(whole, "--ranks", ranks, "--events", events)
        choose = random.Random(SEED)
        for round_ in range(25):
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.copytree(whole, self.folder)
            names = sorted(os.listdir(self.folder))
            for name in choose.sample(names, choose.randrange(1, 4)):
                self.damage(os.path.join(self.folder, name), choose)
            for words in (("record", "info", self.folder, "--json"), ("record", "dump", self.folder),
                          ("matrix", self.folder, "--format", "json"), ("summary", self.folder, "--json"),
                          ("timeline", self.folder)):
                done = program.run(*words, errors="replace")
                self.assertIn(done.returncode, (0, 1), f"seed {SEED}, round {round_}, {words}: {done.stderr}")
            info = json.loads(program.run("record", "info", self.folder, "--json").stdout)
            self.assertGreaterEqual(len(info["recordings"]) + len(info["unreadable"]), len(names))

    def test_missing_events_of_a_damaged_recording_are_counted(self):
        truth = generate(self.folder, "--ranks", 8, "--events", 30_000)
        name = sorted(os.listdir(self.folder))[0]
        path = os.path.join(self.folder, name)
        whole = self.document("record", "info", path, "--json")["recordings"][0]
        self.assertEqual((whole["missing_events"], whole["missing_bytes"]), (0, 0))
        with open(path, "r+b") as file:  # in the middle of the second block's records
            file.seek(16384 + 65536 + 20_000)
            file.write(b"\xfe" * 64)
        info = self.document("record", "info", self.folder, "--json", status=1)
        broken = next(one for one in info["recordings"] if one["file"] == path)
        self.assertGreater(broken["missing_events"], 0)
        self.assertEqual(broken["events"] + broken["missing_events"], whole["events"])
        self.assertEqual(info["missing_events"], truth["events"] - info["events"])
        text = program.run("record", "info", self.folder).stdout
        self.assertIn(f"{broken['missing_events']} events", text)
        os.truncate(path, 16384 + 65536 - 100)
        info = self.document("record", "info", path, "--json", status=1)["recordings"][0]
        self.assertTrue(info["cut_short"])
        self.assertGreater(info["missing_bytes"], 0)
        self.assertIn("damaged", program.run("summary", self.folder).stdout)


if __name__ == "__main__":
    unittest.main()
