"""Proves that saved documents give the figures that docs/performance once had as copies of reports: of simulations, of
collectives, of recordings and of the transport's own work.
"""

import sys
import unittest
import xml.dom.minidom

from tree import ROOT

sys.path[:0] = [str(ROOT / "docs/draw")]

import chart  # noqa: E402: found by the line above
import extract  # noqa: E402
import pages  # noqa: E402
import slower  # noqa: E402


def spread(median, low=None, high=None):
    return {"median": median, "min": median if low is None else low, "max": median if high is None else high}


def figures(scenario, document):
    """By id; each can be drawn and shown."""
    found = {one["id"]: one for one in extract.figures({"scenario": scenario, "document": document})}
    for made in found.values():
        xml.dom.minidom.parseString(chart.draw(made))
        slower.page({made["id"]: (made, {"scenario": scenario})})
    return found


def table(made):
    return pages.table(made, every_row=True)


class SimulatedTest(unittest.TestCase):
    def test_paths_have_a_row_for_each_number_and_a_column_for_each_fabric(self):
        cases = [{"spines": spines, "mtu_bytes": 1500, "paths": paths,
                  "to_capacity": spread(paths / spines / 8, 0.1, 1.0)} for spines in (4, 8) for paths in (8, 16)]
        made = figures("sim", {"part": "paths", "hash_seeds": list(range(12)), "cases": cases})["paths_simulated"]
        self.assertTrue(made["simulated"])
        self.assertIn("median of 12 hash seeds", made["title"])
        self.assertIn("| share of payload capacity | 4 spines, MTU 1500 | 8 spines, MTU 1500 |", table(made))
        self.assertIn("| **heddle, 16 paths** | 0.50 (0.10 to 1.00) | 0.25 (0.10 to 1.00) |", table(made))

    def test_a_long_flow_has_shares_with_its_start_and_after_it(self):
        cases = [{"round_trip_us": trip, "loss": loss, "to_capacity": 0.5 + trip / 1e5,
                  "to_capacity_after_start": 0.9 if loss == "0%" else 0.8}
                 for loss in ("0%", "0.01%") for trip in (100, 10_000)]
        made = figures("sim", {"part": "distance", "bytes": 10**10, "gbits_per_s": 100, "cases": cases})
        text = table(made["distance_flow_simulated"])
        self.assertIn("| share of payload capacity | RTT 0.1 ms | RTT 10 ms |", text)
        self.assertIn("| **heddle, whole, 0.01% lost** | 0.50 | 0.60 |", text)
        self.assertIn("| **heddle, 2nd half** | 0.90 | 0.90 |", text)
        self.assertIn("| **heddle, 2nd half, 0.01% lost** | 0.80 | 0.80 |", text)

    def test_what_simulating_takes_has_the_memory_behind_its_name(self):
        def case(kind, name, megabytes):
            return {"kind": kind, "case": name, "cpu_s": spread(65.0), "memory_mb": megabytes, "events": 31_500_000}
        cases = [case("permutation", "128 hosts", 28.4), case("permutation", "8,192 hosts", 1180)]
        document = {"part": "scale", "bytes": 2_000_000, "ranks": 1024, "cases": cases}
        self.assertEqual(list(figures("sim", document)), ["scale_simulated"])
        document["cases"] = [*cases, case("job", "training", 1310)]
        found = figures("sim", document)
        self.assertEqual(list(found), ["scale_simulated", "jobs_simulated"])
        self.assertIn("| 128 hosts (28 MB) | 65.0 |", table(found["scale_simulated"]))
        self.assertIn("| 8,192 hosts (1.18 GB) | 65.0 |", table(found["scale_simulated"]))
        self.assertIn("| training (1.31 GB) | 65 |", table(found["jobs_simulated"]))
        self.assertIn("31.5, 31.5 million", found["scale_simulated"]["remark"])


