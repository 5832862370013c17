#!/usr/bin/env python3
"""heddle sim sweep as users run it: combinations, resuming after kill -9 and Ctrl-C, shares, and errors."""

import fcntl
import functools
import json
import os
import signal
import tempfile
import unittest

import program
import sim_files

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
[host_link]
mtu = 4154
[switch_link]
mtu = 4154
"""

PERMUTATION = """version = 1
[[job]]
kind = "permutation"
bytes = "200KB"
"""

VARY = ("--vary", "paths=1,8", "--vary", "cc=cubic,swift", "--vary", "seed=1..2")


@functools.cache
def whole_table():
    """The table of a sweep that nothing disturbs."""
    undisturbed = Sweep()
    try:
        undisturbed.setUp()
        return undisturbed.table("whole", *VARY)
    finally:
        undisturbed.doCleanups()


class Sweep(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("fabric.toml", FABRIC)
        self.write("perm.toml", PERMUTATION)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def words(self, results, *more, topology="fabric.toml"):
        return ("sim", "sweep", "-o", results, "--topology", topology, "--workload", "perm.toml", *more)

    def sweep(self, results, *more, settings=None):
        return program.run(*self.words(results, *more), cwd=self.folder, settings=settings)

    def table(self, results, *more, settings=None):
        done = self.sweep(results, *more, settings=settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("\n", 1)[1]

    def lines(self, results):
        found = []
        for name in sorted(os.listdir(os.path.join(self.folder, results))):
            with open(os.path.join(self.folder, results, name), encoding="utf-8") as file:
                found += file.readlines()
        return found

    def wait_for_lines(self, process, results, count):
        while process.process.poll() is None:
            if os.path.isdir(os.path.join(self.folder, results)) and len(self.lines(results)) >= count:
                return

    def test_every_combination_is_a_line_and_seeds_share_a_row_of_the_table(self):
        table = self.table("whole", *VARY)
        rows = [json.loads(line) for line in self.lines("whole")]
        self.assertEqual(len(rows), 8)
        self.assertEqual(len({row["key"] for row in rows}), 8)
        for row in rows:
            self.assertEqual(row["paths"], int(row["vary"]["paths"]))
            self.assertEqual(row["cc"], row["vary"]["cc"])
            self.assertEqual(row["flows_arrived"], 4)
        body = [line.split() for line in table.splitlines() if line.startswith(("cubic", "swift"))]
        self.assertEqual([line[:3] for line in body],
                         [["cubic", "1", "2"], ["cubic", "8", "2"], ["swift", "1", "2"], ["swift", "8", "2"]])

    def test_a_run_of_a_sweep_is_that_run_alone(self):
        self.table("one", "--vary", "seed=7", "--paths", 4)
        alone = program.run("sim", "--topology", "fabric.toml", "--workload", "perm.toml", "--seed", 7, "--paths", 4,
                            "--json", cwd=self.folder)
        self.assertEqual(json.loads(self.lines("one")[0])["history"], json.loads(alone.stdout)["history"])

    def test_killed_in_the_middle_it_goes_on_where_it_was(self):
        whole = whole_table()
        with program.started(*self.words("cut", *VARY, "--jobs", 1), cwd=self.folder) as process:
            self.wait_for_lines(process, "cut", 2)
            process.signal(signal.SIGKILL)
            process.wait()
        kept = self.lines("cut")
        file = os.path.join(self.folder, "cut", "share_1_of_1.jsonl")
        with open(file, "a", encoding="utf-8") as half:
            half.write('{"key":"0123456789abcdef","vary":{"pa')
        self.assertEqual(self.table("cut", *VARY), whole)
        again = self.lines("cut")
        self.assertEqual(again[:len(kept)], kept, "nothing was run again")
        self.assertEqual(len(again), 8)

    def test_an_interrupt_keeps_what_is_done(self):
        whole = whole_table()
        with program.started(*self.words("cut", *VARY, "--jobs", 1), cwd=self.folder) as process:
            self.wait_for_lines(process, "cut", 1)
            process.signal(signal.SIGINT)
            self.assertIn(process.wait(), (130, 0))  # 0: it was too fast
            self.assertIn("of 8 runs are in cut", "\n".join(process.lines))
        kept = self.lines("cut")
        self.assertEqual(self.table("cut", *VARY), whole)
        self.assertEqual(self.lines("cut")[:len(kept)], kept)

    def test_shares_merge(self):
        whole = whole_table()
        self.assertIn("4 of 8 runs are in shared", self.sweep("shared", *VARY, "--share", "1/2").stdout)
        array = {"SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_MIN": "5", "SLURM_ARRAY_TASK_COUNT": "2"}
        self.assertEqual(self.table("shared", *VARY, "--share", "auto", settings=array), whole)
        self.assertEqual(len(self.lines("shared")), 8)
        self.sweep("here", *VARY, "--share", "1/2")
        self.sweep("there", *VARY, "--share", "2/2")
        merged = program.run("sim", "sweep", "--merge", "here", "there", cwd=self.folder)
        self.assertEqual(merged.stdout, "8 runs\n" + whole)
        done = program.run("sim", "sweep", "--merge", "nowhere", cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_sweeps_of_other_options_stand_apart(self):
        self.table("both", "--vary", "seed=1..2")
        self.table("both", "--vary", "seed=1..2", "--cc", "swift")
        merged = program.run("sim", "sweep", "--merge", "both", cwd=self.folder)
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertIn("4 runs\n", merged.stdout)
        self.assertRegex(merged.stdout, r"cubic(.|\n)*swift")

    def test_sweeps_over_other_switches_stand_apart(self):
        self.write("fabric.topo", sim_files.TOPO)
        shared = ("--buffer", "1MB")
        kinds = program.sample(((), ("--trim",), shared, (*shared, "--alpha", "1/2"), (*shared, "--pfc"),
                                (*shared, "--pfc", "--xoff", "60KB")))
        for more in kinds:
            words = self.words("both", "--vary", "seed=1..2", "--queue", "24KB", *more, topology="fabric.topo")
            self.assertEqual(program.run(*words, cwd=self.folder).returncode, 0)
        rows = json.loads(program.run("sim", "sweep", "--merge", "both", "--json", cwd=self.folder).stdout)["runs"]
        self.assertEqual(len({json.dumps({k: v for k, v in row["vary"].items() if k != "seed"}, sort_keys=True)
                              for row in rows}), len(kinds))

    def test_a_changed_file_is_another_run(self):
        self.table("kept", "--vary", "seed=1..2")
        self.write("perm.toml", PERMUTATION.replace("200KB", "100KB"))
        done = self.sweep("kept", "--vary", "seed=1..3", "--json")
        document = json.loads(done.stdout)
        self.assertEqual((document["wanted"], document["done"]), (3, 3))
        self.assertEqual(len(self.lines("kept")), 5)
        self.assertEqual([row["seed"] for row in document["runs"]], [1, 2, 3])

    def test_results_of_another_heddle_do_not_count_and_stand_apart(self):
        self.table("kept", "--vary", "seed=1..2")
        self.table("again", "--vary", "seed=1..2")
        ours = self.lines("kept")
        rows = [json.loads(line) for line in ours]
        self.assertRegex(rows[0]["made_by"], r"^[0-9.]+, results [0-9]+, behaviour [0-9a-f]{16}$")
        keys = lambda lines: {(json.loads(line)["made_by"], json.loads(line)["key"]) for line in lines}
        self.assertEqual(keys(ours), keys(self.lines("again")), "the same heddle behaves the same")
        # As another would have written them: its keys are others.
        other = rows[0]["made_by"][:-16] + "0123456789abcdef"
        text = "".join(line.replace(row["made_by"], other).replace(row["key"], row["key"][::-1])
                       for row, line in zip(rows, ours))
        self.write("kept/share_1_of_1.jsonl", text)
        self.table("kept", "--vary", "seed=1..2")
        self.assertEqual(len(self.lines("kept")), 4)
        merged = program.run("sim", "sweep", "--merge", "kept", cwd=self.folder)
        self.assertIn("4 runs", merged.stdout)
        self.assertIn("made_by", merged.stdout)
        self.assertEqual(merged.stdout.count("behaviour"), 2, "a row each")

    def test_steps_of_jobs_have_a_table(self):
        job = '[[job]]\nkind = "all_reduce"\nname = "sum"\nbytes = "200KB"\ncount = 2\n'
        self.write("perm.toml", PERMUTATION + job)
        table = self.table("jobs", "--vary", "paths=1,8", "--vary", "seed=1..2")
        flows, jobs = table.strip().split("\n\n")
        self.assertIn("median tail", flows)
        self.assertEqual(len(flows.splitlines()), 3)
        rows = [json.loads(line) for line in self.lines("jobs")]
        for line, paths in zip(jobs.splitlines()[1:], ("1", "8")):
            steps = sorted(step["took_us"] for row in rows if row["vary"]["paths"] == paths
                           for step in row["jobs"][0]["steps"])
            self.assertEqual(len(steps), 4)
            told = " +".join(rf"{steps[i]:#.3g} us" for i in (0, 1, 3))
            self.assertRegex(line, rf"^{paths} +sum +2 +{told} ")

    def test_files_may_be_varied(self):
        self.write("large.toml", PERMUTATION.replace("200KB", "400KB"))
        done = program.run("sim", "sweep", "-o", "files", "--topology", "fabric.toml", "--vary",
                           "workload=perm.toml,large.toml", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("large.toml", done.stdout)
        self.write("again.toml", PERMUTATION)
        done = program.run("sim", "sweep", "-o", "same", "--topology", "fabric.toml", "--vary",
                           "workload=perm.toml,again.toml", cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("hold the same", done.stderr)

    def test_flows_that_did_not_arrive_are_told(self):
        done = self.sweep("short", "--vary", "until=1us,1s")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("not arrived", done.stdout)
        self.assertEqual(len(self.lines("short")), 2)
        self.assertEqual(self.sweep("short", "--vary", "until=1us,1s").returncode, 1, "and so again")

    def test_mistakes_are_told_before_anything_runs(self):
        mistakes = ((("--vary", "path=1,2"), "--path"), (("--vary", "paths=1,999"), "999"),
                    (("--vary", "paths"), "no option"), (("--vary", "seed=1", "--share", "3/2"), "no share"),
                    (("--vary", "seed=1", "--share", "auto"), "no launcher"), (("--json", "--trace", "x"), "alone"),
                    (("--vary", "topology=a,b"), "given and varied"), (("--ccc", "x"), "--ccc"))
        for more, why in program.sample(mistakes):
            with self.subTest(more):
                done = self.sweep("none", *more)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(why, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "none")))
        done = program.run("sim", "sweep", "--topology", "fabric.toml", "--workload", "perm.toml", cwd=self.folder)
        self.assertIn("name one with -o", done.stderr)
        done = program.run("sim", "--cc", "swift", *self.words("none")[1:], cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("after 'sweep'", done.stderr)

    def test_the_largest_seeds_are_a_range_too(self):
        self.assertIn("1 of 1 run", self.sweep("last", "--vary", f"seed={2**64 - 1}..{2**64 - 1}").stdout)

    def test_a_run_that_cannot_run_ends_the_sweep_with_its_error(self):
        self.write("perm.toml", PERMUTATION.replace("permutation", "storm"))
        done = self.sweep("none", "--vary", "seed=1..50")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("perm.toml:3", done.stderr)
        self.assertEqual(self.lines("none"), [])

    def test_a_share_is_done_by_one_at_a_time(self):
        os.mkdir(os.path.join(self.folder, "busy"))
        with open(os.path.join(self.folder, "busy", "share_2_of_2.jsonl"), "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            done = self.sweep("busy", "--vary", "seed=1..2", "--share", "2/2")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("another sweep writes busy/share_2_of_2.jsonl", done.stderr)
            self.assertEqual(self.sweep("busy", "--vary", "seed=1..2", "--share", "1/2").returncode, 0)


if __name__ == "__main__":
    unittest.main()
