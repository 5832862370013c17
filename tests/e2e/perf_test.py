#!/usr/bin/env python3
"""heddle perf: both tests, both directions, checks, sweeps, JSON, and several clients at once."""

import json
import os
import re
import tempfile
import tomllib
import unittest

import program


class Perf(unittest.TestCase):
    def test_bw_and_lat_as_text(self):
        with program.server() as (serving, port):
            done = program.run("perf", "127.0.0.1", "bw", "lat", "-p", port, "-t", "0.3")
            serving.wait_for(r"lat +[\d,]+ rounds of 64 B")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"bw:\n +goodput +=")
        self.assertRegex(done.stdout, r"goodput += +[\d.]+ [GM]b/s +[\d.]+ [GM]B/s")
        self.assertRegex(done.stdout, r"lat:\n +one-way \(RTT/2\) += [\d.]+ [um]?s p50")
        self.assertRegex(done.stdout, r"cpu += [\d.]+ s/GB here +[\d.]+ s/GB there")
        self.assertRegex(done.stdout, r"paths += 16: ")
        self.assertEqual(done.stderr, "")

    def test_json_holds_what_programs_need(self):
        with program.server() as (_, port):
            done = program.run("perf", "127.0.0.1", "bw", "lat", "-p", port, "-t", "0.3", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        document = json.loads(done.stdout)
        bandwidth, latency = document["tests"]
        self.assertEqual((bandwidth["test"], latency["test"]), ("bw", "lat"))
        self.assertGreater(bandwidth["goodput_gbits_per_s"], 0)
        self.assertAlmostEqual(bandwidth["goodput_gbits_per_s"],
                               8 * bandwidth["goodput_gbytes_per_s"], places=6)
        self.assertEqual(bandwidth["payload_bytes"],
                         bandwidth["messages"] * bandwidth["size_bytes"])
        self.assertGreater(bandwidth["cpu_seconds_per_gbyte"], 0)
        self.assertGreater(bandwidth["server_cpu_seconds_per_gbyte"], 0)
        self.assertAlmostEqual(sum(path["share"] for path in bandwidth["paths"]), 1, places=6)
        self.assertEqual(bandwidth["server"]["received"]["payload_bytes"],
                         bandwidth["payload_bytes"])
        for name in ("min", "p50", "p99", "p999", "max"):
            self.assertGreater(latency[f"half_round_trip_us_{name}"], 0)

    def test_figures_are_saved_for_the_tuner(self):
        with tempfile.TemporaryDirectory() as folder, program.server() as (_, port):
            path = os.path.join(folder, "network.toml")
            done = program.run("perf", "127.0.0.1", "-p", port, "-t", "0.2", "--json", "--save", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            bandwidth, latency = json.loads(done.stdout)["tests"]
            with open(path, "rb") as file:
                network = tomllib.load(file)["network"]
            self.assertAlmostEqual(network["goodput_kbits_per_s"], bandwidth["goodput_gbits_per_s"] * 1e6, delta=2)
            self.assertEqual(network["connection_goodput_kbits_per_s"], network["goodput_kbits_per_s"])
            self.assertAlmostEqual(network["one_way_ns"], latency["half_round_trip_us_p50"] * 1e3, delta=1)
            done = program.run("perf", "127.0.0.1", "bw", "-p", port, "-t", "0.1", "--save", path + ".2")
            self.assertEqual(done.returncode, 2)
            self.assertIn("measure bw and lat", done.stderr)
            self.assertFalse(os.path.exists(path + ".2"))

    def test_every_byte_is_checked_both_ways_on_every_controller(self):
        with program.server() as (_, port):
            for controller in program.controllers():
                done = program.run("perf", "127.0.0.1", "bw", "-p", port, "-t", "0.2", "--check",
                                   "--bidirectional", "--json", "--cc", controller, "--paths", 3)
                self.assertEqual(done.returncode, 0, done.stderr)
                document = json.loads(done.stdout)
                test = document["tests"][0]
                self.assertEqual(document["congestion"], controller)
                self.assertEqual(document["paths"], 3)
                self.assertTrue(test["checked"])
                self.assertEqual(test["wrong_messages"], 0)
                self.assertGreater(test["messages"], 0)
                self.assertGreater(test["reverse"]["messages"], 0)
                self.assertEqual(test["server"]["reverse"]["messages"],
                                 test["reverse"]["messages"])

    def test_sweep_has_a_row_for_each_size(self):
        with program.server() as (_, port):
            done = program.run("perf", "127.0.0.1", "bw", "lat", "-s", "all", "-p", port, "-t",
                               "50ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = re.findall(r"^ +(\d+ (?:B|KiB|MiB)) ", done.stdout, re.MULTILINE)
        sizes = ["1 B", "4 B", "16 B", "64 B", "256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB",
                 "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB"]
        self.assertEqual(rows, sizes + sizes)

    def test_odd_sizes_arrive_whole(self):
        with program.server() as (_, port):
            for size in ("1", "39", "1473", "65537", "1000003"):
                done = program.run("perf", "127.0.0.1", "bw", "-p", port, "-t", "0.1", "-s", size,
                                   "--check")
                self.assertEqual(done.returncode, 0, f"{size}: {done.stderr}")

    def test_options_that_concern_only_another_test_are_named(self):
        with program.server() as (_, port):
            done = program.run("perf", "127.0.0.1", "lat", "-p", port, "-t", "0.1", "--check",
                               "--bidirectional")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("warning: --check concerns bw only", done.stderr)
            self.assertIn("warning: --bidirectional concerns bw only", done.stderr)
            done = program.run("perf", "127.0.0.1", "bw", "lat", "-p", port, "-t", "0.1", "--check")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_dedicated_thread_drives_as_well(self):
        with program.server("--set", "drive=thread") as (_, port):
            done = program.run("perf", "127.0.0.1", "bw", "lat", "-p", port, "-t", "0.2",
                               "--check", "--set", "drive=thread", "--set", "spin=never")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_any_numbers_of_engines_meet(self):
        for here, there in ((1, 2), (2, 1), (3, 2)):
            with program.server("--set", f"engines={there}") as (_, port):
                arguments = ("perf", "127.0.0.1", "bw", "-p", port, "-t", "0.3", "--check", "--json",
                             "--bidirectional", "--set", f"engines={here}")
                with program.started(*arguments) as one, program.started(*arguments) as two:
                    for client in (one, two):
                        self.assertEqual(client.wait(), 0, client.said())
                        test = json.loads("\n".join(client.lines))["tests"][0]
                        self.assertGreater(test["messages"], 0)
                        self.assertEqual(test["wrong_messages"], 0)

    def test_several_clients_at_once(self):
        with program.server("--json") as (serving, port):
            arguments = ("perf", "127.0.0.1", "bw", "-p", port, "-t", "1", "--check", "--json")
            ping = program.run("ping", "127.0.0.1", "-p", port, "-C", 1)
            self.assertEqual(ping.returncode, 0, ping.stderr)
            with program.started(*arguments) as one, program.started(*arguments) as two, \
                    program.started("ping", "127.0.0.1", "-p", port, "-C", 200) as three:
                for client in (one, two, three):
                    self.assertEqual(client.wait(), 0, client.said())
                for client in (one, two):
                    self.assertGreater(json.loads("\n".join(client.lines))["tests"][0]["messages"],
                                       0)
            serving.signal(program.INTERRUPT)
            self.assertEqual(serving.wait(), 130)
            document = json.loads("\n".join(serving.lines))
            self.assertTrue(document["interrupted"])
            self.assertGreaterEqual(document["clients"], 4)


if __name__ == "__main__":
    unittest.main()
