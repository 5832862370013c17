#!/usr/bin/env python3
"""heddle record import: what NCCL Inspector and PyTorch's Flight Recorder keep, in files written by hand from their
formats: NVIDIA/nccl plugins/profiler/inspector (README.md, inspector_json.cc, format v4.0), pytorch/pytorch
torch/csrc/distributed/c10d/FlightRecorderDetail.hpp (version 2.10) and torch/csrc/jit/serialization/pickler.cpp;
meta-pytorch/torchcomms comms/torchcomms/hooks/FlightRecorder.cpp."""

import collections
import functools
import json
import os
import pickle
import random
import shutil
import struct
import tempfile
import unittest

import program

MIB = 1 << 20
BEGAN_NS = 1_752_867_229_000_000_000


def inspector_line(rank, number, verbose=True, **more):
    begin = BEGAN_NS // 1000 + number * 1000
    perf = {"coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 4 * MIB, "coll_exec_time_us": 400,
            "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 10.4, "coll_busbw_gbs": 15.7}
    if verbose:
        perf["event_trace_ts"] = {
            "coll_start_ts": begin, "coll_stop_ts": begin + 5,
            "kernel_events": [{"channel_id": 0, "kernel_start_ts": begin + 20, "kernel_stop_ts": begin + 420,
                               "kernel_record_ts": begin + 420}]}
    line = {"header": {"id": "0x7f8c496ae9f661", "comm_name": "unknown", "rank": rank, "n_ranks": 4, "nnodes": 2},
            "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism":
                         "nccl_profiler_interface", "dump_timestamp_us": begin + 900, "hostname": f"node{rank // 2}",
                         "pid": 1000 + rank}, "coll_perf": perf}
    line.update(more)
    return json.dumps(line)


def ras(minute, counts, missing=(), **more):
    """A snapshot as `ncclras -f json` prints it (NVIDIA/nccl, src/ras/client_support.cc, 2.31): all-reduces by rank."""
    def rank(number, status):
        return {"rank": number, "host": f"10.0.0.{number // 2 + 1}", "pid": 1000 + number, "cuda_dev": number % 2,
                "nvml_dev": number % 2, "status": status}
    present = [{**rank(number, {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False,
                                "abort_flag": False}),
                "collective_counts": {"Broadcast": 1, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0,
                                      "AllReduce": count, "SendRecv": 0}} for number, count in counts.items()]
    absent = [rank(number, {"unresponsive": True, "considered_dead": True}) for number in missing]
    return {"nccl_version": "2.31.1", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
            "timestamp": f"2026-05-05 06:{minute:02}:47", "communicators_count": 1, "communicators": [
                {"hash": "0x5e1f", "secondary_hash": "0x1:0x2", "size": 4, "ranks_count": len(present),
                 "missing_ranks_count": len(absent), "ranks": present, "missing_ranks": absent}],
            "ras": {"collection_time_sec": 0.004, "timeouts_count": 0}, **more}


def flight_recorder(rank, state="completed"):
    """As a dump's dictionary; of two groups, the second without rank 3."""
    def entry(number, name, sizes, out=None, group="0", **more):
        begin = BEGAN_NS + number * 10**6
        return {"frames": [{"name": "all_reduce", "filename": "a.py", "line": 3}], "record_id": number, "pg_id": 0,
                "process_group": (group, "default_pg"), "thread_name": "main", "thread_id": "1",
                "collective_seq_id": number, "p2p_seq_id": number, "op_id": number, "profiling_name": f"nccl:{name}",
                "time_created_ns": begin, "duration_ms": 0.5, "input_sizes": [sizes], "input_dtypes": ["BFloat16"],
                "output_sizes": [out or sizes], "output_dtypes": ["BFloat16"], "state": "completed",
                "time_discovered_started_ns": begin + 100_000, "time_discovered_completed_ns": begin + 900_000,
                "retired": True, "timeout_ms": 600_000, "is_p2p": False, **more}
    entries = [entry(1, "all_reduce", [1024, 4]), entry(2, "_all_gather_base", [1000], [4000]),
               entry(3, "_reduce_scatter_base", [4000], [1000])]
    if rank < 2:
        entries.append(entry(4, f"{'send 0->1' if rank == 0 else 'recv 1<-0'}", [77], is_p2p=True))
    if rank < 3:
        entries.append(entry(5, "all_reduce", [30], group="1"))
    last = entry(6, "all_reduce", [8], state=state)
    if state != "completed":
        last["time_discovered_completed_ns"] = None
        del last["duration_ms"]
    return {"version": "2.10", "nccl_version": "2.26.2", "entries": [*entries, last],
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
                          "1": {"name": "1", "desc": "some", "ranks": "[0, 1, 2]"}},
            "pg_status": {"0": {"last_enqueued_collective": 6}}}


