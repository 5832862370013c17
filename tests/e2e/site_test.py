#!/usr/bin/env python3
"""heddle monitor --publish and --site with a real nats-server, and --clickhouse with a real ClickHouse (Debian's
18.16): what is published and stored, and what a dead server or a dead monitor does."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

import export_test
import json_reference_test
import nats_server
import program

LOOPBACK = {"HEDDLE_BIND": "127.0.0.1"}


class MuteServer:
    """It says that it speaks TLS, reads the beginning of a handshake, and says nothing more."""

    def __init__(self, listening):
        self._listening = listening
        self.port = listening.getsockname()[1]
        self._clients = []

    def wait_for_client(self):
        client, _ = self._listening.accept()
        self._clients.append(client)
        client.sendall(b'INFO {"server_id":"mute","version":"2.9.10","tls_required":true,"max_payload":1048576}\r\n')
        assert client.recv(1)

    def close(self):
        for client in self._clients:
            client.close()


@contextlib.contextmanager
def mute_tls_server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(program.PATIENCE_S)
        server = MuteServer(listening)
        try:
            yield server
        finally:
            server.close()


class Site(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="heddle-site-test-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.folder = str(self.place / "job")

    @contextlib.contextmanager
    def job(self):
        with program.started("record", "-o", self.folder, "--", program.HEDDLE, "run", "-n", 3, "--", program.HEDDLE,
                             "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", 10_000_000,
                             settings=LOOPBACK) as job:
            try:
                yield job
            finally:
                job.process.terminate()
                job.wait()

    def rank_process(self, rank):
        listed = program.run("record", "info", self.folder, "--json")
        for one in json.loads(listed.stdout or "{}").get("recordings", []):
            if one["identity"].get("rank") == str(rank) and one["events_by_kind"].get("call_ended", 0) > 100:
                return int(one["identity"]["pid"])
        return None

    def stop_rank(self, rank):
        end = time.monotonic() + program.PATIENCE_S
        while (pid := self.rank_process(rank)) is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(program.kill, pid)
        return pid

    def monitor(self, server, *options, subject="site", scheme="nats", settings=None):
        return program.started("monitor", self.folder, "--json", "--every", "200ms", "--state-every", "500ms",
                               "--publish", f"{scheme}://127.0.0.1:{server.port}/{subject}", *options,
                               settings=settings)

    def overview(self, server, *options, settings=None):
        return program.started("monitor", "--site", f"nats://127.0.0.1:{server.port}/site", "--json", *options,
                               settings=settings)

    def client(self, server, **connect):
        client = nats_server.Client(server.port, **connect)
        self.addCleanup(client.close)
        return client

    def expect_listed(self, document):
        known = json_reference_test.listed("heddle monitor")
        missing = [field for field in json_reference_test.fields(document)
                   if not any(expression.fullmatch(field) for expression in known)]
        self.assertEqual(missing, [], "docs/reference/json.md, 'heddle monitor', does not list them")

    def watched_for_a_time(self, server, *options):
        """An overview that ends by itself, with more time until the job's state has come in it."""
        for seconds in (2, 10, 40):
            done = program.run("monitor", "--site", server, "--for", f"{seconds}s", *options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            if re.search(r'(?m)^job +\S+ +watched |"jobs": ?\[\{', done.stdout):
                break
        return done

    def lasting(self, monitor):
        """How many alarms it has raised and not cleared, by its own lines."""
        events = [json.loads(line)["event"] for line in monitor.lines if line.startswith("{")]
        return events.count("raised") - events.count("cleared")

    def end(self, process, number=signal.SIGINT):
        process.process.send_signal(number)
        self.assertEqual(process.wait(), 128 + number, process.said())


@unittest.skipIf(nats_server.MISSING, nats_server.MISSING)
class Published(Site):
    def test_changes_states_and_series_of_a_job_come(self):
        with nats_server.running(self.place) as server, self.overview(server) as overview, self.job() as job, \
                self.monitor(server, "--series-every", "3s", "--name", "my.run") as monitor:
            client = self.client(server)
            series = client.wait_for(lambda subject, document: ".series.0" in subject and len(document["series"]) == 3
                                     and all(one["sent_bytes"] > 0 and one["exposed_ns"] > 0
                                             and one["call_ns_p50"] is not None for one in document["series"]))
            for one in series["series"]:
                self.assertGreater(one["calls"], 0, one)
                self.assertLessEqual(one["exposed_ns"], 1.05 * (series["until_ns"] - series["from_ns"]), one)
                self.assertGreaterEqual(one["call_ns_p99"], one["call_ns_p50"])
            self.assertIn("my%2Erun", next(subject for subject, _ in client.messages))
            pid = self.stop_rank(1)
            raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
            published = client.wait_for(lambda subject, document: subject.endswith(".change")
                                        and document["number"] == raised["number"] and document["event"] == "raised")
            self.assertEqual({key: published[key] for key in raised}, raised)
            self.assertEqual(published["job"], "my.run")
            seen = json.loads(overview.wait_for('"event":"raised".*_hang"'))
            self.assertEqual((seen["job"], seen["summary"]), ("my.run", raised["summary"]))
            program.kill(pid)
            job.wait()
            self.assertEqual(monitor.wait(), 1, monitor.said())
            self.assertNotIn("warning", monitor.said())
            for _, text in client.messages:
                self.expect_listed(json.loads(text))
            overview.wait_for('"event":"over"')
            for line in overview.lines:
                self.expect_listed(json.loads(line))
            self.end(overview)

    def test_a_dead_monitor_is_stale_and_back_when_another_comes(self):
        """After how many seconds is in overview_test.cc."""
        with nats_server.running(self.place) as server, self.overview(server) as overview:
            with self.monitor(server) as monitor:
                overview.wait_for('"event":"appeared"')
                monitor.process.kill()
                overview.wait_for('"event":"stale"')
            with self.monitor(server) as monitor:
                overview.wait_for('"event":"back"')
                self.end(monitor)
                overview.wait_for('"event":"stopped"')
            self.end(overview)

    def test_a_monitor_that_dies_during_a_hang_loses_no_verdict(self):
        with nats_server.running(self.place) as server, self.overview(server) as overview, self.job():
            with self.monitor(server) as monitor:
                self.stop_rank(1)
                first = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
                overview.wait_for('"event":"raised".*_hang"')
                monitor.process.kill()
                monitor.wait()
            client = self.client(server)
            with self.monitor(server) as monitor:
                again = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
                same = ("class", "processes", "host")
                self.assertEqual([again[key] for key in same], [first[key] for key in same])
                self.assertEqual(again["processes"], ["1"])
                client.wait_for(lambda subject, document: subject.endswith(".change")
                                and document["event"] == "raised" and document["class"] == first["class"])
                # On a busy machine a rank may be slow, too: as many last as this monitor has raised and not cleared.
                client.wait_for(lambda subject, document: subject.endswith(".state")
                                and document["alarms_lasting"] == self.lasting(monitor) > 0)
            self.assertNotRegex(overview.said(), '"event":"cleared".*_hang"')
            self.end(overview)

    def test_a_dead_server_disturbs_no_watch_and_gets_what_waited(self):
        with nats_server.running(self.place) as server, self.job(), self.monitor(server) as monitor:
            first = self.client(server)
            first.wait_for(lambda subject, document: subject.endswith(".state") and document["operations"] > 0)
            server.kill()
            monitor.wait_for("cannot use the NATS server")
            pid = self.stop_rank(2)
            raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
            server.start()
            second = self.client(server)
            second.wait_for(lambda subject, document: subject.endswith(".state")
                            and document["alarms_lasting"] > 0)
            program.kill(pid)
            last = second.wait_for(lambda subject, document: subject.endswith(".state") and document["last"])
            self.assertEqual(monitor.wait(), 1, monitor.said())
            self.assertIn("hang", raised["class"])
            # The change itself may come before the second client listens: none was lost.
            self.assertEqual(last["dropped"], 0, last)

    def test_a_server_that_answers_nothing_disturbs_no_watch(self):
        with nats_server.running(self.place) as server, self.monitor(server) as monitor:
            self.client(server).wait_for(lambda subject, document: subject.endswith(".state"))
            server.pause(signal.SIGSTOP)
            try:
                monitor.wait_for("cannot use the NATS server")
                self.end(monitor, signal.SIGTERM)
            finally:
                server.pause(signal.SIGCONT)

    def test_messages_of_others_are_counted_and_shown_as_text_alone(self):
        port = program.free_port()
        with nats_server.running(self.place) as server, self.overview(server, "--serve", port) as overview, \
                self.monitor(server, "--name", "<b>\x1b[31mred") as monitor:
            overview.wait_for("the page is at")
            appeared = json.loads(overview.wait_for('"event":"appeared"'))
            self.assertEqual(appeared["job"], "<b>\x1b[31mred")
            client = self.client(server)
            for text in (b"", b"[" * 100_000, b"{}", b'{"version":1,"id":7}', b"\xff\xfe", b"null"):
                client.publish("site.a.b.state", text)
                client.publish("site.a.b.change", text)

            def get(path):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=program.PATIENCE_S) as answer:
                    return answer.read().decode()

            # A monitor that waits for a core is stale for a moment.
            end = time.monotonic() + program.PATIENCE_S
            while ((state := json.loads(get("/state.json")))["not_read"] < 12
                   or [job["state"] for job in state["jobs"]] != ["watched"]):
                self.assertLess(time.monotonic(), end, state)
                time.sleep(0.1)
            self.assertIn("heddle_overview_not_read_total 12\n", get("/metrics"))
            self.assertIn("<h1>Jobs</h1>", get("/"))
            self.end(monitor)
            self.end(overview)
        with nats_server.running(self.place) as server, self.monitor(server, "--name", "<b>\x1b[31mred"), \
                program.started("monitor", "--site", f"nats://127.0.0.1:{server.port}/site") as overview:
            self.assertNotIn("\x1b", overview.wait_for("is watched on"))

    def test_an_overview_without_its_server_calls_no_job_stale(self):
        port = program.free_port()
        with nats_server.running(self.place) as server, self.overview(server, "--serve", port) as overview, \
                self.monitor(server) as monitor:
            overview.wait_for('"event":"appeared"')
            server.kill()
            overview.wait_for("cannot use the NATS server")
            before = len(overview.lines)
            time.sleep(8)  # twice what a silent monitor has
            self.assertEqual(overview.lines[before:], [])
            server.start()
            client = self.client(server)
            client.wait_for(lambda subject, document: subject.endswith(".state"))
            end = time.monotonic() + program.PATIENCE_S
            connected = False
            while not connected:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
                address = f"http://127.0.0.1:{port}/state.json"
                with urllib.request.urlopen(address, timeout=program.PATIENCE_S) as answer:
                    connected = json.load(answer)["connected"]
            self.end(monitor)
            overview.wait_for('"event":"stopped"')
            self.end(overview)
            # A monitor that waits for a core is stale for a moment, with a server or without.
            self.assertNotIn('"event":"gone"', overview.said())
            self.assertEqual(overview.said().count('"event":"stale"'), overview.said().count('"event":"back"'))

    def test_a_tls_server_that_says_nothing_more_keeps_no_process_alive(self):
        both = (("monitor", self.folder, "--json", "--publish"), ("monitor", "--site"))
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(mute_tls_server()) for _ in both]
            processes = [stack.enter_context(program.started(*words, f"tls://127.0.0.1:{server.port}/site"))
                         for words, server in zip(both, servers)]
            for server in servers:
                server.wait_for_client()
            for process, server in zip(processes, servers):
                process.wait_for("it has not answered for 10")
                server.wait_for_client()
                self.end(process)
        with mute_tls_server() as server:
            done = program.run("monitor", "--site", f"tls://127.0.0.1:{server.port}/site", "--for", "1s")
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)

    def test_with_a_time_it_ends_with_a_table(self):
        with nats_server.running(self.place) as server, self.monitor(server) as monitor:
            self.client(server).wait_for(lambda subject, document: subject.endswith(".state"))
            done = self.watched_for_a_time(f"nats://127.0.0.1:{server.port}/site")
            self.assertRegex(done.stdout, r"(?m)^job +\S+ +watched ")
            document = json.loads(self.watched_for_a_time(f"nats://127.0.0.1:{server.port}/site", "--json")
                                  .stdout.splitlines()[-1])
            self.assertEqual(document["jobs"][0]["job"], "job")
            self.expect_listed(document)
            self.end(monitor)