class BesideHtsimTest(unittest.TestCase):
    def document(self, **more):
        def case(name, ours, theirs):
            return {"case": name, "ideal_us": 100.0,
                    "heddle": [{"tail_acked_us": ours, "tail_fct_us": 1.0, "wall_s": 5.0, "memory_mb": 151.0}],
                    "htsim": [{"tail_fct_us": theirs, "wall_s": 31.3, "memory_mb": 110.0}] if theirs else []}
        cases = [case("permutation, 128 paths", 125.0, 126.0), case("the same, trimming", 300.0, None),
                 case("permutation, 1 path", 800.0, 600.0), case("incast 15_far", 110.0, 105.0),
                 case("incast 15_far, 100 KiB, trimming", 109.0, None)]
        return {"hosts": 1024, "bytes": 2_000_000, "cases": cases, **more}

    def test_times_are_of_the_links_own_and_of_the_cases_that_both_ran(self):
        found = figures("sim", self.document())
        self.assertEqual(list(found), ["htsim_tail_simulated", "htsim_incast_simulated", "htsim_wall_simulated"])
        self.assertIn("| times the ideal | 128 paths | 1 path |", table(found["htsim_tail_simulated"]))
        self.assertIn("| **heddle** | 1.25 | 8.00 |", table(found["htsim_tail_simulated"]))
        self.assertIn("| htsim EQDS | 1.26 | 6.00 |", table(found["htsim_tail_simulated"]))
        self.assertIn("| times the ideal | 15 far |", table(found["htsim_incast_simulated"]))
        self.assertIn("| **heddle** | 1.10 |", table(found["htsim_incast_simulated"]))
        self.assertIn("| htsim EQDS | 31.3 | 31.3 |", table(found["htsim_wall_simulated"]))
        self.assertIn("heddle 151 and 151 MB; htsim 110 and 110 MB", found["htsim_wall_simulated"]["remark"])

    def test_where_htsim_is_faster_is_listed(self):
        found = {name: (made, {"scenario": "sim"}) for name, made in figures("sim", self.document()).items()}
        self.assertEqual([(case.figure, case.shown) for case in slower.cases(found)["simulated"]],
                         [("htsim_tail_simulated", "0.75"), ("htsim_incast_simulated", "0.95")])

    def test_heddle_alone_has_no_figure_of_a_comparison(self):
        document = self.document()
        for case in document["cases"]:
            case["htsim"] = []
        self.assertEqual(figures("sim", document), {})

    def test_a_fabric_of_another_size_has_figures_of_its_own(self):
        self.assertIn("htsim_tail_128_simulated", figures("sim", self.document(hosts=128)))


class CollectivesTest(unittest.TestCase):
    def row(self, size, **ratios):
        names = {"again": "heddle again", "mpi": "Open MPI", "udp": "UDP sockets alone", "tcp": "TCP, 8 flows, alone"}
        found = {names[key]: spread(value) for key, value in ratios.items()}
        us = {"heddle": spread(1000.0)} | {name: spread(1000 * each["median"]) for name, each in found.items()}
        return {"bytes": size, "us": us, "ratio": found}

    def test_links_have_bare_sockets_in_a_figure_of_their_own(self):
        parts = [{"ranks": ranks, "rows": [self.row(1024, again=0.9, mpi=1.2),
                                           self.row(4 << 20, again=1.1, mpi=1.5, udp=0.75)]} for ranks in (2, 4)]
        found = figures("allreduce", {"on": "links", "test": "allreduce", "parts": parts})
        self.assertEqual(list(found), ["allreduce_links", "allreduce_links_udp"])
        self.assertIn("| 4 MiB | 1.50 | 1.50 |", table(found["allreduce_links"]))
        self.assertIn("| 4 MiB | 0.75 | 0.75 |", table(found["allreduce_links_udp"]))
        self.assertNotIn("| 1 KiB |", table(found["allreduce_links_udp"]))
        self.assertEqual(found["allreduce_links"]["remark"],
                         "heddle to itself: 0.90 to 1.10 with 2 ranks, 0.90 to 1.10 with 4 ranks.")

    def test_links_without_the_limit_have_no_figure_of_it(self):
        parts = [{"ranks": 2, "rows": [self.row(1024, mpi=1.2)]}]
        self.assertEqual(list(figures("allreduce", {"on": "links", "test": "allreduce", "parts": parts})),
                         ["allreduce_links"])

    def test_a_fabric_has_ratios_by_size_and_the_bus_bandwidth_of_the_largest(self):
        parts = [{"ranks": 4, "rows": [self.row(1024, again=1.0, mpi=1.2), self.row(1 << 20, again=1.0, mpi=4.0,
                                                                                     tcp=1.25)]}]
        found = figures("allreduce", {"on": "fabric", "test": "allreduce", "parts": parts})
        self.assertEqual(list(found), ["allreduce_fabric", "allreduce_fabric_bus"])
        bus = found["allreduce_fabric_bus"]
        self.assertIn("| **heddle** | 1,573 |", table(bus))  # 1.5 x 1 MiB in 1 ms
        self.assertIn("| Open MPI | 393 |", table(bus))
        self.assertNotIn("heddle again", pages.table(bus))
        self.assertEqual(slower.cases({bus["id"]: (bus, {"scenario": "allreduce"})}), {})

    def test_other_collectives_have_their_own_factor(self):
        parts = [{"ranks": 4, "rows": [self.row(1 << 20, mpi=2.0)]}]
        for test in ("reducescatter", "alltoall"):
            found = figures("allreduce", {"on": "fabric", "test": test, "parts": parts})
            self.assertEqual(list(found), [f"{test}_fabric_bus"])
            self.assertIn("| **heddle** | 786 |", table(found[f"{test}_fabric_bus"]))
            self.assertEqual(figures("allreduce", {"on": "links", "test": test, "parts": parts}), {})


