"""Proves that the check of purity can fail: on planted symbols, a compiled file, and sources."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from purity import FORBIDDEN_FUNCTIONS, SENDERS, check_downloads, check_sources, check_symbols, undefined_symbols
from tree import File

IMPURE = """
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/socket.h>
long f() {
  std::fputs("written", stdout);
  return std::chrono::steady_clock::now().time_since_epoch().count() + socket(1, 2, 3) +
         (std::getenv("HOME") != nullptr);
}
"""


def found(*symbols):
    return [violation.subject for violation in check_symbols(symbols)]


class SymbolsTest(unittest.TestCase):
    def test_each_kind_of_planted_symbol_is_found(self):
        planted = ["sendmsg", "pthread_create", "clock_gettime", "getenv@GLIBC_2.2.5",
                   "std::random_device::_M_getval()", "fopen64", "__printf_chk", "RAND_bytes",
                   "std::chrono::_V2::steady_clock::now()", "heddle::log_line(heddle::LogLevel)",
                   "std::thread::_M_start_thread(std::unique_ptr<std::thread::_State>)", "std::cout"]
        self.assertEqual(found(*planted), sorted(planted))

    def test_every_listed_function_is_found(self):
        for names in FORBIDDEN_FUNCTIONS.values():
            for name in names.split():
                self.assertEqual(found(name), [name])

    def test_what_a_pure_library_needs_passes(self):
        self.assertEqual(found("memcpy", "abort", "operator new(unsigned long)", "__stack_chk_fail",
                               "heddle::check_failed(char const*, int, char const*)", "pow",
                               "heddle::transport::Pacer::open(int)", "__asan_report_load8",
                               "std::__throw_bad_alloc()", "EVP_EncryptInit_ex"), [])

    def test_a_compiled_file_that_is_not_pure_is_found(self):
        compiler = os.environ.get("CXX", "c++")
        if not shutil.which(compiler):
            self.skipTest("no C++ compiler in PATH")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "impure.cc"
            source.write_text(IMPURE)
            for flags in ([], ["-O2", "-flto", "-ffat-lto-objects"]):
                done = subprocess.run([compiler, *flags, "-c", str(source), "-o", f"{folder}/impure.o"], check=False)
                if flags and done.returncode != 0:
                    continue  # a compiler that has no such objects
                names = " ".join(found(*undefined_symbols(f"{folder}/impure.o")))
                for name in ("socket", "getenv", "steady_clock::now"):
                    self.assertIn(name, names, flags)
                self.assertRegex(names, r"\b(fputs|fwrite)\b", flags)


class SourcesTest(unittest.TestCase):
    def violations(self, path, line):
        return [violation.line for violation in check_sources([File(path, f"// Head.\n{line}\n")])]

    def test_forbidden_headers_and_calls_are_found(self):
        for line in ("#include <chrono>", "#include <sys/socket.h>", "#include <thread>",
                     "#include <unistd.h>", '#include "base/log.h"', '#include "base/config.h"',
                     "auto t = std::chrono::steady_clock::now();", 'auto home = getenv("HOME");'):
            self.assertEqual(self.violations("transport/path/a.cc", line), [2], line)

    def test_pure_lines_other_rooms_and_tests_pass(self):
        self.assertEqual(self.violations("transport/a.cc", "#include <vector>  // not <thread>"), [])
        self.assertEqual(self.violations("transport/a_test.cc", "#include <chrono>"), [])
        self.assertEqual(self.violations("engine/a.cc", "#include <chrono>"), [])


class DownloadsTest(unittest.TestCase):
    def violations(self, path, line):
        return [violation.line for violation in check_downloads([File(path, f"# Head.\n{line}\n")])]

    def test_what_fetches_is_found(self):
        for line in ('start({.words = {"curl", "-K", "/dev/fd/3"}});', 'exec_program({"/usr/bin/wget", url});',
                     'run("sh", "-c", "curl -s " + url);', "curl_easy_perform(handle);", "#include <curl/curl.h>"):
            self.assertEqual(self.violations("monitor/other.cc", line), [2], line)
            self.assertEqual(self.violations(SENDERS[0], line), [], line)
        for line in ("import urllib.request", "from http.client import HTTPConnection", "import requests",
                     "    urlopen(url)", "torch.hub.load(name)", "import subprocess", 'os.system("x")'):
            self.assertEqual(self.violations("plugins/torch/heddle_torch/health.py", line), [2], line)
            self.assertEqual(self.violations("plugins/torch/examples/train.py", line), [2], line)

    def test_what_fetches_nothing_passes(self):
        for line in ('why = "there is no curl (apt-get install curl)";', '// "curl" sends it', "int curl = 0;"):
            self.assertEqual(self.violations("monitor/other.cc", line), [], line)
        self.assertEqual(self.violations("plugins/torch/heddle_torch/health.py", "import urllib.parse"), [])
        self.assertEqual(self.violations("monitor/other_test.cc", 'run("curl");'), [])
        self.assertEqual(self.violations("tests/e2e/node_test.py", "import urllib.request"), [])


if __name__ == "__main__":
    unittest.main()
