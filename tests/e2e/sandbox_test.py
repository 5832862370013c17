#!/usr/bin/env python3
"""The program in a sandbox as containers without rights are: another user, no capabilities, one CPU, 512 MiB, no
IPv6 in the kernel, a root that cannot be written. It works, or names what is missing."""

import os
import pathlib
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import program

MEMORY_BYTES = 512 << 20
AF_INET6, EAFNOSUPPORT = 10, 97
FABRIC = pathlib.Path(__file__).resolve().parents[2] / "lab/examples/two_leaf_four_spine.toml"


def ipv6_filter():
    """A seccomp filter in the kernel's classic BPF: socket(AF_INET6, ...) fails as where IPv6 is not compiled in."""
    load, equal, leave = 0x20, 0x15, 0x06
    allow, refuse, x86_64, number_of_socket = 0x7fff0000, 0x00050000 | EAFNOSUPPORT, 0xc000003e, 41
    steps = ((load, 0, 0, 4), (equal, 0, 4, x86_64), (load, 0, 0, 0), (equal, 0, 2, number_of_socket),
             (load, 0, 0, 16), (equal, 1, 0, AF_INET6), (leave, 0, 0, allow), (leave, 0, 0, refuse))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def missing():
    if platform.machine() != "x86_64":
        return "the filter of system calls is for x86-64"
    for tool in ("bwrap", "prlimit", "taskset"):
        if shutil.which(tool) is None:
            return f"there is no {tool}: scripts/setup --packages"
    if subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True,
                      check=False).returncode != 0:
        return "this system has no user namespaces"
    if program.sanitized():
        return "a sanitizer needs more memory than the sandbox has"
    return ""


class Sandbox(unittest.TestCase):
    def run_inside(self, script, *options, timeout=60):
        """Runs a script of the shell in the sandbox, where $heddle is the program."""
        with tempfile.TemporaryFile() as refused:
            refused.write(ipv6_filter())
            refused.seek(0)
            words = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "prlimit", f"--as={MEMORY_BYTES}", "--",
                     "bwrap", "--unshare-all", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
                     "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                     # The program's own folder may be closed to other users.
                     "--tmpfs", "/mnt", "--ro-bind", program.HEDDLE, "/mnt/heddle", "--remount-ro", "/mnt", *options,
                     "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/nonexistent",
                     "--setenv", "heddle", "/mnt/heddle", "--seccomp", str(refused.fileno()), "--chdir", "/",
                     "sh", "-c", script]
            return subprocess.run(words, pass_fds=[refused.fileno()], capture_output=True, text=True, timeout=timeout,
                                  check=False)

    def test_it_is_as_small_as_it_says(self):
        done = self.run_inside("id -u; nproc; ulimit -v; touch /file; "
                               "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET6)'")
        self.assertEqual(done.stdout.split(), ["65534", "1", str(MEMORY_BYTES // 1024)])
        self.assertIn("Read-only file system", done.stderr)
        self.assertIn("Address family not supported", done.stderr)

    def test_ping_perf_and_ranks_work(self):
        done = self.run_inside("""
            "$heddle" --version || exit 1
            "$heddle" perf --listen --bind 127.0.0.1 -p 7000 >/tmp/log 2>&1 & server=$!
            until grep -q "listens on" /tmp/log; do sleep 0.05; done
            "$heddle" ping 127.0.0.1:7000 -C 3 || exit 2
            "$heddle" perf 127.0.0.1:7000 bw -t 0.2 || exit 3
            kill $server
            "$heddle" run -n 2 -- "$heddle" ranks || exit 4""", "--tmpfs", "/tmp")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("each verified", done.stdout)
        self.assertIn("each reaches all others", done.stdout)

    def test_where_nothing_can_be_written_it_says_so(self):
        done = self.run_inside('"$heddle" run -n 2 -- "$heddle" ranks')
        self.assertEqual(done.returncode, 125, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"^heddle: cannot make a folder '/tmp/.*': Read-only file system "
                                      r"\(set TMPDIR to a folder where you may write\)$")

    def test_without_rights_a_lab_that_stays_says_what_works(self):
        done = self.run_inside(f'"$heddle" lab up {FABRIC}', "--tmpfs", "/tmp")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("this is not root (run it as root; without root there is `heddle lab run", done.stderr)


if __name__ == "__main__":
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
