#!/usr/bin/env python3
"""heddle_torch as its users run it: ranks that `heddle run` starts on loopback, with the Python that it was
built for. Importing torch takes seconds, so that one start of ranks makes many checks.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import lab_fabric
import program

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = os.environ.get("HEDDLE_TORCH_PYTHON", "/usr/bin/python3")
BUILT = pathlib.Path(os.environ.get("HEDDLE_TORCH_PACKAGE", "/nonexistent"))
MISSING = os.environ.get("HEDDLE_TORCH_MISSING", "")
if not MISSING and not BUILT.is_dir():
    MISSING = "heddle_torch is not built: make torch"


def settings(folder=BUILT.parent):
    return {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore",
            "OMP_NUM_THREADS": "1", "HEDDLE_BIND": "127.0.0.1"}


def run_ranks(size, *words, timeout=200):
    return program.run("run", "-n", size, "--", PYTHON, *words, settings=settings(), timeout=timeout)


class Backend(unittest.TestCase):
    def expect_passed(self, done, *names):
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        passed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("passed ")]
        for name in names:
            self.assertIn(name, passed, done.stdout)
        return passed

    def folder(self):
        made = tempfile.TemporaryDirectory(prefix="heddle-torch-test-")
        self.addCleanup(made.cleanup)
        return made.name

    def test_every_method_gives_what_it_must(self):
        seed = random.randrange(1_000_000)
        print(f"methods.py {seed}", file=sys.stderr, flush=True)
        done = run_ranks(3, HERE / "testing" / "methods.py", seed)
        checks = [line.split("check_")[1].split("(")[0]
                  for line in (HERE / "testing" / "methods.py").read_text().splitlines()
                  if line.startswith("    def check_")]
        self.assertGreater(len(checks), 20)
        self.expect_passed(done, *checks)

    def test_groups_are_made_again_and_a_process_may_just_end(self):
        done = run_ranks(3, HERE / "testing" / "life.py", "made_again", self.folder())
        self.expect_passed(done, "made_again")

    def test_the_store_of_a_run_outlives_rank_0(self):
        done = program.run("run", "-n", 3, "--elastic", 2, "--", PYTHON, HERE / "testing" / "elastic.py", "store",
                           settings=settings(), timeout=200)
        self.expect_passed(done, "store")
        self.assertIn("rank 0 was lost: signal 9 (Killed) ended it", done.stderr)

    def test_groups_that_are_made_again_do_not_find_what_is_left_in_the_store_of_a_run(self):
        self.expect_passed(run_ranks(3, HERE / "testing" / "elastic.py", "again"), "again")

    def expect_torch(self, major, minor):
        built = (BUILT / "_built.py").read_text().split('TORCH = "')[1].split('"')[0]
        if tuple(int(each) for each in built.split(".")) < (major, minor):
            self.skipTest(f"it needs torch {major}.{minor}, this is {built}")

    def test_a_group_gets_its_members_by_handles(self):
        self.expect_torch(2, 14)
        self.expect_passed(run_ranks(3, HERE / "testing" / "handles.py"), "handles")

    def test_names_of_torch_2(self):
        self.expect_torch(2, 14)
        done = program.run("run", "-n", 4, "--elastic", 1, "--", PYTHON, HERE / "testing" / "names.py",
                           settings=settings(), timeout=200)
        self.expect_passed(done, "coalesced", "split", "times", "aborted", "lose", "shrink")

    def test_a_group_has_the_settings_under_which_it_was_made(self):
        done = run_ranks(3, HERE / "testing" / "life.py", "own_settings", self.folder(), program.HEDDLE)
        self.expect_passed(done, "own_settings")

    @unittest.skipIf(lab_fabric.missing(), f"no lab: {lab_fabric.missing()}")
    def test_ranks_over_xdp_sockets_find_their_hosts_with_a_second_endpoint(self):
        """XDP sockets take an interface for one endpoint: what finds the hosts of ranks must use another datapath."""
        topology = pathlib.Path(self.folder()) / "pair.toml"
        topology.write_text('version = 1\n[[host]]\nname = "h0"\n[[host]]\nname = "h1"\n[[link]]\n'
                            'ends = ["h0", "h1"]\nrate = "1Gbit/s"\nqueue = "625KB"\nmtu = 1500\n')
        script = topology.with_name("reduce.py")
        script.write_text("import heddle_torch, torch, torch.distributed as d\nd.init_process_group('heddle')\n"
                          "t = torch.ones(1000) * (d.get_rank() + 1)\nd.all_reduce(t)\nprint('sum', t[0].item())\n"
                          "d.barrier()\nd.destroy_process_group()\n")
        words = [program.HEDDLE, "run", "-n", "2", "--hosts", "h0,h1", "--", "env", "-u", "HEDDLE_STORE",
                 "-u", "HEDDLE_RANK", "-u", "HEDDLE_SIZE", PYTHON, script]
        named = settings() | {"HEDDLE_DATAPATH": "xdp", "HEDDLE_LOG": "info"}
        del named["HEDDLE_BIND"]
        done = program.run("lab", "run", topology, "--", *words, settings=named, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("sum 3.0"), 2, done.stdout)
        self.assertEqual(len(re.findall(r"AF_XDP: nic0, \d+ queue", done.stdout + done.stderr)), 2, done.stderr)

    @unittest.skipIf(lab_fabric.missing(), f"no lab: {lab_fabric.missing()}")
    def test_ranks_on_hosts_of_a_lab_learn_where_they_are(self):
        topology = pathlib.Path(self.folder()) / "fabric.toml"
        topology.write_text(lab_fabric.LEAF_SPINE)
        # Most launchers of PyTorch programs set torch's variables only.
        words = [program.HEDDLE, "run", "-n", "3", "--hosts", "h0,h1,h3", "--", "env", "-u", "HEDDLE_STORE",
                 "-u", "HEDDLE_RANK", "-u", "HEDDLE_SIZE", PYTHON,
                 HERE / "testing" / "life.py", "made_again", self.folder()]
        named = settings()
        del named["HEDDLE_BIND"]
        done = program.run("lab", "run", topology, "--", *words, settings=named, timeout=200)
        self.expect_passed(done, "made_again")

    def test_missing_ranks_are_named(self):
        done = run_ranks(3, HERE / "testing" / "life.py", "missing")
        self.expect_passed(done, "late_rank_is_named", "monitored_barrier_waits_for_rank_0",
                           "wait_with_a_time_is_no_end", "monitored_barrier_names_all",
                           "monitored_barrier_names_the_first", "receive_from_any_source_ends",
                           "silent_rank_is_found", "absent_rank_is_named", "child_is_refused", "dead_rank_is_named")

    def test_a_process_may_end_while_a_callback_computes(self):
        self.expect_passed(run_ranks(1, HERE / "testing" / "life.py", "ends_in_a_callback"), "ends_in_a_callback")

    def test_where_there_can_be_no_more_threads_calls_with_copies_and_callbacks_end(self):
        self.expect_passed(run_ranks(1, HERE / "testing" / "life.py", "limited_threads"), "limited_threads")

    def test_no_tensor_goes_on_the_progress_thread(self):
        self.expect_passed(run_ranks(2, HERE / "testing" / "life.py", "dropped_tensors"), "dropped_tensors")

    def test_sharded_training_and_pipelines(self):
        self.expect_passed(run_ranks(3, HERE / "testing" / "patterns.py"), "sharded", "pipeline",
                           "sparse_embedding")

    def train(self, backend, *words, timeout=200):
        done = run_ranks(2, HERE / "examples" / "train.py", "--backend", backend, "--model", "small", "--json",
                         "--warm-up", 0, *words, timeout=timeout)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_training_learns_and_loses_as_with_gloo(self):
        ours = self.train("heddle", "--steps", 60, "--measure", 2, "--bucket-mb", 0.05)
        words = ("gloo", "--steps", 60, "--measure", 0, "--bucket-mb", 0.05)
        try:
            theirs = self.train(*words, timeout=60)
        except subprocess.TimeoutExpired:  # Gloo's ranks hang now and then on a host that has much to do
            theirs = self.train(*words)
        for mine, right in zip(ours["losses"], theirs["losses"], strict=True):
            self.assertAlmostEqual(mine, right, delta=1e-3 * max(1.0, right))
        self.assertLess(sum(ours["losses"][-5:]) / 5, 0.8 * ours["losses"][0])
        self.assertNotIn("split", theirs)
        for part in ("compute_s", "communicate_s", "overlapped_s", "exposed_s"):
            self.assertGreater(ours["split"][part], 0)

    def cifar_folder(self):
        folder = pathlib.Path(self.folder())
        rows = bytes(value for image in range(64) for value in [image % 10] + [image * 3 % 256] * 3072)
        (folder / "data_batch_1.bin").write_bytes(rows)
        return folder

    @unittest.skipIf(lab_fabric.missing(), f"no lab: {lab_fabric.missing()}")
    def test_verify_trains_resnet18_on_cifar_files(self):
        topology = pathlib.Path(self.folder()) / "fabric.toml"
        topology.write_text('version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 1\nspines = 1\nhosts_per_leaf = 2\n'
                            '[host_link]\nrate = "1Gbit/s"\nqueue = "1MB"\n', encoding="utf-8")
        named = settings()
        del named["HEDDLE_BIND"]
        done = program.run("verify", "--quick", "--topology", topology, "--stage", "training", "--python", PYTHON,
                           "--cifar", self.cifar_folder(), "--json", settings=named, timeout=300, cwd=topology.parent)
        stage = json.loads(done.stdout)["stages"][0]
        self.assertIn("torch", stage["data"], stage)
        alone, ours, gloo = stage["data"]["torch"]
        for each, name, ranks in ((alone, "heddle", 1), (ours, "heddle", 2), (gloo, "gloo", 2)):
            self.assertEqual((each["backend"], each["ranks"], each["complaint"]), (name, ranks, ""))
            self.assertEqual((each["data"], each["weights"], len(each["losses"])), ("CIFAR-10", "", 4))
            self.assertGreater(each["images_per_s"], 0)
        self.assertGreater(ours["communicate_s"], 0)
        rows = {(row["check"], row["where"]): row for row in stage["rows"]}
        self.assertIn("(CIFAR-10, from random weights)", rows["ResNet-18", "one host"]["measured"])
        self.assertEqual(rows["ResNet-18 over Gloo", "2 hosts"]["grade"], "pass", rows)

    def test_training_reads_cifar_files(self):
        folder = self.cifar_folder()
        result = self.train("heddle", "--steps", 2, "--measure", 0, "--cifar", folder)
        self.assertEqual(result["data"], "CIFAR-10")
        done = run_ranks(1, HERE / "examples" / "train.py", "--cifar", self.folder())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no data_batch_*.bin", done.stderr)

    def test_training_begins_with_given_weights(self):
        weights = pathlib.Path(self.folder()) / "weights.pt"
        made = subprocess.run([PYTHON, "-c", "import sys, torch, train; torch.manual_seed(5); "
                               "torch.save(train.make_model('small').state_dict(), sys.argv[1])", weights],
                              env={**os.environ, "PYTHONPATH": str(HERE / "examples")}, capture_output=True, text=True,
                              check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        words = ("heddle", "--steps", 1, "--measure", 0)
        given = self.train(*words, "--weights", weights)
        self.assertEqual(given["weights"], str(weights))
        self.assertNotEqual(given["losses"], self.train(*words)["losses"])
        weights.write_text("none", encoding="utf-8")
        done = run_ranks(1, HERE / "examples" / "train.py", "--model", "small", "--weights", weights)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cannot read weights from", done.stderr)

    def recorded_training(self, ranks, *words):
        """With the ring, whose bytes the formula counts: (what the example says, the folder of its recording)."""
        job = os.path.join(self.folder(), "job")
        done = program.run("run", "-n", ranks, "--", PYTHON, HERE / "examples" / "train.py", "--json", "--measure", 0,
                           *words, timeout=200,
                           settings={**settings(), "HEDDLE_RECORD": job, "HEDDLE_ALGORITHM": "allreduce:ring"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), job

    def matrix(self, job, *words):
        done = program.run("matrix", job, "--format", "json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    @unittest.skipIf(subprocess.run([PYTHON, "-c", "import torchvision"], capture_output=True, check=False).returncode,
                     f"{PYTHON} has no torchvision")
    def test_a_step_of_resnet18_moves_what_the_formula_says(self):
        ranks, steps = 4, 3
        result, job = self.recorded_training(ranks, "--model", "resnet18", "--batch", 4, "--steps", steps,
                                             "--warm-up", 2)
        self.assertEqual(result["parameters"], 11_181_642)
        phases = {part["name"]: part for part in self.matrix(job, "--by", "phase")["parts"]}
        expected = 2 * (ranks - 1) / ranks * 4 * result["parameters"]
        for row in phases["step"]["measured"]:
            # Besides gradients a step moves a mean of losses, and the buffers of normalisation, which are small.
            self.assertAlmostEqual(sum(row) / steps / expected, 1, delta=0.01)
        # Before the first step every rank gets the model.
        self.assertGreater(phases["start-up"]["totals"]["measured"], (ranks - 1) * 4 * result["parameters"])
        self.assertLess(phases["start-up"]["totals"]["measured"], 1.02 * (ranks - 1) * 4 * result["parameters"])
        operations = {part["name"]: part for part in self.matrix(job, "--by", "op")["parts"]}
        for name in ("allreduce", "broadcast"):
            self.assertEqual(operations[name]["totals"]["measured"], operations[name]["totals"]["expected"], name)
        gradients = ranks * expected * (2 + steps)
        self.assertAlmostEqual(operations["allreduce"]["totals"]["measured"] / gradients, 1, delta=1e-4)

    def test_marks_are_recorded(self):
        _, job = self.recorded_training(2, "--model", "small", "--steps", 3, "--warm-up", 1)
        dumped = program.run("record", "dump", job, "--kind", "mark")
        marks = [json.loads(line) for line in dumped.stdout.splitlines()]
        one = [("start-up", 0), ("warm-up", 0), ("step", 0), ("step", 1), ("step", 2), ("measure", 0)]
        self.assertEqual(sorted((mark["name"], mark["step"]) for mark in marks), sorted(2 * one))
        done = subprocess.run([PYTHON, "-c", "import heddle_torch; print(heddle_torch.mark('step', 3))"], text=True,
                              env=program.environment(**settings()), capture_output=True, check=False, timeout=100,
                              cwd=self.folder())
        self.assertEqual(done.stdout, "False\n", done.stderr)

    def test_it_is_installed_and_removed(self):
        folder = pathlib.Path(self.folder())
        (folder / "other.py").write_text("")
        for words, left in ((["--to", folder], True), (["--remove", "--to", folder], False)):
            done = subprocess.run([ROOT / "scripts" / "install_torch", "--package", BUILT, "--python", PYTHON, *words],
                                  capture_output=True, text=True, check=False, timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((folder / "heddle_torch").is_dir(), left)
            if left:
                done = subprocess.run([PYTHON, "-c", "import heddle_torch; print(heddle_torch.__file__)"], text=True,
                                      env=program.environment(**settings(folder)), capture_output=True, check=False,
                                      cwd=folder, timeout=100)
                self.assertIn(str(folder), done.stdout, done.stderr)
        self.assertEqual([path.name for path in folder.iterdir()], ["other.py"])


if __name__ == "__main__":
    if MISSING:
        print(f"skipped '{MISSING}'")
        sys.exit(77)
    unittest.main()
