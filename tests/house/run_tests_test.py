"""scripts/run_tests counts what a Python file skips inside, and tests run with the Python that has Debian's modules."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIANS = pathlib.Path("/usr/bin/python3")
SKIPPING = '''import unittest
class All(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("there is no module")
    def test_one(self):
        pass
class Some(unittest.TestCase):
    def test_passed(self):
        """Not skipped."""
    def test_with_a_docstring(self):
        """A line of it."""
        self.skipTest("it's off")
    @unittest.skipIf(True, "not here")
    def test_without(self):
        pass
    def test_talks(self):
        print("x" * 5000)
unittest.main()
'''


class RunTests(unittest.TestCase):
    def run_tests(self, **files):
        """The output of scripts/run_tests in a tree whose tests are these Python files."""
        held = tempfile.TemporaryDirectory(prefix="heddle-run-tests-")
        self.addCleanup(held.cleanup)
        tree = pathlib.Path(held.name)
        build = tree / "build/release"
        build.mkdir(parents=True)
        (tree / "scripts").mkdir()
        for name in ("run_tests", "test_places.json"):
            shutil.copy(ROOT / "scripts" / name, tree / "scripts")
        for name, text in files.items():
            (build / f"{name}.py").write_text(text)
        (build / "CTestTestfile.cmake").write_text("".join(
            f'add_test(e2e.{name} "{sys.executable}" "{name}.py" "-v")\n' for name in files))
        done = subprocess.run([sys.executable, "-B", tree / "scripts/run_tests"], capture_output=True, text=True,
                              timeout=60, check=False)
        return done.returncode, done.stdout

    @unittest.skipIf(shutil.which("ctest") is None, "there is no ctest")
    def test_methods_that_a_file_skips_are_counted_and_named_by_reason(self):
        """Three filters of system calls and a schema were not tested, and the count had said nothing of it."""
        status, said = self.run_tests(first=SKIPPING, second="print('fine')")
        self.assertEqual(status, 0, said)
        self.assertTrue(said.endswith("\n2 passed, 0 failed, 3 skipped\n"), said)
        for lines in ("  there is no module\n    e2e.first: All.setUpClass\n",
                      "  it's off\n    e2e.first: Some.test_with_a_docstring\n",
                      "  not here\n    e2e.first: Some.test_without\n"):
            self.assertIn(lines, said)

    @unittest.skipUnless(DEBIANS.exists(), "this system has no Python of its own")
    def test_they_run_with_the_systems_python(self):
        """Another one in the path lacks modules of Debian's packages, and their tests were skipped."""
        self.assertEqual(pathlib.Path(sys.executable), DEBIANS)


if __name__ == "__main__":
    unittest.main()
