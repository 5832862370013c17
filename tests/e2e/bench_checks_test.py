#!/usr/bin/env python3
"""What ends bench/run monitor, elastic, diagnosis and acceptance with exit status 1; what diagnosis prints beside its
aims, and acceptance beside an integrator's figures."""

import contextlib
import io
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from acceptance import faults as known_faults  # noqa: E402: found by the line above
from acceptance import scenario as acceptance  # noqa: E402
from diagnosis import scale  # noqa: E402
from diagnosis import scenario as diagnosis  # noqa: E402
from elastic import curve, faults  # noqa: E402
from monitor import scenario as monitor  # noqa: E402


def watched(**more):
    return {"before": [], "effect": 0.3, "delay_s": 4.0, "found": ["hang: rank 2"], "others": 0, **more}


class Monitor(unittest.TestCase):
    def wrong(self, *runs, alarms=()):
        return monitor.check({"stopped rank": {"job": "training", "runs": list(runs)}}, [{"alarms": list(alarms)}])

    def test_faults_that_are_named_at_their_place_and_silence_are_right(self):
        self.assertEqual(self.wrong(watched(), watched(delay_s=5.5), watched(delay_s=5)), [])
        self.assertEqual(monitor.check({}, []), [])

    def test_each_way_of_being_wrong_is_named(self):
        self.assertEqual(self.wrong(watched(), watched(delay_s=None, found=[])),
                         ["stopped rank: not named at its place in 1 of 2 runs"])
        self.assertEqual(self.wrong(watched(others=1)), ["stopped rank: 1 alarms of another class or place"])
        self.assertEqual(self.wrong(watched(before=["slow: rank 0"])), ["stopped rank: 1 alarms before the fault"])
        self.assertEqual(self.wrong(watched(), alarms=["slow: rank 0"]), ["1 alarms in healthy trainings"])
        self.assertEqual(self.wrong(watched(delay_s=9), watched(delay_s=4), watched(delay_s=6)),
                         ["the median delay is 6.0 s, and the limit is 5 s"])


class Elastic(unittest.TestCase):
    def test_a_run_of_heddle_that_does_not_go_on_is_wrong_and_one_of_gloo_is_not(self):
        def case(over_heddle, *seconds):
            return {"program": "a program", "over_heddle": over_heddle, "fault": "wedged",
                    "runs": [{"seconds": each, "lost_steps": 0} for each in seconds]}
        self.assertEqual(faults.check([case(True, 1.5, 2), case(False, None)]), [])
        self.assertEqual(faults.check([case(True, 1.5, None)]),
                         ["a program, wedged: 1 of 2 runs did not go on in 60 s"])

    def test_a_training_goes_on_after_each_kill(self):
        def run(disturbed, *next_step_s):
            return {"seed": 7, "disturbed": disturbed, "next_step_s": list(next_step_s)}
        self.assertEqual(curve.check([run(True, 1, 1, 2), run(False)]), [])
        self.assertEqual(curve.check([run(True, 1, 1)]), ["seed 7: the ranks went on after 2 of 3 kills"])


class Scale(unittest.TestCase):
    def wrong(self, **more):
        return scale.check([{"ranks": 64, "fault": "slow", "delay_s": 7.3, "others": 0, "whole": True, "behind_s": 3.1,
                             **more}])

    def test_each_way_of_being_wrong_is_named(self):
        self.assertEqual(self.wrong(), [])
        self.assertEqual(self.wrong(delay_s=None), ["64 ranks, slow: the fault was not named at its rank"])
        self.assertEqual(self.wrong(others=2), ["64 ranks, slow: 2 alarms beside the fault's"])
        self.assertEqual(self.wrong(whole=False),
                         ["64 ranks, slow: events were overwritten before the monitor had read them"])
        self.assertEqual(self.wrong(behind_s=40),
                         ["64 ranks, slow: the monitor was 40.0 s behind, and the limit is 5 s"])


