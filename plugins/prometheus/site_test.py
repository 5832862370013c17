#!/usr/bin/env python3
"""What Prometheus says of the configuration, the rules and the dashboard of a site: promtool checks them, and a
Prometheus scrapes examples of each exporter's page by the configuration as it is here, but for addresses.

The pages of gnmic, DCGM and of RDMA NICs are as their documentation has them; none of these programs runs here.
"""

import contextlib
import json
import re
import subprocess
import sys
import unittest

import yaml

import prometheus_server
from prometheus_server import HERE, Prometheus, promtool

RULES = HERE / "heddle_site.rules.yml"
TESTS = HERE / "heddle_site.rules.test.yml"
CONFIG = HERE / "prometheus_site.yml"
DASHBOARD = HERE / "dashboards" / "heddle_site.json"
EXAMPLES = HERE / "site_example"
METRICS = HERE.parents[1] / "docs" / "reference" / "metrics.md"
MISSING = prometheus_server.missing("promtool", "prometheus", "prometheus-snmp-exporter")


def page_of(job):
    """What a target of this job serves; of heddle verify the page that acceptance_test says that it serves."""
    return (HERE / "example.metrics" if job == "heddle_verify" else EXAMPLES / f"{job}.metrics").read_bytes()


def parsed(name):
    return yaml.safe_load((HERE / name).read_text(encoding="utf-8"))


def scrape_configs(ports):
    """Those of the site's configuration, with the port of each job's page on loopback."""
    configs = parsed(CONFIG.name)["scrape_configs"]
    for config in configs:
        address = f"127.0.0.1:{ports[config['job_name']]}"
        for own in ("scrape_timeout", "scrape_interval"):
            config.pop(own, None)
        exporter = [rule for rule in config.get("relabel_configs", ()) if rule["target_label"] == "__address__"]
        for rule in exporter:  # the targets are its switches
            rule["replacement"] = address
        if not exporter:
            config["static_configs"] = [{"targets": [address]}]
    return configs


def dashboard_queries():
    return prometheus_server.dashboard_queries(DASHBOARD, host=".*", device=".*")


def metric_names(text):
    """Metrics in it of which heddle itself is the source."""
    return set(re.findall(r"\bheddle_(?:monitor|gpu|verify)_[a-z0-9_]+", text))


