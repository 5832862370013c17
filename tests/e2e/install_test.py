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
                          capture_output=True, timeout=120, check=False)


class Install(unittest.TestCase):
    def verify(self, *words):
        done = run(ROOT / "scripts" / "verify", program.HEDDLE, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertIn("verified: heddle works here", done.stdout)
        return done.stdout

    def test_verify_measures_a_transfer_beside_tcp(self):
        said = self.verify("--only", "transfer", "--seconds", 1)
        self.assertRegex(said, r"one connection, Mb/s +\d+ +\d+ +TCP cubic, one flow +\d+\.\d\dx")

    def test_verify_measures_all_reduces(self):
        said = self.verify("--only", "allreduce")
        self.assertRegex(said, r"all-reduce of 16 MiB, MB/s of bus +\d+")

    def test_verify_without_a_program_says_what_to_do(self):
        done = run(ROOT / "scripts" / "verify", "/nonexistent/heddle")
        self.assertEqual(done.returncode, 2)
        self.assertIn("make build", done.stderr)

    def test_uninstall_leaves_nothing_of_what_install_wrote(self):
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
        manifest = folder / "manifest"
        os.replace(written, manifest)
        for name in ("bin/heddle", "lib/libheddle_transport.a", "include/heddle/transport/endpoint.h",
                     "lib/cmake/heddle/heddle-config.cmake", "share/zsh/site-functions/_heddle",
                     "share/bash-completion/completions/heddle"):
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
