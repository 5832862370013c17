#!/usr/bin/env python3
"""The virtual machine with RDMA devices: what works in it (one boot), and how its life ends.

Needs QEMU and a kernel (scripts/setup --vm); skipped without: exit status 77. Further programs that need RDMA
devices come by VM_PROGRAMS, one a line, and run in the same boot.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import unittest

import program

LIMIT_S = 2400  # one boot with all that runs in it takes 280 s, on a slow and busy machine 700 s and more
# The tests' environment has no home; the kernel is in the caller's cache.
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
SETTINGS = {"XDG_CACHE_HOME": CACHE}
# Whether the peers and heddle transfer data; without, heddle only looks at the devices.
TRANSFERS = os.environ.get("VM_TRANSFERS", "yes")
PROGRAMS = [line for line in os.environ.get("VM_PROGRAMS", "").split("\n") if line]

needs_transfers = unittest.skipIf(TRANSFERS == "no", "left out with sanitizers, on an emulated CPU")


def vm(*arguments, settings=None):
    return program.run("lab", "vm", *arguments, settings=settings or SETTINGS, timeout=LIMIT_S)


class Inside(unittest.TestCase):
    """Each looks at what the one boot found."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vm_inside.py")
            done = vm("--loss", "0.5%", "--delay", "100us", "--duplicate", "0.5%", "--reorder", "1%", "--out", folder,
                      "--", sys.executable, "-B", inside, program.HEDDLE, TRANSFERS, *PROGRAMS)
            cls.said = done.stdout + done.stderr
            path = os.path.join(folder, "results.json")
            if done.returncode != 0 or not os.path.exists(path):
                raise AssertionError(f"exit status {done.returncode}:\n{cls.said}")
            with open(path, encoding="utf-8") as file:
                cls.results = json.load(file)

    def check(self, name):
        result = self.results[name]
        self.assertEqual(result["status"], 0, f"{name}: {result['output']}")
        return result["output"]

    def document(self, name):
        self.check(name)
        return self.document_of_any_end(name)

    def document_of_any_end(self, name):
        result = self.results[name]
        self.assertIn("{", result["output"], f"{name} printed no document: exit status {result['status']}")
        return json.loads(result["output"][result["output"].index("{"):])

    @needs_transfers
    def test_netem_is_what_was_asked_for(self):
        self.assertRegex(self.check("netem"),
                         r"netem .*limit 100000 delay (99|100)us loss 0.5% duplicate 0.5% reorder 1%")
        self.assertRegex(self.check("netem counts"), r"dropped [1-9]")

    @needs_transfers
    def test_rdma_works_with_and_without_loss(self):
        for name in ("rping", "rc", "uc", "ud", "rc ipv6", "rc lossy"):
            with self.subTest(name):
                self.check(name)

    @needs_transfers
    def test_peers_measure(self):
        for name in ("write", "write lossy"):
            self.assertRegex(self.check(name), r"\n 65536 +50 ", name)
        self.assertIn("latency", self.check("qperf"))

    @needs_transfers
    def test_a_mebibyte_of_perftest_is_one_message_of_256_packets(self):
        found = self.document("capture")  # perftest's status is 1 where it mistrusts the clock of a busy machine
        write = next(each for each in found["classes"] if each["name"] == "RoCE RC write")
        self.assertEqual(write["message_bytes"], [{"least": 1 << 20, "most": 1 << 20, "messages": 5}])
        self.assertEqual(write["packets_of_message"], [{"least": 256, "most": 256, "messages": 5}])
        self.assertEqual([(each["least"], each["most"]) for each in write["packet_bytes"]], [(4096, 4096)])
        self.assertEqual((write["incomplete_messages"], write["missing_packets"], write["other_lengths"]), (0, 0, 0))

    @needs_transfers
    def test_heddle_works_over_udp(self):
        self.assertIn("each verified", self.check("ping"))
        for name in ("perf", "perf lossy"):
            self.document(name)

    @needs_transfers
    def test_heddle_works_over_verbs(self):
        for name in ("verbs rc", "verbs uc", "verbs ud", "verbs rc lossy", "verbs ud lossy"):
            with self.subTest(name):
                self.document(name)
                self.assertGreater(int(self.check(f"{name} packets")), 200)
        for mode in ("rc", "uc", "ud"):
            self.assertIn("each verified", self.check(f"verbs {mode} ping"))

    @needs_transfers
    def test_several_engines_work_over_verbs(self):
        for mode in ("rc", "uc", "ud"):
            with self.subTest(mode):
                self.assertGreater(self.document(f"verbs {mode} engines")["tests"][0]["messages"], 0)
                self.assertGreater(int(self.check(f"verbs {mode} engines packets")), 200)

    @needs_transfers
    def test_heddle_works_over_xdp_sockets_of_a_virtio_nic(self):
        for name in ("xdp copy", "xdp engines"):
            self.assertRegex(self.check(name), r"AF_XDP: v0, 1 queue, (2 engines, )?native, copy")
            self.assertGreater(self.document(name)["tests"][0]["messages"], 0)
        busy = self.check("xdp busy polling")
        self.assertRegex(busy, "AF_XDP: v0, 1 queue, native, copy, busy polling")
        self.assertGreater(self.document("xdp busy polling")["tests"][0]["messages"], 0)
        # Whether the kernel can poll a queue of this NIC depends on the guest's kernel.
        self.assertRegex(busy, "queue 0: (busy polling begins|no busy polling: the kernel)")
        self.assertRegex(self.check("xdp generic"), r"AF_XDP: v0, 1 queue, generic, copy")
        self.assertIn("each verified", self.check("xdp generic"))

    def test_zero_copy_that_the_driver_lacks_is_an_error_with_the_reason(self):
        result = self.results["xdp zero copy"]
        self.assertEqual(result["status"], 2, result["output"])
        self.assertRegex(result["output"], "cannot use AF_XDP on v0: .*not supported.*choose another mode")

    @needs_transfers
    def test_verify_measures_rc_of_each_pair_beside_the_rest(self):
        # Whether it passes is a matter of the emulated processor.
        stage = self.document_of_any_end("verify")["stages"][0]
        for pair in stage["data"]["pairs"]:
            self.assertGreater(pair["rc_bw_bits_per_s"], 1e6, pair)
            self.assertLess(pair["rc_bw_bits_per_s"], 110e6, pair)
            self.assertGreater(pair["rc_lat_us"], 0, pair)
        rows = {row["check"]: row for row in stage["rows"]}
        found = (rows["rc_bw"]["where"], rows["rc_bw"]["grade"])
        self.assertEqual(found, ("2 pairs in software", "info"), rows["rc_bw"])
        self.assertIn("in software", rows["rc_bw"]["todo"])
        self.assertEqual(rows["rc_lat"]["where"], "2 of 2 pairs")
        payload = rows["RC payload"]
        self.assertEqual((payload["where"], payload["measured"]), ("2 of 2 pairs", "unchanged"))
        self.expect_rdma_counters(stage, rows)

    def expect_rdma_counters(self, stage, rows):
        """hw_counters of soft-RoCE, which the kernel's of the link have not: in the data, in a row and live."""
        counted = {nic["device"]: nic["counts"] for place in stage["data"]["counted"] for nic in place["nics"]
                   if nic["rdma"]}
        for device in ("rxe0 port 1", "rxe1 port 1"):
            self.assertGreater(counted[device]["sent_pkts"], 100, counted)
            self.assertGreater(counted[device]["rcvd_pkts"], 100, counted)
        self.assertRegex(rows["RDMA errors"]["where"], r"^(h[01]|[1-4] of 4 RDMA ports)$")
        live = [self.sent_packets_in(page) for page in json.loads(self.check("verify metrics"))]
        self.assertEqual(set(live[0]), {"rxe0 port 1", "rxe1 port 1"})
        for device, count in live[0].items():
            self.assertGreater(live[-1][device], count, live)

    @staticmethod
    def sent_packets_in(page):
        """{device: packets that host h0's RDMA ports sent}, of a page of metrics."""
        labels = r'counter="sent_pkts",device="([^"]+)",fabric="plan",host="h0"'
        line = rf"^heddle_verify_rdma_port_events_total\{{{labels}\}} (\S+)$"
        return {device: float(count) for device, count in re.findall(line, page, re.MULTILINE)}

    def test_the_datapath_auto_takes_udp_where_rdma_is_in_software(self):
        self.assertRegex(self.check("auto"), r"datapath auto takes UDP: .* rxe\d is RDMA in software")

    def test_doctor_takes_the_port_that_is_bound(self):
        uses = (("", "rxe0 port 1 is used: GID 1, 10.9.0.1 of h0"),
                ("10.9.0.2", "rxe1 port 1 is used: GID 1, 10.9.0.2 of h1"),
                ("h1", "rxe1 port 1 is used: GID 1, 10.9.0.2 of h1"),
                ("fd09::1", "rxe0 port 1 is used: GID 2, fd09::1 of h0"))
        for bind, used in program.sample(uses):
            with self.subTest(bind):
                findings = self.document(f"doctor {bind}")["findings"]
                lines = [each["what"] for each in findings if each["grade"] == "ok"]
                self.assertTrue(any(line.startswith(used) for line in lines), lines)
        self.assertEqual(self.results["doctor nothing0"]["status"], 1)

    @needs_transfers
    def test_traffic_takes_the_link(self):
        packets = json.loads(self.check("packets"))
        self.assertEqual(packets["loopback"], 0)
        self.assertGreater(packets["link"], 1000)

    def test_further_programs(self):
        for each in PROGRAMS:
            with self.subTest(each):
                self.check(each)


