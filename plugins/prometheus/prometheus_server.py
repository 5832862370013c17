"""A Prometheus on loopback for the tests here, promtool, and the queries and rules of the files here."""

import contextlib
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import yaml

import program

HERE = pathlib.Path(__file__).resolve().parent

# Ends Prometheus and removes its folder when the test closes its standard input, or has been killed.
GUARD = """
import shutil, subprocess, sys
folder, *words = sys.argv[1:]
try:
    with open(folder + "/log", "wb") as log:
        server = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    sys.stdin.buffer.read()
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
finally:
    shutil.rmtree(folder, ignore_errors=True)
"""


def missing(*tools):
    """Why a test with these programs is skipped; None where all are there."""
    return next((f"there is no {tool}: scripts/setup --metrics" for tool in tools if shutil.which(tool) is None), None)


def promtool(*words, **options):
    return subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=program.PATIENCE_S, **options)


def rules(file, kind):
    """Every rule of this kind, "alert" or "record"."""
    groups = yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


def dashboard_queries(file, **variables):
    """(title, expression) of every query of a dashboard, with its variables replaced."""
    def filled(expression):
        for name, value in {"__rate_interval": "20s", **variables}.items():
            expression = expression.replace("$" + name, value)
        return expression

    panels = json.loads(file.read_text(encoding="utf-8"))["panels"]
    return [(panel["title"], filled(target["expr"])) for panel in panels for target in panel["targets"]]


def unwell_rules(prometheus):
    """(name, error) of each rule that could not be evaluated."""
    groups = prometheus.api("rules")["groups"]
    return [(rule["name"], rule["lastError"]) for group in groups for rule in group["rules"] if rule.get("lastError")]


@contextlib.contextmanager
def metrics_server(page):
    """The port of a server of this page of metrics, under each path."""
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format, *arguments):  # pylint: disable=redefined-builtin
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def scrapes(**targets):
    """Scrape configurations of these ports of loopback, by job."""
    return [{"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
            for name, port in targets.items()]


class Prometheus:
    """A Prometheus that scrapes each second, until close()."""

    def __init__(self, scrape_configs, *rule_files):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="heddle-prometheus-"))
        for file in rule_files:
            shutil.copy(file, self.folder)
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                  "rule_files": [file.name for file in rule_files], "scrape_configs": scrape_configs}
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        self.port = program.free_port()
        self.guard = subprocess.Popen(
            [sys.executable, "-c", GUARD, self.folder, "prometheus", f"--config.file={self.folder}/prometheus.yml",
             f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdin=subprocess.PIPE, start_new_session=True)

    def close(self):
        self.guard.stdin.close()
        self.guard.wait(program.PATIENCE_S)

    def api(self, path, **words):
        """The answer's data; an AssertionError with Prometheus' own words for an error."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=program.PATIENCE_S) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it listens before it is ready
                raise ConnectionError("Prometheus is starting") from error
            raise AssertionError(f"{words}: {error.read().decode()}") from error

    def query(self, expression):
        return self.api("query", query=expression)["result"]

    def wait_for(self, expression):
        """Its result once it has one."""
        end = time.monotonic() + program.PATIENCE_S
        while True:
            with contextlib.suppress(OSError):
                if found := self.query(expression):
                    return found
            if time.monotonic() > end:
                log = self.folder / "log"
                raise AssertionError(f"no result of {expression}: {log.read_text() if log.exists() else 'no log'}")
            time.sleep(0.1)

    def wait_for_none(self, expression):
        """Until it has no result: a scrape that a busy machine has no time for makes a target absent until the next."""
        end = time.monotonic() + program.PATIENCE_S
        while found := self.query(expression):
            if time.monotonic() > end:
                raise AssertionError(f"{expression}: {found}")
            time.sleep(0.1)

    def wait_for_all_up(self):
        """Until the last scrape of each target was one without an error."""
        end = time.monotonic() + program.PATIENCE_S
        while unwell := [each for each in self.api("targets")["activeTargets"]
                         if (each["health"], each["lastError"]) != ("up", "")]:
            if time.monotonic() > end:
                raise AssertionError(unwell)
            time.sleep(0.1)
