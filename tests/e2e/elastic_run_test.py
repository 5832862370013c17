#!/usr/bin/env python3
"""`heddle run --elastic`: ranks that are lost do not end the job while enough are left, and leave nothing behind."""

import os
import pty
import signal
import time
import unittest

import lab_fabric
import program
import run_case

# Ranks that wait until they are killed, or until the file of the first argument is there.
_WAIT = 'echo "ready $$"; while [ ! -e "$0" ]; do sleep 0.02; done'


class ElasticRun(run_case.RunCase):
    def setUp(self):
        super().setUp()
        self.gate = os.path.join(self.folder.name, "gate")

    def elastic(self, ranks, least, script):
        return self.run_ranks("-n", ranks, "--elastic", least, "--", "sh", "-c", script, self.gate)

    def open_gate(self):
        with open(self.gate, "w", encoding="utf-8"):
            pass

    def waiting(self, ranks, least, *options):
        return self.started("-n", ranks, "--elastic", least, "-t", *options, "--", "sh", "-c", _WAIT, self.gate)

    def process_of(self, run, rank):
        return int(run.wait_for(rf"\[{rank}\] ready").split()[2])

    def expect_nothing_left(self):
        if os.path.exists(self.gate):
            os.remove(self.gate)
        super().expect_nothing_left()

    def test_a_lost_rank_does_not_end_the_job(self):
        for how, said in (("kill -9 $$", "signal 9 (Killed) ended it"), ("exit 3", "it ended with exit status 3")):
            done = self.elastic(3, 2, f'[ $HEDDLE_RANK != 1 ] || {{ {how}; }}; sleep 0.2; echo done')
            self.assertEqual((done.returncode, done.stdout), (0, "done\ndone\n"), done.stderr)
            self.assertEqual(done.stderr.splitlines(), [
                f"heddle: warning: rank 1 was lost: {said}; 2 of 3 ranks are left, at least 2 are needed",
                "heddle: warning: the job ended with 2 of 3 ranks: rank 1 was lost"])
            self.expect_nothing_left()

    def test_ranks_are_lost_one_after_the_other_until_too_few_are_left(self):
        with self.waiting(4, 2) as run:
            processes = [self.process_of(run, rank) for rank in range(4)]
            for rank, left in ((2, 3), (0, 2)):
                os.kill(processes[rank], signal.SIGKILL)
                run.wait_for(rf"rank {rank} was lost: signal 9 \(Killed\) ended it; {left} of 4 ranks are left, "
                             "at least 2 are needed")
            self.assertIsNone(run.process.poll())
            os.kill(processes[3], signal.SIGTERM)
            self.assertEqual(run.wait(), 128 + signal.SIGTERM)
            self.assertIn("rank 3 failed: signal 15 (Terminated) ended it (1 of 4 ranks is left, at least 2 are "
                          "needed; the others are ended)", run.errors[-1])
        self.expect_nothing_left()

    def test_ranks_that_ended_well_count_as_left(self):
        with self.started("-n", 3, "--elastic", 2, "-t", "--", "sh", "-c",
                          f'[ $HEDDLE_RANK != 0 ] || exit 0; {_WAIT}', self.gate) as run:
            processes = [self.process_of(run, rank) for rank in (1, 2)]
            os.kill(processes[0], signal.SIGKILL)
            run.wait_for("rank 1 was lost")
            self.open_gate()
            self.assertEqual(run.wait(), 0)
        self.expect_nothing_left()

    def test_all_ranks_at_once_end_the_job(self):
        done = self.elastic(4, 2, "kill -9 $$")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        self.assertEqual(done.stderr.count("was lost"), 2, done.stderr)
        self.assertEqual(done.stderr.count("1 of 4 ranks is left, at least 2 are needed"), 1, done.stderr)
        self.assertNotIn("the job ended with", done.stderr)
        self.expect_nothing_left()

    def test_a_program_that_fails_on_every_rank_has_its_own_exit_status(self):
        done = self.elastic(3, 1, "exit 5")
        self.assertEqual(done.returncode, 5)
        self.assertIn("0 of 3 ranks are left, at least 1 is needed", done.stderr)

    def test_what_a_lost_rank_started_is_killed_at_once(self):
        script = ('[ $HEDDLE_RANK != 1 ] || { setsid sleep 1000 & sleep 1000 & echo "child $!"; kill -9 $$; }; '
                  + _WAIT)
        with self.started("-n", 3, "--elastic", 2, "-t", "--", "sh", "-c", script, self.gate) as run:
            child = int(run.wait_for("child ").split()[2])
            run.wait_for("rank 1 was lost")
            limit = time.monotonic() + program.PATIENCE_S
            mark = "HEDDLE_RANK=1"
            while any(self.has(process, mark) for process in run_case.processes_with(self.mark)):
                self.assertLess(time.monotonic(), limit, f"{child} or its like is there")
                time.sleep(0.02)
            self.assertIsNone(run.process.poll())
            self.open_gate()
            self.assertEqual(run.wait(), 0)
        self.expect_nothing_left()

    @staticmethod
    def has(process, mark):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                return mark.encode() in file.read().split(b"\0")
        except OSError:
            return False

    def test_ranks_know_that_they_may_go_on(self):
        done = self.elastic(2, 2, 'echo "$HEDDLE_ELASTIC"')
        self.assertEqual(done.stdout, "2\n2\n")
        inner = f'"{program.HEDDLE}" run -n 1 -- sh -c \'echo "in:$HEDDLE_ELASTIC"\''
        self.assertEqual(self.elastic(1, 1, inner).stdout, "in:\n")
        done = self.run_ranks("-n", 1, "--elastic", 1, "--", program.HEDDLE, "config", "show")
        self.assertEqual((done.returncode, done.stderr), (0, ""))  # it is no misspelled setting

    def test_wrong_minima_are_refused(self):
        for least in program.sample(("5", "0", "-1", "two", "2:", "3:2", "2:3", "", "99999999999")):
            done = self.run_ranks("-n", 4, f"--elastic={least}", "--", "true")
            self.assertEqual(done.returncode, 125, least)
            said = {"5": "give --elastic a number from 1 to 4", "2:3": "write --elastic 2:4"}.get(least, "--elastic")
            self.assertIn(said, done.stderr, least)

    def test_a_program_that_cannot_be_started_is_no_lost_rank(self):
        done = self.run_ranks("-n", 3, "--elastic", 1, "--", "/nonexistent/program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("cannot start rank 0", done.stderr)
        self.expect_nothing_left()

    def test_signals_end_the_job_after_and_during_a_loss(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for together in (False, True):
                with self.waiting(3, 1) as run:
                    processes = [self.process_of(run, rank) for rank in range(3)]
                    os.kill(processes[1], signal.SIGKILL)
                    if not together:
                        run.wait_for("rank 1 was lost")
                    run.signal(number)
                    self.assertEqual(run.wait(), 128 + number)
                    self.assertNotIn("failed", run.said())
                    self.assertNotIn("the job ended with", run.said())
                self.expect_nothing_left()

    def test_ctrl_c_on_a_terminal_ends_the_job_after_a_loss(self):
        script = "[ $HEDDLE_RANK != 1 ] || kill -9 $$; sleep 1000"
        arguments = [program.HEDDLE, "run", "-n", "3", "--elastic", "1", "--", "sh", "-c", script]
        child, terminal = pty.fork()
        if child == 0:
            os.execve(arguments[0], arguments, program.environment(**self.settings))
        said = b""
        with os.fdopen(terminal, "r+b", buffering=0) as stream:
            while b"rank 1 was lost" not in said:
                said += stream.read(4096)
            stream.write(b"\x03")
            try:
                while piece := stream.read(4096):
                    said += piece
            except OSError:
                pass  # the other side has gone
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 130)
        self.assertEqual(said.count(b"was lost"), 1, said)
        self.expect_nothing_left()

    @unittest.skipIf(lab_fabric.missing(), f"no lab: {lab_fabric.missing()}")
    def test_the_host_of_a_lost_rank_is_named(self):
        topology = os.path.join(self.folder.name, "fabric.toml")
        with open(topology, "w", encoding="utf-8") as file:
            file.write(lab_fabric.LEAF_SPINE)
        script = "[ $HEDDLE_RANK != 1 ] || exit 4; sleep 0.2"
        done = program.run("lab", "run", topology, "--", program.HEDDLE, "run", "--hosts", "h0,h3", "-n", "4",
                           "--elastic", "3", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank 1 on h0 was lost: it ended with exit status 4; 3 of 4 ranks are left", done.stderr)


if __name__ == "__main__":
    unittest.main()