class Lives(unittest.TestCase):
    def started(self, *arguments, **options):
        running = program.Process("lab", "vm", *arguments, settings=SETTINGS, **options)
        self.addCleanup(running.close)
        return running

    def machine_of(self, running):
        """The process id of its QEMU, once there is one."""
        while running.process.poll() is None:
            found = subprocess.run(["pgrep", "-P", str(running.process.pid), "qemu"], capture_output=True, text=True,
                                   check=False).stdout.split()
            if found:
                return int(found[0])
        raise AssertionError(running.said())

    def assert_ends(self, process):
        """Waits for a process that is no child of this one."""
        try:
            descriptor = os.pidfd_open(process)
        except ProcessLookupError:
            return
        try:
            self.assertTrue(select.select([descriptor], [], [], program.PATIENCE_S)[0], "QEMU still runs")
        finally:
            os.close(descriptor)

    def test_two_at_once_have_their_commands_exit_status(self):
        failing = self.started("--", "sh", "-c", "echo from one; echo error >&2; sleep 1000 & exit 3")
        slow = self.started("--timeout", "1s", "--", "sleep", "1000")
        self.assertEqual(failing.wait(LIMIT_S), 3, failing.said())
        self.assertEqual((failing.lines, failing.errors), (["from one"], ["error"]))
        self.assertEqual(slow.wait(LIMIT_S), 124, slow.said())
        self.assertIn("the command was stopped after 1s", slow.errors[-1])

    def test_program_that_is_missing_and_the_host_that_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"echo x >{folder}/file && cat {folder}/file; exec no_such_program"
            done = vm("--", "sh", "-c", script)
            self.assertEqual((done.returncode, done.stdout), (127, "x\n"), done.stderr)
            self.assertIn("no_such_program", done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_signals_end_the_machine(self):
        running = self.started("--", "sh", "-c", "echo begun; exec sleep 1000")
        machine = self.machine_of(running)
        running.wait_for("begun", LIMIT_S)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait(), 128 + signal.SIGTERM, running.said())
        self.assert_ends(machine)

    def test_signals_end_the_machine_while_it_boots(self):
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number=number):
                running = self.started("--", "true")
                machine = self.machine_of(running)
                running.signal(number)
                expected = -number if number == signal.SIGKILL else 128 + number
                self.assertEqual(running.wait(), expected, running.said())
                self.assert_ends(machine)

    def test_machine_that_is_killed_is_an_error(self):
        running = self.started("--", "true")
        os.kill(self.machine_of(running), signal.SIGKILL)
        self.assertEqual(running.wait(), 125)
        self.assertIn("QEMU was ended by signal 9", running.said())

    def test_image_that_qemu_refuses_is_an_error_with_its_words(self):
        done = vm("--kernel", self.broken_kernel(), "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, "the virtual machine failed: QEMU ended with [01]; its last lines: .*")

    def broken_kernel(self):
        """One whose image QEMU refuses."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        versions = os.path.join(CACHE, "heddle/vm")
        version = sorted(os.listdir(versions))[-1]
        os.makedirs(os.path.join(folder.name, "boot"))
        os.makedirs(os.path.join(folder.name, "lib"))
        os.symlink(os.path.join(versions, version, "lib/modules"), os.path.join(folder.name, "lib/modules"))
        with open(os.path.join(folder.name, "boot", f"vmlinuz-{version}"), "w", encoding="ascii") as file:
            file.write("no kernel")
        return folder.name


class Refusals(unittest.TestCase):
    def refused(self, *arguments, settings=None):
        done = vm(*arguments, settings=settings)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        return done.stderr

    def test_wrong_options(self):
        for arguments, why in program.sample((
                ((), "a command is needed, after --, or --shell"),
                (("--loss", "2", "--", "true"), "'2' is no share: give one like 1%"),
                (("--rate", "fast", "--", "true"), "'fast' is no rate"),
                (("--reorder", "1%", "--", "true"), "--reorder needs --delay"),
                (("--memory", "1M", "--", "true"), "too small"),
                (("--cpus", "0", "--", "true"), "0"),
                (("--shell", "--", "true"), "exclude each other"),
                (("--shell",), "standard input is no terminal"),
                (("--out", "/nonexistent", "--", "true"), "cannot share the folder /nonexistent"))):
            with self.subTest(arguments):
                self.assertIn(why, self.refused(*arguments))

    def test_missing_kernel_names_the_command(self):
        for arguments in ((), ("--kernel", "/nonexistent"), ("--kernel", "/etc"), ("--kernel", "/etc/passwd")):
            with self.subTest(arguments):
                errors = self.refused(*arguments, "--", "true", settings={"XDG_CACHE_HOME": "/nonexistent"})
                self.assertIn("scripts/setup --vm", errors)

    def test_missing_qemu_names_the_package(self):
        errors = self.refused("--", "true", settings={**SETTINGS, "PATH": "/nonexistent"})
        self.assertIn("apt-get install qemu-system-x86", errors)


def missing():
    done = vm("--timeout", "1s", "--kernel", "/nonexistent", "--", "true")
    if "is not installed" in done.stderr:
        return done.stderr.strip()
    found = os.path.isdir(os.path.join(CACHE, "heddle/vm")) and os.listdir(os.path.join(CACHE, "heddle/vm"))
    return "" if found else "there is no kernel for the virtual machine: run scripts/setup --vm"


if __name__ == "__main__":
    REASON = missing()
    if REASON:
        print(f"skipped '{REASON}'")
        sys.exit(77)
    unittest.main()
