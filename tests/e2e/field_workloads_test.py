#!/usr/bin/env python3
"""Chakra traces and AICB workloads: read by heddle sim, plan, size and workload, and written by them."""

import json
import os
import tempfile
import unittest

import program

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
hosts_per_leaf = 4
"""
JOB = """version = 1
[[job]]
kind = "training"
tensor = 2
data = 2
layers = 2
layer_bytes = "1MB"
activation_bytes = "100KB"
forward = "100us"
steps = 2
hosts = ["h0..h3"]
"""
AICB = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4 checkpoints: 0
2
attention -1 5000 ALLREDUCE 40960 3000 ALLREDUCE 40960 2000 NONE 0 0
mlp -1 1000 ALLREDUCE 40960 1 NONE 0 1 REDUCESCATTER 160000 100
"""


class FieldWorkloads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.parent.cleanup)
        cls.fabric = cls.file("fabric.toml", FABRIC)
        cls.job = cls.file("job.toml", JOB)
        cls.aicb = cls.file("gpt.txt", AICB)

    @classmethod
    def file(cls, name, text):
        path = os.path.join(cls.parent.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def done(self, *words, **options):
        ended = program.run(*words, **options)
        self.assertEqual(ended.returncode, 0, ended.stderr + ended.stdout[-2000:])
        return ended

    def refused(self, *words):
        ended = program.run(*words)
        self.assertEqual(ended.returncode, 2, ended.stdout)
        return ended.stderr

    def simulate(self, workload, topology=None):
        done = self.done("sim", "--topology", topology or self.fabric, "--workload", workload, "--json", "--delivered")
        (job,) = json.loads(done.stdout)["jobs"]
        self.assertEqual(job["ranks_done"], job["ranks"])
        return job

    def export(self, *more):
        folder = os.path.join(self.parent.name, "traces" + str(len(os.listdir(self.parent.name))))
        self.done("workload", "export", self.job, "--topology", self.fabric, "-o", folder, *more)
        return folder

    def test_a_job_written_as_traces_moves_the_same_bytes(self):
        expected = self.simulate(self.job)
        for form in ("protobuf", "json"):
            job = self.simulate(self.export("--format", form))
            self.assertEqual(job["delivered"], expected["delivered"])
            self.assertEqual(sum(step["computed_us"] for step in job["steps"]),
                             sum(step["computed_us"] for step in expected["steps"]))
            # The end of a step is a dependency like others, so that times differ little.
            self.assertAlmostEqual(job["steps"][-1]["ended_us"], expected["steps"][-1]["ended_us"],
                                   delta=0.05 * expected["steps"][-1]["ended_us"])

    def test_an_export_warns_that_steps_become_one(self):
        folder = os.path.join(self.parent.name, "warned")
        done = self.done("workload", "export", self.job, "--topology", self.fabric, "-o", folder)
        self.assertIn("2 steps become one", done.stderr)

    def test_ranks_that_send_before_they_compute_and_receive_finish(self):
        folder = os.path.join(self.parent.name, "exchange")
        os.mkdir(folder)
        for rank in (0, 1):
            def node(number, kind, depends, **attributes):
                return json.dumps({"id": number, "type": kind, "dataDeps": depends, "durationMicros": 5, "attr": [
                    {"name": name, "int64Val": value} for name, value in attributes.items()]})
            with open(os.path.join(folder, f"t.{rank}.json"), "w", encoding="utf-8") as file:
                file.write("\n".join(['{"version": "1.0.0"}',
                                      node(1, "COMM_SEND_NODE", [], comm_dst=1 - rank, comm_size=100000),
                                      node(2, "COMP_NODE", [1], is_cpu_op=0),
                                      node(3, "COMM_RECV_NODE", [2], comm_src=1 - rank, comm_size=100000)]))
        self.assertEqual(self.simulate(folder)["ranks"], 2)

    def test_traces_run_with_real_packets(self):
        run = json.loads(self.done("workload", "run", self.export(), "-n", 4, "--json").stdout)
        (job,) = run["jobs"]
        self.assertEqual((job["ranks_done"], job["ranks"]), (4, 4))

    def test_an_imported_file_is_what_is_read_directly(self):
        imported = os.path.join(self.parent.name, "imported.toml")
        for source in (self.export(), self.aicb):
            self.done("workload", "import", source, "-o", imported)
            self.assertEqual(self.simulate(imported)["steps"], self.simulate(source)["steps"])

    def test_a_recorded_job_is_written_as_traces(self):
        folder = os.path.join(self.parent.name, "recording")
        self.done("record", "-o", folder, "--", program.HEDDLE, "run", "-n", 4, "--", program.HEDDLE, "bench",
                  "allreduce", "-b", 40000, "-e", 80000, "-f", 2, "-n", 2, "-w", 1)
        traces = os.path.join(self.parent.name, "recorded")
        self.done("record", "export", folder, "--chakra", traces)
        self.assertIn("recorded.3.et", os.listdir(traces))
        job = self.simulate(traces)
        self.assertIn("all_reduce", {call["operation"] for call in job["calls"]})

    def test_plan_and_size_read_them(self):
        plan = json.loads(self.done("plan", "--topology", self.fabric, "--workload", self.aicb, "--json").stdout)
        self.assertTrue(plan)
        size = json.loads(self.done("size", "workload", "--workload", self.aicb, "--json").stdout)
        sent = {figure["name"]: figure["value"] for figure in size["figures"]}["sent_bytes"]
        self.assertEqual(sent, 3 * 40960 + 160000 // 2)

    def test_a_server_carries_its_own_calls(self):
        inside = os.path.join(self.parent.name, "inside.toml")
        done = self.done("workload", "import", self.aicb, "--server-ranks", 2, "--server-rate", "2T", "-o", inside)
        self.assertIn("3 calls", done.stderr)
        self.assertEqual({call["operation"] for call in self.simulate(inside)["calls"]}, {"reduce_scatter"})

    def test_a_network_of_astra_sim_is_a_topology(self):
        switch = self.file("switch.yml", "topology: [ Switch ]\nnpus_count: [ 4 ]\nbandwidth: [ 12.5 ]\n"
                                         "latency: [ 500.0 ]\n")
        self.assertEqual(self.simulate(self.aicb, switch)["ranks"], 4)
        ring = self.file("ring.yml", "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n")
        self.assertIn("ring.yml:1", self.refused("sim", "--topology", ring, "--workload", self.aicb))

    def test_mistakes_are_reported_with_their_place(self):
        folder = self.export()
        path = os.path.join(folder, "training.2.et")
        with open(path, "rb+") as file:
            file.truncate(os.path.getsize(path) - 3)
        wrong = self.refused("sim", "--topology", self.fabric, "--workload", folder)
        self.assertIn("training.2.et: at byte", wrong)
        os.remove(path)
        self.assertIn("no trace of rank 2", self.refused("workload", "import", folder))
        self.assertIn("folder has files",
                      self.refused("workload", "export", self.job, "--topology", self.fabric, "-o", folder))
        bad = self.file("bad.txt", AICB.replace("REDUCESCATTER", "GOSSIP"))
        self.assertIn("bad.txt:4", self.refused("workload", "import", bad))
        self.assertIn("--server-ranks", self.refused("workload", "import", self.aicb, "--server-rate", "2T"))
        self.assertIn("does not exist", self.refused("workload", "import", os.path.join(folder, "none.0.et")))
        self.assertIn("--clickhouse", self.refused("record", "export", folder))


if __name__ == "__main__":
    unittest.main()
