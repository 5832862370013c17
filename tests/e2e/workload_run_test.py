#!/usr/bin/env python3
"""heddle workload run: a workload with real packets, beside its recording and its simulation."""

import json
import os
import subprocess
import tempfile
import unittest

import lab_fabric
import program

# So slow that no machine is the limit.
FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
[host_link]
rate = "50Mbit/s"
queue = "125KB"
mtu = 1500
[switch_link]
rate = "50Mbit/s"
queue = "125KB"
mtu = 1500
"""
SEVERAL = """version = 1
[[job]]
kind = "all_reduce"
algorithm = "ring"
bytes = "200KB"
count = 3
gap = "5ms"

[[job]]
kind = "program"
hosts = ["h3", "h0"]
[[job.program]]
ranks = ["0"]
actions = ["compute 20ms", "send world 50KB to 1"]
[[job.program]]
ranks = ["1"]
actions = ["receive world 50KB from 0"]

[[job]]
kind = "permutation"
bytes = "100KB"

[[job]]
kind = "incast"
to = "h2"
bytes = "20KB"
start = "30ms"
"""


def json_of(done):
    assert done.returncode == 0, (done.returncode, done.stderr, done.stdout[-2000:])
    return json.loads(done.stdout)


class Folder(unittest.TestCase):
    def setUp(self):
        parent = tempfile.TemporaryDirectory()
        self.addCleanup(parent.cleanup)
        self.parent = parent.name

    def file(self, name, text):
        path = os.path.join(self.parent, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class OnThisMachine(Folder):
    def test_every_flow_arrives_and_every_rank_ends(self):
        told = json_of(program.run("workload", "run", self.file("several.toml", SEVERAL), "-n", 4, "--json"))
        self.assertEqual((told["flows_arrived"], told["flows_failed"], told["flows_unfinished"]), (7, 0, 0))
        self.assertEqual(told["processes"], 4 + 2 + 4)
        reduce, messages = told["jobs"]
        self.assertEqual((reduce["ranks_done"], len(reduce["steps"])), (4, 3))
        self.assertEqual({call["algorithm"] for call in reduce["calls"]}, {"ring"})
        for step in reduce["steps"]:
            self.assertGreaterEqual(step["computed_us"], 5000)
            self.assertGreaterEqual(step["took_us"], 5000)
        self.assertEqual((messages["messages"], messages["message_bytes"]), (1, 50000))
        self.assertGreater(messages["steps"][0]["exposed_most_us"], 0)
        for flow in told["flows"]:
            self.assertGreater(flow["fct_us"], 0)
            self.assertGreaterEqual(flow["start_us"], 30000 if flow["bytes"] == 20000 else 0)

    def test_a_launcher_may_start_the_processes(self):
        workload = self.file("several.toml", SEVERAL)
        words = (program.HEDDLE, "workload", "run", workload, "-n", "4", "--json")
        told = json_of(program.run("run", "-n", 10, "--", *words))
        self.assertEqual(told["flows_arrived"], 7)
        done = program.run("run", "-n", 3, "--", *words)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it takes 10 processes, and heddle has started 3", done.stderr)

    def test_calls_that_differ_are_told(self):
        workload = self.file("differ.toml", """version = 1
