#!/usr/bin/env python3
"""Ranks on other machines: a remote shell that starts them here, and real ssh between hosts of a lab."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import lab_fabric
import program
import ssh_lab
import versions_test


def processes_with(text):
    """Processes whose command line has this."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if text in line and int(entry.name) != os.getpid():
                found.append((int(entry.name), line))
    return found


def is_below(process, ancestor):
    """Whether a process was started by another, directly or not."""
    while process > 1 and process != ancestor:
        try:
            state = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
            process = int(state.rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return process == ancestor


def wait_until_gone(text, within=program.PATIENCE_S):
    end = time.monotonic() + within
    while processes_with(text) and time.monotonic() < end:
        time.sleep(0.05)
    return processes_with(text)


class RemoteShell(unittest.TestCase):
    """By a remote shell as ssh is, but to this machine: {host} is 127.0.0.1 or ::1."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-machines-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # Like ssh: the words in one, for a shell, in another folder and without this environment.
        self.shell = self.folder / "rsh"
        self.shell.write_text('#!/bin/sh\ncd /\nshift\nexec env -i PATH="$PATH" sh -c "$*"\n')
        self.shell.chmod(0o755)
        self.via = f"{self.shell} {{host}} {{command}}"

    def run_on(self, *words, hosts="127.0.0.1", options=(), **more):
        return program.run("run", "--via", self.via, "--hosts", hosts, *options, "--", *words, **more)

    def test_ranks_meet_at_the_first_hosts_address(self):
        done = self.run_on(program.HEDDLE, "ranks", options=("-n", 3))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 ranks, started by heddle", done.stdout)
        self.assertIn("each reaches all others", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_settings_and_the_folder_are_passed_on_and_nothing_else(self):
        done = self.run_on("sh", "-c", 'echo "$HEDDLE_CONGESTION $HEDDLE_RANK $RANK $WORLD_SIZE [$MINE] $(pwd)"',
                           options=("-n", 1), settings={"HEDDLE_CONGESTION": "dctcp", "MINE": "1"}, cwd=self.folder)
        self.assertEqual(done.stdout.strip(), f"dctcp 0 0 1 [] {self.folder}", done.stderr)

    def test_the_secret_of_the_run_is_on_no_command_line(self):
        done = self.run_on("sh", "-c", 'echo "$HEDDLE_TOKEN"; cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "',
                           options=("-n", 1))
        token, lines = done.stdout.split("\n", 1)
        self.assertEqual(len(token), 32)
        self.assertNotIn(token, lines)

    def test_a_key_of_the_run_reaches_the_others_in_memory(self):
        done = self.run_on(program.HEDDLE, "ranks", options=("-n", 2, "--protect"))
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = self.run_on("sh", "-c", 'echo "$HEDDLE_KEY_FILE $HEDDLE_PROTECTION"; wc -c < "$HEDDLE_KEY_FILE"',
                           options=("-n", 1, "--protect"))
        self.assertRegex(seen.stdout, r"^/proc/\d+/fd/\d+ full\n[1-9]\d*\n$", seen.stderr)

    def test_the_exit_status_is_the_commands(self):
        self.assertEqual(self.run_on("sh", "-c", "exit 7", options=("-n", 1)).returncode, 7)
        self.assertEqual(self.run_on("sh", "-c", "kill -9 $$", options=("-n", 1)).returncode, 137)

    def test_a_command_that_is_not_there_is_127(self):
        done = self.run_on("/nonexistent/program", options=("-n", 1))
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertIn("/nonexistent/program", done.stderr)

    def test_one_rank_that_fails_ends_the_others(self):
        mark = f"4{os.getpid()}{time.monotonic_ns() % 1_000_000}"
        done = self.run_on("sh", "-c", f"[ $HEDDLE_RANK = 1 ] && exit 3; sleep {mark}", options=("-n", 3))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("rank 1 on 127.0.0.1 failed: it ended with exit status 3", done.stderr)
        self.assertEqual(wait_until_gone(f"sleep {mark}"), [])

    def test_ctrl_c_ends_all_that_the_ranks_started(self):
        mark = f"5{os.getpid()}{time.monotonic_ns() % 1_000_000}"
        with program.started("run", "--via", self.via, "--hosts", "127.0.0.1", "-n", 2, "--",
                             "sh", "-c", f"sleep {mark} & echo begun; wait") as run:
            run.wait_for("begun")
            run.signal(signal.SIGINT)
            self.assertEqual(run.wait(), 130)
        self.assertEqual(wait_until_gone(f"sleep {mark}"), [])

    def test_a_launcher_that_is_killed_leaves_nothing(self):
        mark = f"6{os.getpid()}{time.monotonic_ns() % 1_000_000}"
        with program.started("run", "--via", self.via, "--hosts", "127.0.0.1", "-n", 2, "--grace", "1s", "--",
                             "sh", "-c", f"trap '' TERM; echo begun; sleep {mark}; sleep {mark}") as run:
            run.wait_for("begun")
            run.signal(signal.SIGKILL)
            run.wait()
        self.assertEqual(wait_until_gone(f"sleep {mark}"), [])

    def test_an_agent_that_is_killed_leaves_nothing(self):
        for which in (0, 1):
            mark = f"8{os.getpid()}{time.monotonic_ns() % 1_000_000}"
            with program.started("run", "--via", self.via, "--hosts", "127.0.0.1", "--", "sh", "-c",
                                 f"sleep {mark} & echo begun; wait") as run:
                run.wait_for("begun")
                agents = sorted(process for process, line in processes_with(f"{program.HEDDLE} agent")
                                if "sh -c" not in line and "rsh" not in line and is_below(process, run.process.pid))
                self.assertEqual(len(agents), 2, processes_with("agent"))
                os.kill(agents[which], signal.SIGKILL)
                self.assertNotEqual(run.wait(), 0)
            self.assertEqual(wait_until_gone(f"sleep {mark}"), [], which)

    def test_a_host_that_cannot_be_reached_is_named_with_the_way_to_try(self):
        self.shell.write_text("#!/bin/sh\necho 'rsh: connect to host: Connection refused' >&2\nexit 255\n")
        done = self.run_on(program.HEDDLE, "ranks", options=("-n", 1))
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("cannot start anything on 127.0.0.1: rsh: connect to host: Connection refused", done.stderr)
        self.assertIn(f"this has to work: {self.shell} 127.0.0.1 ", done.stderr)

    def test_a_greeting_of_the_other_machines_shell_is_passed_on(self):
        self.shell.write_text('#!/bin/sh\necho "Warning: a new host key" >&2\nshift\nexec sh -c "$*"\n')
        done = self.run_on("sh", "-c", "echo done; echo later >&2", options=("-n", 1))
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))
        self.assertEqual(done.stderr, "Warning: a new host key\nlater\n")

    def test_what_start_up_files_write_without_a_newline_hides_no_greeting(self):
        self.shell.write_text('#!/bin/sh\nprintf hello >&2\nshift\nexec sh -c "$*"\n')
        done = self.run_on("sh", "-c", "echo later >&2", options=("-n", 1))
        self.assertEqual((done.returncode, done.stderr), (0, "hellolater\n"))

    def test_a_shell_that_merges_errors_into_output_is_named(self):
        self.shell.write_text('#!/bin/sh\nshift\nexec sh -c "$*" 2>&1\n')
        done = self.run_on("true", options=("-n", 1))
        self.assertEqual(done.returncode, 125)
        self.assertIn("no agent has greeted on standard error", done.stderr)

    def test_a_flood_before_the_greeting_ends_the_start(self):
        self.shell.write_text("#!/bin/sh\nexec yes >&2\n")
        done = self.run_on("true", options=("-n", 1))
        self.assertEqual(done.returncode, 125)
        self.assertLess(len(done.stderr), 2000)

    def test_an_order_larger_than_a_pipe_arrives_beside_early_output(self):
        self.shell.write_text('#!/bin/sh\nhead -c 200000 /dev/zero | tr "\\0" x >&2\nshift\nexec sh -c "$*"\n')
        done = self.run_on("sh", "-c", 'echo "${#1}"', "sh", "y" * 100_000, options=("-n", 1))
        self.assertEqual((done.returncode, done.stdout), (0, "100000\n"), done.stderr[-500:])

    def test_a_signal_before_the_agent_runs_is_not_lost(self):
        self.shell.write_text('#!/bin/sh\ntouch "$0.begun"\nsleep 2\nshift\nexec sh -c "$*"\n')
        # Where it is lost, neither the grace nor the command ends while this waits.
        with program.started("run", "--via", self.via, "--hosts", "127.0.0.1", "--grace", "1000s", "--",
                             "sleep", "1000") as run:
            begun = time.monotonic()
            while not os.path.exists(f"{self.shell}.begun"):
                self.assertLess(time.monotonic() - begun, program.PATIENCE_S)
                time.sleep(0.02)
            run.signal(signal.SIGTERM)
            self.assertEqual(run.wait(), 143)

    def test_words_that_are_no_utf8_are_refused(self):
        done = subprocess.run([program.HEDDLE, "run", "--via", self.via, "--hosts", "127.0.0.1", "--", "echo",
                               b"a\xff"], env=program.environment(), capture_output=True, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"UTF-8", done.stderr)

    def test_bench_starts_its_own_ranks(self):
        done = program.run("bench", "allreduce", "--via", self.via, "--hosts", "127.0.0.1", "--ranks", 2, "-b", "64K",
                           "-e", "64K", "-n", 3, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["results"][0]["size"], 65536)

    def test_contradictory_options_are_refused(self):
        for words, why in ((("--via", "rsh"), "{host}"),
                           (("--via", "ssh", "-n", "2"), "--hosts"),
                           (("--via", "ssh", "--hosts", "-oProxyCommand=x"), "no name of a host"),
                           (("--via", "ssh", "--hosts", "a,a"), "twice"),
                           (("--via", "ssh", "--hosts", "a,b", "--elastic", "1:4"), "other machines"),
                           (("--via", "ssh", "--hosts", "a", "--lab", "l"), "--lab")):
            done = program.run("run", *words, "--", "true")
            self.assertEqual(done.returncode, 125, words)
            self.assertIn(why, done.stderr, words)

    def test_an_agent_takes_nothing_but_an_order(self):
        for text in ("", "heddle\n", '{"heddle_agent":1}\n', "x" * (5 << 20)):
            done = program.run("agent", input=text)
            self.assertEqual(done.returncode, 125)
            self.assertIn("heddle", done.stderr)

    def test_an_agent_of_another_version_names_the_machine_to_upgrade(self):
        own = versions_test.number_in(*versions_test.FORMATS["orders to agents"])
        for version, side in ((0, "calls"), (own - 1, "calls"), (own + 1, "was called"), (99, "was called")):
            line = (f"heddle: cannot run what another heddle asks for: its order is of version {version}, this agent "
                    f"reads version {own} (upgrade heddle on the machine that {side})")
            done = program.run("agent", input=f'{{"heddle_agent":{version}}}\n')
            self.assertEqual((done.returncode, done.stdout, done.stderr), (125, "", line + "\n"))
        # What the machine that calls prints: its order passes a shell that makes it one of the version before.
        self.shell.write_text('#!/bin/sh\nshift\nhead -n 1 | sed \'s/"heddle_agent":[0-9]*/"heddle_agent":0/\' | '
                              'sh -c "$*"\n')
        done = self.run_on("true", options=("-n", 1))
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"^heddle: cannot start anything on 127\.0\.0\.1: .*"
                                      r"\(upgrade heddle on the machine that calls\)")


@unittest.skipIf(ssh_lab.MISSING, str(ssh_lab.MISSING))
class Ssh(unittest.TestCase):
    """Hosts of a lab with an sshd each; host h0 is where the user is."""

    @classmethod
    def setUpClass(cls):
        cls.machines = ssh_lab.SshLab(lab_fabric.LEAF_SPINE, ("h1", "h2", "h3"))
        cls.addClassCleanup(cls.machines.close)
        cls.via = cls.machines.via

    def at_h0(self, *words, **options):
        return self.machines.at("h0", *words, **options)

    def test_ranks_on_three_machines_reach_each_other(self):
        done = self.at_h0("run", "--via", self.via, "--hosts", "h1,h2,h3", "--", program.HEDDLE, "ranks")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 ranks, started by heddle", done.stdout)
        for host in ("h1", "h2", "h3"):
            self.assertIn(host, done.stdout)
        self.assertIn("each reaches all others", done.stdout)

    def test_more_ranks_than_sshd_takes_logins_at_once_start(self):
        done = self.at_h0("run", "--via", self.via, "--hosts", "h1", "-n", 16, "--", "sh", "-c", "echo $HEDDLE_RANK")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(map(int, done.stdout.split())), list(range(16)))

    def test_a_lost_connection_ends_the_rank_there(self):
        mark = f"7{os.getpid()}{time.monotonic_ns() % 1_000_000}"
        with program.started("lab", "exec", "h0", "--lab", self.machines.lab.name, "--", program.HEDDLE, "run", "--via",
                             self.via, "--hosts", "h1,h2", "--tag-output", "--", "sh", "-c",
                             f"echo begun; sleep {mark}") as run:
            run.wait_for(r"\[1\] begun")
            to_h2 = self.via.replace("{host} {command}", "h2 ")  # of this lab: other tests have an h2, too
            clients = [process for process, line in processes_with(to_h2) if "agent" in line]
            self.assertEqual(len(clients), 1)
            os.kill(clients[0], signal.SIGKILL)
            self.assertEqual(run.wait(), 137)
        self.assertEqual(wait_until_gone(f"sleep {mark}"), [])

    def test_bench_measures_between_machines(self):
        done = self.at_h0("bench", "allreduce", "--via", self.via, "--hosts", "h1,h2,h3", "-b", "1M", "-e", "1M", "-n",
                          3, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertGreater(document["results"][0]["out_of_place"]["bus_bw"], 0)

    def test_a_machine_without_an_answer_is_named(self):
        done = self.at_h0("run", "--via", self.via, "--hosts", "h1,h0", "--", program.HEDDLE, "ranks")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("cannot start anything on h0: ssh: connect to host h0 port 22: Connection refused", done.stderr)


if __name__ == "__main__":
    unittest.main()
