#!/usr/bin/env python3
"""heddle size: answers in closed form, as text and as JSON, and what it says of wrong inputs."""

import json
import pathlib
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

    def figures(self, *words):
        return {figure["name"]: figure["value"] for figure in self.json_of(*words)["figures"]}

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
        self.assertTrue(all(each["source"] for each in listed["models"] + listed["fabrics"]))
        text = program.run("size", "--list").stdout
        self.assertRegex(text, r"(?m)^\* gpt3-175b .*\(recalled\)$")
        self.assertRegex(text, r"(?m)^  llama-3-8b ")
        self.assertRegex(text, r"(?m)^  roce-400g .*arXiv 2407\.21783")

    def test_traffic_of_data_parallel_ranks(self):
        # 4 nodes of one GPU, 1,000,000 gradients of 4 bytes: 2 x 3/4 x 4,000,000 bytes.
        found = self.figures("traffic", "--parameters", "1000000", "--gpus", "4", "--gpus-per-node", "1")
        self.assertEqual(found["nic_bytes"], 6_000_000)

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

    def test_headroom_that_does_not_fit_ends_with_1(self):
        found = self.json_of("headroom", "--meters", "40000", "--buffer", "64M", status=1)
        self.assertFalse(found["sound"])
        self.assertEqual(self.figures("headroom")["headroom_bytes"], 126_476)

    def test_wrong_inputs_say_what_to_do(self):
        model = ("traffic", "--model", "llama-3-8b")
        for words, todo in (
                ((), "give traffic, distance or headroom, or --list"),
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
                (("headroom", "--classes", "9"), "is no number from 1 to 8")):
            with self.subTest(words=words):
                self.assertIn(todo, self.refused(*words))


if __name__ == "__main__":
    unittest.main()