class Files(unittest.TestCase):
    def expect_success(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_accepts_configuration_rules_and_pages(self):
        self.expect_success(promtool("check", "config", CONFIG))
        self.expect_success(promtool("check", "rules", "--lint=all", "--lint-fatal", RULES))
        for job in ("heddle_monitor", "heddle_gpus"):
            self.expect_success(promtool("check", "metrics", input=page_of(job).decode()))

    def test_rules_give_what_they_should_and_each_alert_fires_for_bad_alone(self):
        self.expect_success(promtool("test", "rules", TESTS))
        fired = {}
        for test in parsed(TESTS.name)["tests"]:
            for check in test.get("alert_rule_test", ()):
                labels = [alert["exp_labels"] for alert in check["exp_alerts"]]
                about = {each.get("device") or each.get("host") or each["instance"].split(":")[0] for each in labels}
                fired.setdefault(check["alertname"], set()).update(about)
        self.assertEqual(fired, {rule["alert"]: {"bad"} for rule in prometheus_server.rules(RULES, "alert")})

    def test_every_common_name_has_a_unit_test(self):
        text = "".join(check["expr"] for test in parsed(TESTS.name)["tests"]
                       for check in test.get("promql_expr_test", ()))
        for rule in prometheus_server.rules(RULES, "record"):
            self.assertIn(rule["record"], text)

    def test_the_exporter_of_snmp_accepts_its_configuration(self):
        self.expect_success(subprocess.run(
            ["prometheus-snmp-exporter", "--dry-run", f"--config.file={HERE / 'snmp.yml'}"],
            capture_output=True, text=True, timeout=prometheus_server.program.PATIENCE_S, check=False))

    def test_snmp_asks_for_what_the_rules_use(self):
        module = parsed("snmp.yml")["heddle_ports"]
        names = {metric["name"] for metric in module["metrics"]}
        self.assertEqual(names, set(re.findall(r"\bif[A-Z]\w+", RULES.read_text(encoding="utf-8"))))
        self.assertEqual(names, set(re.findall(r"# TYPE (\w+)", page_of("switch_snmp").decode())))
        walked = set(module["walk"])
        for metric in module["metrics"]:
            self.assertIn(metric["oid"], walked)
            self.assertTrue(walked >= {lookup["oid"] for lookup in metric["lookups"]})
        snmp = next(each for each in parsed(CONFIG.name)["scrape_configs"] if each["job_name"] == "switch_snmp")
        self.assertEqual(snmp["params"], {"module": ["heddle_ports"]})

    def test_gnmic_subscribes_to_what_the_rules_use(self):
        config = parsed("gnmic.yml")
        paths = [path for each in config["subscriptions"].values() for path in each["paths"]]
        prefix = config["outputs"]["prometheus"]["metric-prefix"]
        made = [f"{prefix}{re.sub('[^a-z0-9]', '_', path)}" for path in paths]
        used = set(re.findall(rf"\b{prefix}_\w+", RULES.read_text(encoding="utf-8")))
        self.assertEqual({name for name in used if not any(name.startswith(each) for each in made)}, set())
        self.assertEqual({each for each in made if not any(name.startswith(each) for name in used)}, set())
        for name in config["outputs"]["prometheus"]["event-processors"]:
            self.assertIn(name, config["processors"])

    def test_tests_of_a_fabric_are_scraped_as_often_as_where_nothing_else_is(self):
        """A scrape each 15 s, as of the others, misses the last stages of a test."""
        own, = (each for each in parsed(CONFIG.name)["scrape_configs"] if each["job_name"] == "heddle_verify")
        self.assertEqual(own["scrape_interval"], parsed("prometheus.yml")["global"]["scrape_interval"])
        ports = {target.split(":")[1] for config in (CONFIG.name, "prometheus.yml")
                 for each in parsed(config)["scrape_configs"] if each["job_name"] == "heddle_verify"
                 for target in each["static_configs"][0]["targets"]}
        self.assertEqual(ports, {"18704"})

    def test_the_collector_of_opentelemetry_scrapes_what_there_is(self):
        config = parsed("otelcol.yml")
        for pipeline in config["service"]["pipelines"].values():
            for kind, names in pipeline.items():
                self.assertEqual(set(names), set(config[kind]))
        scraped = {each["job_name"] for each in config["receivers"]["prometheus"]["config"]["scrape_configs"]}
        known = {each["job_name"] for name in ("prometheus.yml", CONFIG.name)
                 for each in parsed(name)["scrape_configs"]}
        self.assertEqual(scraped, {name for name in known if name.startswith("heddle")})

    def test_names_of_heddles_own_metrics_are_those_that_it_serves(self):
        known = metric_names(METRICS.read_text(encoding="utf-8"))
        pages = page_of("heddle_monitor").decode() + page_of("heddle_gpus").decode()
        used = RULES.read_text(encoding="utf-8") + DASHBOARD.read_text(encoding="utf-8") + pages
        self.assertEqual(metric_names(used) - known, set())

    def test_hosts_gpus_and_ports_are_side_by_side(self):
        board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))
        columns = {}
        for panel in board["panels"]:
            if ": " in panel["title"]:
                columns.setdefault(panel["title"].partition(": ")[0], set()).add(panel["gridPos"]["x"])
                self.assertEqual(panel["gridPos"]["w"], 8)
        self.assertEqual(columns, {"Hosts": {0}, "GPUs": {8}, "Switch ports": {16}})
        used = " ".join(expression for _, expression in dashboard_queries())
        for name in ("stage_state", "link_transmitted_bytes_total", "pair_goodput_bytes_per_second"):
            self.assertIn(f"heddle_verify_{name}", used)
        names = {rule["record"] for rule in prometheus_server.rules(RULES, "record")}
        self.assertEqual({name for name in names if name not in used}, {"site:port_rate_bytes_per_second"})


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jobs = [config["job_name"] for config in parsed(CONFIG.name)["scrape_configs"]]
        with contextlib.ExitStack() as stack:
            ports = {job: stack.enter_context(prometheus_server.metrics_server(page_of(job))) for job in jobs}
            cls.prometheus = Prometheus(scrape_configs(ports), RULES)
            stack.callback(cls.prometheus.close)
            cls.addClassCleanup(stack.pop_all().close)
        cls.prometheus.wait_for(f"count(count_over_time(up[1m]) >= 3 and up == 1) >= {len(jobs)}")

    def labels(self, expression, count=1):
        """Those of each sample, once there are as many, without the name."""
        self.prometheus.wait_for(f"count({expression}) >= {count}")
        return [{name: value for name, value in sample["metric"].items() if name != "__name__"}
                for sample in self.prometheus.wait_for(expression)]

    def test_all_samples_are_taken(self):
        for sample in self.prometheus.wait_for("scrape_samples_scraped > 0"):
            page = page_of(sample["metric"]["job"]).decode()
            self.assertEqual(int(sample["value"][1]), sum(not line.startswith("#") for line in page.splitlines()))
        self.prometheus.wait_for_all_up()

    def test_switches_have_their_names(self):
        devices = {sample["device"] for sample in self.labels("count by (device) (site:port_bytes:rate1m) == 4", 3)}
        self.assertEqual(devices, {"leaf0", "leaf1", "10.0.0.13"})  # of two ports each
        self.assertEqual(self.labels('site:port_up{device="spine0"} == 1'), [{"device": "spine0", "port": "Ethernet1"}])
        self.assertEqual(self.labels('site:port_up{device="leaf0"} == 0'), [{"device": "leaf0", "port": "Ethernet2"}])
        expression = 'site:port_rate_bytes_per_second{device=~"leaf0|spine0"} == 12500000000'
        self.assertEqual(len(self.labels(expression, 2)), 2)

    def test_gpus_of_both_sources_are_of_their_hosts(self):
        hosts = {sample["host"] for sample in self.labels("count(site:gpu_utilization:ratio) by (host)", 2)}
        self.assertEqual(hosts, {"node1", "node3"})

    def test_each_query_of_the_dashboard_has_data(self):
        for title, expression in dashboard_queries():
            with self.subTest(title):
                self.assertTrue(self.prometheus.wait_for(expression), expression)

    def test_each_rule_is_evaluated_and_none_fires(self):
        for rule in prometheus_server.rules(RULES, "record"):
            with self.subTest(rule["record"]):
                self.assertTrue(self.prometheus.wait_for(rule["record"]))
        for rule in prometheus_server.rules(RULES, "alert"):
            self.prometheus.wait_for_none(rule["expr"])
        self.assertEqual(prometheus_server.unwell_rules(self.prometheus), [])


if __name__ == "__main__":
    if MISSING:
        print(f"skipped: {MISSING}")
        sys.exit(77)
    unittest.main()