class Accuracy(unittest.TestCase):
    def test_the_place_is_of_the_found_and_of_all_faults_and_the_delay_stands_beside_its_aim(self):
        def case(found, place_right, delay_s):
            return {"found": found, "place_right": place_right, "class_right": place_right, "delay_s": delay_s,
                    "others": 0}
        scores = diagnosis.scores_of([case(True, True, 6), case(True, True, 8), case(True, False, 7),
                                      case(False, False, None)])
        self.assertEqual((scores["recall"], scores["place_right_of_all"]), (0.75, 0.5))
        self.assertAlmostEqual(scores["place_right"], 2 / 3)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            diagnosis.show({"question": "accuracy", "seeds": "development", "events": 1, "algorithm": None,
                            "visible": {"stream": scores}, "classes": [], "healthy": [], "confusion": {}, "missed": [],
                            "aims_missed": [], "delay_aim_s": 1})
        self.assertIn("delay: median 7.0 s, 95% within 7.0 s (aim: 1 s); place right: of the found faults 66.7%, of "
                      "all 50.0%", printed.getvalue())


def shown(module, document):
    """What a scenario prints of a document, by line, without what columns are filled with."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        module.show(document)
    return [re.sub(" {2,}", " | ", line.strip()) for line in printed.getvalue().splitlines()]


class BesideAnIntegrator(unittest.TestCase):
    def shown(self, step, **more):
        return shown(acceptance, {"step": step, "theirs": acceptance._THEIRS, **more})

    def made_row(self, measure, unit, factor):
        """Of five rounds in which the limit here is 40, and the figure this multiple of it."""
        return acceptance._row(measure, [40 * factor] * 5, [40] * 5, unit)

    def test_reach_fails_where_one_message_of_twenty_is_missing(self):
        rows = [{"program": "rping, RC", "messages": 20}, {"program": "heddle, UDP", "messages": 20}]
        self.assertEqual(acceptance.status_of_reach(rows), 0)
        rows[0]["messages"] = 19
        self.assertEqual(acceptance.status_of_reach(rows), 1)
        said = self.shown("reach", rows=rows)
        self.assertIn("integrator: rping, RoCE | 20", said)
        self.assertIn("rping, RC | 19", said)
        self.assertIn("soft-RoCE proves the same of its driver, and of no cable", said[-1])

    def test_the_exit_status_of_reach_is_that_of_its_rows(self):
        inside = {"rping": "ping data: a\n" * 20, "ping": {"heddle, RC": "20 messages, each verified"}}
        for output, status in (("20 messages, each verified", 0), ("19 messages", 1)):
            with mock.patch.multiple(acceptance, _in_vm=lambda *_: inside, Cable=mock.MagicMock(),
                                     built=lambda name: name, run_pair=lambda *_: mock.Mock(output=output)):
                found = acceptance._reach(mock.Mock(seconds=1), None)
            self.assertEqual((found["exit_status"], [each["messages"] for each in found["rows"]]),
                             (status, [20, 20, 0 if status else 20]))

    def test_throughput_has_the_integrators_share_of_the_link_and_ours_of_the_limit(self):
        rows = [self.made_row("tcp_bw", "Gb/s", 0.25), self.made_row("udp_bw received", "Gb/s", 0.5),
                self.made_row("tcp_lat", "us", 2), self.made_row("heddle, bandwidth", "Gb/s", 0.75)]
        said = self.shown("throughput", rows=rows)
        self.assertIn("integrator | here, median (range) | to the limit here", said)
        self.assertIn("tcp_bw, Gb/s | 16.9 (17% of the link) | 10.00 (10.00 to 10.00) | 0.25 (0.25 to 0.25)", said)
        self.assertIn("udp_bw received, Gb/s | 1.45 (1% of the link) | 20.00 (20.00 to 20.00) | 0.50 (0.50 to 0.50)",
                      said)
        self.assertIn("tcp_lat, us | 35.3 | 80.00 (80.00 to 80.00) | 2.00 (2.00 to 2.00)", said)
        self.assertIn("heddle, bandwidth, Gb/s | - | 30.00 (30.00 to 30.00) | 0.75 (0.75 to 0.75)", said)
        self.assertIn("Their link is a cable of 100 Gb/s, ours a veth pair", said[-1])

    def test_rdma_is_compared_with_soft_roces_own_rate(self):
        said = self.shown("rdma", rows=[self.made_row("rc_bw", "Gb/s", 1), self.made_row("rc_lat", "us", 1)])
        self.assertIn("integrator | here, median (range) | times rc_bw or rc_lat here", said)
        self.assertIn("rc_bw, Gb/s | 97.3 (97% of the link) | 40.00 (40.00 to 40.00) | 1.00 (1.00 to 1.00)", said)
        self.assertIn("rc_lat, us | 13.9 | 40.00 (40.00 to 40.00) | 1.00 (1.00 to 1.00)", said)
        self.assertIn("only ratios within a row's unit say something", said[-1])

    def test_training_has_gains_of_both_and_says_what_it_trained_with(self):
        def runs(**one):
            speeds = {"one": 100.0, "all": 150.0, "gloo": 50.0}
            return {name: {"images_per_s": speed, "data": "made images", "weights": "", **one}
                    for name, speed in speeds.items()}
        said = self.shown("training", runs=runs())
        self.assertIn("one host, 50,000 images | 27 min | 8.3 min", said)
        self.assertIn("two hosts, 50,000 images | 15 min | 5.6 min | 16.7 min", said)
        self.assertIn("gain | 1.80x | 1.50x | 0.50x", said)
        self.assertIn("efficiency | 90% | 75% | 25%", said)
        self.assertIn("time saved | 44% | 33% | -100%", said)
        self.assertIn("with made images and from random weights. Our minutes are calculated from the rate of about ten "
                      "steps", said[-1])
        self.assertIn("with CIFAR-10 and from w.pt.", self.shown("training", runs=runs(data="CIFAR-10",
                                                                                       weights="w.pt"))[-1])

    def test_training_is_given_the_images_and_weights_that_the_command_line_names(self):
        class Asked(Exception):
            pass

        def asked(words, **_):
            self.words, self.topology = words, pathlib.Path(words[words.index("--topology") + 1]).read_text("utf-8")
            raise Asked

        for cifar, weights in ((None, None), ("/data/cifar", "w.pt")):
            with mock.patch.multiple(acceptance, built=lambda name: f"/opt/bin/{name}",
                                     subprocess=mock.Mock(run=asked)):
                with self.assertRaises(Asked):
                    acceptance._training(mock.Mock(cifar=cifar, weights=weights), mock.Mock())
            given = {name: self.words[self.words.index(name) + 1] for name in ("--cifar", "--weights")
                     if name in self.words}
            self.assertEqual(given, {} if cifar is None else {"--cifar": cifar, "--weights": os.path.abspath(weights)})
            self.assertEqual(self.topology.count('rate = "1Gbit/s"'), 2, self.topology)


class KnownFaults(unittest.TestCase):
    """Each name in labs of two leaves, two spines and four hosts."""

    def test_of_a_link_its_ends_and_pairs_that_cross_it_are_no_wrong_names(self):
        wrong = lambda *named, pairs=(): known_faults._wrong(["leaf0 - spine1"], named, pairs)
        self.assertEqual(wrong("leaf0 - spine1", "leaf0", "spine1", pairs=["h0 to h2", "h3 to h1"]), [])
        self.assertEqual(wrong("leaf0 - spine0", "leaf1 - spine1", "h0", "h0 - leaf0", "spine0"),
                         ["h0", "h0 - leaf0", "leaf0 - spine0", "leaf1 - spine1", "spine0"])
        self.assertEqual(wrong(pairs=["h0 to h1", "h2 to h3", "h0 to h2"]), ["h0 to h1", "h2 to h3"])

    def test_of_a_host_its_link_and_its_pairs_are_no_wrong_names(self):
        wrong = lambda *named, pairs=(): known_faults._wrong(["h1"], named, pairs)
        self.assertEqual(wrong("h1", "h1 - leaf0", pairs=["h1 to h3", "h0 to h1"]), [])
        self.assertEqual(wrong("h0", "leaf0", "h0 - leaf0", "leaf0 - spine1", pairs=["h0 to h2"]),
                         ["h0", "h0 - leaf0", "h0 to h2", "leaf0", "leaf0 - spine1"])

    def test_of_the_link_of_a_host_only_pairs_of_this_host_cross_it(self):
        wrong = lambda *named, pairs=(): known_faults._wrong(["h1 - leaf0", "h2 - leaf1"], named, pairs)
        self.assertEqual(wrong("h1", "h2", "leaf0", "h2 - leaf1", pairs=["h1 to h3", "h0 to h2"]), [])
        self.assertEqual(wrong("h0", "leaf0 - spine0", pairs=["h0 to h3"]), ["h0", "h0 to h3", "leaf0 - spine0"])

    def report(self):
        """Of a slow link: what each part of a report says of places."""
        rows = [{"check": "goodput", "where": where, "grade": grade} for where, grade in
                (("leaf0 to spine1", "fail"), ("h0 to h2", "fail"), ("h0 to h1", "warn"), ("h1 to h3", "pass"),
                 ("h3", "warn"), ("spine1", "fail"), ("10 of 12 pairs", "fail"))]
        rows.append({"check": "clock synchronization", "where": "h0", "grade": "warn"})
        links = [{"label": f"{leaf} - {spine}", "named": (leaf, spine) == ("leaf0", "spine1")}
                 for leaf in ("leaf0", "leaf1") for spine in ("spine0", "spine1")]
        nodes = [{"name": name} for name in ("h0", "h1", "h2", "h3", "leaf0", "leaf1", "spine0", "spine1")]
        return {"verdict": "FAIL", "links": links, "nodes": nodes, "stages": [{"rows": rows}], "others_busy_share": 0}

    def test_names_of_a_report_are_its_links_hosts_and_switches_and_failed_pairs(self):
        report = self.report()
        self.assertEqual(known_faults._named(report), {"leaf0 - spine1", "h3", "spine1"})
        self.assertEqual(known_faults._failed_pairs(report, ["h0", "h1", "h2", "h3"]), {"h0 to h2"})

    def case(self, *runs):
        """A fault with these reports' names, each as if its place were the first run's."""
        made = iter(runs)
        places = known_faults._faults(0)["a link that loses 1%"]
        with mock.patch.multiple(known_faults, _run=lambda *_: next(made),
                                 _faults=lambda _: {"a link that loses 1%": places}):
            return known_faults._case("a link that loses 1%", mock.Mock(runs=len(runs)), lambda _: None)

    def run_of(self, *named, pairs=()):
        return {"verdict": "FAIL", "named": list(named), "pairs": list(pairs), "others_busy_share": 0, "seconds": 1.0}

    def test_a_fault_counts_as_found_without_wrong_names_alone(self):
        place = "leaf0 - spine1"
        case = self.case(self.run_of(place, "spine1", pairs=["h0 to h2"]), self.run_of(place, "leaf0 - spine0"),
                         self.run_of("spine1"), self.run_of(place, pairs=["h0 to h1"]))
        self.assertEqual([one["wrong"] for one in case["runs"]], [[], ["leaf0 - spine0"], [], ["h0 to h1"]])
        self.assertEqual((case["found"], case["others"]), (1, ["h0 to h1", "leaf0 - spine0", "spine1"]))
        said = shown(known_faults, {"cases": [case], "clean": [self.run_of("h2")]})
        self.assertIn("a link that loses 1% | 1 of 4 | h0 to h1, leaf0 - spine0, spine1 | 1", said)
        self.assertIn("no fault | 1 FAIL | h2 | 1", said)

    def test_a_fault_that_is_missed_or_a_clean_fabric_that_fails_gives_status_1(self):
        def status(found, verdict):
            with mock.patch.multiple(known_faults, _faults=lambda _: {"a fault": None},
                                     _case=lambda *_: {"runs": [{}, {}], "found": found},
                                     _run=lambda *_: {"verdict": verdict}):
                return known_faults.measure(mock.Mock(runs=2, clean=1), mock.Mock())["exit_status"]
        self.assertEqual([status(2, "PASS"), status(1, "PASS"), status(2, "WARN")], [0, 1, 1])


if __name__ == "__main__":
    unittest.main()