def torchcomms(rank):
    """As the hook's dump_json(): calls of two groups, the second of ranks 0 and 1; rank 3 lacks the last call."""
    calls = [("all_reduce", "main", True), ("send", "main", True), ("all_gather_single", "main", True)]
    if rank < 2:
        calls.insert(1, ("all_reduce", "half", True))
    if rank < 3:
        calls.append(("all_reduce", "main", False))
    entries = [{"record_id": number, "pg_id": 0, "process_group": [group, "ncclx"], "thread_name": "main",
                "thread_id": "1", "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
                "profiling_name": f"nccl:{name}", "time_created_ns": BEGAN_NS + number * 10**6, "input_sizes": [[1024]],
                "input_dtypes": ["Float"], "output_sizes": [[1024]], "output_dtypes": ["Float"], "state": "scheduled",
                "time_discovered_started_ns": 0, "time_discovered_completed_ns": 0, "retired": retired,
                "timeout_ms": 600_000, "is_p2p": False} for number, (name, group, retired) in enumerate(calls)]
    return {"version": "2.10", "comm_lib_version": "2.27", "entries": entries, "pg_status": {}, "pg_config": {
        "main": {"name": "main", "desc": "ncclx", "ranks": "0,1,2,3"},
        "half": {"name": "half", "desc": "ncclx", "ranks": "0,1"}}}


def slow_inspector(slow):
    """Files of four ranks, the kernel of one of which begins 10 ms after the others' each time, for 10 s."""
    for rank in range(4):
        lines = []
        for number in range(400):
            line = json.loads(inspector_line(rank, number))
            begin = BEGAN_NS // 1000 + number * 25_000
            line["coll_perf"]["event_trace_ts"] = {
                "coll_start_ts": begin + 1000, "coll_stop_ts": begin + 1005,
                "kernel_events": [{"channel_id": 0, "kernel_start_ts": begin + (20_000 if rank == slow else 10_000),
                                   "kernel_stop_ts": begin + 25_000, "kernel_record_ts": begin + 25_000}]}
            lines.append(json.dumps(line))
        yield f"pid{1000 + rank}.log", "\n".join(lines)


def slow_flight_recorder(rank, slow):
    """The same of one rank. Its own calls take 5 ms: the others wait in theirs."""
    dump = flight_recorder(rank)
    first = dump["entries"][0]
    dump["entries"] = []
    for number in range(400):
        end = BEGAN_NS + (number + 1) * 25_000_000
        dump["entries"].append({**first, "record_id": number, "collective_seq_id": number, "op_id": number,
                                "time_created_ns": end - 24_000_000, "duration_ms": 5.0 if rank == slow else 15.0,
                                "time_discovered_started_ns": end - 4_000_000,
                                "time_discovered_completed_ns": end})
    return dump


