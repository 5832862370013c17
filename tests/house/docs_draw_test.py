"""Proves what the pages of figures are made of: values from a scenario's document, tables, charts, what is slower."""

import sys
import unittest
import xml.dom.minidom

from tree import ROOT

sys.path[:0] = [str(ROOT / "docs/draw"), str(ROOT / "bench")]

import chart  # noqa: E402: found by the line above
import extract  # noqa: E402
import pages  # noqa: E402
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
    rows = [{"measure": "rc_bw", "unit": "Gb/s", "their_share_of_link": 0.97, "to_limit": spread(1.0)},
            {"measure": "heddle, RC, bandwidth", "unit": "Gb/s", "their_share_of_link": None, "to_limit": spread(0.5)}]
    runs = {"one": {"images_per_s": 10.0}, "all": {"images_per_s": 19.0}, "gloo": {"images_per_s": 15.0}}
    cases = [{"fault": "an unplugged NIC", "runs": [{}, {}, {}], "found": 2}]
    return {"step": step, "rows": rows, "runs": runs, "cases": cases,
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
    return {
        "p2p": {"bandwidth": [part], "latency": {"programs": latency}},
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
                                                   {"program": name, "to_capacity": one, "message_us_p50": one}
                                                   for name in ("heddle", "TCP cubic")]}]},
        "size": {"question": "overlap", "parameters": 10**9, "rate": "100Gbit/s", "cases": [
            {"model": "A", "gpus": gpus, "formula": {"speedup": 1.9}, "simulated": {"speedup": 2.0},
             "errors": dict.fromkeys(("computation_s", "communication_s", "step_s", "exposed_s", "speedup"), -0.05)}
            for gpus in (2, 4)]},
        "plan": {"cases": [planned | {"case": "a permutation"}],
                 "failures": [planned | {"case": "a ring, an uplink of eight failed"}]},
        "diagnosis": {"question": "cost", "assumed": {"ranks": 1024, "days": 30}, "cases": [
            {"search_s": 600, "ways": {"heddle": {"share_of_job": {"median": 0.01, "p5": 0.005, "p95": 0.02}}}}]},
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
            pages.slower(found.values())

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
                    "visible": {"stream": scores(40, 0.95, 1.0)}}
        found = self.figures("diagnosis", document)
        self.assertEqual(list(found), ["diagnosis_accuracy_held_back_stream_simulated"])
        table = pages.table(found["diagnosis_accuracy_held_back_stream_simulated"])
        self.assertIn("| slow_nic, 40 jobs | 95.0 | 100.0 | 100.0 |", table)
        self.assertIn("| lossy_nic, 0 jobs | - | - | - |", table)

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
        for step, shown in (("throughput", "| 0.97 | 1.00 |"), ("rdma", "| **heddle, RC** | - | 0.50 |"),
                            ("training", "| 1.80 |"), ("faults", "| an unplugged NIC | 3 | 2 |")):
            (found,) = self.figures("acceptance", acceptance_document(step)).values()
            self.assertIn(shown, pages.table(found, every_row=True), step)

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
                     "machine": {"cpu": "X", "cores": 2, "kernel": "6.18"}}
        self.figure = extract.figures({"scenario": "allreduce", "document": document})[0]
        self.found = {"allreduce_links": (self.figure, self.data)}

    def test_a_block_is_filled_between_its_markers(self):
        text = pages.fill("a\n<!-- figure allreduce_links -->\nold\n<!-- end -->\nb\n", self.found)
        self.assertNotIn("old", text)
        self.assertIn("| 1 MiB | 0.90 (0.80 to 1.10) |", text)
        self.assertIn("bench/run allreduce", text)
        self.assertEqual(pages.fill(text, self.found), text)

    def test_a_figure_that_no_file_has_is_an_error(self):
        with self.assertRaises(KeyError):
            pages.fill("<!-- table none -->\n<!-- end -->\n", self.found)

    def test_a_peer_that_is_ahead_is_listed_as_such(self):
        self.assertIn("0.90 (0.80 to 1.10)", pages.slower([self.figure]))
        even = {**self.figure, "rows": [{"name": "1 MiB", "values": [{"median": 0.98, "min": 0.9, "max": 1.0}]}]}
        self.assertNotIn("0.98", pages.slower([even]))

    def test_where_less_is_better_the_smaller_peer_is_ahead(self):
        rows = [("heddle", [spread(3.0)]), ("raw", [spread(1.5)])]
        figure = extract.figure("latency", "Latency", "us", ["p50"], rows)
        self.assertIn("| 0.50 |", pages.slower([{**figure, "better": "less"}]))
        self.assertNotIn("0.50", pages.slower([{**figure, "better": "more"}]))


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
