"""The check of calls in bench/ finds what Python would refuse, and nothing else."""

import pathlib
import tempfile
import unittest

import bench_calls

CLASS = "class Meanwhile:\n    def __init__(self, pause):\n        self.pause = pause\n"


@unittest.skipUnless(bench_calls.is_here(), "Pylint is not installed: apt-get install pylint")
class BenchCalls(unittest.TestCase):
    def found(self, scenario):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for folder in ("bench/harness", "bench/incast"):
                (root / folder).mkdir(parents=True)
            (root / "bench/harness/meanwhile.py").write_text(CLASS, encoding="utf-8")
            (root / "bench/incast/scenario.py").write_text(scenario, encoding="utf-8")
            return [f"{each.path}:{each.line}: {each.rule}" for each in bench_calls.check("bench", root)]

    def test_an_argument_that_a_class_of_another_file_lost_is_found(self):
        wrong = "from harness.meanwhile import Meanwhile\n\nMeanwhile(1, alone=True)\n"
        self.assertEqual(self.found(wrong), ["bench/incast/scenario.py:3: unexpected-keyword-arg"])

    def test_names_and_missing_arguments_are_found(self):
        wrong = "from harness.meanwhile import Meanwhile\n\nMeanwhile()\nnowhere()\n"
        self.assertEqual(self.found(wrong), ["bench/incast/scenario.py:3: no-value-for-parameter",
                                             "bench/incast/scenario.py:4: undefined-variable"])

    def test_correct_calls_are_not(self):
        self.assertEqual(self.found("from harness.meanwhile import Meanwhile\n\nMeanwhile(pause=2)\n"), [])


if __name__ == "__main__":
    unittest.main()
