"""Proves what the pages of figures are made of: values from a scenario's document, tables, charts, what is slower."""

import sys
import unittest
import xml.dom.minidom

from tree import ROOT

sys.path[:0] = [str(ROOT / "docs/draw"), str(ROOT / "bench")]

import chart  # noqa: E402: found by the line above
import extract  # noqa: E402
import pages  # noqa: E402
import shown_rows  # noqa: E402
import slower  # noqa: E402
from figure import figure  # noqa: E402
from harness.saved import command_line, record  # noqa: E402


def spread(median, low=None, high=None):
    return {"median": median, "min": low or median, "max": high or median, "samples": [median]}


def multipath_document():
    programs = [{"program": "heddle, 32 paths, cubic", "to_capacity": spread(0.99)},
                {"program": "TCP cubic, 1 flow", "to_capacity": spread(0.25)}]
    return {"spines": [{"mtu_bytes": 9000, "slow_spine": False, "payload_capacity_mbits_per_s": 792.7,
                        "simulated_to_capacity": 0.996, "programs": programs}], "permutations": []}


def allreduce_document():
    row = {"bytes": 1 << 20, "us": {"heddle": spread(10.0), "Open MPI": spread(9.0), "UDP sockets alone": spread(5.0)},
           "ratio": {"heddle again": spread(1.0), "Open MPI": spread(0.9, 0.8, 1.1), "UDP sockets alone": spread(0.5)}}
    return {"on": "links", "test": "allreduce", "parts": [{"ranks": 2, "rows": [row]}]}


def programs(key, *names):
    return [{"program": name, key: spread(2.0, 1.0, 3.0)} for name in names]


def gpu_part(*names):
    speed = spread(2.0) | {"samples": [2.0, 2.0]}
    return {"programs": programs("cpu_share", *names),
            "points": [{"operation": "all_reduce", "bytes": size, "bus_gbytes_per_s": dict.fromkeys(names, speed),
                        "heddle_to": {"NCCL Socket": spread(1.0)}} for size in (65536, 1 << 20)]}


def nccl_row(**where):
    both = [each | {"cpu_seconds_per_gb": spread(0.5)} for each in programs("gbytes_per_s", "heddle", "peer")]
    return {**where, "bytes": "64K", "channels": 1, "programs": both, "heddle_to": {"peer": spread(1.1)}}


def acceptance_document(step):
    rows = [{"measure": measure, "unit": unit, "theirs": theirs, "their_share_of_link": share, "to_limit": spread(here)}
            for measure, unit, theirs, share, here in (
                ("rc_bw", "Gb/s", 97.3, 0.97, 1.0), ("heddle, RC, bandwidth", "Gb/s", None, None, 0.5),
                ("limit, bandwidth", "Gb/s", None, None, 1.0), ("rc_lat", "us", 13.9, None, 1.0),
                ("heddle, RC, latency", "us", None, None, 2.25))]
    runs = {name: {"images_per_s": speed, "data": "made images"}
            for name, speed in (("one", 10.0), ("all", 19.0), ("gloo", 15.0))}
    cases = [{"fault": "an unplugged NIC", "runs": [{}, {}, {}], "found": 2, "others": ["h0"]}]
    clean = [{"verdict": verdict, "named": named} for verdict, named in
             (("PASS", []), ("PASS", ["h1"]), ("WARN", []), ("FAIL", []))]
    return {"step": step, "rows": rows, "runs": runs, "cases": cases, "clean": clean,
            "theirs": {"minutes, one server": 27, "minutes, two servers": 15}}


def stragglers_document():
    figures = [{"name": name, "theirs": 1.9, "ours": 1.91, "may_differ": 0.1}
               for name in ("slowdown", "stage 0", "last stage's share")]
    return {"cases": [{"trace": "AR", "root_cause": "one slow worker", "causes": ["workers"], "figures": figures}]}


def rdma_document():
    found = {"value": spread(0.4), "to_own": spread(0.5), "ended": []}
    ended = {"value": None, "to_own": None, "ended": ["retry exceeded"]}

    def programs_with(goodput):
        return [{"program": name, "goodput_gbits_per_s": each, "messages": {"64 KiB": {"p99_us": found}}}
                for name, each in (("perftest, RC", goodput), ("heddle, UC", found))]
    return {"conditions": [{"condition": "no fault", "programs": programs_with(found)},
                           {"condition": "1% lost", "programs": programs_with(ended)}]}


def steering_document():
    right = {"jobs": 8, "right": 6, "delay_s_median": 12.5, "delay_s_p95": 40.0}
    none = {"jobs": 8, "right": 0, "delay_s_median": None, "delay_s_p95": None}
    way = {"name": "each alarm", "invented": {"jobs": 40, "jobs_acted_on": 10}, "faults": right,
           "faults_with_false_verdicts": right | {"right": 4}}
    return {"question": "steering", "false_verdicts_an_hour": 30,
            "ways": [way, way | {"name": "never", "faults": none, "faults_with_false_verdicts": none}]}