@unittest.skipIf(nats_server.MISSING, nats_server.MISSING)
class Access(Site):
    def access(self, text, mode=0o600):
        path = self.place / "access.toml"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return str(path)

    def test_a_user_needs_the_password(self):
        with nats_server.running(self.place, 'authorization: {user: me, password: "hunter2"}') as server:
            for settings, access in (({}, 'user = "me"\npassword = "hunter3"\n'), ({}, "")):
                with self.monitor(server, "--nats-access", self.access(access), settings=settings) as monitor:
                    said = monitor.wait_for("cannot use the NATS server")
                    self.assertIn("uthorization", said)
                    self.end(monitor)
                    self.assertNotIn("hunter", monitor.said())
            client = self.client(server, user="me", **{"pass": "hunter2"})
            with self.monitor(server, settings={"HEDDLE_NATS_USER": "me", "HEDDLE_NATS_PASSWORD": "hunter2"}) as one:
                client.wait_for(lambda subject, document: subject.endswith(".state"))
                line = pathlib.Path(f"/proc/{one.process.pid}/cmdline").read_bytes()
                self.assertNotIn(b"hunter2", line)
                self.end(one)
                self.assertNotIn("warning", one.said())

    def test_a_token_is_enough(self):
        with nats_server.running(self.place, 'authorization: {token: "hunter2"}') as server:
            client = self.client(server, auth_token="hunter2")
            with self.monitor(server, "--nats-access", self.access('token = "hunter2"\n')) as monitor:
                client.wait_for(lambda subject, document: subject.endswith(".state"))
                self.end(monitor)

    def test_what_the_server_does_not_allow_is_reported(self):
        rules = ('authorization: {users: [{user: "me", password: "x", '
                 'permissions: {publish: "other.>", subscribe: "other.>"}}]}')
        settings = {"HEDDLE_NATS_USER": "me", "HEDDLE_NATS_PASSWORD": "x"}
        with nats_server.running(self.place, rules) as server:
            with self.monitor(server, settings=settings) as monitor:
                monitor.wait_for("the server refuses what is published")
                self.end(monitor)
            with self.overview(server, settings=settings) as overview:
                overview.wait_for("ermissions Violation")
                self.end(overview)

    def test_one_refused_subject_costs_no_other(self):
        rules = ('authorization: {users: [{user: "me", password: "x", '
                 'permissions: {publish: {allow: ">", deny: "site.*.*.series.>"}}}]}')
        settings = {"HEDDLE_NATS_USER": "me", "HEDDLE_NATS_PASSWORD": "x"}
        with nats_server.running(self.place, rules) as server, self.job(), \
                self.monitor(server, "--series-every", "1s", settings=settings) as monitor:
            client = self.client(server, user="me", **{"pass": "x"})
            monitor.wait_for("the server refuses what is published.*series")
            first = client.wait_for(lambda subject, document: subject.endswith(".state") and document["dropped"] > 0)
            later = client.wait_for(lambda subject, document: subject.endswith(".state")
                                    and document["dropped"] > first["dropped"] + 1)
            self.assertGreater(later["published"], first["published"] + 1)
            self.end(monitor)

    def test_tls_checks_the_servers_certificate(self):
        key, certificate = self.place / "key.pem", self.place / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key),
                        "-out", str(certificate)], check=True, capture_output=True)
        rules = f'tls: {{cert_file: "{certificate}", key_file: "{key}"}}'
        with nats_server.running(self.place, rules) as server:
            with self.monitor(server, scheme="tls") as monitor:
                monitor.wait_for("cannot use the NATS server.*(certificate|SSL)")
                self.end(monitor)
            access = self.access(f'ca = "{certificate}"\n')
            with self.monitor(server, "--nats-access", access, scheme="tls") as monitor:
                done = self.watched_for_a_time(f"tls://localhost:{server.port}/site", "--nats-access", access, "--json")
                self.assertEqual(json.loads(done.stdout.splitlines()[-1])["jobs"][0]["job"], "job")
                self.end(monitor)
                self.assertNotIn("warning", monitor.said())