class HeddleAloneTest(unittest.TestCase):
    def test_recordings_of_saved_documents_show_levels_and_not_their_noise(self):
        def cost(median):
            return {"median": median, "interval": [median - 0.01, median + 0.01]}
        costs = {"wall_ns": {"off again": cost(0.0), "bins": cost(0.018), "messages": cost(0.027)}}
        made = figures("recording", {"alternating": {"65536": costs}, "training_in_turn": costs})["recording"]
        self.assertEqual(made["columns"], ["level bins", "level messages"])
        self.assertIn("| all-reduce of 64 KiB | 1.8 (0.8 to 2.8) | 2.7 (1.7 to 3.7) |", table(made))
        self.assertIn("| step of ResNet-18, batch 16 | 1.8 (0.8 to 2.8) |", table(made))
        self.assertIn("all-reduce of 64 KiB -1.0 to +1.0%", made["remark"])

    def test_reading_is_shown_in_millions_of_events(self):
        commands = {"summary": {"events_per_cpu_s": 7.5e6}, "matrix": {"events_per_cpu_s": 9.6e6},
                    "info": {"events_per_cpu_s": 6.4e6}}
        made = figures("reading", {"events": 10_000_000, "ranks": 1000, "commands": commands})["reading"]
        for shown in ("**heddle matrix** | 9.6 |", "**heddle summary** | 7.5 |", "**heddle record info** | 6.4 |"):
            self.assertIn(shown, table(made))
        self.assertIn("10 million events of 1,000 ranks", made["remark"])

    def test_real_and_simulated_times_of_one_workload_are_in_figures_of_their_own(self):
        times = {"real_ms": spread(1829.0), "simulated_ms": spread(1880.0), "off": 0.028}
        document = {"hosts": 8, "mbits": 10, "bound": 0.1, "cases": [
            {"case": name, "tail": times, "median": times | {"real_ms": spread(1813.0)}}
            for name in ("permutation", "incast, 7 to 1", "ring all-reduce")]}
        found = figures("beside_lab", document)
        self.assertEqual(list(found), ["beside_lab", "beside_lab_simulated"])
        self.assertNotIn("simulated", found["beside_lab"])
        self.assertTrue(found["beside_lab_simulated"]["simulated"])
        self.assertIn("| permutation of 2 MB | 1,829 | 1,813 |", table(found["beside_lab"]))
        self.assertIn("| incast of 7 x 400 KB | 1,880 | 1,880 |", table(found["beside_lab_simulated"]))
        self.assertIn("+2.8 to +2.8% off", found["beside_lab_simulated"]["remark"])

    def test_the_transports_work_has_instructions_where_they_were_counted(self):
        cases = [{"mtu_bytes": mtu, "message_bytes": size, "segment_ns": spread(133.0, 130.0, 140.0)}
                 for mtu in (9000, 1500) for size in (1 << 20, 4096)]
        self.assertEqual(list(figures("transport", {"cases": cases})), ["segment_work"])
        counted = [case | {"segment_instructions": 1394.4} for case in cases]
        found = figures("transport", {"cases": counted})
        self.assertEqual(list(found), ["segment_work", "segment_instructions"])
        self.assertIn("| ns of CPU time | messages of 1 MiB | messages of 4 KiB |", table(found["segment_work"]))
        self.assertIn("| segment at MTU 1500 | 133 (130 to 140) |", table(found["segment_work"]))
        self.assertIn("| segment at MTU 9000 | 1,394 | 1,394 |", table(found["segment_instructions"]))

    def test_training_has_a_row_for_each_network_and_number_of_ranks(self):
        parts = [{"on": on, "ranks": ranks, "to_gloo": spread(3.2)} for on in ("links", "fabric") for ranks in (2, 4)]
        made = figures("training", {"parts": parts})["training"]
        for shown in ("2 ranks, four spines of 200 Mb/s", "4 ranks, links without a rate"):
            self.assertIn(f"| {shown} | 3.20 |", table(made))


if __name__ == "__main__":
    unittest.main()
