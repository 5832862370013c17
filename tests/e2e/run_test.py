#!/usr/bin/env python3
"""`heddle run`: the environment of ranks, and that no process or file of them remains, however the run ends."""

import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import lab_fabric
import program
import run_case

# Says that it is there, and then how many interrupts came, until it is asked to end.
_COUNT_INTERRUPTS = """
import os, signal, sys, time
count = 0
def handle(number, frame):
    global count
    count += 1
    print("interrupt", count, flush=True)
def leave(number, frame):
    sys.exit(0)
signal.signal(signal.SIGINT, handle)
signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
while count == 0:
    signal.pause()
time.sleep(0.3)
"""


class Run(run_case.RunCase):
    def test_a_protected_run_has_a_key_of_its_own_that_nobody_else_sees(self):
        """The key is neither on a command line nor in an environment, and gone afterwards."""
        script = ('echo "$HEDDLE_PROTECTION $HEDDLE_KEY_FILE"; cat "$HEDDLE_KEY_FILE"; '
                  'stat -L -c "%a %s" "$HEDDLE_KEY_FILE"; echo x >"$HEDDLE_KEY_FILE" && echo written; '
                  'sleep 1000')
        with self.started("-n", 1, "--protect", "--", "sh", "-c", script) as running:
            path = running.wait_for(r"^full /proc/\d+/fd/\d+$").split()[1]
            key = running.wait_for(r"^[0-9a-f]{64}$").strip()
            running.wait_for(r"^400 \d+$")
            for name in filter(str.isdigit, os.listdir("/proc")):
                for what in ("cmdline", "environ"):
                    try:
                        with open(f"/proc/{name}/{what}", "rb") as file:
                            self.assertNotIn(key.encode(), file.read(), f"{what} of {name}")
                    except OSError:
                        continue
            for folder, _, files in os.walk(self.folder.name):
                for file in files:
                    with open(os.path.join(folder, file), "rb") as opened:
                        self.assertNotIn(key.encode(), opened.read())
            if os.getuid() == 0:
                stranger = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", path],
                                          capture_output=True, text=True)
                self.assertNotEqual(stranger.returncode, 0)
                self.assertEqual(stranger.stdout, "")
            running.signal(program.INTERRUPT)
            running.wait()
            self.assertNotIn("written", "".join(running.lines))
        self.expect_nothing_left()
        self.assertFalse(os.path.exists(path))

    def test_ranks_of_a_protected_run_talk_and_strangers_do_not(self):
        script = ('[ $HEDDLE_RANK != 0 ] || { heddle_path="$1"; unset HEDDLE_KEY_FILE HEDDLE_PROTECTION; }; '
                  'exec "$1" ranks')
        self.settings |= {"HEDDLE_SHARED_MEMORY": "never", "HEDDLE_RECORD": os.path.join(self.folder.name, "record")}
        for level in ("--protect", "--protect=full", "--protect=headers"):
            done = self.run_ranks("-n", 3, level, "--", program.HEDDLE, "ranks")
            self.assertEqual(done.returncode, 0, f"{level}: {done.stderr}")
        shutil.rmtree(os.path.join(self.folder.name, "record"))
        del self.settings["HEDDLE_RECORD"]
        self.settings |= {"HEDDLE_RENDEZVOUS_TIMEOUT_MS": "3000", "HEDDLE_HANDSHAKE_TIMEOUT_MS": "500"}
        done = self.run_ranks("-n", 3, "--protect", "--", "sh", "-c", script, "sh", program.HEDDLE)
        self.assertNotEqual(done.returncode, 0)
        self.expect_nothing_left()

    def test_each_protected_run_has_another_key(self):
        keys = set()
        for _ in range(2):
            done = self.run_ranks("-n", 2, "--protect", "--", "sh", "-c", 'cat "$HEDDLE_KEY_FILE"')
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
            self.assertEqual((len(lines), len(set(lines))), (2, 1), "all ranks have one key")
            keys.add(lines[0])
        self.assertEqual(len(keys), 2)

    def test_an_unknown_level_of_protection_is_refused(self):
        done = self.run_ranks("-n", 1, "--protect=some", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("headers", done.stderr)

    def test_every_rank_is_told_who_it_is(self):
        script = ('echo "$HEDDLE_RANK/$HEDDLE_SIZE $HEDDLE_LOCAL_RANK/$HEDDLE_LOCAL_SIZE"; '
                  'echo "$HEDDLE_STORE $HEDDLE_RUN" >&2')
        done = self.run_ranks("-n", 3, "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.split("\n")), ["", "0/3 0/3", "1/3 1/3", "2/3 2/3"])
        self.assertEqual(len(set(done.stderr.splitlines())), 1)
        self.assertRegex(done.stderr, r"^file:///.*/store [0-9a-f]{16}\n")
        self.expect_nothing_left()

    def test_every_rank_is_told_what_torchrun_tells(self):
        script = 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR"; echo $MASTER_PORT >&2'
        done = self.run_ranks("-n", 2, "--", "sh", "-c", script)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0/2 0/2 127.0.0.1", "1/2 1/2 127.0.0.1"])
        ports = set(done.stderr.split())
        self.assertEqual(len(ports), 1)
        with socket.create_server(("127.0.0.1", int(ports.pop()))):
            pass  # it was free

    def test_options_behind_the_command_are_the_commands(self):
        for dashes in ([], ["--"]):
            done = self.run_ranks("-n", 1, *dashes, "echo", "-n", "4", "--help", "--", "x")
            self.assertEqual((done.returncode, done.stdout), (0, "4 --help -- x"))

    def test_wrong_command_lines_are_refused(self):
        for arguments, said in (((), "COMMAND [ARGUMENT]... is missing"),
                                (("-n", 2), "COMMAND [ARGUMENT]... is missing"),
                                (("true",), "--ranks is required"), (("-n", 0, "true"), "--ranks"),
                                (("-n", "x", "true"), "--ranks"), (("-n", 5000, "true"), "--ranks"),
                                (("--bogus", "-n", 2, "true"), "--bogus"),
                                (("-n", 2, "--grace", "soon", "true"), "soon")):
            done = self.run_ranks(*arguments)
            self.assertEqual(done.returncode, 125, arguments)
            self.assertIn(said, done.stderr, arguments)

    def test_a_program_that_cannot_be_started_is_named(self):
        done = self.run_ranks("-n", 3, "--", "/nonexistent/program")
        self.assertEqual(done.returncode, 127)
        self.assertRegex(done.stderr, r"cannot start rank 0: .*/nonexistent/program: No such file")
        self.expect_nothing_left()

    def test_results_of_a_benchmark_that_nobody_can_keep_are_told_before_it_runs(self):
        good = os.path.join(self.folder.name, "good.json")
        for words, why in ((["-J", "/no/such/folder/x.json"], "No such file or directory (give another path with -J)"),
                           (["-J", good, "--plot", self.folder.name], "directory (give another path with --plot)")):
            done = program.run("run", "-n", "2", "--", program.HEDDLE, "bench", "allreduce", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertFalse(os.path.exists(good))

    def test_help_has_an_example(self):
        for command in ("run", "ranks"):
            text = program.run(command, "--help").stdout
            self.assertIn("Examples:", text)
            self.assertRegex(text, r"Exit status:\n +0")

    def test_the_first_rank_that_fails_ends_the_others(self):
        done = self.run_ranks("-n", 3, "--", "sh", "-c",
                              'if [ $HEDDLE_RANK = 1 ]; then exit 7; fi; sleep 1000')
        self.assertEqual(done.returncode, 7)
        self.assertIn("rank 1 failed: it ended with exit status 7", done.stderr)
        self.expect_nothing_left()

    def test_a_rank_that_is_killed_is_told_by_its_signal(self):
        done = self.run_ranks("-n", 3, "--", "sh", "-c",
                              'if [ $HEDDLE_RANK = 2 ]; then kill -9 $$; fi; sleep 1000')
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        self.assertIn("rank 2 failed: signal 9 (Killed) ended it", done.stderr)
        self.expect_nothing_left()

    def test_who_does_not_end_in_time_is_killed(self):
        ready = os.path.join(self.folder.name, "ready")
        script = ('if [ $HEDDLE_RANK = 1 ]; then while [ ! -e "$0" ]; do sleep 0.01; done; rm "$0"; exit 1; fi; '
                  'trap "" TERM; : > "$0"; while :; do sleep 1; done')
        done = self.run_ranks("-n", 2, "--grace", "0.2", "--", "sh", "-c", script, ready)
        self.assertEqual(done.returncode, 1)
        self.assertIn("rank 0 did not end by itself", done.stderr)
        self.expect_nothing_left()

    def test_ranks_may_end_at_different_times(self):
        first = os.path.join(self.folder.name, "first")
        script = ('if [ $HEDDLE_RANK = 0 ]; then echo 0; echo $$ > "$0.new"; mv "$0.new" "$0"; exit; fi; '
                  'until [ -e "$0" ] && ! grep -q "^State:[[:space:]]*[RSDTt]" "/proc/$(cat "$0")/status" 2>/dev/null; '
                  'do sleep 0.01; done; rm "$0"; echo 1')
        done = self.run_ranks("-n", 2, "--", "sh", "-c", script, first)
        self.assertEqual((done.returncode, done.stdout), (0, "0\n1\n"), done.stderr)
        self.expect_nothing_left()

    def test_what_ranks_leave_in_the_background_is_ended(self):
        done = self.run_ranks("-n", 2, "--", "sh", "-c", "setsid sleep 1000 & sleep 1000 & true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_nothing_left()

    def test_signals_are_passed_on_and_end_the_run(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.started("-n", 2, "-t", "--", "sh", "-c", "echo ready; sleep 1000") as process:
                for rank in range(2):
                    process.wait_for(rf"\[{rank}\] ready")
                process.signal(number)
                self.assertEqual(process.wait(), 128 + number)
                self.assertNotIn("failed", process.said())
            self.expect_nothing_left()

    def test_an_interrupt_by_kill_reaches_each_rank_once(self):
        with self.started("-n", 2, "-t", "--", sys.executable, "-c", _COUNT_INTERRUPTS) as process:
            for rank in range(2):
                process.wait_for(rf"\[{rank}\] ready")
            process.signal(signal.SIGINT)
            self.assertEqual(process.wait(), 130)
            for rank in range(2):
                self.assertIn(f"[{rank}] interrupt 1", process.said())
            self.assertNotIn("interrupt 2", process.said())

    def test_other_signals_reach_the_ranks_and_end_nothing(self):
        script = 'trap "echo asked; exit 0" USR1; echo ready; while :; do sleep 0.02; done'
        with self.started("-n", 2, "-t", "--", "sh", "-c", script) as process:
            for rank in range(2):
                process.wait_for(rf"\[{rank}\] ready")
            process.signal(signal.SIGUSR1)
            self.assertEqual(process.wait(), 0)
            for rank in range(2):
                self.assertIn(f"[{rank}] asked", process.said())

    def test_a_signal_to_the_whole_group_leaves_ranks_their_time(self):
        script = 'trap "sleep 0.6; echo cleaned; exit 0" TERM; echo ready; while :; do sleep 0.02; done'
        with self.started("-n", 2, "-t", "--grace", "60", "--", "sh", "-c", script, start_new_session=True) as process:
            for rank in range(2):
                process.wait_for(rf"\[{rank}\] ready")
            os.killpg(process.process.pid, signal.SIGTERM)
            self.assertEqual(process.wait(), 128 + signal.SIGTERM)
            for rank in range(2):
                self.assertIn(f"[{rank}] cleaned", process.said())
            self.assertNotIn("was killed", process.said())
        self.expect_nothing_left()

    # `timeout` and batch systems send so, and the run passed each on twice. A rank outside of the group gets only
    # what is passed on.
    def test_a_signal_to_the_whole_group_is_passed_on_once(self):
        script = ("import os, signal, time\nos.setsid()\nasked = 0\ndef count(number, frame):\n    global asked, end\n"
                  "    asked += 1\n    end = time.monotonic() + 1.5\n    print('got', asked, flush=True)\n"
                  "signal.signal(signal.SIGUSR1, count)\nprint('ready', flush=True)\n"
                  "while asked < 2 or time.monotonic() < end: time.sleep(0.01)\nprint('asked', asked)\n")
        with self.started("-n", 2, "-t", "--", sys.executable, "-c", script, start_new_session=True) as process:
            for rank in range(2):
                process.wait_for(rf"\[{rank}\] ready")
            for number in (1, 2):
                time.sleep(0.1)
                os.killpg(process.process.pid, signal.SIGUSR1)
                for rank in range(2):  # two that are pending at once are one
                    process.wait_for(rf"\[{rank}\] got {number}$")
            self.assertEqual(process.wait(), 0)
            for rank in range(2):
                self.assertRegex(process.said(), rf"\[{rank}\] asked 2\b")
        self.expect_nothing_left()

    def test_a_benchmark_that_is_stopped_ends_by_itself(self):
        words = (program.HEDDLE, "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", "100000000")
        with self.started("-n", 2, "--", *words) as process:
            process.wait_for("algbw")
            process.signal(signal.SIGINT)
            self.assertEqual(process.wait(), 130)
            self.assertNotIn("was killed", process.said())
        self.expect_nothing_left()

    def test_a_second_signal_does_not_wait(self):
        script = 'trap "" TERM; echo ready; while :; do sleep 0.02; done'
        with self.started("-n", 2, "-t", "--grace", "1000", "--", "sh", "-c", script) as process:
            for rank in range(2):
                process.wait_for(rf"\[{rank}\] ready")
            process.signal(signal.SIGTERM)
            while process.process.poll() is None:  # two that are close together count as one
                time.sleep(0.05)
                process.signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 128 + signal.SIGTERM)
        self.expect_nothing_left()

    def test_ctrl_c_on_a_terminal_reaches_each_rank_once(self):
        arguments = [program.HEDDLE, "run", "-n", "2", "-t", "--", sys.executable, "-c", _COUNT_INTERRUPTS]
        child, terminal = pty.fork()
        if child == 0:
            os.execve(arguments[0], arguments, program.environment(**self.settings))
        said = b""
        with os.fdopen(terminal, "r+b", buffering=0) as stream:
            while said.count(b"ready") < 2:
                said += stream.read(4096)
            stream.write(b"\x03")
            try:
                while piece := stream.read(4096):
                    said += piece
            except OSError:
                pass  # the other side has gone
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 130)
        self.assertEqual(said.count(b"interrupt 1"), 2, said)
        self.assertNotIn(b"interrupt 2", said)
        self.expect_nothing_left()

    def test_a_killed_heddle_run_leaves_nothing(self):
        script = "setsid sleep 1000 & echo ready; sleep 1000"
        for who in ("outer", "inner"):
            with self.started("-n", 2, "-t", "--", "sh", "-c", script) as process:
                for rank in range(2):
                    process.wait_for(rf"\[{rank}\] ready")
                victim = process.process.pid
                if who == "inner":
                    with open(f"/proc/{victim}/task/{victim}/children", encoding="utf-8") as file:
                        victim = int(file.read())
                os.kill(victim, signal.SIGKILL)
                self.assertIn(process.wait(), (-signal.SIGKILL, 128 + signal.SIGKILL))
                self.expect_nothing_left()

    def test_only_rank_0_reads_what_is_typed(self):
        done = self.run_ranks("-n", 2, "-t", "--", "sh", "-c", 'read line; echo "got $line"', input="word\n")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] got word", "[1] got "])

    def test_tagged_lines_stay_whole(self):
        script = "for i in $(seq 200); do printf 'begin of %s' $i; echo ' and its end'; done; printf last"
        done = self.run_ranks("-n", 4, "--tag-output", "--", "sh", "-c", script)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4 * 201)
        for rank in range(4):
            mine = [line for line in lines if line.startswith(f"[{rank}] ")]
            self.assertEqual(mine, [f"[{rank}] begin of {i} and its end" for i in range(1, 201)] +
                             [f"[{rank}] last"])

    def test_two_runs_at_once_do_not_meet(self):
        results = {}
        threads = [threading.Thread(target=lambda run=run: results.update(
            {run: self.run_ranks("-n", 3, "--", program.HEDDLE, "ranks", "--json")})) for run in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for done in results.values():
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len({done.stdout for done in results.values()}), 3)
        self.expect_nothing_left()

    @unittest.skipIf(lab_fabric.missing(), f"no lab: {lab_fabric.missing()}")
    def test_ranks_start_on_hosts_of_a_lab(self):
        topology = os.path.join(self.folder.name, "fabric.toml")
        with open(topology, "w", encoding="utf-8") as file:
            file.write(lab_fabric.LEAF_SPINE)
        script = f'"{program.HEDDLE}" run -n 4 --hosts h0,h3 -- "{program.HEDDLE}" ranks'
        done = program.run("lab", "run", topology, "--", "sh", "-c", script)
        os.remove(topology)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"0  h0 .*\n +1  h0 .*\n +2  h3 +(10\.0\.3\.1|\[fd.*\]):\d+\n +3  h3 ")
        self.assertIn("each reaches all others", done.stdout)

    @unittest.skipIf(lab_fabric.missing(), f"no lab: {lab_fabric.missing()}")
    def test_a_benchmark_starts_its_own_ranks_in_a_lab_and_draws_them(self):
        topology, chart = (os.path.join(self.folder.name, name) for name in ("fabric.toml", "chart.html"))
        with open(topology, "w", encoding="utf-8") as file:
            file.write(lab_fabric.LEAF_SPINE)
        done = program.run("lab", "run", topology, "--", program.HEDDLE, "bench", "allreduce", "--hosts", "h0,h1,h3",
                           "-b", "1K", "-e", "64K", "-f", "8", "-n", "2", "-a", "3", "-z", "1", "--plot", chart)
        with open(chart, encoding="utf-8") as file:
            drawn = file.read()
        os.remove(topology)
        os.remove(chart)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("allreduce on 3 ranks", done.stdout)
        self.assertEqual(drawn.count("<circle"), 2 * 2 * 3)

    def test_a_benchmark_names_a_lab_that_there_is_not(self):
        done = program.run("bench", "--hosts", "h0", "--lab", "nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing", done.stderr)


if __name__ == "__main__":
    unittest.main()