@unittest.skipIf(export_test.SERVER is None, "clickhouse-server is not installed: scripts/setup --clickhouse")
class Stored(Site):
    SETTINGS = {"HEDDLE_CLICKHOUSE_USER": "default", "HEDDLE_CLICKHOUSE_PASSWORD": export_test.PASSWORD}

    def setUp(self):
        super().setUp()
        self.port = program.free_port()
        for folder in ("data", "tmp"):
            (self.place / folder).mkdir()
        (self.place / "config.xml").write_text(export_test.CONFIG.format(self.place, self.port), encoding="utf-8")
        (self.place / "users.xml").write_text(export_test.USERS.format(export_test.PASSWORD), encoding="utf-8")

    @contextlib.contextmanager
    def server(self):
        process = subprocess.Popen([export_test.SERVER, f"--config-file={self.place}/config.xml"], cwd=self.place,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + program.PATIENCE_S
            while self.ask("SELECT 1") is None:
                self.assertTrue(process.poll() is None and time.monotonic() < end, "it does not answer")
                time.sleep(0.1)
            yield process
        finally:
            process.kill()
            process.wait()

    def ask(self, sql):
        """Rows; nothing without a server, or without the table."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/", data=sql.encode(),
                                         headers={"X-ClickHouse-User": "default",
                                                  "X-ClickHouse-Key": export_test.PASSWORD})
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=program.PATIENCE_S) as answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]
        return None

    def wait_for(self, sql, is_it):
        end = time.monotonic() + program.PATIENCE_S
        while not is_it(rows := self.ask(sql)):
            self.assertLess(time.monotonic(), end, rows)
            time.sleep(0.2)

    def watch(self, *options, settings=None):
        return program.started("monitor", self.folder, "--json", "--every", "200ms", "--series-every", "1s",
                               "--clickhouse", f"clickhouse://127.0.0.1:{self.port}/site", *options,
                               settings={**self.SETTINGS, **(settings or {})})

    def test_changes_states_and_series_are_rows(self):
        with self.server(), self.job() as job, self.watch("--name", "it's\ta\njob") as monitor:
            self.wait_for("SELECT count() FROM site.watched_series WHERE calls > 0 AND exposed_ns > 0 AND "
                          "sent_bytes > 0 AND call_ns_p99 >= call_ns_p50 AND span_ns > 0",
                          lambda rows: rows and int(rows[0][0]) > 3)
            pid = self.stop_rank(1)
            raised = json.loads(monitor.wait_for('"event":"raised".*_hang"'))
            program.kill(pid)
            job.wait()
            self.assertEqual(monitor.wait(), 1, monitor.said())
            self.assertNotIn("warning", monitor.said())
            rows = self.ask("SELECT job, number, class, summary, processes, raised_ns, action FROM "
                            f"site.watched_changes WHERE event = 'raised' AND number = {raised['number']}")
            self.assertEqual(rows, [["it\\'s\\ta\\njob", str(raised["number"]), raised["class"],
                                     raised["summary"], "['1']", str(raised["raised_ns"]), raised["try"]]])
            (over, processes), = self.ask("SELECT over, processes FROM site.watched_states ORDER BY at_ns DESC LIMIT 1")
            self.assertEqual((over, int(processes) >= 3), ("1", True))
            (apart,), = self.ask("SELECT max(abs(toInt64(toUInt32(time)) - toInt64(toUInt32(now())))) FROM "
                                 "site.watched_series")
            self.assertLess(int(apart), 600)

    def test_a_server_that_comes_later_gets_what_waited(self):
        with self.watch() as monitor:
            monitor.wait_for("cannot store rows")
            with self.server():
                self.wait_for("SELECT count() FROM site.watched_states", lambda rows: rows and int(rows[0][0]) > 0)
                monitor.process.send_signal(signal.SIGTERM)
                self.assertEqual(monitor.wait(), 143, monitor.said())
            self.assertNotIn(export_test.PASSWORD, monitor.said())

    def test_a_wrong_password_is_reported_and_disturbs_nothing(self):
        with self.server(), self.job(), self.watch(settings={"HEDDLE_CLICKHOUSE_PASSWORD": "wrong"}) as monitor:
            monitor.wait_for("cannot store rows.*assword")
            pid = self.stop_rank(2)
            monitor.wait_for('"event":"raised".*_hang"')
            program.kill(pid)
            self.assertEqual(monitor.wait(), 1, monitor.said())
            monitor.wait_for("could not be stored")


class Mistakes(Site):
    def test_they_are_named(self):
        readable = self.place / "readable"
        readable.write_text('token = "x"\n', encoding="utf-8")
        readable.chmod(0o644)
        for words, sign in ((("--publish", "nats://me:hunter2@h/s"), "HEDDLE_NATS_USER"),
                            (("--publish", "h:4222"), "begins with neither"),
                            (("--publish", "nats://h/a b"), "subject"),
                            (("--publish", "nats://h", "--state-every", "61s"), "at most 60"),
                            (("--publish", "nats://h", "--nats-access", str(readable)), "chmod 600"),
                            (("--publish", "nats://h", "--nats-access", "/none"), "/none"),
                            (("--clickhouse", "tcp://h/"), "begins with none"),
                            (("--clickhouse", "http://me:hunter2@h/"), "HEDDLE_CLICKHOUSE_USER"),
                            (("--clickhouse", "clickhouse://h/a;b"), "letters, digits"),
                            (("--for", "1s"), "--site"),
                            (("--site", "nats://h"), "--site")):
            with self.subTest(words=words):
                done = program.run("monitor", self.folder, *words)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(sign, done.stderr)
                self.assertNotIn("hunter2", done.stderr)
        self.assertEqual(program.run("monitor").returncode, 2)
        done = program.run("monitor", "--site", "nats://h", "--policy", "x")
        self.assertEqual(done.returncode, 2)

    def test_an_overview_without_a_server_could_not_run(self):
        port = program.free_port()
        done = program.run("monitor", "--site", f"nats://127.0.0.1:{port}", "--for", "1s")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("cannot show the jobs", done.stderr)


if __name__ == "__main__":
    unittest.main()