def documents_of_heddle_alone():
    one = spread(1.0)
    times = {"real_ms": one, "simulated_ms": one, "off": 0.02}
    return {
        "transport": {"cases": [{"mtu_bytes": 9000, "message_bytes": 4096, "segment_ns": one}]},
        "reading": {"events": 10**7, "ranks": 1000,
                    "commands": dict.fromkeys(("summary", "matrix", "info"), {"events_per_cpu_s": 9.6e6})},
        "beside_lab": {"hosts": 8, "mbits": 10, "bound": 0.1,
                       "cases": [{"case": "permutation", "tail": times, "median": times}]},
    }


def documents():
    """What each scenario of bench/run prints, as far as figures are made of it."""
    one = spread(1.0)
    part = {"mtu_bytes": 9000, "programs": [each | {"host_cpu_seconds_per_gbyte": one}
                                            for each in programs("goodput_gbits_per_s", "raw UDP, one copy", "heddle")]}
    latency = [{"program": "heddle", "half_round_trip_us_p50": one, "half_round_trip_us_p99": one}]
    cost = {"bins": {"median": 0.01, "interval": [0.0, 0.02]}, "messages": {"median": 0.01, "interval": None}}
    pairs = {"leaves": 2, "hosts_per_leaf": 2, "worst_pair_to_fair_share": {"heddle, 32 paths": one, "TCP": one},
             "simulated_worst_pair_to_fair_share": one}
    lossy = [each | {"of_what_is_left": one} for each in programs("goodput_mbits_per_s", "heddle, cubic", "TCP")]
    incast = programs("p99_of_ideal", "heddle credits", "TCP cubic")
    incast[0]["simulated_p99_of_ideal"] = 1.1
    gap = {"program": "heddle, dctcp", "runs": 3, "longest_gap_ms": one}
    row = {"stage": "transfer", "what": "one connection, Mb/s", "digits": 0, "heddle": one, "peer": one,
           "peer_name": "TCP", "ratio": one}
    rates = dict.fromkeys(("ecmp", "spraying", "plan", "bound", "before_ecmp", "before_plan", "stale_plan",
                           "moved_plan"), 90.0)
    planned = {"fabrics": [rates, rates], "gbits_per_s": rates}
    return documents_of_heddle_alone() | {
        "p2p": {"bandwidth": [part], "latency": {"programs": latency}},
        "engines": {"datapath": "udp", "flows": 4,
                    "parts": [{"mtu_bytes": 9000, "programs": [each | {"to_one_engine": one} for each in
                                                               programs("goodput_gbits_per_s", "2 engines")]}]},
        "multipath": multipath_document() | {"permutations": [pairs]},
        "loss": {"losses": [{"loss": "1%", "simulated": 0.9, "programs": lossy}]},
        "failure": {"heddle": gap, "tcp": gap | {"program": "TCP", "never_recovered": 1}, "simulated": gap},
        "elastic": {"ranks": 4, "programs": programs("next_step_s", "heddle run --elastic", "Gloo, torchelastic")},
        "gpu": {"cable": gpu_part("heddle", "NCCL Socket"), "fabric": gpu_part("heddle", "NCCL Socket"),
                "loss": gpu_part("heddle", "NCCL Socket"),
                "training": [{"on": "cable", "programs": programs("step_s", "heddle", "NCCL Socket")}],
                "blackhole": [{"program": "heddle", "survived": True, "longest_gap_s": 0.07},
                              {"program": "NCCL Socket", "survived": False, "longest_gap_s": 15.0}],
                "death": [{"program": "heddle", "seconds": 0.3}]},
        "nccl": {"cable": [nccl_row(mtu=9000)], "fabric": [nccl_row()], "loss": [nccl_row()],
                 "blackhole": [{"program": "heddle", "survived": True, "took_s": 8, "send_latency_ms_max": 70},
                               {"program": "peer", "survived": False, "took_s": 38, "send_latency_ms_max": 0}]},
        "incast": {"parts": [{"senders": 15, "message_bytes": 65536, "queue_bytes": 75_000, "programs": incast}]},
        "allreduce": allreduce_document() | {"on": "fabric"},
        "training": {"parts": [{"on": "fabric", "ranks": 2, "to_gloo": one}]},
        "nics": {"bandwidth": [{"rates_mbits_per_s": (500, 100),
                                "programs": programs("to_capacity", "heddle, two NICs")}]},
        "hostile": {"keys": {"mtu_bytes": 9000, "goodput_gbits_per_s": {"heddle without keys": one, "OpenSSL": one}},
                    "flood": {"link": "1gbit", "goodput_gbits_per_s": {"quiet": one, "flooded": one}}},
        "recording": {"alternating": {"65536": {"wall_ns": cost}}, "training_in_turn": {"wall_ns": cost}},
        "distance": {"mbits": 1000, "cases": [{"km": 100, "buffers": "raised", "simulated_to_capacity": 0.9,
                                               "programs": [
                                                   {"program": name, "to_capacity": one, "message_us_p50": one,
                                                    "message_us_p99": one}
                                                   for name in ("heddle", "TCP cubic")]}]},
        "size": {"question": "overlap", "parameters": 10**9, "rate": "100Gbit/s", "cases": [
            {"model": "A", "gpus": gpus, "formula": {"speedup": 1.9}, "simulated": {"speedup": 2.0},
             "errors": dict.fromkeys(("computation_s", "communication_s", "step_s", "exposed_s", "speedup"), -0.05)}
            for gpus in (2, 4)]},
        "plan": {"cases": [planned | {"case": "a permutation"}],
                 "failures": [planned | {"case": "a ring, an uplink of eight failed"}]},
        "diagnosis": {"question": "cost", "assumed": {"ranks": 1024, "days": 30}, "cases": [
            {"search_s": 600, "ways": {"heddle": {"share_of_job": {"median": 0.01, "p5": 0.005, "p95": 0.02}}}}]},
        "monitor": {"faults": {"stopped rank": {"job": "training", "runs": [
            {"delay_s": 4.0, "others": 0, "before": []}]}}},
        "verify": {"network": "a fabric", "rows": [row]},
        "acceptance": acceptance_document("rdma"),
        "rdma": rdma_document(),
        "stragglers": stragglers_document(),
        "sim": {"peer": "roce", "hosts": 64, "cases": [
            {"traffic": "permutation", "condition": "no loss", "system": system,
             "times_of_ideal": {"mean": 1.5, "p99": 2.0}} for system in ("heddle", "RoCE")]},
    }


