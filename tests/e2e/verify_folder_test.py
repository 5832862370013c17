#!/usr/bin/env python3
"""Folders of heddle verify that are of others' making: nothing that they hold is run, obeyed by a terminal, or
overwritten. No fabric is tested."""

import json
import pathlib
import tempfile
import unittest

import program

STAGE = {"name": "inventory", "title": "Hosts, ports and links", "outcome": "passed", "reason": None,
         "started": "2026-11-25 18:45:20 UTC", "seconds": 1.5, "rows": [], "commands": [], "loads": [], "data": {}}
HOSTS = "node1=127.0.0.1,node2=127.0.0.2"
ASKED = {"lab": "", "hosts": "", "via": "ssh", "topology": "", "stages": [], "depth": "quick", "coverage": "",
         "expect": "", "training": False, "python": "python3", "cifar": "", "weights": "", "language": "", "pdf": False}


def document(asked=None, stages=None, **fields):
    """A report that ended after its first stage."""
    rest = {**STAGE, "name": "reach", "title": "Every host to every host", "outcome": "not run", "started": None}
    return {"verdict": "INCOMPLETE", "fabric": "rack7", "topology": "rack7.toml", "emulated": True, "depth": "quick",
            "coverage": "full", "complete": False, "asked": {**ASKED, **(asked or {})},
            "started": "2026-11-25 18:45:19 UTC", "seconds": 2.0, "signal": 2, "others_busy_share": 0.0,
            "headlines": [], "stages": stages or [STAGE, rest], "nodes": [], "links": [], "versions": {}, "notes": [],
            **fields}


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "report")
        self.folder.mkdir()
        self.mark = pathlib.Path(folder.name, "mark")

    def write(self, *arguments, **fields):
        (self.folder / "report.json").write_text(json.dumps(document(*arguments, **fields)), encoding="utf-8")

    def refused(self, *words):
        """Standard error of what ends with status 2, in one line."""
        done = program.run(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr


class Resumed(Folders):
    def test_a_folder_cannot_name_the_command_that_resume_starts(self):
        via = f"touch {self.mark}-{{host}}"
        self.write({"hosts": HOSTS, "via": via})
        for words in ((), ("--hosts", HOSTS), ("--hosts", HOSTS, "--via", "touch {host}")):
            said = self.refused("verify", "--resume", self.folder, *words)
            self.assertIn(f"give the same again: heddle verify --resume {self.folder} --hosts {HOSTS} "
                          f"--via '{via}'", said)
        self.assertEqual(list(self.mark.parent.glob("mark*")), [])
        # The same again is the user's own wish.
        done = program.run("verify", "--resume", self.folder, "--hosts", HOSTS, "--via", via,
                           cwd=self.mark.parent)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertNotIn("give the same again", done.stderr)
        self.assertNotEqual(list(self.mark.parent.glob("mark*")), [])

    def test_a_folder_cannot_name_machines_or_a_python(self):
        self.write({"hosts": "node1,node2"})
        self.assertIn("--hosts node1,node2", self.refused("verify", "--resume", self.folder))
        self.write({"training": True, "python": f"{self.folder}/python"})
        self.assertIn(f"--python {self.folder}/python", self.refused("verify", "--resume", self.folder))
        self.write()
        self.assertIn("--resume", self.refused("verify", "--resume", self.folder, "--hosts", "node1,node2"))

    def test_what_the_folder_names_is_shown_without_escape_sequences(self):
        self.write({"hosts": "node1,node2", "via": "\u001b]0;owned\u0007 {host}"})
        said = self.refused("verify", "--resume", self.folder)
        self.assertIn("?]0;owned? {host}", said)
        self.assertNotIn("\u001b", said)

    def test_progress_of_a_resumed_test_has_no_escape_sequences(self):
        self.write({"lab": "no-such-lab"}, started="evil\u001b]0;owned\u0007")
        done = program.run("verify", "--resume", self.folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("going on with the test of evil?]0;owned?", done.stderr)
        self.assertNotIn("\u001b", done.stderr)

    def test_a_kept_stage_whose_data_has_other_types_is_refused_before_anything_runs(self):
        cases = [("inventory", {"recordings": [{"folder": 5}]}), ("inventory", {"counted": [5]}),
                 ("inventory", {"counted": 5}),
                 ("inventory", {"counted": [{"place": 5}]}), ("inventory", {"counted": [{"place": "h0", "nics": 5}]}),
                 ("pairs", {"pairs": [1]}), ("pairs", {"pairs": 5}), ("pairs", {"pairs": [{"reached": 5}]}),
                 ("pairs", {"pairs": [{"from": 5}]}), ("pairs", {"pairs": [{"paths": [{"path": "x"}]}]}),
                 ("collectives", {"sizes": 5}), ("collectives", {"sizes": [5]}),
                 ("collectives", {"sizes": [{"bytes": "x", "count": 1}]}),
                 ("collectives", {"other_sizes": 5}),
                 ("collectives", {"nccl_sizes": [{"count": {}, "bytes": []}]}), ("stress", {"victim": 5}),
                 ("stress", {"victim": {"half_round_trip_us_p99": "x"}})]
        for name, data in cases:
            with self.subTest(stage=name, data=data):
                self.write({"lab": "no-such-lab"}, [{**STAGE, "name": name, "data": data}])
                said = self.refused("verify", "--resume", self.folder)
                self.assertIn("cannot read a report of `heddle verify`", said)
        text = json.dumps(document()).replace('"data": {}', '"data": {"x": ' + "[" * 200_000 + "]" * 200_000 + "}")
        (self.folder / "report.json").write_text(text, encoding="utf-8")
        self.assertIn("is none", self.refused("verify", "--resume", self.folder))

class Compared(Folders):
    def test_differences_show_no_escape_sequences_of_either_report(self):
        paths = []
        for number in (1, 2):
            paths.append(self.folder / f"{number}.json")
            evil = f"rack\u001b]0;owned\u0007\u009b{number}"
            paths[-1].write_text(json.dumps(document(topology=evil)), encoding="utf-8")
        for words in ((), ("--json",)):
            done = program.run("verify", "diff", *paths, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("owned", done.stdout)
            self.assertNotRegex(done.stdout, "[\u001b\u0007\u009b]")


class New(Folders):
    def test_a_folder_with_files_of_others_is_not_overwritten(self):
        junit = self.folder / "junit.xml"
        junit.write_text("<testsuites/>", encoding="utf-8")
        said = self.refused("verify", "--lab", "no-such-lab", "--report", self.folder)
        self.assertIn("the folder is not empty", said)
        self.assertEqual((junit.read_text(encoding="utf-8"), len(list(self.folder.iterdir()))), ("<testsuites/>", 1))
        junit.unlink()
        self.assertNotIn("not empty", self.refused("verify", "--lab", "no-such-lab", "--report", self.folder))

    def test_thresholds_that_judge_nothing_are_refused(self):
        expect = self.folder / "expect.toml"
        for line in ('pair_share = "0%"', 'errors = "100%"'):
            expect.write_text(f"version = 1\n{line}\n", encoding="utf-8")
            self.assertIn("judges nothing", self.refused("verify", "--lab", "no-such-lab", "--expect", expect))


if __name__ == "__main__":
    unittest.main()
