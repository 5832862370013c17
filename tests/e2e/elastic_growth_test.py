#!/usr/bin/env python3
"""`heddle run --elastic MIN:MAX` and `heddle resize`: newcomers take the place of lost ranks, ranks are added and
ended, and nothing is left behind."""

import json
import os
import signal
import unittest

import program
import run_case

# Members write the number in the file "size" as that of their communicator, until the file "gate" is there; newcomers
# do once the file "open" is.
_MEMBER = """
cd "$0"
echo "ready $$ join=$HEDDLE_JOIN rank=$RANK elastic=$HEDDLE_ELASTIC"
while [ ! -e gate ]; do
  if [ -z "$HEDDLE_JOIN" ] || [ -e open ]; then
    echo "1f $(cat size)" > "$HEDDLE_MEMBER_FILE.new" && mv "$HEDDLE_MEMBER_FILE.new" "$HEDDLE_MEMBER_FILE"
  fi
  sleep 0.05
done
"""
_SILENT = 'echo "ready $$"; cd "$0"; until [ -e gate ]; do sleep 0.05; done'


class ElasticGrowth(run_case.RunCase):
    def setUp(self):
        super().setUp()
        self.job = os.path.join(self.folder.name, "job")
        os.mkdir(self.job)
        self.write("size", "4")

    def write(self, name, text=""):
        path = os.path.join(self.job, name)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(f"{path}.new", path)

    def job_run(self, *options, script=_MEMBER):
        return self.started("-n", 4, "-t", *options, "--", "sh", "-c", script, self.job)

    def process_of(self, run, rank):
        return int(run.wait_for(rf"\[{rank}\] ready").split()[2])

    def resize(self, *arguments):
        return program.run("resize", *arguments, settings=self.settings)

    def runs(self):
        return json.loads(self.resize("--json").stdout)["runs"]

    def expect_nothing_left(self):
        for name in os.listdir(self.job):
            os.remove(os.path.join(self.job, name))
        os.rmdir(self.job)
        super().expect_nothing_left()

    def test_a_newcomer_takes_the_place_of_a_lost_rank(self):
        with self.job_run("--elastic", "2:4") as run:
            os.kill(self.process_of(run, 1), signal.SIGKILL)
            run.wait_for("rank 1 was lost.*; 3 of 4 ranks are left, at least 2 are needed")
            self.assertIn("join=1 rank= elastic=2:4", run.wait_for(r"\[4\] ready"))
            self.assertIn("join= rank=2 elastic=2:4", run.wait_for(r"\[2\] ready"))
            self.write("open")
            run.wait_for("rank 4 joined; 4 of 4 ranks are left")
            os.remove(os.path.join(self.job, "open"))  # the next newcomer may be there before the gate
            os.kill(self.process_of(run, 4), signal.SIGKILL)
            run.wait_for("rank 4 was lost")
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.assertIn("heddle: warning: the job ended with 3 of 4 ranks: ranks 1, 4 were lost", run.errors)
        self.expect_nothing_left()

    def test_newcomers_that_still_wait_end_with_the_job(self):
        wait = '[ -z "$HEDDLE_JOIN" ] || { echo "ready $$"; exec sleep 1000; }' + _MEMBER
        with self.job_run("--elastic", "2:4", script=wait) as run:
            os.kill(self.process_of(run, 0), signal.SIGKILL)
            run.wait_for(r"\[4\] ready")
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.assertIn("heddle: warning: the job ended with 3 of 4 ranks: rank 0 was lost", run.errors)
        self.expect_nothing_left()

    def test_newcomers_are_no_ranks_that_are_left(self):
        with self.job_run("--elastic", "3:4") as run:
            os.kill(self.process_of(run, 3), signal.SIGKILL)
            self.process_of(run, 4)
            os.kill(self.process_of(run, 2), signal.SIGKILL)
            self.assertEqual(run.wait(), 128 + signal.SIGKILL)
        self.assertIn("2 of 4 ranks are left, at least 3 are needed; the others are ended", run.errors[-1])
        self.expect_nothing_left()

    def test_a_newcomer_that_fails_is_followed_by_another_later(self):
        fail = '[ -z "$HEDDLE_JOIN" ] || exit 5' + _MEMBER
        with self.job_run("--elastic", "2:4", script=fail) as run:
            os.kill(self.process_of(run, 1), signal.SIGKILL)
            for newcomer in (4, 5):
                run.wait_for(f"newcomer {newcomer} did not join: it ended with exit status 5")
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.assertLess(len(run.errors), 8, "they do not follow each other at once")
        self.expect_nothing_left()

    def test_the_number_of_ranks_is_changed_while_the_job_runs(self):
        with self.job_run("--elastic", "2:6") as run:
            self.write("open")
            for rank in range(4):
                self.process_of(run, rank)
            shown = self.resize()
            self.assertRegex(shown.stdout.splitlines()[1], rf"^ *{run.process.pid} +4 +4 +2:6  sh -c")
            done = self.resize(6)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for rank, left in ((4, 5), (5, 6)):
                run.wait_for(f"heddle: rank {rank} joined; {left} of 6 ranks are left")
            self.assertEqual([(each["ranks"], each["wanted"]) for each in self.runs()], [(6, 6)])
            done = self.resize(4, "--run", run.process.pid)
            self.assertEqual(done.returncode, 0, done.stderr)
            # The ranks say that they are 4, not 6: the next is not ended yet, nor is the first.
            self.write("size", "6")
            run.wait_for("heddle: rank 5 is ended, as 4 ranks are wanted")
            self.assertFalse([line for line in run.errors if "rank 4 is ended" in line])
            self.write("size", "5")
            run.wait_for("heddle: rank 4 is ended, as 4 ranks are wanted")
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.assertFalse([line for line in run.errors if "lost" in line], run.errors)
        self.expect_nothing_left()

    def test_what_a_run_does_not_allow_is_refused(self):
        with self.job_run("--elastic", "2:6") as run:
            self.process_of(run, 3)
            for ranks in (1, 7):
                done = self.resize(ranks)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr, f"heddle: cannot run {ranks} ranks: the run was started with --elastic "
                                              "2:6 (give a number from 2 to 6)\n")
            for words in (("0",), ("six",), ("4", "5"), ("--run", "1")):
                self.assertEqual(self.resize(*words).returncode, 2, words)
            done = self.resize(3, "--run", 1)
            self.assertIn("process 1 is no `heddle run --elastic MIN:MAX` of this user", done.stderr)
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.expect_nothing_left()

    def test_ranks_that_have_not_found_each_other_are_not_ended(self):
        with self.job_run("--elastic", "2:6", script=_SILENT) as run:
            self.process_of(run, 3)
            done = self.resize(3)
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot end ranks to have 3: the ranks have not found each other yet", done.stderr)
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.expect_nothing_left()

    def test_runs_without_a_maximum_are_not_listed(self):
        with self.job_run("--elastic", "2", script=_SILENT) as run:
            self.process_of(run, 3)
            self.assertEqual(self.runs(), [])
            done = self.resize(3)
            self.assertEqual(done.returncode, 2)
            self.assertIn("start one with `heddle run --elastic MIN:MAX`", done.stderr)
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.expect_nothing_left()

    def test_of_several_runs_one_must_be_named(self):
        with self.job_run("--elastic", "2:4") as one, self.job_run("--elastic", "2:6") as other:
            self.process_of(one, 3)
            self.process_of(other, 3)
            done = self.resize(3)
            self.assertEqual(done.returncode, 2)
            processes = sorted((one.process.pid, other.process.pid))
            self.assertIn(f"give --run {processes[0]} or --run {processes[1]}", done.stderr)
            self.assertEqual(self.resize(5, "--run", other.process.pid).returncode, 0)
            self.process_of(other, 4)
            self.write("gate")
            self.assertEqual((one.wait(), other.wait()), (0, 0))
        self.expect_nothing_left()

    def test_a_rank_asks_about_its_own_run(self):
        inner = f'[ "$HEDDLE_RANK" != 0 ] || "{program.HEDDLE}" resize --json | tr -d "\\n "; sleep 0.1'
        with self.job_run("--elastic", "2:6") as other:
            self.process_of(other, 3)
            done = self.run_ranks("-n", 2, "--elastic", "1:3", "--", "sh", "-c", inner)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([each["max"] for each in json.loads(done.stdout)["runs"]], [3])
            self.write("gate")
            self.assertEqual(other.wait(), 0)
        self.expect_nothing_left()

    def test_a_program_that_is_not_elastic_learns_that_it_joins(self):
        script = f'[ -z "$HEDDLE_JOIN" ] || exec "{program.HEDDLE}" ranks;' + _MEMBER
        with self.job_run("--elastic", "2:4", script=script) as run:
            os.kill(self.process_of(run, 1), signal.SIGKILL)
            run.wait_for("this process was started to join a running job")
            self.write("gate")
            self.assertEqual(run.wait(), 0)
        self.expect_nothing_left()

    def test_signals_end_members_and_newcomers(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.job_run("--elastic", "2:4") as run:
                os.kill(self.process_of(run, 1), signal.SIGKILL)
                self.process_of(run, 4)
                run.signal(number)
                self.assertEqual(run.wait(), 128 + number)
            self.assertNotIn("failed", run.said())
        self.expect_nothing_left()


if __name__ == "__main__":
    unittest.main()
