#!/usr/bin/env python3
"""What machines report themselves beside a job: recorded, shown, and named where it explains a fault. The kernel's
messages are its own, of a disk that fails: lines that programs write to its log are marked, and count for nothing."""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import lab_fabric
import program

LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=17, name=python, GPU has fallen off the bus."


DISK_FAILED = r"io error, loop[0-9]+: "


def forge(text):
    """A line that a program writes to the kernel's log."""
    with open("/dev/kmsg", "w", encoding="ascii") as file:
        file.write(f"<3>{text}\n")


def break_a_disk():
    """The kernel logs that a disk failed, whose file has become shorter."""
    with tempfile.NamedTemporaryFile(prefix="heddle-disk-") as file:
        file.truncate(1 << 20)
        device = subprocess.run(["losetup", "-f", "--show", file.name], capture_output=True, text=True, timeout=200,
                                check=True).stdout.strip()
        try:
            file.truncate(0)
            subprocess.run(["dd", f"if={device}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct"],
                           capture_output=True, timeout=200, check=False)
        finally:
            subprocess.run(["losetup", "-d", device], timeout=200, check=True)


def may_break_a_disk():
    if os.geteuid() != 0 or shutil.which("losetup") is None or not os.path.exists("/dev/loop-control"):
        return False
    try:
        with open("/dev/kmsg", "r+b", buffering=0):
            return True
    except OSError:
        return False


NEEDS_A_DISK = unittest.skipUnless(may_break_a_disk(), "a disk that fails needs root, losetup and /dev/kmsg")


def until(condition):
    end = time.monotonic() + program.PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come")
        time.sleep(0.05)


