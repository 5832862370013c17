#!/usr/bin/env python3
"""bench/run sim paths, distance and scale, and bench/run transport: what they make of a program's output, and that
heddle sim reads their topologies."""

import argparse
import contextlib
import io
import json
import os
import pathlib
import sys
import types
import unittest
from unittest import mock

import program

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH)]
os.environ.setdefault("HEDDLE_BENCH_BIN", str(pathlib.Path(program.HEDDLE).parent))

from harness.failure import CannotMeasure  # noqa: E402: found by the line above
from harness.simulated import payload_share  # noqa: E402
from sim import distance, paths, scale, scenario  # noqa: E402
from sim.run import each_of, simulate  # noqa: E402
from transport import scenario as transport  # noqa: E402


class Silent:
    def say(self, *_):
        pass


def options(*words):
    parser = argparse.ArgumentParser()
    scenario.add_arguments(parser)
    return parser.parse_args(words)


def shown(document, module=scenario):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        module.show(document)
    return printed.getvalue()


class Paths(unittest.TestCase):
    def test_a_connection_that_fills_the_spines_has_a_share_of_one(self):
        made = []

        def simulated(_file, flows, count, **_):
            made.append(count)
            return [{"goodput_mbits_per_s": 800 * 1432 / 1538, "segment_bytes": 1432} for _ in flows]
        with mock.patch.object(paths, "_SPINES", (4,)), mock.patch.object(paths, "_MTUS", (1500,)), \
                mock.patch.object(paths.simulated, "simulate", simulated):
            document = scenario.run(options("paths", "--jobs", "1"), Silent())
        self.assertEqual(made, [count for count in (8, 16, 32, 64) for _ in range(12)])
        for case in document["cases"]:
            self.assertAlmostEqual(case["to_capacity"]["min"], 1)
            self.assertEqual(len(case["to_capacity"]["samples"]), 12)
        self.assertIn("1.000 (1.000 to 1.000)", shown(document))

    def test_the_least_of_the_seeds_is_that_of_its_own_case(self):
        def simulated(file, _flows, count, **_):
            text = pathlib.Path(file).read_text(encoding="utf-8")
            worst = count == 16 and "hash_seed = 12\n" in text
            return [{"goodput_mbits_per_s": 400 if worst else 800, "segment_bytes": 1538}]
        with mock.patch.object(paths, "_SPINES", (4,)), mock.patch.object(paths, "_MTUS", (1500,)), \
                mock.patch.object(paths.simulated, "simulate", simulated):
            document = scenario.run(options("paths"), Silent())
        self.assertEqual({case["paths"]: case["to_capacity"]["min"] for case in document["cases"]},
                         {8: 1, 16: 0.5, 32: 1, 64: 1})

    def test_heddle_sim_reads_the_fabric_and_no_host_is_the_limit(self):
        flow = 'version = 1\n[[flow]]\nfrom = "h0"\nto = "h2"\nbytes = "1MB"\n'
        for spines in paths._SPINES:
            document = simulate(paths.topology(spines, 1500, 7), flow, ())
            self.assertEqual(document["flows_arrived"], 1)
            self.assertGreater(paths._HOST_MBITS_A_SPINE, paths._SPINE_MBITS)


class Distance(unittest.TestCase):
    def test_shares_are_of_payload_capacity_with_the_start_and_after_it(self):
        capacity = 100e3 * payload_share(8932, 9000)  # bits a us
        half, whole = 1000 + 8e6 / 2 / capacity, 1000 + 8e6 / capacity
        with_start, after = distance.shares(1_000_000, half, whole, 8932)
        self.assertAlmostEqual(after, 1)
        self.assertAlmostEqual(with_start, 8e6 / whole / capacity)
        self.assertLess(with_start, 0.1)

    def test_each_round_trip_has_its_own_times_with_and_without_loss(self):
        def simulated(topology, flow, _words):
            latency = float(topology.split('delay = "')[1].split("us")[0])
            size = int(flow.split('bytes = "')[1].split("B")[0])
            slow = 2 if 'loss = "0.01%"' in topology else 1
            return {"flows": [{"fct_us": latency + slow * size / 1e4}], "counters": {"segment_bytes": 8932}}
        with mock.patch.object(distance, "simulate", simulated):
            document = scenario.run(options("distance"), Silent())
        found = {(case["round_trip_us"], case["loss"]): case for case in document["cases"]}
        self.assertEqual(len(found), 8)
        share = 80 / 100 / payload_share(8932, 9000)
        for (_, loss), case in found.items():
            self.assertAlmostEqual(case["to_capacity_after_start"], share / (1 if loss == "0%" else 2))
        self.assertLess(found[10_000, "0%"]["to_capacity"], found[100, "0%"]["to_capacity"])
        self.assertIn("RTT 0.1 ms, 0.01% lost", shown(document))

    def test_a_flow_that_does_not_arrive_is_no_figure(self):
        lost = {"flows": [{"fct_us": None}], "counters": {"segment_bytes": 8932}}
        with mock.patch.object(distance, "simulate", lambda *_: lost), self.assertRaises(CannotMeasure):
            scenario.run(options("distance"), Silent())

    def test_a_flow_without_loss_fills_the_cable(self):
        arguments = options("distance")
        (half_us, _), (whole_us, segment_bytes) = (distance._took_us(100, "0%", size, arguments)
                                                   for size in (20_000_000, 40_000_000))
        with_start, after = distance.shares(40_000_000, half_us, whole_us, segment_bytes)
        self.assertGreater(after, 0.95)
        self.assertLess(after, 1.0001)
        self.assertLess(with_start, after)


