#!/usr/bin/env python3
"""heddle plan lease and leases: jobs that share a fabric, by a folder or etcd; holders that are killed, paused and
stopped, full disks, foreign files, and what goes wrong."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import program

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 4
hosts_per_leaf = 8
"""


class Lease(unittest.TestCase):
    SHORT = "6s"  # time to live where what happens at a renewal is waited for; beside other tests a renewal is late

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store = self.folder / "leases"
        self.write("fabric.toml", FABRIC)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def words(self, job, *flows, command=("sleep", "100"), more=(), topology="fabric.toml", store=None):
        """Those of a job that sends from host to host."""
        matrix = self.write(f"{job}.csv", "from,to,bytes\n" + "".join(f"h{a},h{b},{size}\n" for a, b, size in flows))
        return ("plan", "lease", "--leases", store or self.store, "--job", job, "--topology", self.folder / topology,
                "--matrix", matrix, "-o", self.folder / f"{job}.json", *more, "--", *command)

    def started(self, job, *flows, **options):
        """Until its lease is published."""
        process = program.Process(*self.words(job, *flows, **options))
        self.addCleanup(self.end, process)
        process.wait_for(f"lease '{job}': planned beside")
        return process

    @staticmethod
    def end(process):
        """With its command, which would hold the pipes of its output."""
        if process.process.poll() is None:
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGTERM)
            process.wait()
        process.close()

    def listed(self, status=0):
        done = program.run("plan", "leases", "--leases", self.store, "--json")
        self.assertEqual(done.returncode, status, done.stderr)
        return {each["job"]: each for each in json.loads(done.stdout)["leases"]}

    def expect_held_by(self, job, process):
        """Once it is: a lease is not listed while its renewal is late."""
        end = time.monotonic() + program.PATIENCE_S
        while (held := self.listed().get(job, {}).get("process")) != process.process.pid:
            self.assertLess(time.monotonic(), end, held)
            time.sleep(0.1)

    @staticmethod
    def pause(process):
        process.signal(signal.SIGSTOP)
        while not program.has_stopped(process.process.pid):
            time.sleep(0.01)

    def paths(self, job):
        plan = json.loads((self.folder / f"{job}.json").read_text(encoding="utf-8"))
        return {(each["from"], each["to"]): each["paths"] for each in plan["flows"]}

    def age(self, job, by_s):
        then = time.time() - by_s
        os.utime(self.store / f"{job}.lease", (then, then))

    def test_a_command_has_its_plan_and_its_status(self):
        done = program.run(*self.words("a", (0, 8, 1000), command=("sh", "-c", "cat $HEDDLE_PLAN; exit 7")))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(json.loads(done.stdout)["flows"][0]["from"], "h0")
        self.assertEqual(self.listed(), {})

    def test_a_temporary_plan_goes_with_the_command(self):
        matrix = self.write("m.csv", "from,to,bytes\nh0,h8,1000\n")
        done = program.run("plan", "lease", "--leases", self.store, "--job", "a", "--topology",
                           self.folder / "fabric.toml", "--matrix", matrix, "--", "sh", "-c", "ls $HEDDLE_PLAN",
                           settings={"TMPDIR": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(pathlib.Path(done.stdout.strip()).exists())
        self.assertEqual(list(self.folder.glob("heddle-lease*")), [])

    def test_jobs_are_planned_beside_each_other(self):
        processes = [self.started(f"job{i}", (i, 8 + i, 100_000_000)) for i in range(4)]
        busiest = {each["busiest"][0]["link"] for each in self.listed().values()}
        self.assertEqual(len(busiest), 4, busiest)
        for process in processes:
            process.signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 143)
        self.assertEqual(self.listed(), {})
        self.assertEqual(sorted(each.name for each in self.store.iterdir()), ["lock"])

    def test_jobs_that_start_at_once_see_each_other(self):
        processes = [program.Process(*self.words(f"job{i}", (i, 8 + i, 100_000_000))) for i in range(4)]
        for i, process in enumerate(processes):
            self.addCleanup(self.end, process)
            process.wait_for(f"lease 'job{i}': planned beside")
        self.assertEqual(len({each["busiest"][0]["link"] for each in self.listed().values()}), 4)

    def test_a_job_moves_to_links_that_are_free_again(self):
        big = self.started("big", *((i, 8 + i, 1_000_000_000) for i in range(3)))
        small = self.started("small", (3, 11, 100_000_000), (4, 12, 100_000_000),
                             more=("--ttl", self.SHORT, "--split", "1"))
        before = self.paths("small")
        self.assertEqual(self.listed()["small"]["plans"], 1)
        big.signal(signal.SIGTERM)
        big.wait()
        small.wait_for("lease 'small': moved")
        self.expect_held_by("small", small)
        self.assertEqual(self.listed()["small"]["plans"], 2)
        self.assertNotEqual(self.paths("small"), before)

    def test_a_plan_file_that_cannot_be_written_is_written_later(self):
        big = self.started("big", *((i, 8 + i, 1_000_000_000) for i in range(3)))
        small = self.started("small", (3, 11, 100_000_000), (4, 12, 100_000_000),
                             more=("--ttl", self.SHORT, "--split", "1"))
        before = self.paths("small")
        (self.folder / "small.json").unlink()
        (self.folder / "small.json").mkdir()
        big.signal(signal.SIGTERM)
        big.wait()
        small.wait_for("small.json: it is no file")
        (self.folder / "small.json").rmdir()
        small.wait_for("lease 'small': its plan is written")
        self.assertNotEqual(self.paths("small"), before)

    def test_a_killed_holder_expires(self):
        killed = self.started("a", (0, 8, 1000), command=("sh", "-c", "echo $$; exec sleep 100"))
        child = int(killed.wait_for("^[0-9]+$"))
        killed.signal(signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        killed.wait()
        self.assertEqual(list(self.listed()), ["a"])
        self.age("a", 61)
        self.assertEqual(self.listed(), {})
        self.started("a", (1, 9, 1000))

    def test_a_paused_holder_notices_and_leaves_its_successor_alone(self):
        paused = self.started("a", (0, 8, 1000), more=("--ttl", self.SHORT))
        self.pause(paused)
        self.age("a", 10)
        successor = self.started("a", (1, 9, 1000))
        paused.signal(signal.SIGCONT)
        paused.wait_for("the lease 'a' is lost: it was not renewed in time, and another job has the name now")
        self.assertEqual(self.listed()["a"]["process"], successor.process.pid)
        successor.signal(signal.SIGTERM)
        successor.wait()
        paused.wait_for("the lease 'a' was lost.* It is taken again")
        self.expect_held_by("a", paused)

    def test_a_paused_holder_takes_its_lease_again(self):
        paused = self.started("a", (0, 8, 1000), more=("--ttl", self.SHORT))
        self.pause(paused)  # a renewal at this moment would undo it
        self.age("a", 10)
        paused.signal(signal.SIGCONT)
        paused.wait_for("the lease 'a' was lost.* It is taken again")
        self.expect_held_by("a", paused)

    def test_signals_reach_the_command_and_the_lease_is_released(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            process = self.started("a", (0, 8, 1000), command=("sh", "-c", "echo runs; exec sleep 100"))
            process.wait_for("^runs$")
            process.signal(number)
            self.assertEqual(process.wait(), status, process.said())
            self.assertEqual(self.listed(), {})

    def test_a_full_disk(self):
        program.mount_small_disk(self, self.folder / "small", "64k")
        store = self.folder / "small" / "leases"
        holder = self.started("a", (0, 8, 1000), store=store, more=("--ttl", self.SHORT))
        with open(self.folder / "small" / "fill", "wb", buffering=0) as fill:
            try:
                while fill.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        done = program.run(*self.words("b", (1, 9, 1000), store=store))
        self.assertEqual(done.returncode, 125)
        self.assertIn("No space left on device (free some space there)", done.stderr)
        renewed = (store / "a.lease").stat().st_mtime_ns
        for _ in range(600):  # a renewal needs no space
            if (store / "a.lease").stat().st_mtime_ns > renewed:
                break
            time.sleep(0.05)
        self.assertGreater((store / "a.lease").stat().st_mtime_ns, renewed)
        self.assertEqual(sorted(each.name for each in store.iterdir()), ["a.lease", "lock"])
        holder.signal(signal.SIGTERM)
        holder.wait()
        self.assertEqual(sorted(each.name for each in store.iterdir()), ["lock"])

    def test_foreign_files_are_named_and_ignored(self):
        self.store.mkdir()
        (self.store / "half.lease").write_text('{"version": 1, "job": "ha', encoding="utf-8")
        (self.store / "a b.lease").write_text("", encoding="utf-8")
        (self.store / "x\x1b[31m.lease").write_text("", encoding="utf-8")
        os.symlink("/etc/passwd", self.store / "link.lease")
        pathlib.Path(os.fsdecode(os.fsencode(self.store) + b"/\xff.lease")).touch()  # no UTF-8
        process = self.started("a", (0, 8, 1000))
        self.assertIn("'half.lease' is no lease", process.said())
        self.assertNotIn("\x1b", process.said())
        self.assertEqual(list(self.listed(status=1)), ["a"])
        done = program.run(*self.words("half", (0, 8, 1000)))
        self.assertEqual(done.returncode, 125)
        self.assertIn("there is a file that is no lease", done.stderr)

    def test_another_topology_is_ignored_with_a_sentence(self):
        self.write("other.toml", FABRIC.replace("spines = 4", "spines = 2"))
        self.started("a", (0, 8, 1000), topology="other.toml")
        process = self.started("b", (0, 8, 1000))
        self.assertIn("the lease 'a' is for another topology, and is ignored", process.said())
        self.assertIn("planned beside 0 other jobs", process.said())

    def test_errors(self):
        self.started("a", (0, 8, 1000))
        for more, reason in ((("--job", "a"), "holds it"), (("--job", "../a"), "names of jobs have"),
                             (("--job", ""), "--job"), (("--ttl", "500ms"), "--ttl"), (("--ttl", "2d"), "--ttl"),
                             (("--ttl", "25h"), "longer than a day"), (("--leases", "/dev/null"), "it is no folder"),
                             (("--leases", "/proc/none/leases"), "No such file"),
                             (("--leases", "etcd:"), "it names no server"), (("--period", "0"), "--period"),
                             (("--matrix", "/nonexistent"), "/nonexistent"), (("-o", "/dev/null"), "it is no file"),
                             (("-o", "/nonexistent/x"), "/nonexistent/x")):
            with self.subTest(more=more):
                words = list(map(str, self.words("b", (1, 9, 1000), command=("true",))))
                for i in range(0, len(more), 2):
                    if more[i] in words:
                        words[words.index(more[i]) + 1] = more[i + 1]
                    else:
                        words[2:2] = more[i:i + 2]
                done = program.run(*words)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(reason, done.stderr)
                self.assertEqual(list(self.listed()), ["a"])
        done = program.run(*self.words("b", (1, 9, 1000), command=("/nonexistent/program",)))
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertEqual(list(self.listed()), ["a"])
        done = program.run("plan", "leases", "--leases", self.folder / "missing")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("No such file", done.stderr)
        done = program.run("plan", "--topology", "x", *self.words("b", (1, 9, 1000))[1:])
        self.assertEqual(done.returncode, 125)
        self.assertIn("after 'lease'", done.stderr)

    def test_the_list_as_text(self):
        self.assertIn("no job holds a lease", program.run("plan", "leases", "--leases", self.existing_store()).stdout)
        self.started("a", (0, 8, 100_000_000))
        text = program.run("plan", "leases", "--leases", self.store).stdout
        self.assertRegex(text, r"(?m)^a +\S+ +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d+s +100000000  leaf0 -> spine\d 8")

    def existing_store(self):
        self.store.mkdir()
        return self.store


def etcd_answers(endpoint):
    return subprocess.run(["etcdctl", "--endpoints", endpoint, "endpoint", "health"], capture_output=True,
                          check=False).returncode == 0


class EtcdLease(Lease):
    """The same with etcd, where that differs."""
    # A renewal is three starts of etcd's client, of which each has a third of the time to live: beside other tests a
    # start takes some tenths of a second, and with sanitizers more.
    SHORT = "9s"

    def setUp(self):
        for tool in ("etcd", "etcdctl"):
            if shutil.which(tool) is None:
                self.skipTest(f"there is no {tool}: scripts/setup --etcd")
        super().setUp()
        client, peer = program.free_port(), program.free_port()
        self.endpoint = f"127.0.0.1:{client}"
        self.store = "etcd:" + self.endpoint
        log = open(self.folder / "etcd.log", "wb")
        self.addCleanup(log.close)
        # In memory: it waits for the disk at each change, to which other tests write gigabytes.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        data = tempfile.TemporaryDirectory(prefix="heddle-etcd-", dir=memory)
        self.addCleanup(data.cleanup)
        self.server = subprocess.Popen(
            ["etcd", "--data-dir", data.name, "--listen-client-urls", f"http://{self.endpoint}",
             "--advertise-client-urls", f"http://{self.endpoint}", "--listen-peer-urls", f"http://127.0.0.1:{peer}"],
            stdout=log, stderr=log)
        self.addCleanup(self.stop)
        for _ in range(600):
            if etcd_answers(self.endpoint):
                return
            time.sleep(0.1)
        self.fail("etcd does not answer")

    def stop(self):
        self.server.send_signal(signal.SIGCONT)
        self.server.kill()
        self.server.wait()

    def etcdctl(self, *words):
        return subprocess.run(["etcdctl", "--endpoints", self.endpoint, *words], capture_output=True, text=True,
                              check=True).stdout

    def revoke(self, job):
        """As if nothing had renewed it."""
        found = json.loads(self.etcdctl("get", f"heddle/leases/job/{job}", "-w", "json"))
        self.etcdctl("lease", "revoke", f"{found['kvs'][0]['lease']:x}")

    def test_jobs_are_planned_beside_each_other(self):
        processes = [self.started(f"job{i}", (i, 8 + i, 100_000_000)) for i in range(4)]
        self.assertEqual(len({each["busiest"][0]["link"] for each in self.listed().values()}), 4)
        for process in processes:
            process.signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 143)
        self.assertEqual(self.listed(), {})
        self.assertEqual(self.etcdctl("lease", "list").splitlines()[0], "found 0 leases")

    def test_a_killed_holder_expires(self):
        killed = self.started("a", (0, 8, 1000), more=("--ttl", self.SHORT),
                              command=("sh", "-c", "echo $$; exec sleep 100"))
        child = int(killed.wait_for("^[0-9]+$"))
        killed.signal(signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        killed.wait()
        for _ in range(600):
            if not self.listed():
                return
            time.sleep(0.1)
        self.fail("the lease is there after a minute")

    def test_a_paused_holder_notices_and_leaves_its_successor_alone(self):
        paused = self.started("a", (0, 8, 1000), more=("--ttl", self.SHORT))
        self.pause(paused)
        self.revoke("a")
        successor = self.started("a", (1, 9, 1000))
        paused.signal(signal.SIGCONT)
        paused.wait_for("the lease 'a' is lost: it was not renewed in time, and another job has the name now")
        paused.signal(signal.SIGTERM)
        self.assertEqual(paused.wait(), 143)
        self.assertEqual(self.listed()["a"]["process"], successor.process.pid)

    def test_a_paused_holder_takes_its_lease_again(self):
        paused = self.started("a", (0, 8, 1000), more=("--ttl", self.SHORT))
        self.revoke("a")
        paused.wait_for("the lease 'a' was lost.* It is taken again")
        self.expect_held_by("a", paused)

    def test_a_server_that_is_gone_for_a_while(self):
        held = self.started("a", (0, 8, 1000), more=("--ttl", self.SHORT))
        self.server.send_signal(signal.SIGSTOP)
        held.wait_for("the lease 'a' could not be renewed")
        held.signal(signal.SIGTERM)
        self.assertEqual(held.wait(), 143)
        self.server.send_signal(signal.SIGCONT)
        for _ in range(600):
            if not self.listed():
                return
            time.sleep(0.1)
        self.fail("the lease is there after a minute")

    def test_foreign_files_are_named_and_ignored(self):
        self.etcdctl("put", "heddle/leases/job/half", '{"version": 1, "job": "ha')
        self.etcdctl("put", "heddle/leases/job/a b", "")
        process = self.started("a", (0, 8, 1000))
        self.assertIn("key 'heddle/leases/job/half' is no lease", process.said())
        self.assertEqual(list(self.listed(status=1)), ["a"])
        done = program.run(*self.words("half", (0, 8, 1000)))
        self.assertEqual(done.returncode, 125)
        self.assertIn("a key that is no lease", done.stderr)

    def test_errors(self):
        self.started("a", (0, 8, 1000))
        done = program.run(*self.words("a", (1, 9, 1000)))
        self.assertEqual(done.returncode, 125)
        self.assertIn("holds it", done.stderr)
        self.store = f"etcd:127.0.0.1:{program.free_port()}"
        done = program.run(*self.words("b", (1, 9, 1000)))
        self.assertEqual(done.returncode, 125)
        self.assertIn("endpoint health", done.stderr)
        done = program.run(*self.words("b", (1, 9, 1000)), settings={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 125)
        self.assertIn("apt install etcd-client", done.stderr)

    # Those that are of folders, and those in which stores do not differ.
    test_a_full_disk = test_the_list_as_text = test_a_temporary_plan_goes_with_the_command = None


if __name__ == "__main__":
    unittest.main()