class NodeCase(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-node-")
        self.addCleanup(held.cleanup)
        self.parent = pathlib.Path(held.name)
        self.folder = self.parent / "job"
        self.nodes = self.folder / "nodes"

    def events(self, folder, kind):
        done = program.run("record", "dump", folder, "--kind", kind)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def sampled(self, folder):
        return list(folder.glob("*.heddle")) != [] and self.events(folder, "node_sampled") != []

    def endless_job(self, ranks=3):
        return program.started("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", ranks, "--",
                               program.HEDDLE, "bench", "allreduce", "-b", "64K", "-e", "64K", "-n", 10_000_000,
                               settings=LOOPBACK)

    def calling_rank(self, rank):
        """The process id of a rank, once calls have ended."""
        while True:
            listed = program.run("record", "info", self.folder, "--json").stdout or "{}"
            for one in json.loads(listed).get("recordings", []):
                if one["identity"].get("rank") == str(rank) and "call_ended" in one["events_by_kind"]:
                    return int(one["identity"]["pid"])


class Recorded(NodeCase):
    def test_a_job_has_one_recording_of_its_machine_and_no_process_more(self):
        done = program.run("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE,
                           "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", 50, settings=LOOPBACK)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(self.nodes.iterdir())), 1)
        self.assertGreaterEqual(len(self.events(self.nodes, "node_sampled")), 1)
        self.assertEqual(len(json.loads(program.run("record", "info", self.folder, "--json").stdout)["recordings"]), 3)
        self.assertEqual(len(json.loads(program.run("summary", self.folder, "--json").stdout)["processes"]), 3)
        gathered = self.parent / "gathered"
        done = program.run("record", "gather", self.folder, "-o", gathered)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((gathered / "nodes").iterdir())), 1)

    def test_it_can_be_left_out(self):
        for words, settings in ((["--no-node"], LOOPBACK), ([], {**LOOPBACK, "HEDDLE_RECORD_NODE": "false"})):
            folder = self.parent / f"job{len(words)}"
            done = program.run("record", "-o", folder, *words, "--", program.HEDDLE, "run", "-n", 2, "--",
                               program.HEDDLE, "ranks", settings=settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertFalse((folder / "nodes").exists())

    def test_of_a_job_that_records_nothing_nothing_is_left(self):
        done = program.run("record", "-o", self.folder, "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertFalse(self.folder.exists())

    def ranks_without_record(self):
        return program.started("run", "-n", 2, "--", program.HEDDLE, "bench", "allreduce", "-b", "64K", "-e", "64K",
                               "-n", 10_000_000, settings={**LOOPBACK, "HEDDLE_RECORD": str(self.folder)})

    def test_ranks_without_heddle_record_sample_their_machine_once_and_another_takes_over(self):
        def samplers():
            return {int(path.name.split(".")[-3]) for path in self.nodes.glob("*.heddle")}

        with self.ranks_without_record() as first, self.ranks_without_record() as second:
            until(lambda: self.nodes.exists() and self.sampled(self.nodes))
            until(lambda: len(list(self.folder.glob("*.heddle"))) == 4)
            self.assertEqual(len(list(self.nodes.glob("*.lock"))), 1)
            [sampler] = samplers()
            os.kill(sampler, signal.SIGKILL)
            until(lambda: samplers() - {sampler})
            for job in (first, second):
                job.signal(signal.SIGINT)
                job.wait()
        self.assertEqual(list(self.nodes.glob("*.lock")), [])

    @NEEDS_A_DISK
    def test_a_message_of_the_kernel_is_an_instant_of_the_timeline(self):
        with self.endless_job() as job:
            self.calling_rank(0)
            until(lambda: self.sampled(self.nodes))
            break_a_disk()
            until(lambda: self.events(self.nodes, "kernel_message"))
            job.signal(signal.SIGINT)
            job.wait()
        message = next(each for each in self.events(self.nodes, "kernel_message") if each["what"] == "io_error")
        self.assertRegex(message["device"], "^loop[0-9]+$")
        self.assertEqual(message["severity"], 3)
        trace = json.loads(program.run("timeline", self.folder, "--only", "node").stdout)["traceEvents"]
        shown = next(each for each in trace if each.get("cat") == "node" and "io error" in each["name"])
        self.assertEqual(shown["ph"], "i")
        self.assertRegex(shown["name"], DISK_FAILED)
        self.assertGreater(shown["ts"], 0)
        [name] = [each for each in trace if each["name"] == "process_name" and each["pid"] == shown["pid"]]
        self.assertEqual(name["args"]["name"], "machine " + socket.gethostname())


class Evidence(NodeCase):
    @NEEDS_A_DISK
    def test_a_hang_after_a_message_of_the_kernel_names_it_and_what_to_do(self):
        with self.endless_job() as job:
            pid = self.calling_rank(1)
            until(lambda: self.sampled(self.nodes))
            break_a_disk()
            os.kill(pid, signal.SIGSTOP)
            try:
                job.wait()
            finally:
                program.kill(pid)
        document = json.loads(program.run("diagnose", self.folder, "--json").stdout)
        # On a busy machine a rank may be slow, too.
        verdict = next(each for each in document["verdicts"] if "hang" in each["class"])
        host = socket.gethostname()
        self.assertRegex("\n".join(verdict["evidence"]),
                         rf"kernel of {host}, [0-9.]+ s (before|after it began): {DISK_FAILED}")
        self.assertTrue(verdict["try"].startswith(f"look at the kernel's log of {host}"), verdict)

    @NEEDS_A_DISK
    def test_a_message_without_a_fault_of_the_job_is_no_verdict(self):
        seen = self.parent / "seen"
        # Each rank ends once the message is recorded, however fast its calls are.
        rank = '"$0" bench allreduce -b 64K -e 64K -n 2000 && while [ ! -e "$1" ]; do sleep 0.05; done'
        with program.started("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, "--", "sh", "-c",
                             rank, program.HEDDLE, seen, settings=LOOPBACK) as job:
            until(lambda: self.nodes.exists() and self.sampled(self.nodes))
            break_a_disk()
            until(lambda: self.events(self.nodes, "kernel_message"))
            seen.touch()
            self.assertEqual(job.wait(), 0, job.said())
        verdicts = json.loads(program.run("diagnose", self.folder, "--json").stdout)["verdicts"]
        self.assertEqual([each["summary"] for each in verdicts if "hang" in each["class"]], [])


class Agent(NodeCase):
    def serve(self, *words, **options):
        return program.started("agent", "serve", "--state", self.parent / "state", *words, **options)

    def get(self, port, token=None, basic=None):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if basic:  # as a browser sends user and password
            request.add_header("Authorization", "Basic " + base64.b64encode(basic.encode()).decode())
        with urllib.request.urlopen(request, timeout=program.PATIENCE_S) as answer:
            return answer.read().decode()

    @NEEDS_A_DISK
    def test_metrics_count_messages_and_a_token_guards_them(self):
        token = self.parent / "token"
        token.write_text("secret-of-the-test\n")
        token.chmod(0o640)
        port = program.free_port()
        with self.serve("--metrics", f"127.0.0.1:{port}", "--token-file", token) as agent:
            agent.wait_for("samples of this machine")
            forge(XID)  # as any user may where the log is open to all
            break_a_disk()
            until(lambda: re.search(r'class="io_error",host="[^"]*"} [1-9]',
                                    self.get(port, "secret-of-the-test")))
            page = self.get(port, "secret-of-the-test")
            self.assertRegex(page, r'class="gpu_xid",host="[^"]*"} 0\n')
            self.assertNotIn("heddle_node_gpu_xids_total", page)
            self.assertIn("heddle_node_kernel_log_readable", page)
            self.assertEqual(self.get(port, basic="heddle:secret-of-the-test"), self.get(port, "secret-of-the-test"))
            with self.assertRaises(urllib.error.HTTPError):
                self.get(port, basic="heddle:secret")
            for wrong in (None, "secret", "secret-of-the-tesT", "secret-of-the-testx"):
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    self.get(port, wrong)
                self.assertEqual(refused.exception.code, 401)
            agent.signal(signal.SIGTERM)
            self.assertEqual(agent.wait(), 0)

    def test_an_address_that_others_reach_needs_a_token(self):
        done = program.run("agent", "serve", "--state", self.parent / "state", "--metrics", "0.0.0.0:0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no token is asked for", done.stderr)
        token = self.parent / "token"
        token.write_text("secret\n")
        token.chmod(0o644)
        done = program.run("agent", "serve", "--state", self.parent / "state", "--metrics", "127.0.0.1:0",
                           "--token-file", token)
        self.assertEqual(done.returncode, 2)
        self.assertIn("other users may read it", done.stderr)

    def test_a_start_that_fails_costs_no_old_samples(self):
        """Under a service's restarts each failed start removed a recording."""
        state = self.parent / "state"
        for _ in range(2):
            with self.serve("--max-size", "4MiB") as agent:
                agent.wait_for("samples of this machine")
                agent.signal(signal.SIGTERM)
                self.assertEqual(agent.wait(), 0)
        before = sorted(path.name for path in state.iterdir())
        with socket.create_server(("127.0.0.1", 0)) as taken:
            for words in (("--metrics", f"127.0.0.1:{taken.getsockname()[1]}"),
                          ("--metrics", "127.0.0.1:0", "--token-file", self.parent / "none")):
                done = program.run("agent", "serve", "--state", state, "--max-size", "4MiB", *words)
                self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(sorted(path.name for path in state.iterdir()), before)

    def test_one_at_a_time_and_a_killed_one_leaves_its_samples(self):
        state = self.parent / "state"
        kept = []
        for number in range(3):
            with self.serve("--every", "100ms") as agent:
                agent.wait_for("samples of this machine")
                done = program.run("agent", "serve", "--state", state)
                self.assertEqual(done.returncode, 2)
                self.assertIn("another agent does", done.stderr)
                until(lambda: len(list(state.glob("*.heddle"))) == number + 1
                      and len(self.events(state, "node_sampled")) > sum(kept))
                agent.signal(signal.SIGKILL)
                agent.wait()
            kept.append(len(self.events(state, "node_sampled")) - sum(kept))
        self.assertTrue(all(count > 0 for count in kept), kept)

    def test_old_samples_go_so_that_the_disk_use_is_bounded(self):
        state = self.parent / "state"
        for _ in range(11):
            with self.serve("--max-size", "4MiB") as agent:
                agent.wait_for("samples of this machine")
                agent.signal(signal.SIGTERM)
                self.assertEqual(agent.wait(), 0)
        files = list(state.iterdir())
        self.assertGreaterEqual(len(files), 7)
        self.assertLessEqual(sum(each.stat().st_blocks * 512 for each in files), 4 << 20)

    def test_on_a_full_disk_old_samples_make_room(self):
        state = self.parent / "state"
        program.mount_small_disk(self, state, "1m")
        state.chmod(0o755)
        for _ in range(12):
            with self.serve("--max-size", "64MiB") as agent:
                agent.wait_for("samples of this machine")
                agent.signal(signal.SIGTERM)
                self.assertEqual(agent.wait(), 0)
        (state / "else").write_bytes(b"")
        for each in state.glob("*.heddle"):
            each.unlink()
        with open(state / "else", "wb") as file, self.assertRaises(OSError):
            while True:
                file.write(bytes(65536))
                file.flush()
        done = program.run("agent", "serve", "--state", state)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "No space left|disk|room")

    @unittest.skipUnless(os.geteuid() == 0, "rights are taken away from root")
    def test_without_rights_it_says_what_is_missing_and_samples_the_rest(self):
        restricted = pathlib.Path("/proc/sys/kernel/dmesg_restrict").read_text(encoding="ascii").strip()
        if restricted != "1":
            self.skipTest("all users may read the kernel's log here (dmesg_restrict)")
        words = ["setpriv", "--bounding-set", "-syslog,-sys_admin", program.HEDDLE, "agent", "serve", "--state",
                 str(self.parent / "state")]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=program.environment()) as agent:
            self.assertIn("kernel messages are not recorded", agent.stderr.readline())
            until(lambda: self.sampled(self.parent / "state"))
            agent.send_signal(signal.SIGTERM)
            self.assertEqual(agent.wait(), 0)

    @NEEDS_A_DISK
    def test_a_monitor_takes_an_agents_events_of_before_the_job(self):
        state = self.parent / "state"
        with self.serve() as agent:
            agent.wait_for("samples of this machine")
            break_a_disk()
            until(lambda: self.events(state, "kernel_message"))
            settings = {**LOOPBACK, "HEDDLE_RECORD": str(self.folder), "HEDDLE_RECORD_NODE": "false"}
            with program.started("run", "-n", 3, "--", program.HEDDLE, "bench", "allreduce", "-b", "64K", "-e", "64K",
                                 "-n", 10_000_000, settings=settings) as job:
                pid = self.calling_rank(1)
                with program.started("monitor", self.folder, "--node-records", state, "--json") as monitor:
                    os.kill(pid, signal.SIGSTOP)
                    try:
                        raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
                    finally:
                        program.kill(pid)
                    monitor.signal(signal.SIGTERM)
                    monitor.wait()
                job.wait()
            agent.signal(signal.SIGTERM)
            agent.wait()
        self.assertRegex("\n".join(raised["evidence"]), DISK_FAILED)

    def test_a_monitor_names_a_folder_of_no_agent(self):
        with self.endless_job() as job, program.started("monitor", self.folder, "--node-records",
                                                        self.parent / "typo", "--json") as monitor:
            said = monitor.wait_for("not sampled: ")
            self.assertIn(f"{self.parent}/typo", said)
            self.assertIn("heddle agent serve", said)
            job.signal(signal.SIGINT)
            job.wait()

    def shell_to_this_machine(self):
        """A remote shell as ssh is, but to this machine."""
        shell = self.parent / "rsh"
        shell.write_text("#!/bin/sh\nshift\n"
                         f'PATH={os.path.dirname(program.HEDDLE)}:$PATH exec sh -c "$*"\n', encoding="ascii")
        shell.chmod(0o755)
        return ("--hosts", "127.0.0.1", "--via", f"{shell} {{host}} {{command}}", "-o", self.parent / "copy")

    def test_a_monitor_copies_an_agents_recordings_from_another_machine(self):
        state = self.parent / "state"
        copied = self.parent / "copy" / "127.0.0.1" / "nodes"
        with self.serve() as agent, self.endless_job() as job:
            agent.wait_for("samples of this machine")
            with program.started("monitor", self.folder, *self.shell_to_this_machine(), "--node-records", state):
                until(lambda: list(copied.glob("agent.*.heddle")) and self.events(copied, "node_sampled"))
            job.signal(signal.SIGINT)
            job.wait()