[[job]]
kind = "program"
ranks = 2
[[job.program]]
ranks = ["0"]
actions = ["all_reduce world 1KB ring"]
[[job.program]]
ranks = ["1"]
actions = ["broadcast world 1KB ring"]
""")
        done = program.run("workload", "run", workload, "-n", 2)
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: rank ", done.stdout)
        self.assertIn("broadcast", done.stdout)
        self.assertNotIn("exit status", done.stderr)  # what it found is no crash of a process

    def test_workloads_that_cannot_run_are_refused(self):
        workload = self.file("several.toml", SEVERAL)
        done = program.run("workload", "run", workload, "-n", 2)
        self.assertEqual(done.returncode, 2)
        done = program.run("workload", "run", workload, "--lab", "nowhere")
        self.assertEqual(done.returncode, 2)
        matrix = self.file("triggers.cm", "Nodes 4\nConnections 2\nTriggers 1\n"
                           "0->1 id 1 start 0 size 1000 recv_done_trigger 1\n"
                           "1->2 id 2 trigger 1 size 1000\ntrigger id 1 oneshot\n")
        done = program.run("workload", "run", matrix, "-n", 4)
        self.assertEqual(done.returncode, 2)
        self.assertIn("flow 2 waits for, or sets off, flows of another host", done.stderr)

    def test_a_mistake_is_told_once(self):
        workload = self.file("several.toml", SEVERAL)
        done = program.run("workload", "run", workload, "-n", 10, "--bind", "no-such-device%")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("cannot find the host"), 1, done.stderr)

    def test_a_workload_that_can_be_read_once_is_refused(self):
        with subprocess.Popen(["cat", self.file("several.toml", SEVERAL)], stdout=subprocess.PIPE) as cat:
            done = program.run("workload", "run", f"/proc/{os.getpid()}/fd/{cat.stdout.fileno()}", "-n", 10)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("write it to a file first", done.stderr)
        with open(self.file("several.toml", SEVERAL), encoding="utf-8") as standard_input:  # no rank has it
            done = program.run("workload", "run", "/dev/stdin", "-n", 10, stdin=standard_input)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("write it to a file first", done.stderr)


@unittest.skipIf(lab_fabric.missing(), lab_fabric.missing() or "")
class InALab(Folder):
    def setUp(self):
        super().setUp()
        self.lab = lab_fabric.Lab(self.parent, FABRIC, "replay")
        self.addCleanup(self.lab.close)

    def replay(self, *words, before=()):
        return program.run(*before, "workload", "run", *words, "--lab", self.lab.name)

    def simulate(self, workload):
        return json_of(program.run("sim", "--topology", self.lab.file, "--workload", workload, "--json"))

    def test_a_recorded_job_moves_the_same_bytes_again(self):
        folder, again = os.path.join(self.parent, "job"), os.path.join(self.parent, "again")
        done = program.run("record", "-o", folder, "--", program.HEDDLE, "run", "-n", 4, "--",
                           program.HEDDLE, "bench", "all", "-b", "12000", "-e", "24000", "-f", 2, "-n", 1, "-w", 1,
                           settings={"HEDDLE_SHARED_MEMORY": "never"})
        self.assertEqual(done.returncode, 0, done.stderr)
        recorded = json_of(program.run("matrix", folder, "--format", "json", "--by", "communicator"))
        (job,) = (part for part in recorded["parts"] if part["name"] != "none")
        workload = os.path.join(self.parent, "job.toml")
        done = program.run("workload", "from", folder, "-o", workload)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json_of(self.replay(workload, "--json", before=("record", "-o", again, "--", program.HEDDLE)))
        self.assertEqual(told["jobs"][0]["ranks_done"], 4)
        replayed = json_of(program.run("matrix", again, "--format", "json", "--by", "phase"))
        (steps,) = (part for part in replayed["parts"] if part["name"] == "step")
        self.assertEqual(steps["measured"], job["measured"])
        self.assertGreater(sum(map(sum, steps["measured"])), 1_000_000)
        # Hosts of the lab, not of this machine.
        self.assertEqual([party["host"] for party in replayed["parties"]], ["h0", "h1", "h2", "h3"])
        summary = json_of(program.run("summary", again, "--json"))
        self.assertGreater(sum(process["exposed_ns"] for process in summary["processes"]), 0)

    # bench/run beside_lab compares the durations, which depend on the machine.
    def test_real_packets_go_where_simulated_ones_go(self):
        workload = self.file("several.toml", SEVERAL)
        real, simulated = json_of(self.replay(workload, "--json")), self.simulate(workload)
        self.assertEqual((real["flows_arrived"], real["jobs"][0]["ranks_done"]), (7, 4))

        operations = lambda job: [call["operation"] for call in job["calls"]]
        for own, other in zip(real["jobs"], simulated["jobs"], strict=True):
            self.assertEqual(operations(own), operations(other))
            self.assertEqual(len(own["steps"]), len(other["steps"]))
            self.assertEqual((own["messages"], own["message_bytes"]), (other["messages"], other["message_bytes"]))
        pairs = lambda told: [(flow["src"], flow["dst"], flow["bytes"]) for flow in told["flows"]]
        self.assertEqual(pairs(real), pairs(simulated))

    def test_processes_are_where_their_ranks_are(self):
        workload = self.file("several.toml", SEVERAL)
        words = (program.HEDDLE, "workload", "run", workload, "--lab", self.lab.name)
        done = program.run("run", "--lab", self.lab.name, "--hosts", "h0", "-n", 10, "--", *words)
        self.assertEqual(done.returncode, 2)
        self.assertIn("runs on h0 and not on h1", done.stderr)


if __name__ == "__main__":
    unittest.main()
