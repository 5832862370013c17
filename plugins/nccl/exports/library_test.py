"""libnccl-net-heddle.so as a container meets it: what it exports, what it needs, and that it loads."""

import os
import re
import subprocess
import sys
import unittest

LIBRARY = os.environ["HEDDLE_NCCL_NET"]
EXPORTED = ({f"ncclNetPlugin_v{version}" for version in range(6, 13)} |
            {f"ncclProfiler_v{version}" for version in range(1, 8)} |
            {f"ncclTunerPlugin_v{version}" for version in range(2, 8)})
# glibc's own, and OpenSSL
NEEDED = re.compile(r"lib(c|m|dl|pthread|rt|crypto)\.so\.\d+|ld-linux.*")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Library(unittest.TestCase):
    def test_exports_the_tables_and_nothing_else(self):
        symbols = {line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()}
        self.assertEqual(symbols, EXPORTED)

    def test_needs_glibc_and_openssl_only(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", LIBRARY))
        self.assertTrue(needed)
        self.assertEqual([name for name in needed if not NEEDED.fullmatch(name)], [])

    def test_stays_mapped_when_nccl_unloads_it(self):
        self.assertIn("NODELETE", output("readelf", "-d", LIBRARY))

    def test_tables_name_the_network_when_loaded(self):
        code = ("import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); "
                "print([ctypes.c_char_p.in_dll(library, name).value.decode() for name in sys.argv[2:]])")
        names = output(sys.executable, "-c", code, LIBRARY, *sorted(EXPORTED))
        self.assertEqual(set(re.findall(r"'([^']*)'", names)), {"heddle"})

    def test_is_found_under_its_other_names(self):
        """RCCL's, and those of NCCL_PROFILER_PLUGIN=heddle and NCCL_TUNER_PLUGIN=heddle without the net plugin."""
        for name in ("librccl-net-heddle.so", "libnccl-profiler-heddle.so", "libnccl-tuner-heddle.so"):
            with self.subTest(name):
                other = os.path.join(os.path.dirname(LIBRARY), name)
                self.assertTrue(os.path.exists(other))
                self.assertEqual(os.path.realpath(other), os.path.realpath(LIBRARY))


if __name__ == "__main__":
    unittest.main()
