#!/usr/bin/env python3
"""libheddle-nccl-trace.so preloaded into programs that use stand-ins of NCCL and CUDA, which write down each call with
its arguments: with and without it they write, and the programs print, the same. And with the machine's own NCCL."""

import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import program

TRACE = os.environ["HEDDLE_NCCL_TRACE"]
STANDINS = pathlib.Path(os.environ["HEDDLE_STANDINS"])
CALLING = STANDINS / "nccl_trace_calling"
OPENING = STANDINS / "nccl_trace_opening"

# What NCCL exports and this library leaves alone, and why.
QUERIES = {"ncclCommCount", "ncclCommCuDevice", "ncclCommUserRank", "ncclCommGetAsyncError", "ncclGetErrorString",
           "ncclGetLastError", "ncclCommMemStats", "ncclCommQueryProperties", "ncclWinGetUserPtr",
           "ncclGetMultimemDevicePointer", "ncclGetLsaMultimemDevicePointer", "ncclGetLsaDevicePointer",
           "ncclGetPeerDevicePointer"}  # they answer, often polled, and change nothing
# arithmetic
DEVICE_TEAMS = {"ncclTeamLsa", "ncclTeamRail", "ncclTeamWorld", "ncclTeamRankToLsa", "ncclTeamRankToWorld"}
REQUIREMENTS = {"ncclGinBarrierCreateRequirement", "ncclLLA2ACalcSlots", "ncclLLA2ACreateRequirement",
                "ncclLsaBarrierCreateRequirement", "ncclGinOutboxCreateRequirement",
                "ncclGinInboxA2ACreateRequirement"}  # they fill in what ncclDevCommCreate gets
DEBUGGING = {"ncclResetDebugInit", "ncclResetDebugInitInternal"}  # NCCL's log; not a part of its API
NOT_WRAPPED = QUERIES | DEVICE_TEAMS | REQUIREMENTS | DEBUGGING


def is_left_alone(name):
    return name in NOT_WRAPPED or name.startswith("ncclParam")  # settings


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], text=True, capture_output=True, check=True)
    return {line.split()[2].split("@")[0] for line in done.stdout.splitlines()}


def real_nccl():
    found = sorted(glob.glob("/usr/local/cuda*/lib*/libnccl.so.2")) + sorted(glob.glob("/usr/lib/*/libnccl.so.2"))
    return found[-1] if found else None


