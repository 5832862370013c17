#!/usr/bin/env python3
"""heddle size cluster: whether a job fits in memory, sites, and files of GPUs, fabrics and models."""

import json
import pathlib
import re
import tempfile
import unittest

import program

HOW_TO = pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/size_a_cluster.md"
GPU = "peak_tflops = 1000\nachievable_tflops = 800\nnvlink_gbytes_per_s = 450\n"
FABRIC = "gpus_per_node = 8\nnic_gbits_per_s = 400\n"
MODEL = "layers = 2\nhidden = 64\nheads = 4\nffn = 128\nvocabulary = 100\n"
LLAMA_405B = ("--model", "llama-3-405b", "--gpus", "16384", "--tensor", "8", "--pipeline", "16", "--chunks", "7",
              "--batch", "2048", "--sequence-parallel")


def documented_keys(kind):
    """The keys in the table of the how-to whose head is 'key of a KIND'."""
    text = HOW_TO.read_text(encoding="utf-8")
    table = re.search(rf"(?m)^\| key of a {kind} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text).group(1)
    return [key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split("|")[1])]


class Cluster(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def run_cluster(self, *words, status=0):
        done = program.run("size", "cluster", *words, "--json")
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def with_file(self, kind, text):
        """The command on a file of that kind."""
        given = {"GPU": ("--gpu", "--model", "llama-3-8b"), "fabric": ("--fabric", "--model", "llama-3-8b"),
                 "model": ("--model",)}[kind]
        path = self.written(f"{kind}.toml", text)
        return program.run("size", "cluster", given[0], path, *given[1:], "--gpus", "8", "--zero", "3")

    def test_a_job_that_does_not_fit_ends_with_1_and_names_what_does(self):
        words = ("--model", "llama-2-7b", "--gpus", "8")
        asked = self.run_cluster(*words, status=1)
        self.assertFalse(asked["sound"])
        advice = asked["advice"][0]
        found = re.fullmatch(r"does not fit: ([\d.]+) GiB needed of 79\.7 GiB; it fits with (.*)", advice)
        figures = {figure["name"]: figure["value"] for figure in asked["figures"]}
        self.assertAlmostEqual(figures["memory_needed_bytes"] / 2**30, float(found.group(1)), delta=0.051)
        self.assertAlmostEqual(figures["memory_share"], figures["memory_needed_bytes"] / (79.65 * 2**30), places=9)
        parts = [value for name, value in figures.items()
                 if name in ("memory_parameters_bytes", "memory_gradients_bytes", "memory_optimizer_bytes",
                             "memory_activations_bytes")]
        self.assertAlmostEqual(sum(parts), figures["memory_needed_bytes"], delta=1)
        # Each remedy that is named is one.
        remedies = re.findall(r"(--[^()]+) \(([\d.]+) GiB\)", found.group(2))
        self.assertTrue(remedies)
        for options, gib in remedies:
            fits = self.run_cluster(*words, *options.split())
            needed = {figure["name"]: figure["value"] for figure in fits["figures"]}["memory_needed_bytes"]
            self.assertAlmostEqual(needed / 2**30, float(gib), delta=0.051)
            self.assertRegex(fits["advice"][0], r"^it fits: ")
        text = program.run("size", "cluster", *words).stdout
        self.assertRegex(text, r"(?m)^advice: does not fit: ")
        self.assertRegex(text, r"(?m)^assumed: memory: 12 bytes of optimizer states a parameter")
        self.assertRegex(text, r"(?m)^Memory of a GPU\n")

    def test_the_largest_published_job_fits_as_it_ran(self):
        # The Llama 3 Herd of Models, section 3.3.2: gradients shared, nothing recomputed, on 80 GB.
        fits = self.run_cluster(*LLAMA_405B, "--zero", "2")
        self.assertRegex(fits["advice"][0], r"^it fits: 6\d\.\d GiB|^it fits: 7\d\.\d GiB")
        self.assertRegex(self.run_cluster(*LLAMA_405B, status=1)["advice"][0], "--zero 2")

    def test_more_states_and_scores_need_more(self):
        words = ("--model", "llama-3-8b", "--gpus", "64", "--zero", "2", "--gpu", "b200")

        def needed(*more, status=0):
            figures = self.run_cluster(*words, *more, status=status)["figures"]
            return {figure["name"]: figure["value"] for figure in figures}

        base = needed()
        fewer = needed("--optimizer-bytes", "6")
        self.assertAlmostEqual(fewer["memory_optimizer_bytes"], base["memory_optimizer_bytes"] / 2)
        # 32 layers of 32 heads with 8,192 x 8,192 scores of 2 bytes.
        scores = needed("--attention-scores", status=1)
        self.assertEqual(scores["memory_activations_bytes"] - base["memory_activations_bytes"], 32 * 32 * 8192**2 * 2)

    def test_only_the_shape_of_a_model_is_enough(self):
        text = program.run("size", "cluster", "--help").stdout
        self.assertNotIn("--parameters", text)
        self.assertIn("--model", text)

    def test_advice_on_sites_names_their_link(self):
        lone = program.run("size", "cluster", "--model", "llama-3-8b", "--gpus", "64", "--zero", "2", "--site-km",
                           "100")
        self.assertEqual((lone.returncode, "no effect without --sites 2" in lone.stderr), (0, True), lone.stderr)
        words = ("--model", "llama-3-8b", "--gpus", "1024", "--zero", "2", "--sites", "2", "--site-rate")
        hidden = self.run_cluster(*words, "3.2T", "--site-km", "100")
        self.assertRegex(" ".join(hidden["advice"]), r"needs \S+ Gb/s of 400 Gb/s a GPU, and \S+ Gb/s of 3\.20 "
                                                     r"Tb/s from a site to the next; its last bucket, [\d.]+ ms, is")
        slow = self.run_cluster(*words, "40G")
        self.assertIn("the links between sites are the bottleneck: give ", slow["advice"][1])
        self.assertNotIn("NICs", " ".join(slow["advice"]))
        self.assertNotIn("site_most_km", [figure["name"] for figure in slow["figures"]])

    def test_the_documents_and_the_reader_know_the_same_keys(self):
        for kind, text in (("GPU", GPU), ("fabric", FABRIC), ("model", MODEL)):
            with self.subTest(kind=kind):
                self.assertIn(self.with_file(kind, text).returncode, (0, 1))
                done = self.with_file(kind, text + "colour = 1\n")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("'colour' is not a key", done.stderr)
                listed = re.search(r"(?s)(keys are|whole numbers:) (.*)", done.stderr).group(2)
                listed = re.sub(r"true or false:|texts:", "", listed)
                self.assertEqual(sorted(re.findall(r"\w+", listed)), sorted(documented_keys(kind)))

    def test_wrong_files_name_key_value_and_what_is_allowed(self):
        for kind, text, said in (
                ("GPU", GPU.replace("800", "1200"), "achievable_tflops is 1200, above peak_tflops, which is 1000"),
                ("GPU", GPU + "memory_gib = 0\n", "memory_gib is 0 give a number above 0"),
                ("GPU", GPU + "source = 7\n", "source is 7 give a text in quotes"),
                ("GPU", "achievable_tflops = 1\n", "peak_tflops is missing"),
                ("fabric", FABRIC.replace("400", "-5"), "nic_gbits_per_s is -5 give a number above 0"),
                ("fabric", FABRIC.replace("400", '"400G"'), 'nic_gbits_per_s is the text "400G" give a number above 0'),
                ("fabric", FABRIC + "oversubscription = 0.5\n", "oversubscription is 0.5 give a number of 1 or more"),
                ("fabric", FABRIC.replace("8", "2000"), "gpus_per_node is 2000 give a number from 1 to 1024"),
                ("fabric", FABRIC.replace("8", "1.5"), "gpus_per_node is 1.5 give a whole number")):
            with self.subTest(said=said):
                done = self.with_file(kind, text)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr.replace("(", ""))

    def test_a_gpu_without_memory_is_not_judged(self):
        path = self.written("gpu.toml", GPU)
        asked = self.run_cluster("--model", "llama-2-7b", "--gpus", "8", "--gpu", path)
        self.assertTrue(asked["sound"])
        self.assertIn("its file does not have memory_gib", asked["advice"][0])
        path = self.written("gpu.toml", GPU + "memory_gib = 80\n")
        self.assertFalse(self.run_cluster("--model", "llama-2-7b", "--gpus", "8", "--gpu", path, status=1)["sound"])


if __name__ == "__main__":
    unittest.main()