class Scale(unittest.TestCase):
    def timed(self, histories):
        made = iter(histories)

        def run(_folder, _files, _options):
            meanwhile = types.SimpleNamespace(others_share=0, stolen_share=0, stall_ms=0, disturbance=0)
            return types.SimpleNamespace(output=json.dumps({"events": 5e6, "history": next(made)}), cpu_s=2.0,
                                         wall_s=2.5, memory_mb=100, meanwhile=meanwhile, made_again=0)
        return mock.patch.object(scale, "_timed", run)

    def test_one_size_alone_has_no_jobs_and_all_sizes_have(self):
        with self.timed(["a"] * 7):
            one = scenario.run(options("scale", "--pairs", "1", "--hosts", "128"), Silent())
            every = scenario.run(options("scale", "--pairs", "1"), Silent())
        self.assertEqual([case["case"] for case in one["cases"]], ["128 hosts"])
        self.assertEqual([case["kind"] for case in every["cases"]], ["permutation"] * 3 + ["job"] * 3)
        self.assertIn("8,192 hosts", shown(every))

    def test_runs_with_one_seed_that_differ_fail(self):
        for histories, status in ((["a", "a"], 0), (["a", "b"], 1)):
            with self.timed(histories):
                made = scenario.run(options("scale", "--pairs", "2", "--hosts", "128"), Silent())
            self.assertEqual(made["exit_status"], status)
            self.assertEqual("RUNS WITH ONE SEED DIFFER" in shown(made), status == 1)

    def test_a_fabric_of_another_size_is_refused(self):
        with self.assertRaises(CannotMeasure):
            scenario.run(options("scale", "--hosts", "64"), Silent())


class Transport(unittest.TestCase):
    def output(self, *times, unit="ns"):
        rows = [{"run_type": "iteration", "cpu_time": each, "time_unit": unit, "iterations": 10_000} for each in times]
        return json.dumps({"benchmarks": rows + [{"run_type": "aggregate", "cpu_time": 1.0, "time_unit": unit}]})

    def test_repetitions_count_and_their_aggregates_do_not(self):
        self.assertEqual(transport.segment_ns(self.output(133.5, 134.0)), [(133.5, 10_000), (134.0, 10_000)])

    def test_a_benchmark_that_is_not_there_is_an_error(self):
        for output in ('{"benchmarks": []}', self.output(0.1, unit="us")):
            with self.assertRaises(CannotMeasure):
                transport.segment_ns(output)

    def test_the_start_of_the_program_is_no_part_of_a_segments_instructions(self):
        segments = transport._WARM_UP_SEGMENTS + 10_000
        few, many = (7_000_000 + count * segments * 1400 for count in (transport._FEW, transport._MANY))
        self.assertEqual(transport.instructions((few, {10_000}), (many, {10_000})), 1400)

    def test_the_warm_up_is_that_of_the_benchmark(self):
        source = (BENCH.parent / "transport/endpoint/segment_work_bench.cc").read_text(encoding="utf-8")
        self.assertIn("kWarmUpSegments = " + f"{transport._WARM_UP_SEGMENTS:,}".replace(",", "'"), source)


class EachOf(unittest.TestCase):
    def test_results_are_in_the_order_of_the_parts(self):
        self.assertEqual(each_of(lambda a, b: a * b, [(i, 2) for i in range(20)], 4, Silent()),
                         [2 * i for i in range(20)])

    def test_a_failure_ends_all(self):
        def fail(number):
            if number == 1:
                raise CannotMeasure("one", "two")
        with self.assertRaises(CannotMeasure):
            each_of(fail, [(i,) for i in range(5)], 1, Silent())


if __name__ == "__main__":
    unittest.main()
