#!/usr/bin/env python3
"""heddle size and its job files: every option is a key, what --write wrote answers the same, errors name the place."""

import json
import pathlib
import random
import re
import tempfile
import unittest

import program

QUESTIONS = ("cluster", "traffic", "overlap", "distance", "headroom", "messages")
JOB = """version = 1
question = "cluster"
[job]
model = "llama-3-8b"
gpus = 64
[parallelism]
tensor = 2
sequence_parallel = true
[hardware]
nic_rate = "200G"
kernel_share = 0.5
"""
# Values other than the default of each kind, and of options that do not take any of their kind.
KINDS = {"RATE": "1.6T", "SIZE": "64K", "DURATION": "7ms", "SHARE": "0.1%", "N": "2"}
VALUES = {"--model": "llama-3-70b", "--fabric": "roce-800g", "--gpu": "b200", "--parameters": "3B", "--batch": "1024",
          "--kernel-share": "0.5", "--overlap": "0.5", "--pool-share": "0.5", "--rate": "100Gbit/s",
          "--gradient-bytes": "2", "--gpus": "256", "--data": "8"}
DAMAGE = ("", "[", "=", '"', "\n", "0", "-", "#", "nan", "{}", "\x00")
# Of --model and --parameters, and of --meters and --km, one is given; --gpus and --data must go together.
LEFT_OUT = {"cluster": ("--data", "--expert"), "traffic": ("--parameters", "--data", "--expert"),
            "overlap": ("--model",), "headroom": ("--km",)}


def options_of(question):
    """Name to kind of value (None: a flag) of the options that a job file can have."""
    text = program.run("size", question, "--help").stdout
    found = re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)(?: ([A-Z|]+))?", text)
    return {name: kind or None for name, kind in found if name not in ("--help", "--json", "--report", "--write")}


