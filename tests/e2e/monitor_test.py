#!/usr/bin/env python3
"""heddle monitor beside real jobs: their faults while they last, here and on other machines."""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import re
import signal
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import program

LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}


def processes_with(*words):
    """Process ids whose command line has all of these."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if all(word in line for word in words):
                found.append(int(entry.name))
    return found


def wait_until(condition, within=program.PATIENCE_S):
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true in time")
        time.sleep(0.05)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Of a webhook: it refuses the first request, as a server that starts."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.received.append((self.path, self.headers["Content-Type"], body))
        self.send_response(503 if len(self.server.received) == 1 else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.received = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Monitor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-monitor-test-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.folder = str(self.place / "job")

    @contextlib.contextmanager
    def job(self, *options, size="4M"):
        """An endless one, which is ended as a user ends it; its recordings do not turn over within a minute."""
        with program.started("record", "-o", self.folder, *options, "--", program.HEDDLE, "run", "-n", 3, "--",
                             program.HEDDLE, "bench", "allreduce", "-b", size, "-e", size, "-n", 10_000_000,
                             settings=LOOPBACK) as job:
            try:
                yield job
            finally:
                job.process.terminate()
                job.wait()

    def monitor(self, *options, settings=None):
        return program.started("monitor", self.folder, "--json", "--every", "200ms", *options, settings=settings)

    def rank_process(self, rank):
        """The process id of a rank that records and has finished calls."""
        listed = program.run("record", "info", self.folder, "--json")
        for one in json.loads(listed.stdout or "{}").get("recordings", []):
            if one["identity"].get("rank") == str(rank) and one["events_by_kind"].get("call_ended", 0) > 100:
                return int(one["identity"]["pid"])
        return None

    def turned_over(self):
        """Whether much of every rank's recording is overwritten."""
        listed = json.loads(program.run("record", "info", self.folder, "--json").stdout or "{}")
        ranks = [one for one in listed.get("recordings", []) if "rank" in one["identity"]]
        return len(ranks) == 3 and all(one["dropped_events"] > 20_000 for one in ranks)

    def stop_rank(self, rank):
        wait_until(lambda: self.rank_process(rank) is not None)
        pid = self.rank_process(rank)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(program.kill, pid)
        return pid

    def test_a_healthy_job_is_watched_to_its_end_without_a_fault(self):
        with self.monitor() as monitor:  # before there is a folder
            # It ends within 5 s on a busy machine as well: for as long a rank that waits for a core is not called slow.
            done = program.run("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE,
                               "bench", "allreduce", "-b", "64K", "-e", "64K", "-n", 100, settings=LOOPBACK)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(monitor.wait(), 0, monitor.said())
        end = json.loads(monitor.lines[-1])
        self.assertEqual((end["event"], end["alarms_raised"], end["whole"]), ("over", 0, True))

    def test_a_stopped_rank_is_named_while_the_job_hangs(self):
        change = self.place / "change.json"
        with self.job() as job, self.monitor("--on-change", f"cat >> {change}") as monitor:
            pid = self.stop_rank(1)
            # Within some 10 s; on a busy machine some ranks are slow before, and the monitor looks late.
            raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
            self.assertEqual(raised["processes"], ["1"])
            self.assertIn("rank 1 ", raised["place_text"])
            whole_lines = lambda: change.read_text().rpartition("\n")[0].splitlines() if change.exists() else []
            wait_until(lambda: raised in map(json.loads, whole_lines()))
            program.kill(pid)
            job.wait()
            self.assertEqual(monitor.wait(), 1, monitor.said())
        raised = [line for line in monitor.lines if '"event":"raised"' in line]
        self.assertEqual(sum('_hang"' in line for line in raised), 1, monitor.said())
        self.assertEqual(json.loads(monitor.lines[-1])["alarms_raised"], len(raised), monitor.said())

    def test_a_webhook_gets_each_change_again_until_it_takes_it(self):
        address = self.place / "address"
        with receiver() as server, self.job() as job:
            address.write_text(f"http://127.0.0.1:{server.server_port}/hook/secret\n")
            with self.monitor("--webhook", f"@{address}") as monitor:
                pid = self.stop_rank(1)
                raised = monitor.wait_for('"event":"raised"')
                wait_until(lambda: len(server.received) > 1)
                program.kill(pid)
                job.wait()
                self.assertEqual(monitor.wait(), 1, monitor.said())
        refused, taken, *_ = server.received
        self.assertEqual(refused, taken)
        self.assertEqual((taken[0], taken[1]), ("/hook/secret", "application/json"))
        self.assertEqual(json.loads(taken[2]), json.loads(raised))

    def test_a_rank_that_stops_after_its_recordings_have_turned_over_is_named(self):
        """All up to the newest event counted as overwritten, and so did the operation in which the others waited."""
        with self.job("--max-size", "1M", size="8") as job:
            wait_until(lambda: self.rank_process(1) is not None)
            with program.started("monitor", self.folder, "--json", "--every", "2s") as monitor:
                wait_until(lambda: self.turned_over(), 2 * program.PATIENCE_S)
                pid = self.stop_rank(1)
                raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))  # on a busy machine some are slow
                self.assertEqual(raised["processes"], ["1"], raised)
                program.kill(pid)
                job.wait()
                self.assertEqual(monitor.wait(), 1, monitor.said())

    def test_pages_and_metrics_show_the_job(self):
        port = program.free_port()
        with self.job(), self.monitor("--serve", port) as monitor:
            def get(path):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=program.PATIENCE_S) as answer:
                    return answer.headers["Content-Type"], answer.read().decode()

            monitor.wait_for("the page is at")
            def has_all():
                state = json.loads(get("/state.json")[1])
                return state["operations"] > 0 and len(state["processes"]) == 3

            wait_until(has_all)
            kind, text = get("/state.json")
            state = json.loads(text)
            self.assertEqual(kind, "application/json")
            hangs = [each for each in state["alarms"] if each["class"].endswith("_hang")]  # a rank may be slow
            self.assertEqual((state["job"], len(state["processes"]), hangs), ("job", 3, []))
            self.assertEqual(get("/")[0], "text/html; charset=utf-8")
            wait_until(lambda: 'heddle_monitor_processes{recording="job",state="running"} 3\n' in get("/metrics")[1])

    def test_a_token_guards_the_page_its_state_and_the_metrics(self):
        token, port = self.place / "token", program.free_port()
        token.write_text("secret-of-the-test\n", encoding="utf-8")
        token.chmod(0o644)
        refused = program.run("monitor", self.folder, "--serve", port, "--token-file", token)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("other users may read it", refused.stderr)
        token.chmod(0o600)
        with self.monitor("--serve", port, "--token-file", str(token)) as monitor:
            monitor.wait_for("the page is at")

            def status(path, authorization):
                request = urllib.request.Request(f"http://127.0.0.1:{port}{path}",
                                                 headers={"Authorization": authorization} if authorization else {})
                try:
                    with urllib.request.urlopen(request, timeout=program.PATIENCE_S) as answer:
                        return answer.status, len(answer.read()) > 0
                except urllib.error.HTTPError as error:
                    return error.code, b"job" in error.read()

            browser = "Basic " + base64.b64encode(b"heddle:secret-of-the-test").decode()
            for path in ("/", "/state.json", "/metrics"):
                for wrong in (None, "Bearer secret-of-the-tesT", "Bearer ", "Basic "):
                    self.assertEqual(status(path, wrong), (401, False), (path, wrong))
                for right in ("Bearer secret-of-the-test", browser):
                    self.assertEqual(status(path, right), (200, True), (path, right))
            monitor.process.send_signal(signal.SIGINT)
            self.assertEqual(monitor.wait(), 130, monitor.said())

    def test_ctrl_c_ends_the_watch_and_not_the_job(self):
        with self.job() as job, self.monitor() as monitor:
            wait_until(lambda: self.rank_process(0) is not None)
            monitor.process.send_signal(signal.SIGINT)
            self.assertEqual(monitor.wait(), 130, monitor.said())
            self.assertIsNone(job.process.poll())

    def test_impossible_options_are_refused(self):
        for options, words in ((("--serve", "nowhere"), "no address to serve on"),
                               (("--every", "1ms"), "too short"),
                               (("-o", "copy"), "--hosts"),
                               (("--via", "ssh"), "--hosts"),
                               (("--hosts", "-x"), "host"),
                               (("--webhook", "https://me:secret@chat.example/"), "@FILE"),
                               (("--hosts", "a", "-o", str(self.place)), "it is there")):
            with self.subTest(options=options):
                done = program.run("monitor", self.folder, *options)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)


