"""CMake refuses processors that are big-endian in a sentence that names the reason: configured for s390x by clang,
which has every target, or by Debian's cross compiler."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# CMake finds the byte order by compiling, without a library of that processor to link.
BASE = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=s390x", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")
COMPILERS = {"s390x-linux-gnu-g++": (), "clang++": ("-DCMAKE_CXX_COMPILER_TARGET=s390x-linux-gnu",)}


class BigEndian(unittest.TestCase):
    def test_it_is_refused_with_the_reason(self):
        compiler = next(name for name in COMPILERS if shutil.which(name))
        with tempfile.TemporaryDirectory(prefix="heddle-s390x-") as folder:
            done = subprocess.run(["cmake", "-S", ROOT, "-B", folder, *BASE, f"-DCMAKE_CXX_COMPILER={compiler}",
                                   *COMPILERS[compiler]], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("heddle cannot be built for s390x, which is big-endian: packets and files are little-endian, and "
                      "are written as they lie in memory", " ".join(done.stderr.split()))


if __name__ == "__main__":
    if not any(map(shutil.which, COMPILERS)):
        print("skipped: no compiler for a big-endian processor: scripts/setup --lint, or g++-s390x-linux-gnu")
        sys.exit(77)
    unittest.main()