class InALab(NodeCase):
    """Hosts are network namespaces, whose links are pairs of virtual Ethernet devices."""

    def test_a_lost_carrier_is_named(self):
        if lab_fabric.missing():
            self.skipTest(lab_fabric.missing())
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(lab_fabric.LEAF_SPINE)
            file.flush()
            name = f"node{os.getpid()}"
            done = program.run("lab", "up", file.name, "--lab", name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.addCleanup(program.run, "lab", "down", name)
        with program.started("record", "-o", self.folder, "--", program.HEDDLE, "run", "--lab", name, "-n", 4, "--",
                             program.HEDDLE, "bench", "allreduce", "-b", "64K", "-e", "64K", "-n", 10_000_000) as job:
            self.calling_rank(1)
            # A carrier is lost where it was seen before.
            until(lambda: len(list(self.nodes.glob("h*.heddle"))) == 4
                  and all(self.events(each, "nic_sampled") for each in self.nodes.glob("h*.heddle")))
            hosts = sorted(path.name.split(".")[0] for path in self.nodes.glob("h*.heddle"))
            done = program.run("lab", "fault", "down", "h1", "leaf0", "--lab", name)
            self.assertEqual(done.returncode, 0, done.stderr)
            job.wait()
        diagnosed = program.run("diagnose", self.folder, "--json")
        said = [sentence for each in json.loads(diagnosed.stdout)["verdicts"] for sentence in each["evidence"]]
        self.assertRegex("\n".join(said), rf"of {hosts[1]} lost its carrier", diagnosed.stdout + diagnosed.stderr)


if __name__ == "__main__":
    unittest.main()