class OtherMachines(Monitor):
    """By a remote shell as ssh is, but to this machine; both hosts have the same folder, so one has no recordings."""

    def setUp(self):
        super().setUp()
        self.shell = self.place / "rsh"
        self.shell.write_text('#!/bin/sh\necho Welcome\ncd /\nhost=$1\nshift\n'
                              '[ -e "$(dirname "$0")/down" ] && [ "$host" = 127.0.0.1 ] && exit 255\n'
                              'exec env -i PATH="$PATH" sh -c "$*"\n')
        self.shell.chmod(0o755)

    def monitor(self, *options, settings=None):
        return super().monitor("--hosts", "127.0.0.1", "--via", f"{self.shell} {{host}} {{command}}", *options,
                               settings={"TMPDIR": str(self.place), **(settings or {})})

    def agents(self):
        return processes_with("agent", "recordings", self.folder)

    def test_a_lost_agent_is_started_again_and_accuses_no_rank(self):
        with self.job(), self.monitor("-o", str(self.place / "copy")) as monitor:
            wait_until(lambda: self.rank_process(0) is not None and self.agents())
            (self.place / "down").touch()
            before = len(monitor.lines)
            for pid in processes_with("agent", str(self.shell)) + self.agents():
                program.kill(pid)
            monitor.wait_for("127.0.0.1 is not heard")
            time.sleep(5)  # a rank that is silent for 3 s is accused
            # What was recorded before may still be found slow on a busy machine; the lost ranks would hang.
            raised = [line for line in monitor.lines[before:] if '"event":"raised"' in line]
            self.assertEqual([line for line in raised if re.search(r'"\w+_hang"', line)], [])
            (self.place / "down").unlink()
            wait_until(lambda: self.agents())
            pid = self.stop_rank(2)
            raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
            self.assertEqual(raised["processes"], ["2"])
            program.kill(pid)
            self.assertEqual(monitor.wait(), 1, monitor.said())
        wait_until(lambda: not self.agents())
        read = program.run("record", "info", str(self.place / "copy" / "127.0.0.1"))
        self.assertEqual(read.returncode, 0, read.stdout + read.stderr)

    def test_copies_are_removed_and_agents_ended(self):
        with self.job(), self.monitor() as monitor:
            wait_until(lambda: self.rank_process(0) is not None and self.agents())
            self.assertTrue(list(self.place.glob("heddle-monitor-*")))
            monitor.process.send_signal(signal.SIGTERM)
            self.assertEqual(monitor.wait(), 143, monitor.said())
        self.assertEqual(list(self.place.glob("heddle-monitor-*")), [])
        wait_until(lambda: not self.agents())

    def test_an_older_heddle_there_sends_its_ranks_without_the_machine(self):
        refused = "sed -u 's/\"--nodes\"/\"--nodes-of-later\"/' | "
        self.shell.write_text(self.shell.read_text().replace("exec env", refused + "env"))
        with self.job(), self.monitor() as monitor:
            self.assertIn("its heddle is older", monitor.wait_for("127.0.0.1 is not heard"))
            wait_until(lambda: self.rank_process(2) is not None and self.agents())
            pid = self.stop_rank(2)
            raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
            self.assertEqual(raised["processes"], ["2"])
            program.kill(pid)
            self.assertEqual(monitor.wait(), 1, monitor.said())

    def test_a_machine_that_cannot_be_reached_is_named(self):
        (self.place / "down").touch()
        with self.monitor() as monitor:
            self.assertIn("255", monitor.wait_for("127.0.0.1 is not heard"))
            monitor.process.send_signal(signal.SIGINT)
            self.assertEqual(monitor.wait(), 130)

    test_pages_and_metrics_show_the_job = None  # as above
    test_a_webhook_gets_each_change_again_until_it_takes_it = None
    test_a_rank_that_stops_after_its_recordings_have_turned_over_is_named = None  # its monitor is of this machine
    test_a_token_guards_the_page_its_state_and_the_metrics = None
    test_impossible_options_are_refused = None


if __name__ == "__main__":
    unittest.main()
