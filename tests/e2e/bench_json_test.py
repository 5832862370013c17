#!/usr/bin/env python3
"""`heddle bench -J` writes nccl-tests' JSON: keys, nesting, order and types beside samples of its format (version 3),
made by hand from its definition in nccl-tests' src/util.cu (release 2.19.6)."""

import json
import os
import pathlib
import tempfile
import unittest

import program

HERE = pathlib.Path(__file__).resolve().parent
OWN = "heddle"  # the one key that is not theirs


def kind(value):
    """The type of a value; null and the text "nan" stand for a number that there is not."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "list"
    if value is None or value == "nan":
        return "number or none"
    return type(value).__name__


def differences(theirs, ours, where=""):
    """Where `ours` has other keys, another order of them or other types; an element of a list is like their first."""
    number = ("float", "number or none")
    if kind(theirs) != kind(ours) and not (kind(theirs) in number and kind(ours) in number):
        return [f"{where}: {kind(ours)}, not {kind(theirs)}"]
    if isinstance(theirs, dict):
        if list(theirs) != list(ours):
            return [f"{where}: the keys are {list(ours)}, not {list(theirs)}"]
        return [found for key in theirs for found in differences(theirs[key], ours[key], f"{where}.{key}")]
    if isinstance(theirs, list):
        return [found for at, each in enumerate(ours) for found in differences(theirs[0], each, f"{where}[{at}]")]
    return []


def sample(name):
    return json.loads((HERE / name).read_text(encoding="utf-8"))


class Comparison(unittest.TestCase):
    """The comparison itself finds what it is there for."""

    def test_each_kind_of_difference_is_found(self):
        theirs = {"a": 1, "b": {"c": 1.5, "d": None}, "e": [{"f": "x"}]}
        self.assertEqual(differences(theirs, json.loads(json.dumps(theirs))), [])
        for ours in ({"a": 1, "b": {"c": 1.5}, "e": []}, {"b": theirs["b"], "a": 1, "e": []},
                     {**theirs, "a": 1.0}, {**theirs, "a": "1"}, {**theirs, "e": [{"f": "x"}, {"f": 1}]},
                     {**theirs, "g": 1}, {**theirs, "b": {"c": True, "d": None}}):
            self.assertEqual(len(differences(theirs, ours)), 1, ours)


class BenchJson(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-bench-json-test-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "out.json")

    def bench(self, *words, ranks=2):
        done = program.run("run", "-n", ranks, "--", program.HEDDLE, "bench", *words, "-J", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def document(self, path=None):
        with open(path or self.path, encoding="utf-8") as file:
            return json.load(file)

    def expect_like(self, name, document):
        own = document.pop(OWN)
        self.assertEqual(differences(sample(name), document), [])
        return own

    def test_the_document_was_heddles_own_and_no_reader_of_nccl_tests_took_it(self):
        printed = self.bench("allreduce", "-b", "8", "-e", "128", "-f", "2", "-n", "2")
        self.assertIn(f"# Writing JSON output to {self.path}\n", printed)
        document = self.document()
        own = self.expect_like("nccl_tests_sample.json", document)
        self.assertEqual([row["size"] for row in document["results"]], [8, 16, 32, 64, 128])
        self.assertEqual([row["test"] for row in own["results"]], 5 * ["allreduce"])
        self.assertEqual(document["args"][1:], ["bench", "allreduce", "-b", "8", "-e", "128", "-f", "2", "-n", "2",
                                                "-J", self.path])
        self.assertEqual(len({device["pid"] for device in document["config"]["devices"]}), 2)

    def test_every_test_has_the_same_keys(self):
        self.bench("all", "-b", "4K", "-e", "4K", "-n", "1", "-f", "2", "-c", "0")
        document = self.document()
        self.expect_like("nccl_tests_sample.json", document)
        self.assertEqual(len(document["results"]), 9)

    def test_single_calls_are_timed_as_their_option_does(self):
        printed = self.bench("allreduce", "-b", "4K", "-e", "4K", "-n", "5", "-I", "1", "-K", "2", ranks=3)
        self.assertIn("i_p99", printed)
        document = self.document()
        self.expect_like("nccl_tests_per_iteration_sample.json", document)
        for side in ("out_of_place_per_iter", "in_place_per_iter"):
            each = document["results"][0][side]
            rows = each["per_process_max_times_us"]
            self.assertEqual([len(row) for row in rows], [5, 5, 5])
            self.assertEqual(each["times_us"], [max(times) for times in zip(*rows)])
            self.assertEqual(each["max_us"], max(each["times_us"][2:]))
            self.assertEqual(each["min_us"], min(each["times_us"][2:]))

    def test_an_earlier_runs_file_stays(self):
        words = ("allreduce", "-b", "8", "-e", "8", "-n", "1")
        self.bench(*words)
        first = self.document()
        self.assertIn(f"# Writing JSON output to {self.path}.0\n", self.bench(*words))
        self.assertEqual(self.document(), first)
        self.assertEqual(self.document(f"{self.path}.0")["results"][0]["size"], 8)


if __name__ == "__main__":
    unittest.main()
