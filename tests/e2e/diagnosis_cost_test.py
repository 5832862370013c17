#!/usr/bin/env python3
"""What bench/run diagnosis cost says that faults cost a job: each way's hours, by hand-made incidents."""

import dataclasses
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from diagnosis import cost  # noqa: E402: found by the line above

_JOB = cost.Assumed(ranks=3600, slowness=0.1, crash_seen=10, hang_seen=600, slow_seen=28_800, search=3000, confirm=60,
                    restart=500, elastic_restart=1)  # of 3600 ranks a second is a rank-hour
_HANG = [("hang", 700, 0.0)]


class Cost(unittest.TestCase):
    def test_a_hang_costs_its_time_out_the_search_the_restart_and_the_work_since_the_checkpoint(self):
        self.assertEqual(cost.lost(_JOB, _HANG), {"detection": 600, "search": 3000, "restart": 500,
                                                  "repeated work": 700, "slowness": 0})

    def test_a_verdict_ends_the_wait_and_the_search_where_its_place_is_right(self):
        right, wrong = ({"hang": [(11, place)]} for place in (True, False))
        self.assertEqual(cost.lost(_JOB, _HANG, right), {"detection": 11, "search": 60, "restart": 500,
                                                         "repeated work": 700, "slowness": 0})
        self.assertEqual(cost.lost(_JOB, _HANG, wrong)["search"], 3060)

    def test_without_a_verdict_and_after_the_time_out_a_verdict_gains_nothing(self):
        for delay in (None, 601):
            self.assertEqual(cost.lost(_JOB, _HANG, {"hang": [(delay, True)]}), cost.lost(_JOB, _HANG))

    def test_verdicts_are_drawn_in_their_shares(self):
        verdicts = {"hang": [(10, True), (20, True), (None, False), (30, True)]}
        waits = [cost.lost(_JOB, [("hang", 0, drawn)], verdicts)["detection"] for drawn in (0.0, 0.3, 0.6, 0.99)]
        self.assertEqual(waits, [10, 20, 600, 30])

    def test_a_slow_rank_costs_its_share_until_it_is_known(self):
        slow = [("slow", 700, 0.0)]
        self.assertAlmostEqual(cost.lost(_JOB, slow)["slowness"], 3180)
        found = cost.lost(_JOB, slow, {"slow": [(40, True)]})
        self.assertAlmostEqual(found["slowness"], 10)
        self.assertEqual(found["repeated work"] + found["detection"] + found["search"], 0)

    def test_heddle_gains_nothing_of_a_crash_but_by_going_on_without_the_rank(self):
        crash = [("crash", 700, 0.0)]
        verdicts = {"hang": [(1, True)], "slow": [(1, True)]}
        self.assertEqual(cost.lost(_JOB, crash, verdicts), cost.lost(_JOB, crash))
        self.assertEqual(cost.lost(_JOB, crash, verdicts, elastic=True),
                         {"detection": 10, "search": 60, "restart": 1, "repeated work": 0, "slowness": 0})

    def test_incidents_have_the_rates_that_are_assumed(self):
        job = dataclasses.replace(_JOB, ranks=1000, days=10, interruptions=0.002, hangs=0.25, slow=0.001)
        drawn = [kind for seed in range(1, 301) for kind, *_ in cost.draw_incidents(job, seed)]
        for kind, expected in (("crash", 15), ("hang", 5), ("slow", 10)):
            self.assertAlmostEqual(drawn.count(kind) / 300, expected, delta=4 * (expected / 300) ** 0.5)
        self.assertEqual(cost.draw_incidents(job, 7), cost.draw_incidents(job, 7))


if __name__ == "__main__":
    unittest.main()