class Job(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self, text, name="job.toml"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def answer(self, *words, **options):
        done = program.run("size", *words, "--json", **options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def refused(self, text, *words):
        path = self.written(text)
        done = program.run("size", path, *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr.replace(str(path), "job.toml")

    def test_a_file_answers_as_its_options_do(self):
        self.assertEqual(self.answer(self.written(JOB)),
                         self.answer("cluster", "--model", "llama-3-8b", "--gpus", "64", "--tensor", "2",
                                     "--sequence-parallel", "--nic-rate", "200G", "--kernel-share", "0.5"))

    def test_every_option_of_every_question_is_a_key(self):
        for question in QUESTIONS:
            words, keys = [question], set()
            for name, kind in options_of(question).items():
                if name in LEFT_OUT.get(question, ()):
                    continue
                keys.add(name[2:].replace("-", "_"))
                words.append(name if kind is None else f"{name}={VALUES.get(name, KINDS.get(kind))}")
            path = self.folder / f"{question}.toml"
            with self.subTest(question=question):
                asked = self.answer(*words, "--write", path)
                text = path.read_text(encoding="utf-8")
                self.assertEqual(set(re.findall(r"(?m)^(\w+) = ", text)), keys | {"version", "question"})
                self.assertEqual(self.answer(path), asked)
                self.assertNotEqual(asked["figures"], self.answer(*words[:1], *self.least(question))["figures"])

    @staticmethod
    def least(question):
        job = ("--model", "llama-3-8b", "--gpus", "8")
        return {"cluster": job, "traffic": job, "overlap": ("--parameters", "1B", "--backward", "1s")}.get(question, ())

    def test_options_replace_those_of_the_file(self):
        path = self.written(JOB)
        self.assertEqual(self.answer(path, "--gpus", "128")["title"][:19], "llama-3-8b on 128 h")
        self.assertEqual(self.answer("cluster", path, "--gpus=128"), self.answer(path, "--gpus", "128"))
        traffic = self.answer("traffic", path, "--parameters", "1B", "--tensor", "1")
        self.assertEqual(traffic["figures"][0]["value"], 1e9)  # --model and --parameters exclude each other

    def test_another_question_takes_what_it_knows(self):
        self.assertEqual(self.answer("traffic", self.written(JOB)),
                         self.answer("traffic", "--model", "llama-3-8b", "--gpus", "64", "--tensor", "2",
                                     "--sequence-parallel"))

    def test_paths_are_relative_to_the_file(self):
        config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
                  "intermediate_size": 128, "vocab_size": 100}
        (self.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        (self.folder / "deep").mkdir()
        words = ("traffic", "--model", "config.json", "--gpus", "8", "--write", "deep/job.toml")
        tables = self.answer(*words, cwd=self.folder)["tables"]
        self.assertIn('model = "../config.json"', (self.folder / "deep/job.toml").read_text(encoding="utf-8"))
        self.assertEqual(self.answer(self.folder / "deep/job.toml")["tables"], tables)

    def test_the_job_file_of_the_how_to_is_one(self):
        page = pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/size_a_cluster.md"
        blocks = re.findall(r"(?s)```toml\n(version = 1\n.*?)```", page.read_text(encoding="utf-8"))
        self.assertEqual(len(blocks), 1)
        self.assertIn("llama-3-70b on 512 h100 with 800 Gb/s each", self.answer(self.written(blocks[0]))["title"])

    def test_a_file_is_not_replaced(self):
        path = self.written(JOB)
        done = program.run("size", path, "--write", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is a file already", done.stderr)
        self.assertEqual(path.read_text(encoding="utf-8"), JOB)

    def test_errors_name_line_and_column(self):
        for old, new, place, why in (
                ("gpus = 64", "gpus = 0", "job.toml:5:8", "'0' is not a whole number from 1 to 1000000"),
                ("gpus = 64", "gpus = true", "job.toml:5:8", "'gpus' has no value of N"),
                ("gpus = 64", "gpu_count = 64", "job.toml:5:1", "'gpu_count' is not an option of heddle size cluster"),
                ("gpus = 64", "gpuss = 64", "job.toml:5:1", "did you mean gpus?"),
                ("gpus = 64", "gpus = 10\nbatch = 12", "job.toml:6:9", "give --batch 10 or 15"),
                ("gpus = 64", "gpus = 65", "job.toml:5:8", "give --gpus 64 or 66"),
                ("llama-3-8b", "llama-9", "job.toml:4:9", "there are deepseek-v3,"),
                ("gpus = 64", "json = true", "job.toml:5:1", "'json' is not an option"),
                ("tensor = 2", "gpu = \"h100\"", "job.toml:7:1", "move it below [hardware]"),
                ("sequence_parallel = true", "sequence_parallel = 1", "job.toml:8:21", "neither true nor false"),
                ('"200G"', '"200"', "job.toml:10:12", "is no rate from 1kbit/s to 100Tbit/s"),
                ('"200G"', '"200G', "job.toml:10:", "must be TOML"),
                ("version = 1", "version = 2", "job.toml:1:11", "this heddle reads version = 1"),
                ("version = 1", "gpus = 8", "job.toml:1:1", "the schema version is missing"),
                ('"cluster"', '"none"', "job.toml:2:12", "there is no such question"),
                ("[job]", "tensor = 2\n[job]", "job.toml:3:1", "move it below [parallelism]"),
                ("[job]", "[task]", "job.toml:5:1", "move it below [job]")):
            with self.subTest(new=new):
                error = self.refused(JOB.replace(old, new))
                self.assertIn(place, error)
                self.assertIn(why, error)

    def test_damaged_files_are_answered_or_refused(self):
        pick = random.Random(1)
        ended = set()
        for _ in range(150):
            text = list(JOB)
            for _ in range(pick.randrange(1, 4)):
                at = pick.randrange(len(text))
                text[at:at + pick.randrange(3)] = pick.choice(DAMAGE)
            done = program.run("size", self.written("".join(text)))
            ended.add(done.returncode)
            self.assertEqual(done.stderr.startswith("heddle: "), done.returncode == 2, "".join(text))
            self.assertNotIn("stopped", done.stderr)
        self.assertEqual(ended, {1, 2})  # 1: it does not fit in memory

    def test_what_is_no_file_is_no_question_either(self):
        done = program.run("size", "trafic")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'heddle size traffic'?", done.stderr)
        self.assertIn("No such file", program.run("size", self.folder / "none.toml").stderr)


if __name__ == "__main__":
    unittest.main()
