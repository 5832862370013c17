#!/usr/bin/env python3
"""heddle ping: verified rounds, its look, and its JSON."""

import json
import re
import unittest

import program


class Ping(unittest.TestCase):
    def test_rounds_are_shown_like_rping_and_summed_up(self):
        with program.server(command="ping") as (_, port):
            done = program.run("ping", "127.0.0.1", "-p", port, "-C", 20, "-v")
        self.assertEqual(done.returncode, 0, done.stderr)
        rounds = re.findall(r"^ping data: heddle-ping-(\d+): ([ -~]+)  [\d.]+ \w+$", done.stdout,
                            re.MULTILINE)
        self.assertEqual([int(number) for number, _ in rounds], list(range(20)))
        self.assertTrue(rounds[0][1].startswith("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        self.assertTrue(rounds[3][1].startswith("DEFGHIJKLMNOPQRSTUVWXYZ"))
        self.assertRegex(done.stdout, r"20 rounds of 64 B to 127\.0\.0\.1:\d+, each verified")
        times = re.search(r"min/avg/max/p99 = (.*)", done.stdout).group(1).split(" / ")
        units = {"us": 1, "ms": 1e3, "s": 1e6}
        least, mean, most, p99 = (float(number) * units[unit]
                                  for number, unit in map(str.split, times))
        self.assertLessEqual(least, mean)
        self.assertLessEqual(mean, most)
        self.assertLessEqual(p99, most)
        self.assertEqual(done.stderr, "")

    def test_sizes_from_one_byte_to_megabytes(self):
        with program.server(command="ping") as (_, port):
            for size in ("1", "2", "17", "9000", "64K", "3M"):
                done = program.run("ping", "localhost", "-p", port, "-C", 3, "-S", size)
                self.assertEqual(done.returncode, 0, f"{size}: {done.stderr}")

    def test_json_is_one_document(self):
        with program.server(command="ping") as (_, port):
            done = program.run("ping", f"[::1]:{port}", "-C", 5, "--json", "-v")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["rounds"], 5)
        self.assertEqual(document["wrong_rounds"], 0)
        self.assertFalse(document["interrupted"])
        self.assertGreater(document["round_trip_us_min"], 0)

    def test_server_of_perf_answers_ping_and_once_ends_after_it(self):
        with program.server("--once") as (serving, port):
            done = program.run("ping", "127.0.0.1", "-p", port, "-C", 2)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(serving.wait(), 0, serving.said())
            self.assertIn("2 rounds of 64 B", serving.said())

    def test_one_round_is_no_plural(self):
        with program.server("--once") as (serving, port):
            done = program.run("ping", "127.0.0.1", "-p", port, "-C", 1)
            self.assertRegex(done.stdout, r"(?m)^1 round of 64 B")
            self.assertEqual(serving.wait(), 0, serving.said())
            self.assertRegex(serving.said(), r"lat +1 round of 64 B")

    def test_interval_keeps_rounds_apart(self):
        with program.server(command="ping") as (_, port):
            done = program.run("ping", "127.0.0.1", "-p", port, "-C", 4, "-i", "20ms", "--json")
        self.assertEqual(json.loads(done.stdout)["rounds"], 4)


if __name__ == "__main__":
    unittest.main()
