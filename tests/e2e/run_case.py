"""RunCase: what tests of `heddle run` have in common: the run, and a look at what it has left behind."""

import os
import tempfile
import time
import unittest

import program


def processes_with(mark):
    """Those whose environment holds the mark, however they are related to us."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


class RunCase(unittest.TestCase):
    """Runs with a folder of their own for temporary files, and a mark by which their processes are found."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="heddle-run-test-")
        self.addCleanup(self.folder.cleanup)
        self.mark = f"MARK_OF_THIS_TEST={os.path.basename(self.folder.name)}"
        name, value = self.mark.split("=")
        self.settings = {"TMPDIR": self.folder.name, name: value}

    def run_ranks(self, *arguments, **options):
        return program.run("run", *arguments, settings=self.settings, **options)

    def expect_nothing_left(self):
        limit = time.monotonic() + program.PATIENCE_S
        while (processes_with(self.mark) or os.listdir(self.folder.name)) and time.monotonic() < limit:
            time.sleep(0.02)
        self.assertEqual(processes_with(self.mark), [])
        self.assertEqual(os.listdir(self.folder.name), [])

    def started(self, *arguments, **options):
        return program.started("run", *arguments, settings=self.settings, **options)
