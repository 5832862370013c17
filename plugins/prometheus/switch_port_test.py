#!/usr/bin/env python3
"""Ports of a lab's switch by SNMP: snmpd is its agent, Debian's prometheus-snmp-exporter asks that, a Prometheus
scrapes the exporter by the site's configuration, and heddle sends through the switch. Beside it, the interface of a
host by prometheus-node-exporter.

snmpd and the exporters run in the network namespaces of the lab. The exporters serve on sockets of this one, which
they inherit, so no port is fixed and nothing has to be routed.
"""

import contextlib
import json

import pathlib
import socket
import sys
import tempfile
import time
import unittest

import lab_fabric
import program
import prometheus_server
import site_test

TOOLS = ("prometheus", "snmpd", "prometheus-snmp-exporter", "prometheus-node-exporter", "setpriv")
MISSING = lab_fabric.missing() or prometheus_server.missing(*TOOLS)

FABRIC = """version = 1
[fabric]
kind = "leaf_spine"
leaves = 1
spines = 1
hosts_per_leaf = 2
[host_link]
rate = "100Mbit/s"
queue = "125KB"
mtu = 1500
[switch_link]
rate = "100Mbit/s"
queue = "125KB"
mtu = 1500
"""

# Becomes a program that serves on the listening socket of this number, as systemd would start it.
ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execvp(sys.argv[2], sys.argv[2:])
"""

SHARE = 0.01  # by which counts may differ


def wait_until(condition, what):
    """Its value once it is true."""
    end = time.monotonic() + program.PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"it did not come true in time: {what()}")
        time.sleep(0.2)
    return found


class Stand(contextlib.ExitStack):
    """The lab with its agent and exporters, and Prometheus, until it is closed."""

    def __init__(self):
        super().__init__()
        self.folder = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory(prefix="heddle-ports-")))
        self.lab = lab_fabric.Lab(str(self.folder), FABRIC, "ports")
        self.callback(self.lab.close)
        self.snmpd = self.agent()
        ports = {"switch_snmp": self.exporter("leaf0", "prometheus-snmp-exporter",
                                              f"--config.file={prometheus_server.HERE / 'snmp.yml'}"),
                 "node": self.exporter("h0", "prometheus-node-exporter", "--collector.disable-defaults",
                                       "--collector.netdev")}
        self.prometheus = prometheus_server.Prometheus(self.configs(ports), site_test.RULES)
        self.callback(self.prometheus.close)

    def configs(self, ports):
        snmp, node = (next(each for each in site_test.parsed(site_test.CONFIG.name)["scrape_configs"]
                           if each["job_name"] == job) for job in ("switch_snmp", "node"))
        snmp["static_configs"] = [{"targets": ["127.0.0.1"], "labels": {"device": "leaf0"}}]  # as the exporter sees it
        del snmp["scrape_timeout"]
        snmp["relabel_configs"][-1]["replacement"] = f"127.0.0.1:{ports['switch_snmp']}"
        node["static_configs"] = [{"targets": [f"127.0.0.1:{ports['node']}"], "labels": {"host": "h0"}}]
        return [snmp, node]

    def beside(self, place, *words, **options):
        """A program in a namespace of the lab that ends with this one."""
        return self.enter_context(program.started("lab", "exec", place, "--lab", self.lab.name, "--", *words,
                                                  before=("setpriv", "--pdeathsig", "TERM"), **options))

    def agent(self):
        """snmpd, once it answers."""
        config = self.folder / "snmpd.conf"
        config.write_text("rocommunity public 127.0.0.1\n", encoding="utf-8")
        process = self.beside("leaf0", "env", "MIBS=", f"SNMP_PERSISTENT_DIR={self.folder}/state",
                              f"SNMPCONFPATH={self.folder}/none", "snmpd", "-f", "-Lo", "-C", "-c", config,
                              "-I", "vacm_conf,ifTable,ifXTable", "udp:127.0.0.1:161")
        process.wait_for("NET-SNMP version")
        return process

    def exporter(self, place, *words):
        """The port that it serves on here."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.beside(place, sys.executable, "-c", ACTIVATE, listening.fileno(), *words, "--web.systemd-socket",
                        pass_fds=(listening.fileno(),))
            return listening.getsockname()[1]

    def kernel(self, place):
        """Bytes (received, sent) of each interface, from the kernel."""
        lines = self.lab.exec(place, "cat", "/proc/self/net/dev").splitlines()[2:]
        fields = (line.replace(":", " ", 1).split() for line in lines)
        return {words[0]: (int(words[1]), int(words[9])) for words in fields if words[0] != "lo"}

    def settled(self, place):
        """The same once nothing is in flight."""
        counts, earlier = self.kernel(place), None
        while counts != earlier:
            time.sleep(0.1)
            counts, earlier = self.kernel(place), counts
        return counts

    def counted(self, received, sent, name):
        """Bytes (received, sent) of each port or interface, from Prometheus."""
        values = [{sample["metric"][name]: int(float(sample["value"][1])) for sample in self.prometheus.query(metric)}
                  for metric in (received, sent)]
        return {each: (values[0][each], values[1].get(each, 0)) for each in values[0] if each != "lo"}

    def ports(self):
        return self.counted('ifHCInOctets{device="leaf0"}', 'ifHCOutOctets{device="leaf0"}', "port")

    def interfaces(self):
        return self.counted('node_network_receive_bytes_total{host="h0"}',
                            'node_network_transmit_bytes_total{host="h0"}', "nic")

    def send(self):
        """Goodput test from h0 to h1: bytes that arrived."""
        server = self.beside("h1", program.HEDDLE, "perf", "--listen")
        server.wait_for("listens on")
        done = json.loads(self.lab.exec("h0", program.HEDDLE, "perf", "h1", "bw", "-t", "3", "--json"))
        server.close()
        return done


