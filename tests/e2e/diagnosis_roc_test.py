#!/usr/bin/env python3
"""What bench/run diagnosis roc counts as found and as accused at each confidence, and the area below its curve."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from diagnosis import roc  # noqa: E402: found by the line above


def slow(errors, place_right=True, effect=0.2):
    return {"fault": "slow_rank", "confidence": roc.confidence_of(errors), "place_right": place_right, "effect": effect}


def healthy(errors=None):
    return {"fault": "none", "most_confidence": roc.confidence_of(errors) if errors else 0}


class Points(unittest.TestCase):
    def at(self, made, errors):
        return next(each for each in made if each["errors"] == errors)

    def test_a_higher_threshold_finds_fewer_faults_and_accuses_fewer_jobs(self):
        made = roc.points([slow(4), slow(9), slow(40), healthy(), healthy(5), healthy(3)], 3)
        self.assertEqual([(self.at(made, each)["found"], self.at(made, each)["accused"]) for each in (3, 5, 8.5, 30)],
                         [(3, 2), (2, 1), (2, 0), (1, 0)])
        self.assertEqual((made[0]["faulty"], made[0]["healthy"]), (3, 3))

    def test_a_verdict_elsewhere_finds_nothing_and_small_effects_are_not_expected_to_be_found(self):
        made = roc.points([slow(20, place_right=False), slow(20, effect=0.01), healthy()], 3)
        self.assertEqual((made[0]["found"], made[0]["faulty"]), (0, 1))

    def test_no_threshold_is_lower_than_the_one_that_the_rules_were_given(self):
        self.assertEqual(roc.points([slow(20), healthy()], 8)[0]["errors"], 8)

    def test_the_area_is_one_where_a_threshold_separates_and_a_half_by_chance(self):
        apart = roc.points([slow(20), slow(9), healthy(), healthy(4)], 3)
        self.assertAlmostEqual(roc.area(apart), 1)
        same = roc.points([slow(4), slow(20), healthy(4), healthy(20)], 3)
        self.assertAlmostEqual(roc.area(same), 0.5)


if __name__ == "__main__":
    unittest.main()