class ExtractTest(unittest.TestCase):
    def figures(self, scenario, document):
        return {one["id"]: one for one in extract.figures({"scenario": scenario, "document": document})}

    def test_measured_and_simulated_values_are_never_in_one_figure(self):
        found = self.figures("multipath", multipath_document())
        self.assertEqual([row["name"] for row in found["multipath"]["rows"]], ["heddle", "TCP cubic, 1 flow"])
        self.assertNotIn("simulated", found["multipath"])
        self.assertTrue(found["multipath_simulated"]["simulated"])

    def test_the_peer_of_an_all_reduce_does_the_same_work(self):
        figure = self.figures("allreduce", allreduce_document())["allreduce_links"]
        self.assertEqual(figure["rows"][0]["values"], [{"median": 0.9, "min": 0.8, "max": 1.1}])

    def test_every_scenario_gives_figures_that_can_be_shown(self):
        self.assertEqual(set(documents()), set(extract.SCENARIOS))
        for scenario, document in documents().items():
            found = self.figures(scenario, document)
            self.assertTrue(found, scenario)
            for figure in found.values():
                self.assertIn("|---|", pages.table(figure, every_row=True))
                if "rows" in figure:
                    xml.dom.minidom.parseString(chart.draw(figure))
            slower.page({name: (figure, {"scenario": scenario}) for name, figure in found.items()})

    def test_simulated_nics_beside_published_figures_name_what_was_published(self):
        rows = [{"what": "2 to 1: total", "measured": 39.6, "published": "above 39", "source": "DCQCN 5.2",
                 "unit": "Gb/s"}]
        made = self.figures("sim", {"peer": "published", "rows": rows})["roce_published_simulated"]
        self.assertTrue(made["simulated"])
        self.assertIn("| 2 to 1: total Gb/s (published: above 39; DCQCN 5.2) | 39.60 |", pages.table(made))

    def test_fabrics_of_another_size_have_figures_of_their_own(self):
        document = documents()["sim"]
        self.assertEqual(list(self.figures("sim", document)), ["roce_permutation_simulated"])
        self.assertEqual(list(self.figures("sim", document | {"hosts": 1024})), ["roce_permutation_1024_simulated"])

    def test_each_question_of_sizes_gives_figures(self):
        headroom = {"gbits_per_s": 100, "meters": 300, "mtu_bytes": 1500, "formula_bytes": 40_660, "used_bytes": 39_988,
                    "smallest_without_drop_bytes": None, "unused_packets": 0.4}
        traffic = {"job": "data 2", "formula_bytes": 10, "counted_bytes": 10, "interface_bytes": 11}
        counts = {"message_bytes": 65536, "packets": 16, "wire_bytes": 66848.0}
        messages = {"write_bytes": 65536, "mtu_bytes": 4096, "formula": counts, "captured": counts}
        sides = ("formula", "simulated", "counted")
        patterns = {"way": "tensor", "gpus": 4, "layers": 4, "calls": {"all_reduce": dict.fromkeys(sides, 16.0)},
                    "bytes": dict.fromkeys(sides, 1e6)}
        for question, case in (("headroom", headroom), ("traffic", traffic), ("patterns", patterns),
                               ("messages", messages)):
            for each in self.figures("size", {"question": question, "cases": [case]}).values():
                self.assertIn("|---|", pages.table(each))

    def test_steps_in_a_lab_are_measured_beside_the_formula(self):
        keys = ("computation_s", "communication_s", "step_s", "exposed_s", "speedup")
        measured = {"median": 20.0, "min": 19.0, "max": 21.0}
        case = {"model": "A", "gpus": 2, "formula": dict.fromkeys(keys, 19.0),
                "measured": dict.fromkeys(keys, measured), "errors": dict.fromkeys(keys, -0.05)}
        found = self.figures("size", {"question": "overlap", "lab": True, "parameters": 10**8, "rate": "250Mbit/s",
                                      "cases": [case]})
        self.assertEqual(list(found), ["size_overlap_lab"])
        self.assertNotIn("simulated", found["size_overlap_lab"])
        self.assertIn("| A, 2 ranks: exposed | 19.00 | 20.00 (19.00 to 21.00) | -5.00 |",
                      pages.table(found["size_overlap_lab"]))

    def test_goodput_over_a_distance_is_simulated_and_measured_apart(self):
        def case(name):
            return {"km": 100, "name": name, "formula_gbits_per_s": 0.02, "seen_gbits_per_s": 0.019}
        parts = {"windows": [case("64 KiB x 16")], "relayed": [case("1 MiB x 16")],
                 "loss": [case("0.01% lost, go-back-N, RoCE NIC")], "writes": []}
        simulated = self.figures("size", {"question": "distance", "parts": parts})
        self.assertTrue(all(figure["simulated"] for figure in simulated.values()))
        both = self.figures("size", {"question": "distance", "parts": parts | {"writes": [case("4 KiB x 1")]}})
        measured, = (figure for name, figure in both.items() if name not in simulated)
        self.assertNotIn("simulated", measured)
        self.assertIn("| 100 km, 4 KiB x 1 | 20.0 | 19.0 |", pages.table(measured))

    def test_what_policies_do_is_shown_as_shares_and_delays(self):
        found = self.figures("diagnosis", steering_document())
        self.assertIn("| each alarm | 25.0 | 75.0 | 50.0 |", pages.table(found["diagnosis_steering_simulated"]))
        delays = pages.table(found["diagnosis_steering_delays_simulated"])
        self.assertIn("| each alarm | 12.5 | 40.0 |", delays)
        self.assertIn("| never | - | - |", delays)

    def test_faults_that_are_found_are_shown_by_fault_and_source(self):
        def scores(jobs, recall, place):
            return {"jobs": jobs, "recall": recall, "place_right": place, "class_right": place}
        classes = [{"source": "stream", "fault": "slow_nic", "visible": scores(40, 0.95, 1.0)},
                   {"source": "stream", "fault": "lossy_nic", "visible": scores(0, None, None)}]
        document = {"question": "accuracy", "seeds": "held back", "classes": classes,
                    "visible": {"stream": scores(40, 0.95, 1.0)},
                    "confusion": {"stream": {"slow_nic": {"none": 2, "communication_slow": 38}}}}
        found = self.figures("diagnosis", document)
        self.assertEqual(list(found), ["diagnosis_accuracy_held_back_stream_simulated",
                                       "diagnosis_confusion_held_back_stream_simulated"])
        table = pages.table(found["diagnosis_confusion_held_back_stream_simulated"])
        self.assertIn("| jobs | communication_slow | none |", table)
        self.assertIn("| slow_nic | 38 | 2 |", table)
        table = pages.table(found["diagnosis_accuracy_held_back_stream_simulated"])
        self.assertIn("| slow_nic, 40 jobs | 95.0 | 100.0 | 100.0 |", table)
        self.assertIn("| lossy_nic, 0 jobs | - | - | - |", table)

    def test_recall_and_false_positives_are_shown_by_confidence(self):
        point = {"errors": 8.5, "confidence": 0.81, "found": 90, "faulty": 100, "accused": 1, "healthy": 400}
        found = self.figures("diagnosis", {"question": "roc", "points": [point]})
        self.assertIn("| 0.81 (8.5 standard errors) | 90.00 | 0.25 |", pages.table(found["diagnosis_roc_simulated"]))

    def test_real_faults_are_shown_with_the_delays_of_those_that_were_named(self):
        def fault(*delays, others=0):
            return {"job": "training",
                    "runs": [{"delay_s": delay, "others": others, "before": ["a"] * others} for delay in delays]}
        found = self.figures("monitor", {"faults": {"slow disk": fault(4.0, None, 6.0),
                                                    "missed": fault(None, others=1)}})
        table = pages.table(found["monitor"], every_row=True)
        self.assertIn("| slow disk (2 of 3) | 5.0 (4.0 to 6.0) |", table)
        self.assertIn("| missed (0 of 1, 2 other alarms) | - |", table)

    def test_rates_beside_a_background_are_shares_of_spraying_on_the_same_fabric(self):
        of = {"ecmp": 10.0, "spraying": 40.0, "without": 20.0, "errors": {"0": {"gbits_per_s": 60.0}}}
        slower = of | {"spraying": 80.0}
        none = of | {"errors": {}}
        rates = dict.fromkeys(("ecmp", "spraying", "alone", "beside", "leases", "together", "bound"), 90.0)
        found = self.figures("plan", {
            "tenants": [{"case": "eight jobs, 1:1", "gbits_per_s": rates, "fabrics": [rates]}],
            "backgrounds": [{"percent": 0, "medians": none, "fabrics": [none]},
                            {"percent": 25, "medians": of, "fabrics": [of, of, slower]}]})
        self.assertIn("| **heddle, leases** | 90.0 |", pages.table(found["plan_tenants_simulated"]))
        table = pages.table(found["plan_background_simulated"])
        self.assertIn("| **heddle, plan, counters exact** | 1.50 (0.75 to 1.50) |", table)
        self.assertNotIn("| 0% of", table)

    def test_jobs_that_share_a_fabric_show_the_worst_the_mean_and_how_even_they_are(self):
        fabric = dict.fromkeys(("ecmp", "crux", "crux_first", "spraying", "alone", "leases", "together"),
                               {"worst": 0.5, "mean": 0.75, "jain": 0.9})
        found = self.figures("plan", {"shares": [{"case": over, "fabrics": [fabric]} for over in ("1:1", "2:1")]})
        table = pages.table(found["plan_shares_simulated"])
        self.assertIn("| 1:1, worst | 1:1, mean | 1:1, Jain | 2:1, worst |", table)
        self.assertIn("| **heddle, leases** | 0.500 | 0.750 | 0.900 | 0.500 |", table)

    def test_fabrics_of_two_spines_have_tables_of_their_own(self):
        rates = dict.fromkeys(("ecmp", "spraying", "plan", "bound"), 90.0)
        cases = [{"case": f"one ring, {name}", "gbits_per_s": of, "fabrics": [of]}
                 for name, of in (("1:1", rates), ("two spines, 1:1", rates | {"plan": 80.0}))]
        found = self.figures("plan", {"cases": cases, "failures": []})
        self.assertEqual(list(found), ["plan_simulated", "plan_two_spines_simulated"])
        self.assertIn("| **heddle, plan** | 90.0 |\n", pages.table(found["plan_simulated"]))
        table = pages.table(found["plan_two_spines_simulated"])
        self.assertIn("| 1 ring, 2 spines, 1:1 |", table)
        self.assertIn("| **heddle, plan** | 80.0 |", table)

    def test_columns_of_a_failed_uplink(self):
        of = {"before": 90.0, "before_worst": 80.0, "lowest": 50.0, "recovered_ms": 5.0, "after": 70.0,
              "after_worst": 60.0}
        fabric = dict.fromkeys(("ecmp", "spraying", "stale_plan", "replan"), of)
        worse = fabric | {"ecmp": of | {"recovered_ms": 7.0}}
        table = pages.table(self.figures("plan", {"recovery": [fabric, worse]})["plan_recovery_simulated"])
        self.assertIn("| **heddle, planned again** | 90.0 | 80.0 | 50.0 | 5.0 | 70.0 | 60.0 |", table)
        self.assertIn("| ECMP, one path | 90.0 | 80.0 | 50.0 | 6.0 (5.0 to 7.0) | 70.0 | 60.0 |", table)

    def test_a_lab_shows_rates_and_how_soon_a_plan_is_followed(self):
        rates = dict.fromkeys(("before", "after", "before_worst", "after_worst"), spread(0.9))
        planned = {"program": "heddle, planned again", "planned_ms": spread(30.0), "followed_ms": spread(15.0),
                   "not_followed": 0} | rates
        found = self.figures("plan", {"lab": [{"program": "ECMP, 1 path"} | rates, planned]})
        self.assertIn("| ECMP, 1 path | 0.90 | 0.90 | 0.90 | 0.90 |", pages.table(found["plan_lab"]))
        self.assertIn("| 30 | 15 |", pages.table(found["plan_lab_times"]))
        with self.assertRaises(ValueError):  # a time of the runs that were followed alone would flatter
            self.figures("plan", {"lab": [planned | {"not_followed": 1}]})

    def test_steps_that_follow_a_plan_show_what_it_saves(self):
        fabrics = [{"ecmp_us": 4000, "spraying_us": 3000, "plan_us": plan_us, "exposed_share": 0.3,
                    "over_ecmp": 1 - plan_us / 4000, "over_spraying": 1 - plan_us / 3000, "no_gain": "none"}
                   for plan_us in (3000, 2800, 3600)]
        found = self.figures("plan", {"steps": [{"case": "30% exposed", "medians": {}, "fabrics": fabrics}]})
        self.assertIn("| 25.0 (10.0 to 30.0) |", pages.table(found["plan_steps_simulated"]))
        self.assertIn("| **heddle, plan** | 3.00 (2.80 to 3.60) |", pages.table(found["plan_step_times_simulated"]))
        self.assertTrue(all(figure["simulated"] for figure in found.values()))

    def test_training_over_a_slow_link_shows_steps_a_minute(self):
        speeds = {"heddle": spread(30.0), "gloo": spread(20.0), "heddle again": spread(31.0)}
        parts = [{"on": "wan", "ranks": 4, "steps_a_minute": speeds}]
        (found,) = self.figures("training", {"parts": parts}).values()
        self.assertEqual([row["name"] for row in found["rows"]], ["heddle", "Gloo"])
        self.assertIn("| Gloo | 20 |", pages.table(found))

    def test_each_step_of_the_acceptance_test_gives_figures(self):
        for step, shown in (("throughput", "| integrator, Gb/s | integrator, share of 100 Gb/s | here, share of raw"),
                            ("throughput", "| rc bw | 97.30 | 0.97 | 1.00 |"),
                            ("rdma", "| **heddle, RC** | - | - | 0.50 |"), ("rdma", "here, times its rc bw"),
                            ("training", "at the rate of ten steps with made images"),
                            ("training", "| 27.00 | 15.00 | 1.80 |"),
                            ("training", "| **heddle** | 83.33 | 43.86 | 1.90 |"),
                            ("faults", "| an unplugged NIC | 3 | 2 | 1 |"),
                            ("faults", "| no fault: passes | 4 | 2 | 1 |")):
            table = pages.table(self.figures("acceptance", acceptance_document(step))[f"acceptance_{step}"], True)
            self.assertIn(shown, table, step)
            self.assertNotIn("limit", table)

    def test_latencies_of_the_acceptance_test_stand_beside_the_integrators(self):
        for step, column in (("throughput", "here, times raw UDP's"), ("rdma", "here, times its rc lat")):
            found = self.figures("acceptance", acceptance_document(step))
            self.assertEqual(list(found), [f"acceptance_{step}", f"acceptance_{step}_latency"])
            table = pages.table(found[f"acceptance_{step}_latency"])
            for shown in (f"| latency | integrator, µs | {column} |", "| rc lat | 13.9 | 1.0 |",
                          "| **heddle, RC** | - | 2.2 |"):
                self.assertIn(shown, table)

    def test_a_job_that_a_lost_rank_stops_says_how_often_it_went_on(self):
        runs = [{"seconds": 3.25, "lost_steps": 1}, {"seconds": None, "lost_steps": None}]
        cases = [{"program": "heddle run --elastic", "fault": "wedged", "runs": runs[:1]},
                 {"program": "peer", "fault": "wedged", "runs": runs},
                 {"program": "peer", "fault": "slow", "runs": runs[1:]}]
        document = {"part": "faults", "ranks": 3, "patience_s": 60, "cases": cases}
        text = pages.table(self.figures("elastic", document)["elastic_faults"])
        self.assertIn("| **heddle run --elastic: wedged** | 3.2 | 1.0 |", text)
        self.assertIn("| peer: wedged (went on within 60 s: 1 of 2) | 3.2 | 1.0 |", text)
        self.assertIn("| peer: slow (went on within 60 s: 0 of 1) | - | - |", text)

    def test_a_peer_that_ended_early_has_no_share_and_says_why(self):
        text = pages.table(self.figures("rdma", rdma_document())["rdma"])
        self.assertIn("| perftest, RC (1% lost: ended: retry exceeded) | - |", text)
        self.assertIn("| **heddle, UC** | 0.50 |", text)

    def test_stragglers_have_the_authors_figures_beside_ours(self):
        text = pages.table(self.figures("stragglers", stragglers_document())["stragglers"], every_row=True)
        self.assertIn("| one slow worker: slowdown | 1.9000 | 1.9100 |", text)
        self.assertNotIn("stage 0", text)

    def test_an_unknown_scenario_has_no_figures(self):
        self.assertEqual(self.figures("soak", {}), {})