def difference(after, before):
    return {name: tuple(a - b for a, b in zip(after[name], before[name])) for name in after}


def near(one, other):
    """Whether each count of `one` is within SHARE of that of `other`, or within a few packets where there are few."""
    return one.keys() == other.keys() and all(abs(a - b) <= max(SHARE * b, 2000)
                                              for name in one for a, b in zip(one[name], other[name]))


class SwitchPorts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stand = Stand()
        cls.addClassCleanup(cls.stand.close)

    def test_bytes_of_a_port_are_those_that_the_kernel_counts(self):
        stand, prometheus = self.stand, self.stand.prometheus
        prometheus.wait_for('ifHCInOctets{device="leaf0"}')
        prometheus.wait_for('node_network_receive_bytes_total{host="h0"}')
        switch, host = stand.settled("leaf0"), stand.settled("h0")
        wait_until(lambda: near(stand.ports(), switch), lambda: (stand.ports(), switch))
        wait_until(lambda: near(stand.interfaces(), host), lambda: (stand.interfaces(), host))
        ports, interfaces = stand.ports(), stand.interfaces()
        moved = stand.send()
        switch_moved = difference(stand.settled("leaf0"), switch)
        host_moved = difference(stand.settled("h0"), host)
        nic = max(host_moved, key=lambda name: host_moved[name][1])
        port = max(switch_moved, key=lambda name: switch_moved[name][0])  # to h0
        payload = moved["tests"][0]["payload_bytes"]
        self.assertGreater(switch_moved[port][0], payload)
        self.assertGreater(payload, 5_000_000)
        wait_until(lambda: near(difference(stand.ports(), ports), switch_moved),
                   lambda: (difference(stand.ports(), ports), switch_moved))
        wait_until(lambda: near(difference(stand.interfaces(), interfaces), host_moved),
                   lambda: (difference(stand.interfaces(), interfaces), host_moved))
        self.assertLess(abs(host_moved[nic][1] - switch_moved[port][0]), SHARE * host_moved[nic][1])
        of_port = f'device="leaf0",port="{port}",direction="in"'
        prometheus.wait_for(f"max_over_time(site:port_bytes:rate1m{{{of_port}}}[5m]) > {payload // 60}")
        prometheus.wait_for(f"site:port_load:ratio{{{of_port}}} > 0")
        prometheus.wait_for(f'site:nic_bytes:rate1m{{host="h0",nic="{nic}",direction="out"}} > 0')
        self.assertEqual(prometheus_server.unwell_rules(prometheus), [])

    def test_a_switch_that_does_not_answer_is_seen_and_comes_back(self):
        stand, prometheus = self.stand, self.stand.prometheus
        prometheus.wait_for('up{job="switch_snmp",device="leaf0"} == 1')
        stand.snmpd.close()
        prometheus.wait_for('ALERTS{alertname="HeddleSwitchSilent",device="leaf0"}')
        stand.snmpd = stand.agent()
        prometheus.wait_for('up{job="switch_snmp",device="leaf0"} == 1')

    def test_a_port_whose_cable_is_out_is_down(self):
        stand, prometheus = self.stand, self.stand.prometheus
        up = {sample["metric"]["port"] for sample in prometheus.wait_for('site:port_up{device="leaf0"} == 1')}
        self.assertTrue(up >= stand.kernel("leaf0").keys())
        [interface] = stand.kernel("spine0")  # which no test sends through
        stand.lab.exec("spine0", "ip", "link", "set", "dev", interface, "down")
        [down] = prometheus.wait_for('ALERTS{alertname="HeddlePortDown",device="leaf0"}')
        self.assertIn(down["metric"]["port"], up)
        self.assertEqual(len(prometheus.query('site:port_up{device="leaf0"} == 0')), 1)


if __name__ == "__main__":
    if MISSING:
        print(f"skipped: {MISSING}")
        sys.exit(77)
    unittest.main()
