#!/usr/bin/env python3
"""docs/how-to/plan_paths.md: a reader who copies its files can run its commands of plans word by word."""

import os
import pathlib
import re
import shlex
import tempfile
import unittest

import program

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/plan_paths.md"
_FILE = re.compile(r"^`([\w.]+)`[^`]*:\n\n```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


class PlanPage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.text = PAGE.read_text(encoding="utf-8")
        for name, text in _FILE.findall(self.text):
            pathlib.Path(self.folder, name).write_text(text, encoding="utf-8")

    def commands(self):
        """Those with files of the page alone: others need a recording, a matrix or hosts."""
        for line in "".join(text for kind, text in _BLOCK.findall(self.text) if kind == "").splitlines():
            words = shlex.split(line)
            if "--workload" in words and words[0] == "heddle":
                yield words[1:]

    def test_its_files_are_complete_and_its_commands_run_on_them_in_order(self):
        self.assertEqual(sorted(os.listdir(self.folder)), ["fabric.toml", "ring.toml"])
        ran = []
        for words in self.commands():
            done = program.run(*words, input="down leaf0:spine1\n" if "keep" in words else "", cwd=self.folder)
            self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))
            ran.append(words[:2])
        self.assertEqual(ran, [["plan", "--topology"], ["sim", "--topology"], ["plan", "--topology"],
                               ["plan", "keep"]])
        self.assertTrue(os.path.exists(os.path.join(self.folder, "plan2.json")))

    def test_its_plan_gains(self):
        first = next(self.commands())
        self.assertNotIn("No gain", program.run(*first, cwd=self.folder).stdout)


if __name__ == "__main__":
    unittest.main()
