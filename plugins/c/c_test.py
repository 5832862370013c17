#!/usr/bin/env python3
"""heddle.h and libheddle.so as programs in C use them: compiled as C99 and as C++, run by ranks."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import program

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
LIBRARY = pathlib.Path(os.environ["HEDDLE_C_LIBRARY"])
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True, timeout=200, check=False,
                          **options)


class CFace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-c-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, source, *flags):
        made = self.folder / source.stem
        done = run("cc", *STRICT, source, *flags, "-o", made)
        self.assertEqual(done.returncode, 0, done.stderr)
        return made

    def ranks(self, made, folder=LIBRARY.parent, **settings):
        return program.run("run", "-n", "3", "--", made,
                           settings={"HEDDLE_BIND": "127.0.0.1", "LD_LIBRARY_PATH": str(folder),
                                     **{name: str(value) for name, value in settings.items()}})

    def test_every_call_and_every_mistake(self):
        made = self.compile(HERE / "testing" / "every_call.c", f"-I{HERE}", f"-L{LIBRARY.parent}", "-lheddle")
        done = self.ranks(made, HEDDLE_RECORD=self.folder / "job")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"rank {rank}: all well" for rank in range(3)])
        dumped = program.run("record", "dump", self.folder / "job", "--kind", "mark")
        marks = [json.loads(line) for line in dumped.stdout.splitlines()]
        self.assertEqual(sorted((mark["name"], mark["step"]) for mark in marks),
                         [("collectives, and what goes wrong", rank) for rank in range(3)])

    def test_an_installation_has_all_that_the_example_needs(self):
        build = LIBRARY.parent.parent
        prefix = self.folder / "prefix"
        for name in ("include/heddle.h", "lib/pkgconfig/heddle.pc"):
            self.assertFalse((prefix / name).exists())
        kept = build / "install_manifest.txt"
        before = kept.read_bytes() if kept.exists() else None
        done = run("cmake", "--install", build, "--prefix", prefix)
        if before is None:
            kept.unlink()
        else:
            kept.write_bytes(before)
        self.assertEqual(done.returncode, 0, done.stderr)
        (library,) = {path.parent for path in prefix.rglob("libheddle.so")}
        asked = run("pkg-config", "--cflags", "--libs", "heddle",
                    env=dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig")))
        self.assertEqual(asked.returncode, 0, asked.stderr)
        done = self.ranks(self.compile(EXAMPLES / "ring.c", *asked.stdout.split()), library)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"rank {rank} of 3: heard {(rank + 2) % 3}, all together 3" for rank in range(3)])

    def test_cplusplus_reads_the_header(self):
        source = self.folder / "plus.cc"
        source.write_text("#include <heddle.h>\nint main() { return heddle_version() == nullptr; }\n")
        done = run("c++", "-Wall", "-Wextra", "-Werror", f"-I{HERE}", source, f"-L{LIBRARY.parent}", "-lheddle", "-o",
                   self.folder / "plus")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_only_what_the_header_declares_is_exported(self):
        header = (HERE / "heddle.h").read_text()
        declared = set(re.findall(r"\b(heddle_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
        done = run("nm", "-D", "--defined-only", "--extern-only", LIBRARY)
        exported = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
        self.assertGreater(len(declared), 25)
        self.assertEqual(exported, declared)

    def test_a_program_without_a_launcher_is_told_what_to_do(self):
        made = self.compile(EXAMPLES / "ring.c", f"-I{HERE}", f"-L{LIBRARY.parent}", "-lheddle")
        done = run(made, env=program.environment(LD_LIBRARY_PATH=str(LIBRARY.parent)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("heddle_init: ", done.stderr)
        self.assertIn("HEDDLE_RANK", done.stderr)


if __name__ == "__main__":
    unittest.main()
