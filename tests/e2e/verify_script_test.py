#!/usr/bin/env python3
"""scripts/verify, with programs in place of heddle, bench/run and unshare: what runs, and where the report goes."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEDDLE = '''#!/bin/sh
echo "heddle $*"
sleep ${TAKES:-0}
mkdir -p "$3" && : > "$3/report.html"
exit ${TESTED:-0}
'''
BENCH = '#!/bin/sh\necho "bench $* with $HEDDLE_BENCH_BIN"\nsleep ${TAKES:-0}\nexit ${MEASURED:-0}\n'
TOOK = re.compile(r"^took (\d+) s: the test of a fabric (\d+) s, heddle beside TCP (\d+) s$", re.MULTILINE)


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for path in ("scripts", "bench", "bin", "build/release/bin"):
            (self.folder / path).mkdir(parents=True)
        shutil.copy(ROOT / "scripts/verify", self.folder / "scripts/verify")
        self.write("build/release/bin/heddle", HEDDLE)
        self.write("bench/run", BENCH)
        self.write("bin/unshare", "#!/bin/sh\nexit ${REFUSED:-0}\n")

    def write(self, path, text):
        (self.folder / path).write_text(text, encoding="utf-8")
        (self.folder / path).chmod(0o755)

    def run_script(self, *words, **settings):
        environment = {**os.environ, **settings, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        return subprocess.run([self.folder / "scripts/verify", *words], capture_output=True, text=True, timeout=200,
                              env=environment, check=False)

    def test_it_tests_a_fabric_then_measures_and_ends_with_the_reports_path(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "heddle verify --report build/verify_report")
        self.assertIn(f"bench verify with {self.folder}/build/release/bin", lines)
        self.assertEqual(lines[-1], "report: build/verify_report/report.html")

    def test_it_prints_the_seconds_of_both_parts_and_of_all(self):
        whole, fabric, beside = map(int, TOOK.search(self.run_script(TAKES="1.2").stdout).groups())
        self.assertGreaterEqual(min(fabric, beside), 1)
        self.assertGreaterEqual(whole, 2)
        self.assertIn(whole - fabric - beside, (0, 1))  # whole seconds
        failed = self.run_script(TESTED="1", MEASURED="1")
        self.assertRegex(failed.stdout, TOOK)
        self.assertRegex(self.run_script(REFUSED="1").stdout, r"(?m)^took \d+ s: heddle beside TCP \d+ s$")

    def test_a_report_that_is_there_stays_and_the_next_has_a_number(self):
        self.run_script()
        self.assertEqual(self.run_script().stdout.splitlines()[-1], "report: build/verify_report-2/report.html")
        self.assertEqual(self.run_script().stdout.splitlines()[-1], "report: build/verify_report-3/report.html")

    def test_a_failed_check_is_the_status_and_the_rest_is_measured(self):
        done = self.run_script(TESTED="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bench verify", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "report: build/verify_report/report.html")
        self.assertEqual(self.run_script(MEASURED="2").returncode, 2)

    def test_an_interrupt_of_the_test_ends_it(self):
        done = self.run_script(TESTED="130")
        self.assertEqual(done.returncode, 130)
        self.assertNotIn("bench", done.stdout)

    def test_without_namespaces_it_says_so_and_measures(self):
        done = self.run_script(REFUSED="1")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("heddle verify", done.stdout)
        self.assertIn("allows no network namespaces", done.stdout)
        self.assertIn("bench verify", done.stdout)

    def test_with_options_it_only_measures(self):
        done = self.run_script("--only", "allreduce")
        self.assertEqual(done.stdout, f"bench verify --only allreduce with {self.folder}/build/release/bin\n")


if __name__ == "__main__":
    unittest.main()