class PagesTest(unittest.TestCase):
    def setUp(self):
        document = allreduce_document()
        self.data = {"command": "bench/run allreduce", "date": "2026-11-24", "commit": "abc", "kind": "measured",
                     "file": "allreduce_links",
                     "machine": {"cpu": "X", "cores": 2, "kernel": "6.18"}}
        self.figure = extract.figures({"scenario": "allreduce", "document": document})[0]
        self.found = {"allreduce_links": (self.figure, self.data)}

    def test_a_block_is_filled_between_its_markers(self):
        text = pages.fill("a\n<!-- figure allreduce_links -->\nold\n<!-- end -->\nb\n", self.found)
        self.assertNotIn("old", text)
        self.assertIn("| 1 MiB | 0.90 (0.80 to 1.10) |", text)
        self.assertIn("bench/run allreduce", text)
        self.assertEqual(pages.fill(text, self.found), text)

    def test_a_figure_with_rows_that_are_not_shown_leads_to_all_of_them(self):
        names = shown_rows.SHOWN["stragglers"]
        rows = [(name, [spread(1.0)]) for name in [*names, "stage 0"]]
        made = figure("stragglers", "Stragglers", "ratio", ["theirs"], rows)
        found = {"stragglers": (shown_rows.with_shown_rows(made), {**self.data, "file": "stragglers"})}
        text = pages.fill("<!-- table stragglers -->\n<!-- end -->\n", found)
        self.assertIn("Measured by `bench/run allreduce`, 2026-11-24, commit abc.", text)
        self.assertNotIn("stage 0", text)
        self.assertIn("6 of 7 rows: [all](performance/results.md#stragglers).", text)

    def test_a_row_that_is_to_be_shown_and_does_not_exist_is_an_error(self):
        rows = [(f"row {number}", [spread(1.0)]) for number in range(7)]
        with self.assertRaises(SystemExit):
            shown_rows.with_shown_rows(figure("stragglers", "Stragglers", "ratio", ["theirs"], rows))

    def test_no_table_of_the_page_is_longer_than_six_rows(self):
        page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
        long = [match.group(3) for match in pages.BLOCK.finditer(page)
                if sum(line.startswith("|") for line in match.group().splitlines()) - 2 > shown_rows.MOST]
        self.assertEqual(long, [])

    def test_a_figure_that_no_file_has_is_an_error(self):
        with self.assertRaises(KeyError):
            pages.fill("<!-- table none -->\n<!-- end -->\n", self.found)


