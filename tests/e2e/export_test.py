#!/usr/bin/env python3
"""heddle record export into a real ClickHouse server (Debian's 18.16), with docs/how-to/record_a_job.md's queries."""

import base64
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import program

SERVER = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin")
GENERATE = os.path.join(os.path.dirname(program.HEDDLE), "heddle-bench-generate")
DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "how-to", "record_a_job.md")
CONFIG = """<yandex><logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{1}</http_port><path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path>
<mark_cache_size>5368709120</mark_cache_size><users_config>{0}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database></yandex>"""
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default>
<password>{0}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
</default></users></yandex>"""
PASSWORD = "se:cret"


@contextlib.contextmanager
def answering(status, text):
    """A server that answers all the same; `seen` has path and credentials of each request."""
    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.server.seen.append((self.path, self.headers["Authorization"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
        server.seen = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def queries():
    """Those of the docs, in their order."""
    with open(DOCS, encoding="utf-8") as file:
        return re.findall(r"```sql\n(.*?)```", file.read(), re.DOTALL)


@unittest.skipUnless(os.path.exists(GENERATE), "heddle-bench-generate is not built")
class Address(unittest.TestCase):
    """What goes wrong before, or without, a database."""

    def setUp(self):
        parent = tempfile.TemporaryDirectory()
        self.addCleanup(parent.cleanup)
        self.job = os.path.join(parent.name, "job")
        subprocess.run([GENERATE, self.job, "--ranks", "8", "--events", "500"], check=True, capture_output=True)

    def refused(self, sign, *words, settings=None):
        done = program.run("record", "export", self.job, "--clickhouse", *words, settings=settings)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(sign, done.stderr)
        return done.stderr

    def test_mistakes(self):
        self.refused("no address of HTTP", "localhost:8123")
        self.refused("no address of HTTP", 'http://x/" \noutput = "/tmp/file')
        self.refused("letters, digits", "http://x/", "--database", "a; DROP")
        said = self.refused("cannot send to http://127.0.0.1:",
                            f"http://me:{PASSWORD}@127.0.0.1:{program.free_port()}/")
        self.assertNotIn(PASSWORD, said)
        done = program.run("record", "export", "/no/such/folder", "--clickhouse", "http://x/")
        self.assertEqual(done.returncode, 2)

    def test_what_the_server_says_is_told(self):
        with answering(500, b"Code: 241, e.displayText() = no memory for you\n") as server:
            self.refused("no memory for you", f"http://127.0.0.1:{server.server_port}/")

    def test_secrets_are_in_no_message(self):
        port = program.free_port()
        for address in (f"http://me:hunter2@127.0.0.1:{port}/?user=me&password=hunter2",
                        f"http://127.0.0.1:{port}/?user=me&password=hunter2",
                        f"http://127.0.0.1:{port}?password=hunter2#hunter2",
                        f"http://me:%68unter2@127.0.0.1:{port}/",
                        # None of these is an address.
                        f"http://me:pa/hunter2@127.0.0.1:{port}/", f"http://me:?hunter2@127.0.0.1:{port}/",
                        f"http://127.0.0.1:{port}/?password=x@hunter2", "http://me:hunter2/",
                        "me:hunter2@127.0.0.1", "https://me:hunter2@", 'http://me:"hunter2"@host/',
                        "http://me:hunter2%0A@host/"):
            self.assertNotIn("unter2", self.refused("cannot send", address))

    def test_secrets_are_not_in_what_is_told_in_the_end(self):
        with answering(200, b"0\n") as server:
            done = program.run("record", "export", self.job, "--clickhouse",
                               f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/x?user=me&password=hunter2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"on http://127.0.0.1:{server.server_port}/x\n", done.stdout)
        self.assertEqual({path for path, _ in server.seen}, {"/x?user=me&password=hunter2"})

    def test_credentials_come_from_the_environment(self):
        secret = 'q"u\\o te/@:?#'
        both = {"HEDDLE_CLICKHOUSE_USER": "me", "HEDDLE_CLICKHOUSE_PASSWORD": secret}
        for place, settings, credentials in (("", both, f"me:{secret}"), ("", {}, None),
                                             ("you:x%2fy@", both, "you:x/y"),
                                             ("you@", both, f"you:{secret}"), ("you@", {}, "you:"),
                                             ("", {"HEDDLE_CLICKHOUSE_PASSWORD": secret}, f"default:{secret}")):
            with answering(200, b"0\n") as server:
                done = program.run("record", "export", self.job, "--clickhouse",
                                   f"http://{place}127.0.0.1:{server.server_port}/", settings=settings)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            wanted = credentials and "Basic " + base64.b64encode(credentials.encode()).decode()
            self.assertEqual({given for _, given in server.seen}, {wanted})
        self.refused("user and password", "http://x/", settings={"HEDDLE_CLICKHOUSE_USER": "a:b"})
        done = program.run("config", "show", settings=both)
        self.assertNotIn("CLICKHOUSE", done.stdout + done.stderr)


@unittest.skipUnless(os.path.exists(GENERATE), "heddle-bench-generate is not built")
@unittest.skipIf(SERVER is None, "clickhouse-server is not installed: scripts/setup --clickhouse")
class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(parent.cleanup)
        cls.parent = parent.name
        cls.port = program.free_port()
        for folder in ("data", "tmp"):
            os.mkdir(f"{cls.parent}/{folder}")
        for name, text in (("config.xml", CONFIG.format(cls.parent, cls.port)),
                           ("users.xml", USERS.format(PASSWORD))):
            with open(f"{cls.parent}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        cls.server = subprocess.Popen([SERVER, f"--config-file={cls.parent}/config.xml"], cwd=cls.parent,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.stop)
        cls.url = f"http://127.0.0.1:{cls.port}/"
        end = time.monotonic() + program.PATIENCE_S
        while True:
            with contextlib.suppress(OSError):
                cls.ask("SELECT 1")
                break
            assert cls.server.poll() is None and time.monotonic() < end, "clickhouse-server does not answer"
            time.sleep(0.1)
        cls.job = f"{cls.parent}/job"
        made = subprocess.run([GENERATE, cls.job, "--ranks", "16", "--events", "20000"], check=True,
                              capture_output=True, text=True)
        cls.truth = json.loads(made.stdout)
        cls.exported = cls.export()

    @classmethod
    def stop(cls):
        cls.server.send_signal(signal.SIGTERM)
        try:
            cls.server.wait(30)
        except subprocess.TimeoutExpired:
            cls.server.kill()
            cls.server.wait()

    @classmethod
    def ask(cls, sql):
        request = urllib.request.Request(f"http://127.0.0.1:{cls.port}/", data=sql.encode(),
                                         headers={"X-ClickHouse-User": "default", "X-ClickHouse-Key": PASSWORD})
        try:
            with urllib.request.urlopen(request, timeout=program.PATIENCE_S) as answer:
                return [line.split("\t") for line in answer.read().decode().splitlines()]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.read().decode()}\nof {sql}") from None

    @classmethod
    def export(cls, *words, folder=None):
        return program.run("record", "export", folder or cls.job, "--clickhouse", cls.url, *words,
                           settings={"HEDDLE_CLICKHOUSE_USER": "default", "HEDDLE_CLICKHOUSE_PASSWORD": PASSWORD})

    def document(self, *words, folder=None):
        return json.loads(program.run(words[0], folder or self.job, *words[1:]).stdout)

    def test_the_end_names_the_processes_and_moments_that_were_exported(self):
        self.assertEqual(self.exported.returncode, 0, self.exported.stderr)
        self.assertIn("16 processes and", self.exported.stdout)
        self.assertNotIn(PASSWORD, self.exported.stdout)
        (moments,), = self.ask("SELECT count() FROM heddle.moments WHERE job = 'job'")
        self.assertIn(f"{moments} moments", self.exported.stdout)
        (events,), = self.ask("SELECT sum(events) FROM heddle.processes WHERE job = 'job'")
        self.assertEqual(int(events), self.truth["events"])

    def test_the_matrix_of_the_docs(self):
        matrix = self.document("matrix", "--format", "json")
        rows = self.ask(queries()[0])
        cells = {(int(row[0]), int(row[1])): (int(row[2]), int(row[3])) for row in rows}
        for from_ in range(16):
            for to in range(16):
                self.assertEqual(cells.get((from_, to), (0, 0)),
                                 (matrix["measured"][from_][to], matrix["expected"][from_][to]))

    def test_the_summary_of_the_docs(self):
        summary = self.document("summary", "--json")
        ranks = {int(row[0]): row for row in self.ask(queries()[1])}
        for process in summary["processes"]:
            row = ranks[int(process["name"])]
            self.assertEqual([int(row[2]), int(row[3]), int(row[4])],
                             [process["calls"], process["exposed_ns"], process["hidden_ns"]])
        operations = {row[0]: row for row in self.ask(queries()[2])}
        for name, told in summary["operations"].items():
            self.assertEqual([int(operations[name][i]) for i in (1, 2)], [told["calls"], told["bytes"]])
            # By the job's clock, from which the host's own drifts.
            self.assertAlmostEqual(int(operations[name][4]), told["longest_ns"], delta=told["longest_ns"] * 1e-3)
        slowest, longest = int(self.ask(queries()[3])[0][-1]), summary["slowest"][0]["took_ns"]
        self.assertAlmostEqual(slowest, longest, delta=longest * 1e-3)
        # All that was delivered, and 24 bytes a call and rank that are heddle's own.
        received = sum(int(row[1]) for row in self.ask(queries()[4]))
        calls = summary["operations"]["allreduce"]["calls"]
        self.assertEqual(received, self.truth["sent_bytes"] + 24 * calls)

    def test_a_job_is_there_once(self):
        done = self.export()
        self.assertEqual(done.returncode, 2)
        self.assertIn("--replace", done.stderr)
        before = self.ask("SELECT count() FROM heddle.flows")
        self.assertEqual(self.export("--replace").returncode, 0)
        self.assertEqual(self.ask("SELECT count() FROM heddle.flows"), before)

    def test_names_of_any_kind(self):
        name = "it's a\tjob\\n"
        done = self.export("--job", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        (count,), = self.ask("SELECT count() FROM heddle.processes WHERE job = 'it\\'s a\\tjob\\\\n'")
        self.assertEqual(int(count), 16)

    def test_an_export_that_fails_is_taken_back(self):
        self.ask("CREATE DATABASE IF NOT EXISTS broken")
        self.ask("CREATE TABLE broken.flows (job String, other UInt8) "
                 "ENGINE = MergeTree() PARTITION BY job ORDER BY job")
        done = self.export("--database", "broken")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(self.ask("SELECT count() FROM broken.moments"), [["0"]])
        self.assertEqual(self.ask("SELECT count() FROM broken.processes"), [["0"]])
        self.assertEqual(self.ask("SHOW TABLES FROM broken"), [["flows"], ["moments"], ["processes"]])

    def test_a_replacement_that_fails_leaves_the_job_that_was_there(self):
        self.assertEqual(self.export("--database", "kept").returncode, 0)

        def rows():
            return [self.ask(f"SELECT count() FROM kept.{name}") for name in ("moments", "flows", "processes")]

        before = rows()
        self.ask("ALTER TABLE kept.flows DROP COLUMN packets")
        self.assertEqual(self.export("--database", "kept", "--replace").returncode, 2)
        self.assertEqual(rows(), before)
        self.assertEqual(self.ask("SHOW TABLES FROM kept"), [["flows"], ["moments"], ["processes"]])

    def test_a_table_of_another_order_is_refused_between_the_tables(self):
        self.ask("CREATE DATABASE torn")
        self.ask("CREATE TABLE torn.flows AS heddle.flows ENGINE = MergeTree() PARTITION BY job ORDER BY job")
        self.assertEqual(self.export("--database", "torn").returncode, 2)
        self.assertEqual(self.ask("SELECT count() FROM torn.moments"), [["0"]])
        self.ask("INSERT INTO torn.processes SELECT * FROM heddle.processes WHERE job = 'job'")
        done = self.export("--database", "torn", "--replace")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--replace it again", done.stderr)
        self.assertEqual(self.ask("SELECT count() FROM torn.processes"), [["16"]])

    def test_a_replacement_with_less_leaves_nothing_of_the_old(self):
        self.assertEqual(self.export("--database", "less").returncode, 0)
        small = f"{self.parent}/small"
        subprocess.run([GENERATE, small, "--ranks", "8", "--events", "500"], check=True, capture_output=True)
        done = self.export("--database", "less", "--replace", "--job", "job", folder=small)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ask("SELECT count() FROM less.processes"), [["8"]])
        (moments,), = self.ask("SELECT count() FROM less.moments")
        self.assertIn(f"{moments} moments", done.stdout)

    def test_what_is_damaged_is_exported_and_told(self):
        damaged = f"{self.parent}/damaged"
        shutil.copytree(self.job, damaged)
        name = program.recordings(damaged)[0]
        os.truncate(f"{damaged}/{name}", 30_000)
        self.assertEqual(self.export(folder=damaged).returncode, 1)


if __name__ == "__main__":
    unittest.main()
