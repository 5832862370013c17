#!/usr/bin/env python3
"""The program in a sandbox as containers without rights are: another user, no capabilities, one CPU, 512 MiB, no
IPv6 in the kernel, a root that cannot be written, and the filters of system calls that containers get by default. It
works, or names what is missing."""

import contextlib
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import container_filter
import program

MEMORY_BYTES = 512 << 20
AF_INET6, EAFNOSUPPORT = 10, 97
BUILD = pathlib.Path(program.HEDDLE).resolve().parents[1]
PLUGIN = BUILD / "lib/libnccl-net-heddle.so"
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


def has_address(interface):
    """Whether it is up with an IPv4 address, and no loopback."""
    said = subprocess.run(["ip", "-4", "-oneline", "address", "show", "up", "dev", interface], capture_output=True,
                          text=True, check=False).stdout
    return interface != "lo" and " inet " in said


class Sandbox(unittest.TestCase):
    def run_inside(self, script, *options, timeout=200, filters=(), address_space=MEMORY_BYTES):
        """Runs a script of the shell in the sandbox, where $heddle is the program, beside its libraries."""
        with contextlib.ExitStack() as held:
            descriptors = []
            for each in (ipv6_filter(), *filters):
                file = held.enter_context(tempfile.TemporaryFile())
                file.write(each)
                file.seek(0)
                descriptors.append(file.fileno())
            added = [word for number in descriptors for word in ("--add-seccomp-fd", str(number))]
            # Folders of the build may be closed to other users.
            shown = {program.HEDDLE: "bin/heddle", PLUGIN: "lib/" + PLUGIN.name, BUILD / "python": "python"}
            build = [word for here, there in shown.items() if pathlib.Path(here).exists()
                     for word in ("--ro-bind", str(here), f"/mnt/{there}")]
            words = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "prlimit", f"--as={address_space}", "--",
                     "bwrap", "--unshare-all", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL",
                     "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                     "--tmpfs", "/mnt", *build, "--remount-ro", "/mnt", *options,
                     "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/nonexistent",
                     "--setenv", "heddle", "/mnt/bin/heddle", *added, "--chdir", "/",
                     "sh", "-c", script]
            return subprocess.run(words, pass_fds=descriptors, capture_output=True, text=True, timeout=timeout,
                                  check=False)

    def test_it_is_as_small_as_it_says(self):
        done = self.run_inside("id -u; nproc; ulimit -v; touch /file; "
                               "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET6)'")
        self.assertEqual(done.stdout.split(), ["65534", "1", str(MEMORY_BYTES // 1024)])
        self.assertIn("Read-only file system", done.stderr)
        self.assertIn("Address family not supported", done.stderr)

    def expect_programs_to_work(self, filters=()):
        done = self.run_inside("""
            "$heddle" --version || exit 1
            "$heddle" perf --listen --bind 127.0.0.1 -p 7000 >/tmp/log 2>&1 & server=$!
            until grep -q "listens on" /tmp/log; do sleep 0.05; done
            "$heddle" ping 127.0.0.1:7000 -C 3 || exit 2
            "$heddle" perf 127.0.0.1:7000 bw -t 0.2 || exit 3
            kill $server
            "$heddle" run -n 2 -- "$heddle" ranks || exit 4
            "$heddle" run -n 2 -- "$heddle" bench -b 1M -e 1M -n 2 || exit 5
            "$heddle" record -o /tmp/job -- "$heddle" run -n 2 -- "$heddle" ranks >/tmp/log || exit 6
            "$heddle" record info /tmp/job || exit 7""", "--tmpfs", "/tmp", filters=filters)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2 recordings of 1 host", done.stdout)
        self.assertEqual(done.stdout.count("; ended well"), 2)
        self.assertIn("each verified", done.stdout)
        self.assertIn("each reaches all others", done.stdout)
        return done

    def test_ping_perf_ranks_and_recordings_work(self):
        self.expect_programs_to_work()

    def test_they_work_with_the_filters_of_containers(self):
        self.need_filters()
        for strict in (False, True):
            with self.subTest("as Docker's" if strict else "as Podman's"):
                self.expect_programs_to_work([container_filter.default_filter(strict)])

    def test_the_nccl_plugin_and_the_agent_work_with_the_filters_of_containers(self):
        if not PLUGIN.exists():
            self.skipTest("this build has no plugin of NCCL")
        self.need_filters()
        for strict in (False, True):
            with self.subTest("as Docker's" if strict else "as Podman's"):
                done = self.run_inside("""
                    "$heddle" nccl drive heddle --check --iterations 4 || exit 1
                    "$heddle" agent serve --state /tmp/n >/tmp/log 2>&1 & agent=$!
                    until grep "samples of this machine" /tmp/log; do
                        kill -0 $agent || { cat /tmp/log; exit 2; }
                        sleep 0.05
                    done
                    kill $agent; wait $agent || exit 3
                    "$heddle" record info /tmp/n/*.heddle || exit 4""", "--tmpfs", "/tmp",
                                       filters=[container_filter.default_filter(strict)])
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"plugin heddle \(v\d+\), device lo: ring with simple")
                self.assertIn("samples of this machine", done.stdout)

    @unittest.skipUnless(list((BUILD / "python").glob("heddle_torch/_backend*.so")), "no heddle_torch: make torch")
    def test_pytorch_trains_with_more_address_space_and_needs_nothing_else(self):
        """Torch alone maps more than 512 MiB a process, and two ranks have more in memory, which a container's limit
        counts; 1 GiB is enough, as the page says."""
        self.need_filters()
        strict = [container_filter.default_filter(True)]
        done = self.run_inside("/usr/bin/python3 -c 'import torch'", filters=strict)
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed to map segment from shared object", done.stderr)
        done = self.run_inside("""
            export PYTHONPATH=/mnt/python
            "$heddle" run -n 2 -- /usr/bin/python3 -c '
import resource, sys
from heddle_torch import train
train.main(sys.argv[1:])
print("resident", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "KiB")' \
                --model small --steps 1 --warm-up 0 --measure 0""", "--tmpfs", "/tmp", filters=strict, timeout=200,
                               address_space=4 * MEMORY_BYTES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("small, 2 ranks, heddle, made images", done.stdout)
        resident = [int(number) << 10 for number in re.findall(r"resident (\d+) KiB", done.stdout)]
        self.assertEqual(len(resident), 2)
        self.assertLess(sum(resident), 2 * MEMORY_BYTES)

    def test_the_stricter_filter_refuses_what_it_says(self):
        self.need_filters()
        numbers = {"io_uring_setup": 425, "process_vm_readv": 310, "unshare": 272, "epoll_pwait2": 441, "clone3": 435,
                   "mbind": 237, "bpf": 321}
        calls = ["import ctypes; call = ctypes.CDLL(None, use_errno=True).syscall"]
        calls += [f"call({number}, 0, 0, 0, 0, 0, 0); print('{name}', ctypes.get_errno())"
                  for name, number in numbers.items()]
        calls = "\n".join(calls)
        done = self.run_inside(f'/usr/bin/python3 -c "{calls}"', filters=[container_filter.default_filter(True)])
        found = dict(line.split() for line in done.stdout.splitlines())
        self.assertEqual({name: int(error) for name, error in found.items()},
                         {name: container_filter.REFUSED_BY_DOCKER[name] for name in numbers}, done.stderr)

    def test_what_needs_more_than_a_container_has_is_named(self):
        self.need_filters()
        strict = [container_filter.default_filter(True)]
        done = self.run_inside(f'PATH=$PATH:/usr/sbin; "$heddle" lab run {FABRIC} -- "$heddle" ranks',
                               "--tmpfs", "/tmp", filters=strict)
        self.assertEqual(done.returncode, 125, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"^heddle: cannot make a lab: this user may not make network namespaces: "
                                      r"Operation not permitted \(.*a container's default seccomp profile may refuse "
                                      r"them\)\)\n$")
        done = self.run_inside('PATH=$PATH:/usr/sbin; "$heddle" verify --quick --report /tmp/report', "--tmpfs", "/tmp",
                               filters=strict)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"^heddle: cannot make a lab: this user may not make network namespaces: .*"
                                      r"a container's default seccomp profile may refuse them\)\)\n$")
        interface = next((name for name in os.listdir("/sys/class/net") if has_address(name)), None)
        if interface is None:
            self.skipTest("no interface but loopback has an address, which AF_XDP needs")
        done = self.run_inside(f'"$heddle" perf 127.0.0.1:7000 --set datapath=xdp --bind {interface}', "--share-net",
                               filters=strict)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"^heddle: cannot use AF_XDP: this process lacks CAP_.*UDP needs no rights\)\n$")

    def test_labs_and_the_test_of_a_fabric_work_with_the_filter_that_allows_namespaces(self):
        """Two stages of the test; SANDBOX_VERIFY=all runs all of them, in one minute or two."""
        every = os.environ.get("SANDBOX_VERIFY") == "all"
        stages, passed = ("", 7) if every else ("--stage inventory --stage reach", 2)
        self.need_filters()
        if not all(shutil.which(tool, path="/usr/bin:/bin:/usr/sbin:/sbin") for tool in ("ip", "tc", "nft", "ethtool")):
            self.skipTest("a lab needs iproute2, nftables and ethtool")
        done = self.run_inside(f"""PATH=$PATH:/usr/sbin
            "$heddle" lab run {FABRIC} -- "$heddle" run --hosts h0,h1 -- "$heddle" ranks || exit 1
            "$heddle" verify --quick {stages} --report /tmp/report || exit 2
            ls /tmp/report""", "--tmpfs", "/tmp", filters=[container_filter.default_filter(False)], timeout=400)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("each reaches all others", f"{passed} of {passed} stages passed", "report.html"):
            self.assertIn(words, done.stdout)

    def test_a_root_without_a_file_of_hosts_is_named(self):
        """As debootstrap makes it. A lab came up there, and its hosts could not find one another by name."""
        self.need_filters()
        done = self.run_inside(f'PATH=$PATH:/usr/sbin; "$heddle" lab run {FABRIC} -- "$heddle" ranks',
                               "--tmpfs", "/tmp", "--tmpfs", "/etc", filters=[container_filter.default_filter(False)])
        self.assertEqual(done.returncode, 125, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"^heddle: cannot make a lab: there is no file /etc/hosts, .* \(make an empty "
                                      r"one: touch /etc/hosts\)\n$")

    def need_filters(self):
        if container_filter.missing():
            self.skipTest(container_filter.missing())

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
