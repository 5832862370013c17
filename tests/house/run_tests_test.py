"""scripts/run_tests: what a Python file skips inside is counted, a test that fails only beside others is named, and
tests run with the Python that has Debian's modules.
"""

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


# Fails as often as the file beside it says, which is one more line each time it runs.
FAILING = '''import pathlib
import sys
runs = pathlib.Path(__file__).with_suffix(".runs")
runs.write_text((runs.read_text() if runs.exists() else "") + "once\\n")
if len(runs.read_text().split()) <= FAILURES:
    print("TEXT")
    sys.exit(1)
'''


def failing(times, text="AssertionError: 2 != 1"):
    return FAILING.replace("FAILURES", str(times)).replace("TEXT", text)


class RunTests(unittest.TestCase):
    def run_tests(self, module="e2e", **files):
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
            f'add_test({module}.{name} "{sys.executable}" "{name}.py" "-v")\n' for name in files))
        done = subprocess.run([sys.executable, "-B", tree / "scripts/run_tests"], capture_output=True, text=True,
                              timeout=200, check=False)
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

    @unittest.skipIf(shutil.which("ctest") is None, "there is no ctest")
    def test_what_fails_beside_others_and_passes_alone_is_unsteady(self):
        status, said = self.run_tests(busy=failing(1), steady="print('fine')")
        self.assertEqual(status, 0, said)
        self.assertIn("\nunsteady (failed beside others, passed alone 3 times): 1\n"
                      "  e2e.busy: AssertionError: 2 != 1\n", said)
        self.assertTrue(said.endswith("\n2 passed, 0 failed, 0 skipped\n"), said)

    @unittest.skipIf(shutil.which("ctest") is None, "there is no ctest")
    def test_what_fails_alone_too_crashes_or_is_not_alone_in_failing_has_failed(self):
        for failed, module, files in ((1, "e2e", {"often": failing(2)}),
                                      (1, "e2e", {"found": failing(1, "ERROR: AddressSanitizer: use-after-free")}),
                                      (1, "e2e", {"died": failing(1, "died of SIGSEGV")}),
                                      (1, "base", {"unit": failing(1)}),
                                      (2, "e2e", {"one": failing(1), "two": failing(1)})):
            with self.subTest(files=list(files)):
                status, said = self.run_tests(module, **files)
                self.assertEqual(status, 1, said)
                self.assertIn(f"\nfailed: {failed}\n", said)
                self.assertTrue(said.endswith(f"\n0 passed, {failed} failed, 0 skipped\n"), said)

    @unittest.skipUnless(DEBIANS.exists(), "this system has no Python of its own")
    def test_they_run_with_the_systems_python(self):
        """Another one in the path lacks modules of Debian's packages, and their tests were skipped."""
        self.assertEqual(pathlib.Path(sys.executable), DEBIANS)


if __name__ == "__main__":
    unittest.main()
