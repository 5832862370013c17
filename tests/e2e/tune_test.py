#!/usr/bin/env python3
"""heddle tune: what it prints and stores, and that later runs of the same ranks choose by it."""

import json
import os
import tempfile
import unittest

import program


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "tuning")
        self.settings = {"HEDDLE_TUNING_FOLDER": self.folder}

    def ranks(self, count, *arguments, settings=None):
        return program.run("run", "-n", count, "--", program.HEDDLE, *arguments,
                           settings=self.settings if settings is None else settings)

    def tables(self):
        return sorted(os.listdir(self.folder)) if os.path.isdir(self.folder) else []

    def test_prints_and_stores_the_cost_of_every_algorithm(self):
        done = self.ranks(3, "tune", "--largest", "64K", "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # 1: the host is too busy for a useful table
        document = json.loads(done.stdout)
        self.assertEqual(document["ranks"], 3)
        self.assertEqual({cost["bytes"] for cost in document["costs"]}, {8, 1024, 4096, 16384, 65536})
        self.assertEqual({cost["algorithm"] for cost in document["costs"] if cost["collective"] == "allreduce"},
                         {"ring", "tree", "recursive_doubling", "halving_doubling"})
        self.assertTrue(all(cost["time_ns"] > 0 for cost in document["costs"]))
        self.assertEqual(document["stored"], done.returncode == 0)
        if document["stored"]:
            self.assertEqual([os.path.join(self.folder, name) for name in self.tables()], [document["path"]])
            self.assertEqual(os.stat(document["path"]).st_mode & 0o777, 0o600)
        else:
            self.assertEqual(self.tables(), [])

    def test_a_table_on_disk_decides_for_ranks_that_are_placed_alike(self):
        # The first run says where its table would be; a table in which trees cost nothing is put there.
        tuned = self.ranks(3, "tune", "--largest", "1K", "--json")
        self.assertIn(tuned.returncode, (0, 1), tuned.stderr)
        fabric = json.loads(tuned.stdout)["fabric"]
        os.makedirs(self.folder, exist_ok=True)
        text = "heddle costs 2\n" + fabric + "made by tune\nranks 3 1\nlatency 20000 30000 5000\nbyte 400 150\n"
        pairs = []
        for cost in json.loads(tuned.stdout)["costs"]:
            pair = (cost["collective"], cost["algorithm"])
            if pair not in pairs:
                pairs.append(pair)
        pairs.insert(pairs.index(("allreduce", "tree")) + 1, ("allreduce", "two_level"))  # not of three ranks
        for collective, algorithm in pairs:
            ns = 1 if algorithm == "tree" else 1_000_000
            text += " ".join([collective, algorithm] + [str(ns)] * 10) + "\n"
        text += f"hash {fnv(text):016x}\n"
        path = os.path.join(self.folder, f"{fnv('heddle costs 2' + chr(10) + fabric):016x}.table")
        with open(path, "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(text)
        self.assertEqual(self.chosen(3), {"tree"})
        self.assertNotEqual(self.chosen(2), {"tree"}, "the table is of three ranks")
        with open(path, "a", encoding="ascii") as file:
            file.write("and more\n")
        self.assertNotEqual(self.chosen(3), {"tree"}, "the table is damaged")

    def test_four_ranks_measure_groups_of_two_also_where_calls_are_small(self):
        done = self.ranks(4, "tune", "--largest", "1K", "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["group_ranks"], 2)
        self.assertIn("two_level", {cost["algorithm"] for cost in document["costs"]})

    def chosen(self, count):
        results = os.path.join(os.path.dirname(self.folder), f"results{count}")
        done = self.ranks(count, "bench", "allreduce", "-b", "8", "-e", "1M", "-f", "128", "-n", "1", "-w", "0",
                          "-J", results)
        self.assertEqual(done.returncode, 0, done.stderr)
        (name,) = [line.split()[-1] for line in done.stdout.splitlines() if "Writing JSON" in line]
        with open(name, encoding="utf-8") as file:
            return {result["algorithm"] for result in json.load(file)["heddle"]["results"]}

    def test_without_a_folder_nothing_is_measured(self):
        done = self.ranks(2, "tune", settings={"HEDDLE_TUNING_FOLDER": "none"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("set tuning_folder", done.stderr)

    def test_one_rank_alone_cannot_tune(self):
        done = self.ranks(1, "tune")
        self.assertEqual(done.returncode, 2)
        self.assertIn("at least two ranks", done.stderr)


def fnv(text):
    """FNV-1a, 64 bits, as the table's name and last line have it."""
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


if __name__ == "__main__":
    unittest.main()
