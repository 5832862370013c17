#!/usr/bin/env python3
"""What Prometheus says of the rules, the dashboard and the metrics of heddle verify: promtool checks them, and a
Prometheus on loopback scrapes them and evaluates every query.

Needs prometheus and promtool; skipped where they are missing: exit status 77.
"""

import contextlib
import http.server
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

import yaml

import lab_fabric
import program

HERE = pathlib.Path(__file__).resolve().parent
RULES = HERE / "heddle.rules.yml"
DASHBOARD = HERE / "dashboards" / "heddle_verify.json"
EXAMPLE = (HERE / "example.metrics").read_bytes()  # what acceptance_test says that verify serves
MISSING = next((f"there is no {tool}: scripts/setup --metrics" for tool in ("promtool", "prometheus")
                if shutil.which(tool) is None), None)

# A fabric whose test is long enough to be scraped.
FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
[host_link]
rate = "40Mbit/s"
queue = "50KB"
mtu = 1500
[switch_link]
rate = "10Mbit/s"
queue = "25KB"
mtu = 1500
"""

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


def promtool(*words, **options):
    return subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=program.PATIENCE_S, **options)


def rules(kind):
    """Every rule of this kind, "alert" or "record"."""
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


def dashboard_queries():
    """(title, expression) of every query of the dashboard, with its variables replaced."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [(panel["title"], target["expr"].replace("$__rate_interval", "20s").replace("$fabric", "rack7"))
            for panel in panels for target in panel["targets"]]


class Files(unittest.TestCase):
    def expect_success(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_accepts_configuration_rules_and_metrics(self):
        self.expect_success(promtool("check", "config", HERE / "prometheus.yml"))
        self.expect_success(promtool("check", "rules", RULES))
        self.expect_success(promtool("check", "metrics", input=EXAMPLE.decode()))

    def test_each_alert_fires_when_it_should_and_only_then(self):
        self.expect_success(promtool("test", "rules", HERE / "heddle.rules.test.yml"))
        tests = yaml.safe_load((HERE / "heddle.rules.test.yml").read_text(encoding="utf-8"))["tests"]
        about = lambda labels: next(labels[name] for name in ("fabric", "recording", "instance") if name in labels)
        fired = {check["alertname"]: {about(alert["exp_labels"]) for alert in check["exp_alerts"]}
                 for test in tests for check in test["alert_rule_test"]}
        self.assertEqual(fired, {rule["alert"]: {"bad"} for rule in rules("alert")})

    def test_the_dashboard_has_panels_with_queries(self):
        board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        self.assertGreaterEqual(board["schemaVersion"], 37)
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))
        places = [panel["gridPos"] for panel in board["panels"]]
        self.assertEqual({(place["x"] + place["w"] <= 24) for place in places}, {True})
        used = " ".join(expression for _, expression in dashboard_queries())
        names = {line.split()[2] for line in EXAMPLE.decode().splitlines() if line.startswith("# TYPE ")}
        self.assertEqual({name for name in names if name not in used}, {"heddle_verify_build_info"})


class ExamplePage(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(EXAMPLE)))
        self.end_headers()
        self.wfile.write(EXAMPLE)

    def log_message(self, format, *arguments):  # pylint: disable=redefined-builtin
        pass


@contextlib.contextmanager
def example_server():
    """The port of a server of the example."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ExamplePage) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def free_tcp_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """A Prometheus that scrapes these ports each second, until close()."""

    def __init__(self, **targets):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="heddle-prometheus-"))
        shutil.copy(RULES, self.folder)
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "rule_files": [RULES.name],
                  "scrape_configs": [{"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
                                     for name, port in targets.items()]}
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        self.port = free_tcp_port()
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
            with urllib.request.urlopen(url, timeout=10) as answer:
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


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            cls.prometheus = Prometheus(example=stack.enter_context(example_server()))
            stack.callback(cls.prometheus.close)
            cls.addClassCleanup(stack.pop_all().close)
        cls.prometheus.wait_for("count_over_time(up[1m]) >= 2 and up == 1")

    def test_all_samples_are_taken(self):
        samples = sum(not line.startswith("#") for line in EXAMPLE.decode().splitlines())
        self.assertEqual(float(self.prometheus.wait_for("scrape_samples_scraped > 0")[0]["value"][1]), samples)
        targets = self.prometheus.api("targets")["activeTargets"]
        self.assertEqual([(each["health"], each["lastError"]) for each in targets], [("up", "")])

    def test_each_query_of_the_dashboard_has_data(self):
        for title, expression in dashboard_queries():
            with self.subTest(title):
                self.assertTrue(self.prometheus.query(expression), expression)

    def test_each_rule_is_evaluated_and_none_fires(self):
        for rule in rules("record"):
            with self.subTest(rule["record"]):
                self.assertTrue(self.prometheus.wait_for(rule["record"]))
        for rule in rules("alert"):
            self.assertEqual(self.prometheus.query(rule["expr"]), [], rule["alert"])
        groups = self.prometheus.api("rules")["groups"]
        unwell = [(rule["name"], rule["lastError"]) for group in groups for rule in group["rules"]
                  if rule.get("lastError")]
        self.assertEqual(unwell, [])


@unittest.skipIf(lab_fabric.missing(), str(lab_fabric.missing()))
class Verify(unittest.TestCase):
    def test_a_test_that_runs_is_scraped(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            topology = pathlib.Path(folder, "small.toml")
            topology.write_text(FABRIC, encoding="utf-8")
            # Ended, too, with a test that is killed: then it takes its lab down.
            verify = stack.enter_context(program.started("verify", "--full", "--topology", topology, "--metrics",
                                                         "127.0.0.1:0", before=("setpriv", "--pdeathsig", "TERM")))
            stack.callback(verify.wait)
            stack.callback(verify.signal, signal.SIGINT)
            port = urllib.parse.urlparse(verify.wait_for(r"metrics are at http://").split()[-1]).port
            prometheus = Prometheus(verify=port)
            stack.callback(prometheus.close)
            self.assertTrue(prometheus.wait_for('heddle_verify_stage_state{stage="inventory",state="passed"} == 1'))
            self.assertTrue(prometheus.wait_for("sum(increase(heddle_verify_link_transmitted_bytes_total[1m])) > 0"))
            self.assertEqual(len(prometheus.query("heddle_verify_link_rate_bytes_per_second")), 8)
            self.assertEqual(prometheus.query("heddle_verify_build_info")[0]["metric"]["fabric"], "small")
            verify.signal(signal.SIGINT)
            self.assertEqual(verify.wait(), 130, verify.said())
            self.assertTrue(prometheus.wait_for('ALERTS{alertname="HeddleVerifyEndedEarly", alertstate="firing"}'))


if __name__ == "__main__":
    if MISSING:
        print(f"skipped: {MISSING}")
        sys.exit(77)
    unittest.main()
