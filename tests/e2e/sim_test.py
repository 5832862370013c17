#!/usr/bin/env python3
"""heddle sim as users run it: both kinds of files, text and JSON, limits, and errors."""

import csv
import json
import os
import re
import signal
import tempfile
import unittest

import program
import sim_files

FABRIC = """version = 1
[fabric]
kind = "fat_tree"
[host_link]
mtu = 4154
[switch_link]
mtu = 4154
"""

PERMUTATION = """version = 1
[[job]]
kind = "permutation"
bytes = "2MB"
"""

MATRIX = """Nodes 16
Connections 3
Triggers 1
0->15 id 7 start 0 size 2000000 recv_done_trigger 1
1->14 id 8 start 5000000 size 1000
15->2 id 9 trigger 1 size 1000
trigger id 1 oneshot
"""

VARIES = ("wall_s",)


def catches(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        mask = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return int(mask, 16) >> (number - 1) & 1


class Sim(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in (("fabric.toml", FABRIC), ("perm.toml", PERMUTATION), ("fabric.topo", sim_files.TOPO),
                           ("flows.cm", MATRIX)):
            self.write(name, text)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def sim(self, topology, workload, *more):
        return program.run("sim", "--topology", topology, "--workload", workload, *more, cwd=self.folder)

    def document(self, *arguments):
        done = self.sim(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        for name in VARIES:
            self.assertGreater(document.pop(name), 0)
        return document

    def test_every_flow_of_a_permutation_is_told(self):
        document = self.document("fabric.toml", "perm.toml", "--paths", 32)
        flows = document["flows"]
        self.assertEqual(sorted(flow["id"] for flow in flows), list(range(1, 17)))
        self.assertEqual({flow["src"] for flow in flows}, set(range(16)))
        self.assertEqual({flow["dst"] for flow in flows}, set(range(16)))
        self.assertEqual(max(flow["fct_us"] for flow in flows), document["tail_fct_us"])
        for flow in flows:
            self.assertEqual(flow["bytes"], 2_000_000)
            self.assertEqual(flow["start_us"], 0)
            self.assertGreater(flow["fct_us"], 2_000_000 * 8 / 100e3)  # no faster than the link
            self.assertGreater(flow["acked_us"], flow["fct_us"])

    def test_htsims_files_are_read(self):
        document = self.document("fabric.topo", "flows.cm", "--mtu", 4154, "--queue", "145250B")
        first, second, third = document["flows"]
        self.assertEqual((first["id"], first["src"], first["dst"]), (7, 0, 15))
        self.assertEqual(second["start_us"], 5)  # picoseconds there
        self.assertEqual(third["start_us"], first["fct_us"])

    def test_percentiles_are_nearest_ranks(self):
        self.write("ten.toml", PERMUTATION.replace('bytes = "2MB"', 'bytes = "2MB"\nhosts = ["h0..h9"]'))
        document = self.document("fabric.toml", "ten.toml", "--paths", 1)
        times = sorted(flow["fct_us"] for flow in document["flows"])
        self.assertLess(times[8], times[9])
        self.assertEqual(document["median_fct_us"], times[4])
        self.assertEqual(document["p99_fct_us"], times[9])

    def test_the_document_has_the_options(self):
        names = ("mtu_bytes", "queue_bytes", "ecn_threshold_bytes", "initial_window_bytes", "window_limit_bytes",
                 "burst_bytes", "until_us")
        usual = self.document("fabric.toml", "perm.toml")
        self.assertEqual([usual[name] for name in names], [None, None, None, None, 256 << 20, None, None])
        given = self.document("fabric.topo", "flows.cm", "--mtu", 9244, "--queue", "1MB", "--ecn-threshold", "1MB",
                              "--initial-window", "64KB", "--window-limit", "2MB", "--burst", "32KB", "--until", "1s")
        self.assertEqual([given[name] for name in names], [9244, 10**6, 10**6, 64_000, 2 * 10**6, 32_000, 10**6])
        self.assertEqual(given["counters"]["segment_bytes"], 9172)

    def test_roce_nics_run_the_same_files(self):
        roce = self.document("fabric.toml", "perm.toml", "--transport", "roce")
        self.assertEqual((roce["transport"], roce["cc"], roce["paths"], roce["selector"]), ("roce", "dcqcn", 1, None))
        self.assertEqual(roce["flows_arrived"], 16)
        self.assertEqual(roce["flows_changed"], 0)
        self.assertEqual(roce["roce"]["reordered_packets"], 0)
        self.assertGreater(roce["counters"]["segments_sent"], 16 * 2_000_000 // 4096)
        again = self.document("fabric.toml", "perm.toml", "--transport", "roce")
        self.assertEqual(roce["history"], again["history"])
        small = self.document("fabric.toml", "perm.toml", "--transport", "roce", "--cc", "none", "--rdma-mtu", 1024)
        self.assertEqual((small["cc"], small["counters"]["segment_bytes"]), ("none", 1024))
        self.assertIsNone(self.document("fabric.toml", "perm.toml")["roce"])

    def test_options_of_the_other_transport_are_refused(self):
        refusals = ((("--transport", "roce", "--cc", "swift"), "--cc swift is for heddle's transport"),
                    (("--transport", "roce", "--paths", 4), "--paths is for heddle's transport"),
                    (("--transport", "roce", "--trace", "t"), "--trace records what heddle's transport"),
                    (("--transport", "roce", "--delivered", "--json"), "--delivered counts what heddle's transport"),
                    (("--delivered",), "--delivered is part of the JSON"),
                    (("--selector", "plan"), "--selector plan needs one"),
                    (("--cc", "dcqcn"), "--cc dcqcn is for RoCE NICs"),
                    (("--rdma-mtu", 1024), "--rdma-mtu is for RoCE NICs"))
        for more, why in program.sample(refusals):
            done = self.sim("fabric.toml", "perm.toml", *more)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(why, done.stderr)

    def test_switches_of_a_topo_balance_as_asked(self):
        histories = {self.document("fabric.topo", "perm.toml", "--balancing", mode)["history"]
                     for mode in ("ecmp", "flowlet", "spray", "adaptive")}
        self.assertEqual(len(histories), 4)
        for more, why in ((("--flowlet-gap", "9us"), "--flowlet-gap says when a flowlet ends"),):
            done = self.sim("fabric.topo", "perm.toml", *more)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(why, done.stderr)

    def test_marks_rise_along_a_ramp(self):
        arguments = ("fabric.topo", "perm.toml", "--paths", 1, "--cc", "dctcp", "--ecn-min", "40KB", "--ecn-max")
        def marked(*more):
            return self.document(*arguments, *more)["counters"]["packets"]["marked"]
        self.assertEqual(self.document(*arguments, "400KB")["ecn_max_bytes"], 400_000)
        self.assertGreater(marked("40001B"), marked("400KB", "--ecn-max-probability", "1%"))
        self.assertGreater(marked("400KB", "--ecn-max-probability", "1%"), 0)
        for more, why in ((("--ecn-min", "40KB"), "--ecn-min and --ecn-max make one ramp"),
                          (("--ecn-min", "4KB", "--ecn-max", "4KB"), "--ecn-max is not above --ecn-min"),
                          (("--ecn-min", "4KB", "--ecn-max", "5KB", "--ecn-max-probability", "2"),
                           "--ecn-max-probability is 2")):
            done = self.sim("fabric.topo", "perm.toml", *more)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(why, done.stderr)
        done = self.sim("fabric.toml", "perm.toml", "--ecn-min", "40KB", "--ecn-max", "50KB")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--ecn-min is for htsim's .topo files", done.stderr)

    def test_lossless_switches_pause_and_drop_nothing(self):
        self.write("incast.toml", """version = 1
[[job]]
kind = "incast"
to = "h0"
senders = 8
bytes = "1MB"
""")
        lossy = self.document("fabric.topo", "incast.toml", "--queue", "100KB")["counters"]
        self.assertGreater(lossy["packets"]["queue full"], 0)
        self.assertEqual((lossy["pauses"], lossy["paused_us"]), (0, 0))
        arguments = ("fabric.topo", "incast.toml", "--buffer", "1MB", "--pfc")
        lossless = self.document(*arguments)
        self.assertEqual((lossless["buffer_bytes"], lossless["pfc"]), (10**6, True))
        self.assertEqual(lossless["counters"]["packets"]["queue full"], 0)
        self.assertGreater(lossless["counters"]["paused_us"], lossless["counters"]["pauses"])
        self.assertRegex(self.sim(*arguments).stdout, r"pauses +[0-9,]+, of [0-9]+ links, ")
        shared = self.document("fabric.topo", "incast.toml", "--buffer", "32MB")
        self.assertEqual(shared["links"]["longest_queues"][0]["queue_bytes"], 32_000_000)
        self.write("lossless.toml", FABRIC + '[switches]\nbuffer = "1MB"\npfc = true\n')
        self.assertGreater(self.document("lossless.toml", "incast.toml")["counters"]["pauses"], 0)

    def test_trimming_switches_have_what_found_no_room_repeated_at_once(self):
        arguments = ("fabric.topo", "perm.toml", "--queue", "24KB", "--paths", "64")
        dropped = self.document(*arguments)
        trimmed = self.document(*arguments, "--trim")
        self.assertEqual((dropped["trimming"], trimmed["trimming"]), (False, True))
        self.assertGreater(dropped["counters"]["packets"]["queue full"], 0)
        packets = trimmed["counters"]["packets"]
        self.assertGreater(packets["trimmed"], 0)
        self.assertEqual(packets["queue full"], 0)
        self.assertEqual(trimmed["counters"]["segments_retransmitted"], packets["trimmed"])
        self.assertEqual(trimmed["counters"]["segments_retransmitted_spuriously"], 0)
        self.assertRegex(self.sim(*arguments, "--trim").stdout, r"packets +trimmed: [0-9,]+")
        if not program.sanitized():  # simulated times do not depend on the build
            tails = [sum(self.document(*arguments, "--seed", seed, *more)["tail_fct_us"] for seed in range(1, 6))
                     for more in ((), ("--trim",))]
            self.assertLess(2 * tails[1], tails[0])

    def test_switches_that_cannot_be_are_refused(self):
        refusals = ((("--pfc",), "give --buffer"), (("--buffer", "1MB", "--pfc", "--trim"), "give one of them"),
                    (("--buffer", "1MB", "--xoff", "10KB"), "give --pfc"),
                    (("--buffer", "1MB", "--alpha", "0"), "--alpha is 0"),
                    (("--buffer", "10KB"), "does not hold a full packet of each port"),
                    (("--buffer", "1MB", "--alpha", "1/1000"), "no room for a full packet"),
                    (("--buffer", "1MB", "--pfc", "--xoff", "200KB"), "before that is heeded"))
        for more, why in program.sample(refusals):
            with self.subTest(more):
                done = self.sim("fabric.topo", "perm.toml", *more)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(why, done.stderr)

    def test_flows_that_nothing_sets_off_are_told_and_end_the_run(self):
        self.write("idle.cm", MATRIX.replace(" recv_done_trigger 1", ""))
        done = self.sim("fabric.topo", "idle.cm")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("2 of 3 arrived, 1 not begun: nothing is left to set them off", done.stdout)

    def test_why_flows_failed_is_told(self):
        self.write("cut.toml", FABRIC + '[[fault]]\nhost = "h0"\nkind = "pause"\nat = "50us"\n')
        arguments = ("cut.toml", "perm.toml", "--json")
        done = self.sim(*arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        document = json.loads(done.stdout)
        failed = [flow for flow in document["flows"] if "failed" in flow]
        self.assertEqual({flow["error"] for flow in failed}, {"peer_dead"})
        self.assertEqual(len(failed), document["flows_failed"])
        self.assertIn(f"failed      {len(failed)} the peer stopped answering\n", self.sim(*arguments[:-1]).stdout)

    def test_a_fabric_whose_routes_no_memory_holds_is_refused(self):
        self.write("huge.topo", sim_files.TOPO.replace("Nodes 16", "Nodes 50000").replace("Podsize 16", "Podsize 50000")
                   .replace("Radix_Down 4\nRadix_Up 4", "Radix_Down 1\nRadix_Up 1", 1)
                   .replace("Radix_Down 4", "Radix_Down 50000"))
        done = self.sim("huge.topo", "flows.cm")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("cannot simulate huge.topo: routes between its 50001 switches", done.stderr)

    def test_a_seed_below_zero_is_refused(self):
        done = self.sim("fabric.toml", "perm.toml", "--seed", -1)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("'-1' is not a whole number from 0 to 18446744073709551615", done.stderr)

    def test_one_seed_one_result(self):
        arguments = ("fabric.toml", "perm.toml", "--paths", 8, "--seed")
        self.assertEqual(self.document(*arguments, 3), self.document(*arguments, 3))
        self.assertNotEqual(self.document(*arguments, 3)["history"], self.document(*arguments, 4)["history"])

    def test_every_congestion_control_finishes(self):
        for name in program.controllers():
            with self.subTest(name):
                self.assertEqual(self.document("fabric.toml", "perm.toml", "--cc", name)["flows_arrived"], 16)

    def test_text_is_for_people(self):
        done = self.sim("fabric.toml", "perm.toml")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("16 of 16 arrived", "tail ", "median ", "goodput", "#", "events", "busiest links", "uplinks "):
            self.assertIn(part, done.stdout)
        self.assertLess(max(map(len, done.stdout.splitlines())), 110)

    def test_links_over_time_hold_what_was_sent(self):
        document = self.document("fabric.toml", "perm.toml", "--paths", 32, "--series", "10us")
        series = document["series"]
        self.assertEqual(series["bin_us"], 10)
        self.assertEqual(series["bins"], -(-series["length_us"] // 10))
        self.assertEqual(sum(series["acked_bytes"]), 16 * 2_000_000)
        self.assertEqual(sum(series["segments_sent"]), document["counters"]["segments_sent"])
        uplinks = [link for link in series["links"] if link["from"] in {f"h{i}" for i in range(16)}]
        self.assertEqual(len(uplinks), 16)
        for link in series["links"]:
            self.assertEqual(len(link["utilization"]), series["bins"])
            self.assertEqual(len(link["queue_peak_bytes"]), series["bins"])
            self.assertLessEqual(max(link["utilization"]), 1)
        for link in uplinks:
            carried = sum(link["utilization"][:-1]) * 10e-6 * 100e9 / 8
            self.assertGreater(carried, 1_900_000)
        busiest = document["links"]["busiest"][0]
        self.assertEqual(busiest["utilization"], max(link["utilization"] for link in document["links"]["busiest"]))
        self.assertEqual(document["paths_used"]["connections"], 16)
        self.assertGreaterEqual(document["routes"]["max_over_mean_largest"], document["routes"]["max_over_mean_median"])
        for group in document["routes"]["least_even"]:
            mean = sum(group["carried_bytes"]) / len(group["links"])
            self.assertAlmostEqual(group["max_over_mean"], max(group["carried_bytes"]) / mean)

    def test_a_series_changes_nothing_and_fits_the_run(self):
        plain = self.document("fabric.toml", "perm.toml")
        self.assertNotIn("series", plain)
        watched = self.document("fabric.toml", "perm.toml", "--series", "auto")
        self.assertEqual(watched["history"], plain["history"])
        self.assertEqual(watched["links"], plain["links"])
        self.assertLessEqual(watched["series"]["bins"], 256)
        self.assertIn("over time", self.sim("fabric.toml", "perm.toml", "--series", "auto").stdout)

    def test_a_page_has_all_that_it_shows(self):
        document = self.document("fabric.toml", "perm.toml", "--paths", 1, "--html", "run.html")
        path = os.path.join(self.folder, "run.html")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        self.assertNotIn("@", re.sub("@media", "", re.sub("'[^']*'|\"[^\"]*\"", "", page)))
        self.assertNotRegex(page, r"(src|href)=")
        data = program.page_data(path)
        self.assertEqual(sorted(data["fct"]), sorted(round(flow["fct_us"] * 1000) for flow in document["flows"]))
        self.assertEqual(data["slow"][0]["fct"], max(data["fct"]))
        self.assertEqual(sum(data["run"]["acked"]), 16 * 2_000_000)
        names = {link["name"] for link in data["links"]}
        for flow in data["slow"]:
            self.assertIn(flow["where"], names)
        done = self.sim("fabric.toml", "perm.toml", "--html", "none/run.html")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write none/run.html", done.stderr)
        self.assertIn("flows", done.stdout, "the results are told all the same")

    def test_a_trace_is_read_as_any_recording(self):
        self.write("flows.toml", """version = 1
[[job]]
kind = "permutation"
bytes = "300KB"
hosts = ["h0..h7"]
[[job]]
kind = "incast"
to = "h9"
hosts = ["h9..h12"]
bytes = "50KB"
""")
        traced = self.document("fabric.toml", "flows.toml", "--trace", "trace", "--paths", 4)
        self.assertEqual(traced["history"], self.document("fabric.toml", "flows.toml", "--paths", 4)["history"])
        sent = {}
        for flow in traced["flows"]:
            pair = (f"h{flow['src']}", f"h{flow['dst']}")
            sent[pair] = sent.get(pair, 0) + flow["bytes"]
        done = program.run("matrix", "trace", "--by", "host", "--format", "csv", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        delivered = {(row["from"], row["to"]): int(row["bytes"]) for row in rows if row["bytes"] != "0"}
        self.assertEqual(delivered, sent)
        for command in (("summary", "trace"), ("timeline", "trace"), ("record", "info", "trace"),
                        ("timeline", "trace", "--format", "html", "-o", "load.html")):
            with self.subTest(command):
                done = program.run(*command, cwd=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
        again = self.sim("fabric.toml", "flows.toml", "--trace", "trace")
        self.assertEqual(again.returncode, 2)
        self.assertIn("it holds a recording", again.stderr)

    def test_a_trace_on_a_full_disk_leaves_nothing_behind(self):
        disk = os.path.join(self.folder, "disk")
        program.mount_small_disk(self, disk, "500k")  # room for some of 16 hosts
        for folder in (disk, os.path.join(disk, "trace")):
            done = self.sim("fabric.toml", "perm.toml", "--trace", folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("No space left", done.stderr)
            self.assertEqual(os.listdir(disk), [])

    def test_a_limit_leaves_flows_under_way(self):
        done = self.sim("fabric.toml", "perm.toml", "--until", "50us", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["flows_unfinished"], 16)
        self.assertEqual(document["simulated_us"], 50)
        for name in ("tail_fct_us", "p99_fct_us", "median_fct_us", "tail_acked_us", "tail_fct_with_handshake_us"):
            self.assertIsNone(document[name], name)
        self.assertEqual(document["until_us"], 50)
        self.assertIsNone(document["flows"][0]["fct_us"])

    def test_an_interrupt_gives_the_results_so_far(self):
        self.write("long.toml", PERMUTATION.replace("2MB", "1GB"))
        with program.started("sim", "--topology", "fabric.toml", "--workload", "long.toml", "--json",
                             cwd=self.folder) as process:
            while not catches(process.process.pid, signal.SIGINT):
                self.assertIsNone(process.process.poll())
            process.signal(signal.SIGINT)
            self.assertEqual(process.wait(), 130)
            document = json.loads("\n".join(process.lines))
        self.assertTrue(document["stopped"])
        self.assertEqual(document["flows_unfinished"], 16)

    def test_mistakes_are_told_with_their_line(self):
        self.write("bad.cm", MATRIX.replace("1->14", "1->99"))
        self.write("bad.topo", sim_files.TOPO.replace("Radix_Up 4", "Radix_Up 3"))
        self.write("bad.toml", PERMUTATION.replace("permutation", "storm"))
        for topology, workload, place in (("fabric.topo", "bad.cm", "bad.cm:5"), ("bad.topo", "flows.cm", "bad.topo:4"),
                                          ("fabric.toml", "bad.toml", "bad.toml:3"),
                                          ("fabric.toml", "none.toml", "none.toml"),
                                          ("none.topo", "perm.toml", "none.topo")):
            with self.subTest(place):
                done = self.sim(topology, workload)
                self.assertEqual(done.returncode, 2)
                self.assertIn(place, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_options_that_do_not_fit_are_refused(self):
        for more in program.sample((("--paths", 300), ("--cc", "none"), ("--until", "soon"), ("--queue", "1MB"),
                                    ("--mtu", 100), ("--series", "often"), ("--series", "10ns"))):
            with self.subTest(more):
                done = self.sim("fabric.toml", "perm.toml", *more)
                self.assertEqual(done.returncode, 2)
                self.assertIn("heddle:", done.stderr)

    def test_sizes_that_would_not_be_used_are_refused(self):
        refusals = (("fabric.toml", ("--mtu", 4154), "--mtu is for"),
                    ("fabric.topo", ("--mtu", 65535), "9244"),
                    ("fabric.topo", ("--mtu", 9245), "9244"),
                    ("fabric.topo", ("--burst", "0"), "--burst: '0' is too small"),
                    ("fabric.topo", ("--initial-window", "0B"), "--initial-window: '0B' is too small"),
                    ("fabric.topo", ("--window-limit", "0"), "--window-limit: '0' is too small"),
                    ("fabric.topo", ("--queue", "0"), "--queue: '0' is too small"),
                    ("fabric.topo", ("--queue", "1MB", "--ecn-threshold", "1MiB"),
                     "packets would be marked above 1048576 bytes, and a queue holds 1000000"))
        for topology, more, why in program.sample(refusals):
            with self.subTest(more):
                done = self.sim(topology, "flows.cm", *more)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(why, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
