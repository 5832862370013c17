#!/usr/bin/env python3
"""heddle size: answers in closed form, as text and as JSON, and what it says of wrong inputs."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import program

LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
         "intermediate_size": 128, "vocab_size": 100}


class Size(unittest.TestCase):
    def json_of(self, *words, status=0):
        done = program.run("size", *words, "--json")
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def figures(self, *words, status=0):
        return {figure["name"]: figure["value"] for figure in self.json_of(*words, status=status)["figures"]}

    def refused(self, *words):
        done = program.run("size", *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def test_presets_are_listed_with_their_sources_and_marks(self):
        listed = self.json_of("--list")
        models = {model["name"]: model for model in listed["models"]}
        self.assertEqual(models["llama-3-8b"]["parameters"], 8_030_261_248)
        self.assertFalse(models["llama-3-8b"]["recalled"])
        self.assertTrue(models["gpt3-175b"]["recalled"])
        gpus = {gpu["name"]: gpu for gpu in listed["gpus"]}
        self.assertEqual(gpus["h100"]["nvlink_bits_per_s"], 3.6e12)
        self.assertTrue(all(79e9 < gpu["memory_bytes"] and "memory:" in gpu["source"] for gpu in gpus.values()))
        self.assertTrue(all(each["source"] for each in listed["models"] + listed["fabrics"] + listed["gpus"]))
        text = program.run("size", "--list").stdout
        self.assertRegex(text, r"(?m)^\* gpt3-175b .*\(recalled\)$")
        self.assertRegex(text, r"(?m)^  llama-3-8b ")
        self.assertRegex(text, r"(?m)^  roce-400g .*arXiv 2407\.21783")

    def test_traffic_of_data_parallel_ranks(self):
        # 4 nodes of one GPU, 1,000,000 gradients of 4 bytes: 2 x 3/4 x 4,000,000 bytes.
        words = ("traffic", "--parameters", "1000000", "--gpus", "4", "--gpus-per-node", "1")
        self.assertEqual(self.figures(*words)["nic_bytes"], 6_000_000)
        self.assertEqual(self.json_of(*words)["figures"][0]["meaning"], "parameters of the model, as given")
        preset = self.json_of("traffic", "--model", "llama-3-8b", "--gpus", "8")["figures"][0]
        self.assertEqual(preset["meaning"], "parameters of the model, from the shape of llama-3-8b")

    def test_traffic_of_a_fabric_has_the_time_of_its_nics(self):
        found = self.figures("traffic", "--model", "llama-3-8b", "--gpus", "64", "--fabric", "roce-400g")
        self.assertAlmostEqual(found["nic_s"], found["nic_bytes"] * 8 / 400e9)

    def test_traffic_of_a_config_json(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "config.json"
            config.write_text(json.dumps(LLAMA), encoding="utf-8")
            words = ("traffic", "--model", config, "--gpus", "16")
            # A layer: 4 x 64 x 64 + 3 x 64 x 128 + 2 x 64; embeddings and logits 100 x 64 each; a norm of 64.
            self.assertEqual(self.figures(*words)["parameters"], 2 * 41_088 + 12_800 + 64)
            self.assertIn("tensor_nvlink_bytes", self.figures(*words, "--tensor", "4"))
            config.write_text(json.dumps({**LLAMA, "model_type": "mamba"}), encoding="utf-8")
            self.assertIn("docs/how-to/size_a_cluster.md", self.refused(*words))
            config.write_text("[", encoding="utf-8")
            self.assertIn("it is not a JSON object", self.refused(*words))

    def test_overlap_of_two_models_that_compute_differently(self):
        # 160 buckets of 25 MB. 16 GPUs: 2 x 15/16 x 25 MB at 100 Gb/s x 4096/4178 = 3.825 ms a bucket.
        words = ("overlap", "--parameters", "1000000000", "--bucket", "25000000", "--backward")
        long, short = (self.json_of(*words, backward) for backward in ("800ms", "400ms"))
        rows = [{row[0]: row[-1] for row in each["tables"][0]["rows"]} for each in (long, short)]
        self.assertEqual(rows, [{2: "yes", 4: "yes", 8: "yes", 16: "yes"}, {2: "yes", 4: "no", 8: "no", 16: "no"}])
        self.assertAlmostEqual(self.figures(*words, "800ms")["exposed_s"], 3.825e-3, places=6)
        self.assertIn("the overlap condition fails: give each GPU NICs of", short["advice"][0])

    def test_overlap_agrees_with_the_simulator(self):
        workload = ('version = 1\n[[job]]\nkind = "training"\nlayers = 8\nlayer_bytes = "5MB"\nbucket = "5MB"\n'
                    'forward = "100us"\nbackward = "{backward}us"\nalgorithm = "ring"\nhosts = ["h0..h3"]\n')
        for backward_us in program.sample((200, 1000)):  # a layer; a bucket takes 600 us
            with self.subTest(backward_us=backward_us), tempfile.TemporaryDirectory() as folder:
                topology, job = (pathlib.Path(folder) / name for name in ("star.toml", "job.toml"))
                topology.write_text('version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 1\nspines = 1\n'
                                    "hosts_per_leaf = 4\n", encoding="utf-8")
                job.write_text(workload.format(backward=backward_us), encoding="utf-8")
                done = program.run("sim", "--topology", topology, "--workload", job, "--json")
                step = json.loads(done.stdout)["jobs"][0]["steps"][0]
                formula = self.figures("overlap", "--parameters", "10000000", "--gpus", "4", "--bucket", "5000000",
                                       "--forward", "800us", "--backward", f"{8 * backward_us}us", "--payload", "8928",
                                       "--headers", "110", "--chunk", "256K")
                self.assertAlmostEqual(formula["step_s"] * 1e6 / step["took_us"], 1, delta=0.03)
                self.assertAlmostEqual(formula["exposed_s"] * 1e6 / step["exposed_us"], 1, delta=0.06)

    @unittest.skipIf(program.sanitized(), "simulated times do not depend on the build")
    def test_the_bench_states_the_error_of_every_quantity(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        command = [sys.executable, "-B", root / "bench/run", "size", "overlap", "--parameters", "25000000", "--gpus",
                   "2", "--json"]
        folder = pathlib.Path(program.HEDDLE).resolve().parent
        done = subprocess.run(command, env={**os.environ, "HEDDLE_BENCH_BIN": str(folder)}, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual([case["overlaps"] for case in document["cases"]], [True, True])
        errors = [value for case in document["cases"] for value in case["errors"].values()]
        self.assertEqual(len(errors), 10)
        self.assertEqual(document["worst_error"], max(map(abs, errors)))

    def test_clusters_name_the_network_that_they_need(self):
        words = ("cluster", "--model", "llama-3-8b", "--gpus", "64", "--gpu", "b200")
        found = self.figures(*words)
        # 8 nodes of 8: a bus bandwidth counts 63/64 of what is reduced, a NIC 7/8 of an eighth.
        payload = found["needed_wire_bits_per_s"] * 4096 / 4178 / 8
        self.assertAlmostEqual(found["needed_bus_bytes_per_s"] / payload, 9, places=6)
        after_first = found["window_s"] * (1 - 1 / found["buckets"])
        exposed = max(found["last_bucket_s"], found["data_s"] - after_first)
        self.assertAlmostEqual(found["exposed_s"], exposed, delta=1e-12)
        self.assertEqual(found["buckets"], -(-8_030_261_248 * 4 // (25 << 20)))
        tables = {table["name"]: table for table in self.json_of(*words)["tables"]}
        exposed = [row[2] for row in tables["rates"]["rows"]]
        self.assertEqual(exposed, sorted(exposed, reverse=True))
        self.assertEqual([row[0] for row in tables["scaling"]["rows"]], [1, 2, 4, 8, 16, 32, 64])
        self.assertTrue(all(half <= even for *_, even, _, half in tables["scaling"]["rows"]))

    def test_messages_name_the_tool_that_measures_each_unit(self):
        self.assertEqual(self.figures("messages", "--bucket", "256M", "--gpus", "2")["message_bytes"], 1 << 20)
        text = program.run("size", "messages").stdout
        self.assertRegex(text, r"(?m)^  RDMA message +204,800 B .*perftest")
        self.assertRegex(text, r"(?m)^  bucket +26,214,400 B .*nccl-tests")

    def test_validation_hides_no_row(self):
        found = self.json_of("--validate")
        figures = {figure["name"]: figure["value"] for figure in found["figures"]}
        self.assertLess(figures["error_percent"], 10)
        rows = [row for table in found["tables"] for row in table["rows"]]
        self.assertEqual(len(rows), 37)
        for name, published, formula, error, source in rows:
            self.assertAlmostEqual(error, 100 * (formula / published - 1), delta=0.051, msg=name)
            self.assertTrue(source, name)
        errors = sorted(abs(formula / published - 1) for _, published, formula, _, _ in rows)
        self.assertAlmostEqual(figures["error_percent"], 100 * errors[18], places=6)

    def test_the_documents_name_every_row_that_is_far_off(self):
        text = pathlib.Path(__file__, "..", "..", "..", "docs", "explanation", "sizing.md").resolve().read_text("utf-8")
        ranges = [tuple(map(int, (low, high or low))) for low, high in
                  re.findall(r"(?m)^\|[^|]+\| ([-+]\d+)%(?: to ([-+]\d+)%)? \|", text)]
        far = [round(row[3]) for table in self.json_of("--validate")["tables"] for row in table["rows"]
               if abs(row[3]) > 10]
        for error in far:
            self.assertTrue(any(min(each) <= error <= max(each) for each in ranges), error)
        for bound in (bound for each in ranges for bound in each):
            self.assertIn(bound, far)

    def test_text_has_formula_terms_and_source(self):
        text = program.run("size", "distance", "--km", "300").stdout
        self.assertIn("goodput without loss: 2.77 Gb/s\n  = min(X, q * w * M * 8 / (R + M * 8 / X))\n", text)
        self.assertRegex(text, r"(?m)^    R  3\.01 ms, round trip$")
        self.assertIn("source: a closed loop with one server (Little's law)", text)
        self.assertIn("advice: too little is outstanding", text)

    def test_distance_takes_loss_in_percent_or_as_a_share(self):
        lossy = ("distance", "--km", "100", "--outstanding", "512", "--loss")
        self.assertEqual(self.figures(*lossy, "0.01%"), self.figures(*lossy, "1e-4"))
        repeating = self.figures(*lossy, "1e-4")["goodput_bits_per_s"]
        self.assertGreater(self.figures(*lossy, "1e-4", "--selective-repeat")["goodput_bits_per_s"], repeating)

    def test_rates_of_ethernet_to_come(self):
        for rate, bits in (("1.6T", 1.6e12), ("3.2 Tb/s", 3.2e12), ("100Tbit/s", 1e14)):
            found = self.figures("distance", "--rate", rate)
            self.assertAlmostEqual(found["capacity_bits_per_s"], bits * 4096 / 4178, delta=1)
        self.assertIn("to 100Tbit/s, like", self.refused("distance", "--rate", "100.1Tbit/s"))

    def test_headroom_takes_kilometers_as_distance_does(self):
        self.assertEqual(self.figures("headroom", "--km", "0.3"), self.figures("headroom", "--meters", "300"))
        self.assertIn("--meters and --km exclude each other", self.refused("headroom", "--km", "1", "--meters", "5"))
        self.assertIn("is no number from 0 to 40000", self.refused("headroom", "--km", "40001"))
        with tempfile.TemporaryDirectory() as folder:
            job = pathlib.Path(folder) / "job.toml"
            found = self.figures("headroom", "--km", "40", "--write", job)
            self.assertEqual(self.figures(job), found)
            self.assertEqual(self.figures("headroom", job, "--meters", "300"), self.figures("headroom", "--km", "0.3"))

    def test_headroom_that_does_not_fit_ends_with_1(self):
        found = self.json_of("headroom", "--meters", "40000", "--buffer", "64M", status=1)
        self.assertFalse(found["sound"])
        self.assertEqual(self.figures("headroom")["headroom_bytes"], 126_476)

    def test_wrong_inputs_say_what_to_do(self):
        model = ("traffic", "--model", "llama-3-8b")
        for words, todo in program.sample((
                ((), "or --list or --validate"),
                (("--list", "--validate"), "or --list or --validate"),
                (("overlap", "--parameters", "1000"), "--backward"),
                (("overlap", "--parameters", "1000", "--backward", "0s"), "give --backward"),
                (("overlap", "--parameters", "1000", "--backward", "1s", "--gpus", "1"), "give --gpus 2"),
                (("cluster", "--gpus", "8"), "--model"),
                (("cluster", "--model", "llama-3-8b", "--parameters", "1000", "--gpus", "8"), "--parameters"),
                (("cluster", "--model", "llama-3-8b", "--gpus", "8", "--gpu", "z1"), "there are a100, b200,"),
                (("messages", "--gpus", "1"), "give --gpus 2"),
                (("--json", "distance"), "write options of a question after its name"),
                (("traffic",), "--model or --parameters"),
                (("traffic", "--model", "llama-9"), "there are deepseek-v3,"),
                (("traffic", "--model", "/nonexistent/m.json"), "heddle size --list"),
                ((*model, "--gpus", "10", "--tensor", "4"), "give --gpus 8 or 12"),
                ((*model, "--gpus", "8", "--tensor", "3", "--data", "2"), "give --gpus 6"),
                ((*model, "--gpus", "8", "--batch", "12"), "give --batch 8 or 16"),
                ((*model, "--gpus", "8", "--expert", "2"), "leave --expert out"),
                ((*model, "--gpus", "0"), "--gpus"),
                ((*model, "--gpus", "8", "--fabric", "none"), "there are a100-200g,"),
                (("distance", "--km", "nan"), "is no number from 0 to 40000"),
                (("distance", "--loss", "100%"), "is no share from 0 to below 1"),
                (("distance", "--rate", "400"), "like 400Gbit/s"),
                (("headroom", "--rate", "123Gbit/s"), "give --response-bits"),
                (("headroom", "--classes", "9"), "is no number from 1 to 8"))):
            with self.subTest(words=words):
                self.assertIn(todo, self.refused(*words))


if __name__ == "__main__":
    unittest.main()