class Runs:
    """So that a pickle of it asks to run something."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class Import(unittest.TestCase):
    def setUp(self):
        parent = tempfile.TemporaryDirectory()
        self.addCleanup(parent.cleanup)
        self.parent = parent.name
        self.job = f"{parent.name}/job"

    def write(self, name, data):
        path = f"{self.parent}/{name}"
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def imported(self, *files, status=0):
        done = program.run("record", "import", "-o", self.job, *files)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def document(self, *words):
        done = program.run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def expected(self, part):
        parts = self.document("matrix", self.job, "--by", "op", "--format", "json")["parts"]
        return next(each for each in parts if each["name"] == part)["expected"]

    def dump(self, kind):
        done = program.run("record", "dump", self.job, "--kind", kind)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_torchcomms(self):
        """Numbers that count a process's calls of all groups would join different calls of the ranks."""
        files = [self.write(f"comm_lib_trace_rank_{rank}", json.dumps(torchcomms(rank))) for rank in range(4)]
        done = self.imported(*files, status=1)
        self.assertIn("4 calls were left out: a send or receive without its peer", done.stderr)
        made = collections.Counter((each["communicator"], each["number"], each["operation"])
                                   for each in self.dump("call_made"))
        self.assertEqual(sorted((*call[1:], ranks) for call, ranks in made.items()),
                         [(0, "allreduce", 2), (0, "allreduce", 4), (1, "allgather", 4), (2, "allreduce", 3)])
        self.assertEqual(len(self.dump("call_ended")), 10, "the last call runs")

    def test_torchcomms_without_its_oldest_calls_of_several_groups(self):
        dump = torchcomms(0)
        del dump["entries"][0]
        done = self.imported(self.write("comm_lib_trace_rank_0", json.dumps(dump)), status=1)
        self.assertIn("its place among the group's calls is not known", done.stderr)

    def test_inspector(self):
        files = [self.write(f"node{rank // 2}-pid{1000 + rank}.log",
                            "\n".join(inspector_line(rank, number) for number in (1, 2, 3)) + "\n")
                 for rank in range(4)]
        done = self.imported(*files)
        self.assertIn("ranks: all 4 are there", done.stdout)
        ring = 2 * 4 * MIB * 3 // 4 * 3
        self.assertEqual(self.expected("allreduce"), [[ring if to == (from_ + 1) % 4 else 0 for to in range(4)]
                                                      for from_ in range(4)])
        summary = self.document("summary", self.job, "--json")
        self.assertEqual(summary["operations"]["allreduce"]["calls"], 12)
        self.assertEqual(summary["operations"]["allreduce"]["longest_ns"], 420_000)
        self.assertTrue(any("waits" in finding["what"] for finding in summary["findings"]), summary["findings"])
        text = program.run("summary", self.job).stdout
        self.assertIn("messages were not recorded, ", text)
        self.assertNotIn("times the mean", text)  # 0.00 it was
        made = self.dump("call_made")[0]
        self.assertEqual(made["time_ns"], BEGAN_NS + 10**6)
        self.assertEqual({party["host"] for party in self.document("matrix", self.job, "--format", "json")["parties"]},
                         {"node0", "node1"})

    def test_a_process_with_more_devices_than_a_host_has(self):
        """Each rank of a process became a file: half a megabyte of lines once became 282 MB."""
        lines = [json.loads(inspector_line(0, 1)) for _ in range(65)]
        for rank, line in enumerate(lines):
            line["header"]["rank"] = rank
        file = self.write("one.log", "".join(json.dumps(line) + "\n" for line in lines))
        done = program.run("record", "import", "-o", self.job, file)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("1 calls were left out", done.stderr)
        self.assertIn("64 recordings", done.stdout)

    def test_inspector_without_times_and_with_messages(self):
        message = {"p2p": "Send", "p2p_sn": 5, "p2p_peer": 3, "p2p_msg_size_bytes": 9000, "p2p_exec_time_us": 50}
        lines = [inspector_line(0, 1, verbose=False)]
        sent = json.loads(inspector_line(0, 2))
        del sent["coll_perf"]
        sent["p2p_perf"] = message
        done = self.imported(self.write("a.log", "\n".join([*lines, json.dumps(sent)])))
        self.assertIn("NCCL_INSPECTOR_DUMP_VERBOSE", done.stderr)
        self.assertEqual([event["operation"] for event in self.dump("call_made")], ["allreduce", "send"])
        send = self.expected("send")
        self.assertEqual(sum(map(sum, send)), 9000)

    def test_inspector_of_a_process_with_several_devices(self):
        lines = []
        for rank in range(4):
            line = json.loads(inspector_line(rank, 1))
            line["metadata"].update(pid=7, hostname="node")
            lines.append(json.dumps(line))
        self.assertIn("ranks: all 4 are there", self.imported(self.write("a.log", "\n".join(lines))).stdout)

    def test_a_cut_line_and_an_unknown_collective_are_reported(self):
        odd = json.loads(inspector_line(0, 2))
        odd["coll_perf"]["coll"] = "AllGatherV"
        text = "\n".join([inspector_line(0, 1), json.dumps(odd), inspector_line(0, 3)[:100]])
        done = self.imported(self.write("a.log", text), status=1)
        self.assertIn("AllGatherV", done.stderr)
        self.assertIn("makes no sense", done.stderr)
        self.assertEqual(len(self.dump("call_made")), 1)

    def flight(self, write):
        self.imported(*[self.write(f"nccl_trace_rank_{rank}", write(flight_recorder(rank))) for rank in range(4)])
        # Of 2-byte elements: 4096 and 8 and, among three, 30 by all-reduce; blocks of 1000.
        self.assertEqual(self.expected("allgather")[2][3], 3 * 1000 * 2)
        self.assertEqual(self.expected("reducescatter")[3][0], 3 * 1000 * 2)
        self.assertEqual(self.expected("send")[0][1], 77 * 2)
        self.assertEqual(self.expected("allreduce")[3][0], 2 * (2 * 4096 * 3 // 4) + 2 * (2 * 8 * 3 // 4))
        self.assertEqual(self.expected("allreduce")[2][0], 2 * (2 * 30 * 2 // 3))
        ends = {event["time_ns"] for event in self.dump("call_ended")}
        self.assertIn(BEGAN_NS + 1_900_000, ends)
        starts = {event["time_ns"] for event in self.dump("call_started")}
        self.assertIn(BEGAN_NS + 1_400_000, starts)  # half a millisecond before the end, as the device measured

    def test_flight_recorder_as_json(self):
        self.flight(json.dumps)

    def test_flight_recorder_as_pickles(self):
        for protocol in (2, 3, 4, 5):
            self.job = f"{self.parent}/job{protocol}"
            self.flight(lambda dump, protocol=protocol: pickle.dumps(dump, protocol=protocol))

    def test_a_call_that_hangs(self):
        self.imported(self.write("nccl_trace_rank_0.json", json.dumps(flight_recorder(0, state="started"))))
        trace = self.document("timeline", self.job)["traceEvents"]
        self.assertEqual(sum(event.get("args", {}).get("under_way_at_the_end", False) for event in trace), 1)

    def diagnosed(self, *snapshots):
        """What heddle diagnose finds in snapshots of NCCL RAS, and what the import said of them."""
        files = [self.write(f"{at}.json", json.dumps(each)) for at, each in enumerate(snapshots)]
        errors = self.imported(*files).stderr
        done = program.run("diagnose", self.job, "--json")
        return json.loads(done.stdout), errors

    def expect_verdict(self, kind, rank):
        done = program.run("diagnose", self.job, "--json")
        self.assertEqual(done.returncode, 1 if kind else 0, done.stdout + done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual([(each["class"], each["place"], each["processes"]) for each in document["verdicts"]],
                         [(kind, "rank", [str(rank)])] if kind else [])
        self.assertTrue(document["enough_evidence"])

    def test_a_slow_rank_is_named_in_inspectors_files(self):
        for slow in (2, None):
            with self.subTest(slow=slow):
                self.job = f"{self.parent}/job{slow}"
                self.imported(*[self.write(name, text) for name, text in slow_inspector(slow)])
                self.expect_verdict("non_communication_slow" if slow else None, slow)

    def test_a_slow_rank_is_named_in_dumps_of_the_flight_recorder(self):
        for slow in (1, None):
            with self.subTest(slow=slow):
                self.job = f"{self.parent}/job{slow}"
                self.imported(*[self.write(f"nccl_trace_rank_{rank}", pickle.dumps(slow_flight_recorder(rank, slow)))
                                for rank in range(4)])
                self.expect_verdict("non_communication_slow" if slow else None, slow)

    def test_a_rank_that_hangs_is_named_in_dumps_whose_age_is_given(self):
        """No dump says when it was written, so that its last call looked like one that had just begun."""
        dumps = [slow_flight_recorder(rank, None) for rank in range(4)]
        for rank in (0, 1, 3):
            last = dumps[rank]["entries"][-1]
            more = {"record_id": 400, "collective_seq_id": 400, "op_id": 400, "state": "scheduled", "retired": False,
                    "time_created_ns": last["time_created_ns"] + 25_000_000, "time_discovered_started_ns": None,
                    "time_discovered_completed_ns": None, "duration_ms": None}
            dumps[rank]["entries"].append({**last, **more})
        for name, made, hung in (("nccl_trace_rank_", dumps, 2),
                                 ("comm_lib_trace_rank_", [torchcomms(rank) for rank in range(4)], 3)):
            with self.subTest(name):
                self.job = f"{self.parent}/job-{name}"
                self.imported(*[self.write(f"{name}{rank}", json.dumps(dump)) for rank, dump in enumerate(made)],
                              status=0 if made is dumps else 1)
                unknown = json.loads(program.run("diagnose", self.job, "--json").stdout)
                self.assertEqual(unknown["verdicts"], [])
                self.assertRegex(unknown["not_judged"][0], "^1 operations had not ended .*--hung-for")
                found = program.run("diagnose", self.job, "--hung-for", "10m", "--json")
                self.assertEqual(found.returncode, 1, found.stdout + found.stderr)
                (verdict,) = json.loads(found.stdout)["verdicts"]
                self.assertEqual((verdict["class"], verdict["processes"]), ("non_communication_hang", [str(hung)]))
                self.assertIn("before the end of the recording", verdict["evidence"][0])

    def test_dumps_of_a_job_that_does_not_hang_have_no_verdict_whatever_their_age(self):
        self.imported(*[self.write(f"nccl_trace_rank_{rank}", json.dumps(slow_flight_recorder(rank, None)))
                        for rank in range(4)])
        done = program.run("diagnose", self.job, "--hung-for", "10m", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["verdicts"]), (0, []), done.stderr)

    def test_a_rank_that_called_something_else_is_named_in_both_kinds_of_dumps(self):
        for name, make in (("nccl_trace_rank_", flight_recorder), ("comm_lib_trace_rank_", torchcomms)):
            with self.subTest(name):
                self.job = f"{self.parent}/job-{name}"
                dumps = [make(rank) for rank in range(4)]
                dumps[2]["entries"][0]["input_sizes"] = [[999, 4]]
                self.imported(*[self.write(f"{name}{rank}", json.dumps(dump)) for rank, dump in enumerate(dumps)],
                              status=1 if make is torchcomms else 0)
                done = program.run("diagnose", self.job, "--json")
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                verdict = json.loads(done.stdout)["verdicts"][0]
                self.assertEqual((verdict["class"], verdict["processes"]), ("mismatch", ["2"]))

    def test_two_snapshots_of_ras_name_the_rank_that_has_not_called(self):
        found, errors = self.diagnosed(ras(1, {0: 41_000, 1: 41_000, 2: 40_999, 3: 41_000}),
                                       ras(3, {0: 41_000, 1: 41_000, 2: 40_999, 3: 41_000}))
        self.assertEqual([(each["class"], each["processes"]) for each in found["verdicts"]],
                         [("non_communication_hang", ["2"])], found)
        self.assertEqual(errors, "")

    def test_snapshots_of_ras_of_a_job_that_goes_on_have_no_verdict(self):
        found, _ = self.diagnosed(ras(1, {0: 41_001, 1: 41_001, 2: 41_000, 3: 41_001}),
                                  ras(3, {0: 52_000, 1: 52_001, 2: 52_001, 3: 52_001}))
        self.assertEqual(found["verdicts"], [])

    def test_one_snapshot_of_ras_shows_no_hang_and_says_so(self):
        found, errors = self.diagnosed(ras(1, {0: 41_000, 1: 41_000, 2: 40_999, 3: 41_000}))
        self.assertEqual(found["verdicts"], [])
        self.assertIn("a hang shows by two that are at least a minute apart", errors)

    def test_a_rank_that_ras_considers_dead_is_named(self):
        found, errors = self.diagnosed(ras(1, {0: 7, 1: 7, 2: 7, 3: 7}), ras(3, {0: 8, 1: 8, 3: 8}, missing=[2]),
                                       ras(5, {0: 8, 1: 8, 3: 8}, missing=[2]))
        self.assertEqual([each["processes"] for each in found["verdicts"]], [["2"]], found)
        self.assertIn("NCCL considers dead: rank 2 of communicator 0x5e1f, on 10.0.0.2", errors)
        self.assertEqual(errors.count("rank 2"), 1, errors)

    def test_counts_of_ras_that_cannot_be_are_read(self):
        most = 2**64 - 1
        found, _ = self.diagnosed(ras(1, {0: most, 1: most}), ras(3, {0: most, 1: most - 4}))
        self.assertEqual(found["verdicts"], [])

    def test_damaged_snapshots_of_ras_are_refused_with_the_reason(self):
        whole = ras(1, {0: 1, 1: 1})
        for change, why in (({"timestamp": "yesterday"}, "its timestamp is no date and time"),
                            ({"communicators": [{"hash": 5}]}, "type must be string"),
                            ({"communicators": 7}, "")):
            with self.subTest(why=why):
                done = self.imported(self.write("ras.json", json.dumps({**whole, **change})), status=2)
                self.assertIn(why, done.stderr)

    def test_lists_as_torchs_own_pickler_writes_them(self):
        built = (b"\x80\x02}(X\x07\x00\x00\x00versionX\x04\x00\x00\x002.10"
                 b"X\x09\x00\x00\x00pg_config}X\x07\x00\x00\x00entries"
                 b"ctorch.jit._pickle\nbuild_intlist\nq\x00(](K\x05K\x06etRu.")
        path = self.write("nccl_trace_rank_0", built)
        done = program.run("record", "import", "-o", self.job, path)
        self.assertIn("cannot read the Flight Recorder's dump", done.stderr)  # its entries are numbers
        empty = built.replace(b"K\x05K\x06e", b"e")
        self.imported(self.write("nccl_trace_rank_0", empty))

    def test_nothing_in_a_pickle_is_run(self):
        for protocol in (2, 4):
            dump = flight_recorder(0)
            dump["entries"].append(Runs(f"{self.parent}/made"))
            path = self.write("nccl_trace_rank_0", pickle.dumps(dump, protocol=protocol))
            done = program.run("record", "import", "-o", self.job, path)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, "run something|more than data")
        self.assertEqual(os.listdir(self.parent), ["nccl_trace_rank_0"])

    def test_pickles_that_grow_are_refused(self):
        # A list of two of the list before, forty times: a terabyte if it were written out.
        grows = b"\x80\x02]q\x00" + b"".join(
            b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(28)) + b"."
        itself = b"\x80\x02]q\x00h\x00a."
        for data in (grows, itself, b"\x80\x02" + b"(" * 100_000 + b"t" * 100_000 + b".", b"\x80\x02.",
                     b"\x80\x02X" + struct.pack("<I", 2**31)):
            done = program.run("record", "import", "-o", self.job, self.write("nccl_trace_rank_0", data))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("pickle", done.stderr)

    def test_pickles_that_name_a_text_or_themselves_often_are_refused(self):
        """Values were counted, not their bytes, and those that were refused went on to their ends."""
        text = b"X" + struct.pack("<I", MIB) + b"x" * MIB
        texts = b"\x80\x02](" + text + b"q\x00" + b"h\x00" * 500 + b"e."
        keys = b"\x80\x02](" + text + b"q\x00" + b"}h\x00Ns" * 500 + b"e."
        few, many = (b"\x80\x02]q\x00(" + b"h\x00" * times + b"e." for times in (20, 3_000_000))
        marks = b"\x80\x02" + b"(" * 5_000_000 + b"."
        for data, sign in ((texts, "too much text"), (keys, "too much text"), (few, "too deeply"),
                           (many, "too deeply"), (marks, "too many values")):
            done = program.run("record", "import", "-o", self.job, self.write("nccl_trace_rank_0", data))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(sign, done.stderr)
        self.assertFalse(os.path.exists(self.job))

    def test_json_that_nests_without_end_is_refused(self):
        """It was copied value by value, each in a call of the one around it, until the stack was full."""
        nested = "[" * 2_000_000 + "]" * 2_000_000
        entry = flight_recorder(0)["entries"][0]
        line = json.loads(inspector_line(0, 1))
        line["coll_perf"]["event_trace_ts"]["kernel_events"] = "NESTED"
        for document in ({**flight_recorder(0), "entries": "NESTED"},
                         {**flight_recorder(0), "entries": [{**entry, "input_sizes": "NESTED"}]}, line, "NESTED"):
            path = self.write("nccl_trace_rank_0", json.dumps(document).replace('"NESTED"', nested))
            done = program.run("record", "import", "-o", self.job, path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(path, done.stderr)
            self.assertIn("too deeply", done.stderr)
        # One such line of many is left out.
        lines = "\n".join((inspector_line(0, 1), json.dumps(line).replace('"NESTED"', nested)))
        done = self.imported(self.write("a.log", lines), status=1)
        self.assertIn("makes no sense", done.stderr)
        self.assertEqual(len(self.dump("call_made")), 1)

    def test_an_object_with_many_members(self):
        """Each was sought among all before it, which took hours."""
        dump = {**flight_recorder(0), "more": {f"member {number}": number for number in range(300_000)}}
        for write in (json.dumps, pickle.dumps):
            self.job = f"{self.parent}/{write.__module__}"
            self.imported(self.write("nccl_trace_rank_0", write(dump)))

    def test_dumps_as_deep_as_they_may_be(self):
        for depth, status in ((31, 0), (32, 2)):
            nested = functools.reduce(lambda inner, _: [inner], range(depth), 1)
            for write in (json.dumps, pickle.dumps):
                self.job = f"{self.parent}/{write.__module__}{depth}"
                dump = {**flight_recorder(0), "more": nested}
                self.imported(self.write("nccl_trace_rank_0", write(dump)), status=status)

    def test_damage_is_told(self):
        choose = random.Random(3)
        whole = {"a.log": "\n".join(inspector_line(0, i) for i in range(9)).encode(),
                 "nccl_trace_rank_0": pickle.dumps(flight_recorder(0), protocol=2),
                 "nccl_trace_rank_1.json": json.dumps(flight_recorder(1)).encode()}
        for round_ in range(60):
            name = choose.choice(list(whole))
            data = bytearray(whole[name])
            for _ in range(choose.randrange(1, 6)):
                data[choose.randrange(len(data))] = choose.randrange(256)
            if choose.randrange(3) == 0:
                del data[choose.randrange(len(data)):]
            self.job = f"{self.parent}/job{round_}"
            done = program.run("record", "import", "-o", self.job, self.write(name, bytes(data)), errors="replace")
            self.assertIn(done.returncode, (0, 1, 2), f"round {round_}: {done.stderr}")
            self.assertEqual(os.path.exists(self.job), done.returncode != 2)

    def test_mistakes(self):
        for files, sign in ((("/no/such/file",), "cannot read"), ((self.write("x", "nothing"),), "neither"),
                            ((self.write("y", b"\x80\x02N."),), "no dump"),
                            ((self.write("rank", json.dumps(flight_recorder(0))),), "does not end in the rank")):
            done = program.run("record", "import", "-o", self.job, *files)
            self.assertEqual(done.returncode, 2, files)
            self.assertIn(sign, done.stderr)
        self.assertFalse(os.path.exists(self.job))

    def test_folders_and_files_that_cannot_be_read(self):
        """The program once ended by an uncaught exception."""
        good, empty, folders = (os.path.join(self.parent, name) for name in ("good", "empty", "folders"))
        for folder in (good, empty, f"{folders}/inner"):
            os.makedirs(folder)
        for rank in range(4):
            self.write(f"good/nccl_trace_rank_{rank}", json.dumps(flight_recorder(rank)))
        os.symlink("itself", f"{good}/itself")
        for path, sign in ((empty, "it holds no files"), (folders, "it holds no files"),
                           ("/proc/self/mem", "Input/output error")):
            done = program.run("record", "import", "-o", self.job, path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(path, done.stderr)
            self.assertIn(sign, done.stderr)
            done = self.imported(path, good, status=1)
            self.assertIn(sign, done.stderr)
            self.assertIn("ranks: all 4 are there", done.stdout)
            shutil.rmtree(self.job)

    def test_interrupted_it_leaves_nothing(self):
        """The folder under its unfinished name was left, with all that was written."""
        for rank in range(1000):
            self.write(f"nccl_trace_rank_{rank}", json.dumps(flight_recorder(0)))
        parent = f"{self.parent}/made"
        os.mkdir(parent)
        for _ in range(20):  # until the signal comes while it writes
            with program.started("record", "import", "-o", f"{parent}/job", self.parent) as importing:
                while not os.listdir(parent) and importing.process.poll() is None:
                    pass
                importing.signal(program.INTERRUPT)
                status = importing.wait()
            if status == 0:
                self.assertEqual(os.listdir(parent), ["job"])
                shutil.rmtree(f"{parent}/job")
                continue
            self.assertEqual(status, 128 + program.INTERRUPT, importing.said())
            self.assertEqual(os.listdir(parent), [])
            self.assertIn("nothing was imported: it was interrupted", importing.said())
            return
        self.fail("it was never interrupted")


if __name__ == "__main__":
    unittest.main()