class SlowerTest(unittest.TestCase):
    def cases(self, made, scenario="p2p"):
        return [case for some in slower.cases({made["id"]: (made, {"scenario": scenario})}).values() for case in some]

    def latency(self, better, *rows):
        rows = rows or (("heddle", [spread(3.0)]), ("raw", [spread(1.5)]))
        return figure("latency", "Latency", "us", ["p50"], rows, better=better)

    def test_a_figure_without_a_direction_is_an_error(self):
        part = {"id": "a", "title": "A", "unit": "us", "digits": 1, "columns": ["p50", "p99"], "rows": []}
        for wrong in ({}, {"better": "higher"}, {"better": ["more", "less", "more"]}):
            with self.assertRaisesRegex(SystemExit, "the figure a does not say whether more or less"):
                extract.figures({"figures": [part | wrong]})
        for right in ("no_peer", ["more", "less"]):
            self.assertTrue(extract.figures({"figures": [part | {"better": right}]}))

    def test_a_ratio_at_which_a_peer_is_ahead_is_listed(self):
        made = extract.figures({"scenario": "allreduce", "document": allreduce_document()})[0]
        self.assertEqual([case.shown for case in self.cases(made, "allreduce")], ["0.90 (0.80 to 1.10)"])
        even = {**made, "rows": [{"name": "1 MiB", "values": [{"median": 0.98, "min": 0.9, "max": 1.0}]}]}
        self.assertEqual(self.cases(even, "allreduce"), [])

    def test_where_less_is_better_the_smaller_peer_is_ahead(self):
        self.assertEqual([case.shown for case in self.cases(self.latency("less"))], ["0.50"])
        self.assertEqual(self.cases(self.latency("more")), [])
        self.assertEqual(self.cases(self.latency("no_peer")), [])

    def test_columns_may_have_directions_of_their_own(self):
        made = figure("a", "A", "see the columns", ["Gb/s", "ms"],
                      [("heddle", [spread(1.0), spread(1.0)]), ("peer", [spread(2.0), spread(2.0)])],
                      better=["more", "less"])
        self.assertEqual([case.what for case in self.cases(made)], ["A, Gb/s"])

    def test_what_does_not_do_the_same_work_is_no_peer(self):
        for name in ("8 TCP flows, alone", "UDP sockets alone", "bound, without headers", "integrator, two servers"):
            self.assertEqual(self.cases(self.latency("less", ("heddle", [spread(3.0)]), (name, [spread(1.0)]))), [])
        self.assertTrue(self.cases(self.latency("less", ("heddle", [spread(3.0)]), ("PFC alone", [spread(1.0)]))))

    def test_each_fault_is_a_case_of_its_own(self):
        def case(program, fault, seconds):
            return {"program": program, "fault": fault, "runs": [{"seconds": seconds, "lost_steps": 1}]}
        document = {"part": "faults", "ranks": 3, "patience_s": 60, "cases": [
            case("heddle", "killed", 1.0), case("peer", "killed", 2.0), case("heddle", "slow", 9.0),
            case("peer", "slow", 3.0)]}
        made, = extract.figures({"scenario": "elastic", "document": document})
        self.assertEqual([(case.shown, case.peer) for case in self.cases(made, "elastic")],
                         [("0.33", "peer: slow: 3.0")])

    def test_a_row_of_make_verify_in_which_a_peer_is_ahead_is_listed(self):
        def row(what, ratio):
            return {"what": what, "digits": 0, "heddle": spread(9.0), "peer": spread(10.0), "peer_name": "TCP",
                    "ratio": ratio}
        document = {"network": "a fabric", "rows": [row("slow", spread(0.9)), row("level", spread(0.98)),
                                                    row("alone", None)]}
        made, = extract.figures({"scenario": "verify", "document": document})
        self.assertEqual([(case.what, case.peer, case.shown) for case in self.cases(made, "verify")],
                         [("slow", "TCP: 10", "0.90")])

    def test_a_fabric_before_its_failure_is_no_peer_of_one_behind_it(self):
        rates = dict.fromkeys(("ecmp", "spraying", "plan", "bound", "before_ecmp", "stale_plan", "moved_plan"), 40.0)
        rates["before_plan"] = 90.0
        case = {"case": "one ring", "gbits_per_s": rates, "fabrics": [rates]}
        found = {each["id"]: (each, {"scenario": "plan"}) for each in extract.figures(
            {"scenario": "plan", "document": {"cases": [case], "failures": [case]}})}
        self.assertIn("plan_failure_simulated", found)
        self.assertEqual(slower.cases(found), {})

    def test_a_measure_that_is_a_share_of_its_limit_is_beside_the_limit(self):
        made = extract.figures({"scenario": "acceptance", "document": acceptance_document("throughput")})
        self.assertEqual([case.peer for case in self.cases(made[0], "acceptance")], ["raw UDP: 1.00"])

    def test_a_figure_that_another_compares_is_listed_there_alone(self):
        found = {each["id"]: (each, {"scenario": "gpu"})
                 for each in extract.figures({"scenario": "gpu", "document": documents()["gpu"]})}
        self.assertEqual(found["gpu_cable_all_reduce"][0]["compared_in"], "gpu_default_best")
        self.assertTrue(all(made["compared_in"] in found for made, _ in found.values() if "compared_in" in made))

    def test_the_page_shows_the_worst_case_of_a_figure_and_leads_to_all(self):
        rows = [("heddle", [spread(1.0)] * 2), ("peer", [spread(2.0), spread(4.0)])]
        made = figure("a", "A", "Gb/s", ["c", "d"], rows, better="more")
        found = {"a": (made, {"scenario": "p2p"})}
        text = pages.fill("<!-- slower connection -->\n<!-- end -->\n", found)
        self.assertIn("| A, d, Gb/s | 1.00 | peer: 4.00 | 0.25 | 2 |", text)
        self.assertNotIn("| A, c, Gb/s |", text)
        self.assertIn("[all 2 cases](performance/slower.md#one-connection)", text)
        self.assertIn("| A, c, Gb/s | 1.00 | peer: 2.00 | 0.50 |", slower.page(found))

    def test_a_topic_that_the_page_does_not_show_is_an_error(self):
        found = {"latency": (self.latency("less"), {"scenario": "p2p"})}
        with self.assertRaisesRegex(SystemExit, "slower in connection"):
            pages.fill("<!-- slower gpu -->\n<!-- end -->\n", found)
        with self.assertRaisesRegex(SystemExit, "has no topic"):
            slower.cases({"latency": (self.latency("less"), {"scenario": "reading"})})


