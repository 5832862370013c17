#!/usr/bin/env python3
"""What `make verify`, `make install` and `make uninstall` do, as their scripts do it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(program.HEDDLE).resolve().parent.parent


def run(*words, **settings):
    return subprocess.run([str(word) for word in words], env=program.environment(**settings), text=True,
                          capture_output=True, timeout=200, check=False)


# Of a program that uses the installed libraries, optimized as a whole or not.
LISTS = """cmake_minimum_required(VERSION 3.25)
project(mine CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(heddle REQUIRED)
add_executable(mine main.cc)
target_link_libraries(mine PRIVATE heddle::collectives)
"""
MAIN = """#include <cstdio>
#include "base/config.h"
#include "collectives/configured.h"
#include "collectives/driven_endpoint.h"
int main() {
  const auto config = heddle::Config::load(heddle::config_keys(), heddle::ConfigSources::of_process());
  const auto endpoint = heddle::collectives::DrivenEndpoint::open(config.value());
  return std::puts(endpoint ? "opened" : endpoint.error().message().c_str()) < 0;
}
"""


@unittest.skipIf(program.sanitized(), "what users install has no sanitizers")
class Install(unittest.TestCase):
    def verify(self, *words):
        done = run(ROOT / "scripts" / "verify", program.HEDDLE, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertIn("verified: heddle works here", done.stdout)
        return done.stdout

    def test_verify_measures_a_transfer_beside_tcp(self):
        said = self.verify("--only", "transfer", "--seconds", 1, "--rounds", 2, "--again", 0)
        spread = r"{0} \({0} to {0}\)"
        count, ratio = spread.format(r"\d+"), spread.format(r"\d+\.\d\d")
        self.assertRegex(said, rf"one connection, Mb/s +{count} +{count} +TCP cubic, one flow +{ratio}")

    def test_verify_measures_all_reduces(self):
        said = self.verify("--only", "allreduce", "--rounds", 1, "--again", 0)
        self.assertRegex(said, r"all-reduce of 16 MiB, MB/s of bus +\d+")

    def test_verify_without_a_program_says_what_to_do(self):
        done = run(ROOT / "scripts" / "verify", "/nonexistent/heddle")
        self.assertEqual(done.returncode, 2)
        self.assertIn("make build", done.stderr)

    def install(self):
        """A folder with `prefix`, where another's file lies too, and `manifest`."""
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        prefix = folder / "prefix"
        prefix.mkdir()
        (prefix / "other").write_text("not heddle's")
        written = BUILD / "install_manifest.txt"  # of a real installation perhaps
        if written.exists():
            os.replace(written, folder / "before")
            self.addCleanup(lambda: os.replace(folder / "before", written))
        done = run("cmake", "--install", BUILD, "--prefix", prefix)
        self.assertEqual(done.returncode, 0, done.stderr)
        os.replace(written, folder / "manifest")
        return folder

    def test_programs_link_what_is_installed(self):
        folder = self.install()
        (folder / "CMakeLists.txt").write_text(LISTS)
        (folder / "main.cc").write_text(MAIN)
        # The installed targets once exported -fno-lto, so programs that use LTO did not link.
        for whole in ("OFF", "ON"):
            made = folder / f"build-{whole}"
            settings = {"PREFIX_PATH": folder / "prefix", "BUILD_TYPE": "Release",
                        "INTERPROCEDURAL_OPTIMIZATION": whole}
            words = [f"-DCMAKE_{name}={value}" for name, value in settings.items()]
            for each in (["-S", folder, "-B", made, *words], ["--build", made]):
                done = run("cmake", *each)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(run(made / "mine").stdout, "opened\n")
        for library in sorted((folder / "prefix").rglob("*.a")):
            self.assertNotIn(".gnu.lto_", run("objdump", "-h", library).stdout, library)

    def test_uninstall_leaves_nothing_of_what_install_wrote(self):
        folder = self.install()
        prefix, manifest = folder / "prefix", folder / "manifest"
        for name in ("bin/heddle", "lib/libheddle_transport.a", "include/heddle/transport/endpoint.h",
                     "lib/cmake/heddle/heddle-config.cmake", "share/zsh/site-functions/_heddle",
                     "share/bash-completion/completions/heddle", "share/fish/vendor_completions.d/heddle.fish",
                     "share/heddle/wireshark/heddle.lua", "share/man/man1/heddle.1", "share/man/man1/heddle-lab-run.1",
                     "share/man/man7/heddle-settings.7"):
            self.assertGreater((prefix / name).stat().st_size, 0, name)
        self.assertEqual(run(prefix / "bin" / "heddle", "--version").returncode, 0)
        done = run(ROOT / "scripts" / "uninstall", manifest)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in prefix.rglob("*")], ["other"])

    def test_uninstall_without_install_says_why(self):
        done = run(ROOT / "scripts" / "uninstall", "/nonexistent/manifest")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing to uninstall", done.stderr)


if __name__ == "__main__":
    unittest.main()
