#!/usr/bin/env python3
"""What Prometheus says of the rules, the dashboard and the metrics of heddle verify: promtool checks them, and a
Prometheus on loopback scrapes them and evaluates every query.

Needs prometheus and promtool; skipped where they are missing: exit status 77.
"""

import contextlib
import json
import pathlib
import signal
import sys
import tempfile
import unittest
import urllib.parse

import yaml

import lab_fabric
import program
import prometheus_server
from prometheus_server import HERE, Prometheus, promtool

RULES = HERE / "heddle.rules.yml"
DASHBOARD = HERE / "dashboards" / "heddle_verify.json"
EXAMPLE = (HERE / "example.metrics").read_bytes()  # what acceptance_test says that verify serves
MISSING = prometheus_server.missing("promtool", "prometheus")

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


def rules(kind):
    return prometheus_server.rules(RULES, kind)


def dashboard_queries():
    return prometheus_server.dashboard_queries(DASHBOARD, fabric="rack7")


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


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(prometheus_server.metrics_server(EXAMPLE))
            cls.prometheus = Prometheus(prometheus_server.scrapes(example=port), RULES)
            stack.callback(cls.prometheus.close)
            cls.addClassCleanup(stack.pop_all().close)
        cls.prometheus.wait_for("count_over_time(up[1m]) >= 2 and up == 1")

    def test_all_samples_are_taken(self):
        samples = sum(not line.startswith("#") for line in EXAMPLE.decode().splitlines())
        self.assertEqual(float(self.prometheus.wait_for("scrape_samples_scraped > 0")[0]["value"][1]), samples)
        self.prometheus.wait_for_all_up()

    def test_each_query_of_the_dashboard_has_data(self):
        for title, expression in dashboard_queries():
            with self.subTest(title):
                self.assertTrue(self.prometheus.wait_for(expression), expression)

    def test_each_rule_is_evaluated_and_none_fires(self):
        for rule in rules("record"):
            with self.subTest(rule["record"]):
                self.assertTrue(self.prometheus.wait_for(rule["record"]))
        for rule in rules("alert"):
            self.prometheus.wait_for_none(rule["expr"])
        self.assertEqual(prometheus_server.unwell_rules(self.prometheus), [])


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
            prometheus = Prometheus(prometheus_server.scrapes(verify=port), RULES)
            stack.callback(prometheus.close)
            self.assertTrue(prometheus.wait_for('heddle_verify_stage_state{stage="inventory",state="passed"} == 1'))
            self.assertTrue(prometheus.wait_for("sum(increase(heddle_verify_link_transmitted_bytes_total[1m])) > 0"))
            # Waited for, too: a scrape that a busy machine has no time for makes all absent until the next.
            self.assertTrue(prometheus.wait_for("count(heddle_verify_link_rate_bytes_per_second) == 8"))
            self.assertEqual(prometheus.wait_for("heddle_verify_build_info")[0]["metric"]["fabric"], "small")
            verify.signal(signal.SIGINT)
            self.assertEqual(verify.wait(), 130, verify.said())
            self.assertTrue(prometheus.wait_for('ALERTS{alertname="HeddleVerifyEndedEarly", alertstate="firing"}'))


if __name__ == "__main__":
    if MISSING:
        print(f"skipped: {MISSING}")
        sys.exit(77)
    unittest.main()
