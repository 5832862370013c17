#!/usr/bin/env python3
"""heddle record gather: hosts whose clocks really differ, in namespaces of time, become one recording."""

import csv
import io
import json
import os
import shlex
import shutil
import struct
import subprocess
import tempfile
import unittest

import program

AHEAD_S = 1000
WALL_CLOCK_WRONG_NS = 300 * 10**9  # far more than a busy machine lets pass between the starts of two ranks
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "--time", "--monotonic", str(AHEAD_S),
             "--boottime", str(AHEAD_S), "--fork", "--kill-child", "--"]
# Also of another boot, as the file says: another host. Else it is known how its clock stands.
HOST = [*NAMESPACE, "sh", "-c", 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"']
HEADER_BYTES, BLOCK_BYTES = 16 * 1024, 64 * 1024


def set_wall_clock_wrong(folder, by_ns):
    """As if the host's wall clock had been so far ahead while it recorded."""
    for name in program.recordings(folder):
        with open(os.path.join(folder, name), "r+b") as file:
            bytes_ = file.read()
            for block in range(HEADER_BYTES, len(bytes_), BLOCK_BYTES):
                if bytes_[block:block + 4] != b"HBlk":
                    continue
                realtime, = struct.unpack_from("<q", bytes_, block + 24)
                file.seek(block + 24)
                file.write(struct.pack("<q", realtime + by_ns))


def host(folder):
    """What runs a command on another host, as far as it can see; a skip where that cannot be made."""
    boot = os.path.join(folder, "boot_id")
    with open(boot, "w", encoding="ascii") as file:
        file.write("0d1e2f30-0000-4000-8000-000000000001\n")
    words = [*HOST, boot]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        raise unittest.SkipTest("namespaces of time cannot be made here")
    return shlex.join(words)


class GatherOneHost(unittest.TestCase):
    def test_clocks_of_one_host_need_no_messages(self):
        """Ranks 0 and 1 are on this host, 1 in a namespace of time; 2 and 3 on another one, in one each."""
        with tempfile.TemporaryDirectory() as parent:
            other = host(parent)
            bench = f"{program.HEDDLE} bench allreduce -b 16K -e 256K -f 4 -n 20"
            script = (f"export HEDDLE_RECORD={parent}/job; case $HEDDLE_RANK in 0) exec {bench};; "
                      f"1) exec {shlex.join(NAMESPACE)} {bench};; *) exec {other} {bench};; esac")
            done = program.run("run", "-n", 4, "--", "sh", "-c", script)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = program.run("record", "info", f"{parent}/job", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            clocks = json.loads(done.stdout)["clocks"]
            text = program.run("record", "info", f"{parent}/job").stdout
        self.assertEqual([clock["basis"] for clock in clocks], ["reference", "same_host", "messages"])
        self.assertEqual(clocks[0]["offset_from_ns"] - clocks[1]["offset_from_ns"], AHEAD_S * 10**9)
        self.assertEqual(clocks[1]["error_ns"], 0)
        self.assertAlmostEqual(clocks[0]["offset_from_ns"] - clocks[2]["offset_from_ns"], AHEAD_S * 10**9,
                               delta=10**7 + clocks[2]["error_ns"])
        self.assertIn("exactly, they are of one host", text)


class Gather(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.parent.cleanup)
        other = host(cls.parent.name)
        bench = f"{program.HEDDLE} bench allreduce -b 16K -e 1M -f 4 -n 20"
        script = (f"export HEDDLE_RECORD={cls.parent.name}/host$HEDDLE_RANK; case $HEDDLE_RANK in "
                  f"1) exec {other} {bench};; *) exec {bench};; esac")
        # Hosts do not share memory, and clocks are aligned by messages.
        done = program.run("run", "-n", 3, "--", "sh", "-c", script, settings={"HEDDLE_SHARED_MEMORY": "never"})
        assert done.returncode == 0, done.stderr
        set_wall_clock_wrong(f"{cls.parent.name}/host1", WALL_CLOCK_WRONG_NS)
        cls.job = f"{cls.parent.name}/job"
        cls.parts = [f"{cls.parent.name}/host{i}" for i in range(3)]
        cls.gathered = program.run("record", "gather", "-o", cls.job, *cls.parts)

    def info(self):
        done = program.run("record", "info", self.job, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_clocks_are_as_near_as_is_said(self):
        self.assertEqual(self.gathered.returncode, 0, self.gathered.stderr)
        document = self.info()
        reference, other = document["clocks"]
        self.assertEqual((reference["basis"], other["basis"]), ("reference", "messages"))
        self.assertAlmostEqual(reference["offset_from_ns"] - other["offset_from_ns"], AHEAD_S * 10**9,
                               delta=10**7 + other["error_ns"])
        # All ran on one wall clock, and one was made wrong afterwards: so the truth is known.
        # A busy machine may take the core between the readings of the two clocks.
        self.assertLessEqual(abs(other["wall_clock_ahead_ns"] - WALL_CLOCK_WRONG_NS), other["error_ns"] + 10**9)
        self.assertGreater(other["messages"], 20)
        self.assertEqual(sorted(document["clock_of_file"].values()), [0, 0, 1])

    def test_a_summary_is_of_one_clock(self):
        done = program.run("summary", self.job, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        # All end together; by its wall clock one host would begin and end much later. Spans of one
        # process are of its own clock, which drifts: either end is as well known as the clock is, and
        # what lies before the first message, while ranks wait for each other, only as its drift.
        longest = max(process["span_ns"] for process in document["processes"])
        known = max(2 * clock["error_ns"] + clock["drift_error_ppm"] * longest / 10**6
                    for clock in self.info()["clocks"])
        self.assertLess(known, WALL_CLOCK_WRONG_NS // 2)
        self.assertGreaterEqual(document["span_ns"] + known, longest)
        self.assertLess(document["span_ns"] - longest, WALL_CLOCK_WRONG_NS // 2)
        for call in document["slowest"]:
            self.assertLessEqual(call["from_beginning_ns"] + call["took_ns"], document["span_ns"] + known)
        nics = document["busiest_nics"]
        self.assertEqual(sum(nic["wire_sent_bytes"] for nic in nics), document["wire_bytes"])
        self.assertIn("sent on the wire by", program.run("summary", self.job).stdout)

    def test_all_is_there_and_told(self):
        document = self.info()
        self.assertEqual((len(document["recordings"]), document["ranks"], document["ranks_missing"]), (3, 3, []))
        text = program.run("record", "info", self.job).stdout
        for part in ("ranks: all 3 are there", "clocks: 2", "known to", "ahead"):
            self.assertIn(part, text)
            self.assertIn(part, self.gathered.stdout)
        self.assertEqual(os.stat(self.job).st_mode & 0o777, 0o700)
        for name in os.listdir(self.job):
            status = os.stat(os.path.join(self.job, name))
            if name.endswith(".heddle"):
                self.assertEqual(status.st_mode & 0o777, 0o600)
                self.assertLess(status.st_blocks * 512, status.st_size)  # holes are none of it

    def test_calls_of_all_ranks_stand_at_one_time(self):
        done = program.run("timeline", self.job, "--format", "csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        error = max(clock["error_ns"] for clock in self.info()["clocks"])
        made, ended = {}, {}
        for row in csv.DictReader(io.StringIO(done.stdout)):
            if row["kind"] != "call" or row["name"] != "allreduce":
                continue
            made.setdefault(row["number"], []).append(int(row["begin_ns"]))
            ended.setdefault(row["number"], []).append(int(row["end_ns"]))
        whole = [number for number in made if len(made[number]) == 3]
        self.assertGreater(len(whole), 20)
        for number in whole:  # no rank has the sum before the last has called
            self.assertGreaterEqual(min(ended[number]) + 2 * error, max(made[number]))

    def test_the_matrix_is_that_of_the_parts(self):
        matrix = json.loads(program.run("matrix", self.job, "--by", "op", "--format", "json").stdout)
        part = next(part for part in matrix["parts"] if part["name"] == "allreduce")
        self.assertEqual(part["measured"], part["expected"])
        self.assertEqual(program.run("summary", self.job).returncode, 0)

    def test_a_part_twice_and_a_part_missing(self):
        folder = f"{self.parent.name}/two"
        done = program.run("record", "gather", "-o", folder, "--json", *self.parts[:2], self.parts[0])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("twice", done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((len(document["recordings"]), document["ranks_missing"]), (2, [2]))

    def test_equal_names_of_two_hosts(self):
        twin = f"{self.parent.name}/twin"
        os.mkdir(twin)
        name, other = (program.recordings(part)[0] for part in self.parts[:2])
        shutil.copy(f"{self.parts[1]}/{other}", f"{twin}/{name}")
        folder = f"{self.parent.name}/twins"
        done = program.run("record", "gather", "-o", folder, self.parts[0], twin)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len([name for name in os.listdir(folder) if name.endswith(".heddle")]), 2)

    def test_what_is_damaged_is_gathered_and_told(self):
        broken = f"{self.parent.name}/broken"
        shutil.copytree(self.parts[2], broken)
        name, = program.recordings(broken)
        os.truncate(f"{broken}/{name}", 100_000)
        with open(f"{broken}/other.heddle", "w", encoding="utf-8") as file:
            file.write("nothing of ours")
        done = program.run("record", "gather", "-o", f"{self.parent.name}/damaged", self.parts[0], broken)
        self.assertEqual(done.returncode, 1)
        self.assertIn("damaged: 1", done.stdout)
        self.assertIn("other.heddle", done.stdout)

    def test_a_file_without_the_suffix_is_found_in_the_new_folder(self):
        name, = program.recordings(self.parts[0])
        bare = f"{self.parent.name}/bare"
        shutil.copy(f"{self.parts[0]}/{name}", bare)
        folder = f"{self.parent.name}/named"
        done = program.run("record", "gather", "-o", folder, bare, self.parts[1])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bare.heddle", os.listdir(folder))
        document = json.loads(program.run("record", "info", folder, "--json").stdout)
        self.assertEqual((len(document["recordings"]), document["ranks_missing"]), (2, [2]))

    def test_what_is_no_recording_is_not_gathered(self):
        before = sorted(os.listdir(self.parent.name))
        done = program.run("record", "gather", "-o", f"{self.parent.name}/none", "/etc/passwd")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/etc/passwd", done.stderr)
        self.assertEqual(sorted(os.listdir(self.parent.name)), before)

    def test_two_jobs_are_told_from_one(self):
        other = f"{self.parent.name}/other_job"
        done = program.run("record", "-o", other, "--", program.HEDDLE, "run", "-n", 2, "--", program.HEDDLE, "ranks")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = program.run("record", "gather", "-o", f"{self.parent.name}/mixed", *self.parts, other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"rank 0 is in \S+/host0 and in \S+/other_job, and 1 more .*two jobs")
        self.assertNotIn("two jobs", self.gathered.stderr)

    def test_mistakes_leave_nothing_behind(self):
        before = sorted(os.listdir(self.parent.name))
        for words, sign in (((self.parts[0],), "--output"), (("-o", self.job, self.parts[0]), "not empty"),
                            (("-o", f"{self.parent.name}/new"), "RECORDING is missing"),
                            (("-o", f"{self.parent.name}/new", self.parts[0], "/no/such/part"), "cannot read"),
                            (("-o", "/no/such/place", self.parts[0]), "cannot make")):
            done = program.run("record", "gather", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(sign, done.stderr)
        self.assertEqual(sorted(os.listdir(self.parent.name)), before)

    def test_a_full_disk_leaves_nothing_behind(self):
        disk = f"{self.parent.name}/disk"
        program.mount_small_disk(self, disk, "100k")
        done = program.run("record", "gather", "-o", f"{disk}/job", *self.parts)
        self.assertEqual(done.returncode, 2)
        self.assertIn("make room", done.stderr)
        self.assertEqual(os.listdir(disk), [])

    def test_a_manifest_that_is_damaged_is_made_again(self):
        copy = f"{self.parent.name}/copy"
        shutil.copytree(self.job, copy)
        with open(f"{copy}/manifest.json", "w", encoding="utf-8") as file:
            file.write('{"version": 1, "clocks": 7')
        self.aligned_again(copy)

    def test_a_manifest_that_cannot_be_read_is_made_again(self):
        """The program once ended by an uncaught exception."""
        copy = f"{self.parent.name}/copy_to_read"
        shutil.copytree(self.job, copy)
        os.unlink(f"{copy}/manifest.json")
        os.mkdir(f"{copy}/manifest.json")
        self.assertIn("Is a directory", self.aligned_again(copy))

    def aligned_again(self, job):
        done = program.run("record", "info", job, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("aligned again", done.stderr)
        self.assertEqual(json.loads(done.stdout)["clocks"], self.info()["clocks"])
        return done.stderr


if __name__ == "__main__":
    unittest.main()