class ChartTest(unittest.TestCase):
    def test_charts_are_well_formed(self):
        for document, scenario in ((multipath_document(), "multipath"), (allreduce_document(), "allreduce")):
            for figure in extract.figures({"scenario": scenario, "document": document}):
                xml.dom.minidom.parseString(chart.draw(figure))

    def test_a_bar_shows_its_median(self):
        figure = extract.figure("a", "A <b>", "x", ["c"], [("heddle", [spread(2.0, 1.0, 3.0)]), ("other", [None])])
        drawn = chart.draw(figure)
        self.assertIn(">2.00<", drawn)
        self.assertIn("not measured", drawn)
        self.assertIn("A &lt;b&gt;", drawn)


class SavedTest(unittest.TestCase):
    def test_the_command_is_without_the_file_that_it_was_saved_to(self):
        words = ["p2p", "--save", "x.json", "--pairs", "3"]
        self.assertEqual(command_line(words), "bench/run p2p --pairs 3")
        self.assertEqual(command_line(["p2p", "--save=x.json"]), "bench/run p2p")

    def test_a_record_says_how_to_measure_it_again(self):
        made = record("loss", ["loss", "--pairs", "2"], {"machine": {"cores": 2}, "losses": []})
        self.assertEqual((made["scenario"], made["command"]), ("loss", "bench/run loss --pairs 2"))
        self.assertEqual(made["machine"], {"cores": 2})
        self.assertRegex(made["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual(made["document"]["losses"], [])


if __name__ == "__main__":
    unittest.main()