class Trace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-trace-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.job = self.folder / "job"
        self.log = self.folder / "calls"

    def run_program(self, *words, preload=(TRACE,), record=True, **settings):
        """The finished process, and what the stand-ins wrote."""
        self.log.write_text("")
        values = {"STANDIN_LOG": str(self.log), **settings}
        if preload:
            values["LD_PRELOAD"] = " ".join(map(str, preload))
        if record:
            values["HEDDLE_RECORD"] = str(self.job)
        done = subprocess.run([str(word) for word in words], env=program.environment(**values), text=True,
                              capture_output=True, timeout=60, check=False)
        return done, self.log.read_text(errors="replace")

    def dump(self, kind):
        done = program.run("record", "dump", self.job, "--kind", kind)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def calls(self):
        return [(call["operation"], call["type"], call["count"], call["root"]) for call in self.dump("call_made")]

    def expected(self, *by):
        done = program.run("matrix", self.job, "--format", "json", *by)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def same_as_without(self, *words):
        """Recording, off, and without the library: the same calls and results. Returns the recorded output."""
        plain, plain_log = self.run_program(*words, preload=(), record=False)
        self.assertNotEqual(plain_log, "")
        off, off_log = self.run_program(*words, record=False)
        self.assertFalse(self.job.exists())
        recorded, recorded_log = self.run_program(*words)
        for done, log in ((off, off_log), (recorded, recorded_log)):
            self.assertEqual((done.returncode, done.stdout, done.stderr), (plain.returncode, plain.stdout, ""))
            self.assertEqual(log, plain_log)
        self.assertEqual(plain.returncode, 0)
        return recorded.stdout

    def test_every_call_reaches_nccl_unchanged(self):
        self.same_as_without(CALLING, "every")
        called = set(re.findall(r"^nccl\w+", self.log.read_text(errors="replace"), re.MULTILINE))
        missing = {name for name in exported(TRACE) if name.startswith("nccl") and not name.endswith("Config")} - called
        self.assertEqual(missing - {"ncclGroupEnd"}, set(), "the program of this test does not call them")

    def test_what_is_recorded_of_each_operation(self):
        self.run_program(CALLING, "every")
        self.assertEqual(self.calls()[:12], [
            ("reduce", "float", 101, 3), ("broadcast", "half", 102, 2), ("broadcast", "bfloat16", 103, 1),
            ("allreduce", "double", 104, 0), ("reducescatter", "int32", 105, 0), ("allgather", "int64", 106, 0),
            ("alltoall", "uint8", 107, 0), ("gather", "uint8", 108, 2), ("scatter", "int8", 109, 3),
            ("send", "float", 110, 2), ("recv", "float", 111, 3), ("send", "float", 112, 0)])
        self.assertTrue(all(end["ok"] for end in self.dump("call_ended")))

    def test_communicators_and_their_ranks(self):
        self.run_program(CALLING, "every")
        made = [(each["rank"], each["size"]) for each in self.dump("communicator_made")]
        # Split, shrunk and grown ones are asked for when they are used first; the last two are a grown one's.
        self.assertEqual(sorted(made), sorted([(1, 4), (2, 5), (3, 6), (0, 4), (1, 4), (2, 4), (3, 4), (1, 2), (0, 3),
                                               (1, 8), (7, 8)]))
        numbers = [each["communicator"] for each in self.dump("communicator_made")]
        self.assertEqual(len(set(numbers)), 8)
        self.assertEqual([each["failed"] for each in self.dump("communicator_ended")], [False, True])

    def test_numbers_of_communicators_are_those_of_the_other_ranks(self):
        numbers = []
        for _ in range(2):
            self.run_program(CALLING, "group")
            numbers += [each["communicator"] for each in self.dump("communicator_made")]
        self.assertEqual(len(numbers), 3)  # one, then that and a second process's
        self.assertEqual(len(set(numbers)), 1)

    def test_other_calls(self):
        self.run_program(CALLING, "every")
        calls = {each["function"]: each for each in self.dump("library_call")}
        self.assertEqual(calls["ncclMemAlloc"]["bytes"], 1 << 33)
        self.assertEqual(calls["ncclCommWindowRegister"]["bytes"], 8192)
        self.assertEqual(calls["ncclCommInitRankConfig"]["status"], 7)
        self.assertGreater(calls["ncclCommInitRank"]["took_ns"], 0)
        self.assertNotIn("ncclAllReduce", calls)
        page = self.folder / "page.json"
        self.assertEqual(program.run("timeline", self.job, "-o", page).returncode, 0)
        self.assertIn("ncclCommInitRank", page.read_text())

    def test_failures_are_passed_on_and_recorded(self):
        self.same_as_without(CALLING, "fails")
        self.assertEqual([end["ok"] for end in self.dump("call_ended")], [False, True, False, False])
        self.assertEqual([each["count"] for each in self.dump("call_made")], [13, 16, 13, 13])
        failed = [(each["function"], each["status"]) for each in self.dump("library_call") if each["status"] != 0]
        self.assertEqual(failed, [("ncclCommInitRank", 2), ("ncclMemAlloc", 3)])
        # What failed moved nothing.
        self.assertEqual(self.expected()["totals"]["expected"], 2 * 16 * 4 * 3 // 4)

    def test_calls_of_a_group_end_with_it(self):
        self.same_as_without(CALLING, "group")
        made = self.dump("call_made")
        self.assertEqual([each["group"] for each in made], [1, 1, 4, 4, 0])
        self.assertEqual([each["number"] for each in made], [1, 1, 2, 2, 1])
        ends = {each["call"]: each["time_ns"] for each in self.dump("call_ended")}
        self.assertGreater(ends[made[0]["call"]], made[1]["time_ns"])
        self.assertTrue(all(each["ok"] for each in self.dump("call_ended")))

    def test_a_group_that_fails_moved_nothing(self):
        self.run_program(CALLING, "group", STANDIN_GROUPS_FAIL="1")
        self.assertEqual([each["ok"] for each in self.dump("call_ended")], [False] * 4 + [True])
        self.assertEqual(self.expected()["totals"]["expected"], 2 * 52 * 4 * 3 // 4)

    def test_threads(self):
        done, log = self.run_program(CALLING, "threads")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(log.count("ncclAllReduce"), 8000)
        calls = self.dump("call_made")
        self.assertEqual(len(calls), 8000)
        for number in {each["communicator"] for each in calls}:
            of_it = [each["call"] for each in calls if each["communicator"] == number]
            self.assertEqual(of_it, list(range(1, 1001)))
        info = program.run("record", "info", self.job).stdout
        self.assertIn("ended well", info)

    def test_a_process_with_several_devices_has_a_recording_of_each(self):
        self.same_as_without(CALLING, "devices")
        info = program.run("record", "info", self.job).stdout
        self.assertIn("ranks: all 4 are there", info)
        ring = 2 * 4 * (1 << 20) * 3 // 4
        rows = [[ring if to == (from_ + 1) % 4 else 0 for to in range(4)] for from_ in range(4)]
        rows[1][3] = 5000  # the copy
        self.assertEqual(self.expected()["expected"], rows)
        summary = json.loads(program.run("summary", self.job, "--json").stdout)
        self.assertEqual(summary["operations"]["allreduce"]["calls"], 4)

    def test_copies_between_devices(self):
        self.same_as_without(CALLING, "copies")
        self.assertEqual(sorted((each["root"], each["count"]) for each in self.dump("call_made")),
                         [(0, 2000), (1, 128_000), (1, 256_000), (2, 6000), (2, 6000), (3, 1000)])

    def test_plain_copies_where_they_are_asked_for(self):
        self.run_program(CALLING, "copies", HEDDLE_NCCL_TRACE_COPIES="true")
        counts = {each["count"] for each in self.dump("call_made")}
        self.assertLessEqual({8000, 16_000}, counts)
        self.assertFalse({32_000, 64_000} & counts, "from a device to the host")

    def test_a_child_records_for_itself(self):
        self.same_as_without(CALLING, "fork")
        self.assertEqual(sorted(each["count"] for each in self.dump("call_made")), [1000, 2000, 3000])
        self.assertEqual(len(list(self.job.glob("*.heddle"))), 2)

    def test_a_library_that_links_nccl_is_opened_privately(self):
        done, log = self.run_program(OPENING, "linked", STANDINS / "linked_user.so")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(log.count("ncclAllReduce"), 1)
        self.assertEqual(self.calls(), [("allreduce", "float", 1000, 0)])

    def test_functions_that_are_looked_up_in_nccl(self):
        done, _ = self.run_program(OPENING, "looked-up", STANDINS / "libnccl.so.2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.calls(), [("allreduce", "float", 1000, 0)])

    def test_a_second_nccl_is_left_alone(self):
        second = self.folder / "libnccl.so.2"
        second.write_bytes((STANDINS / "libnccl.so.2").read_bytes())
        done, log = self.run_program(OPENING, "looked-up", STANDINS / "libnccl.so.2", second)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(log.count("ncclAllReduce"), 2)
        self.assertEqual(len(self.calls()), 1)

    def test_another_preloaded_library_before_or_behind(self):
        second = STANDINS / "second_preload.so"
        for preload in ((TRACE, second), (second, TRACE)):
            done, log = self.run_program(CALLING, "group", preload=preload)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(log.count("second preload 52"), 1)
            self.assertEqual(log.count("ncclAllReduce"), 1)
        self.assertEqual(len(self.calls()), 2 * 5)

    def test_a_program_without_nccl(self):
        done, _ = self.run_program(OPENING, "none")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "no nccl, getpid found\n", ""))
        self.assertFalse(self.job.exists())

    def test_a_function_that_this_nccl_does_not_have(self):
        done, _ = self.run_program(CALLING, "newer")
        self.assertEqual((done.returncode, done.stdout), (0, "newer 5\n"))  # ncclInvalidUsage
        self.assertEqual(done.stderr, "heddle: the libraries of this process have no ncclAllReduceConfig\n")

    def test_what_cannot_be_recorded_is_reported_once_and_the_program_goes_on(self):
        self.job.write_text("not a folder")
        done, log = self.run_program(CALLING, "group")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(log.count("ncclAllReduce"), 1)
        self.assertEqual(done.stderr.count("heddle: "), 1, done.stderr)
        done, _ = self.run_program(CALLING, "group", HEDDLE_RECORD_LEVEL="all")
        self.assertIn("HEDDLE_RECORD_LEVEL is 'all'", done.stderr)

    def test_it_exports_what_it_wraps_and_needs_nothing_but_glibc(self):
        self.assertEqual({name for name in exported(TRACE) if not name.startswith(("nccl", "cudaMemcpy", "cuMemcpy"))},
                         {"dlsym"})
        dynamic = subprocess.run(["readelf", "-d", TRACE], text=True, capture_output=True, check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"})

    def test_under_the_machines_own_nccl(self):
        nccl = real_nccl()
        if nccl is None:
            self.skipTest("this machine has no libnccl.so.2 in /usr/local/cuda*/ or /usr/lib")
        own = exported(nccl)
        wrapped = {name for name in exported(TRACE) if name.startswith("nccl")}
        unknown = {name for name in own if name.startswith("nccl") and name not in wrapped and not is_left_alone(name)}
        self.assertEqual(unknown, set(), "neither wrapped nor listed in this test")
        script = ("import ctypes, sys; nccl = ctypes.CDLL(sys.argv[1]); version = ctypes.c_int(); "
                  "print(nccl.ncclGetVersion(ctypes.byref(version)), version.value > 20000, "
                  "nccl.ncclGroupStart(), nccl.ncclGroupEnd(), nccl.ncclAllReduce(0, 0, 1, 7, 0, 0, 0))")
        plain, _ = self.run_program(sys.executable, "-c", script, nccl, preload=(), record=False)
        done, _ = self.run_program(sys.executable, "-c", script, nccl)
        self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout))
        self.assertRegex(done.stdout, "^0 True 0 0 4")  # no communicator: ncclInvalidArgument


if __name__ == "__main__":
    unittest.main()
