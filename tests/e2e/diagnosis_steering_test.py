#!/usr/bin/env python3
"""What bench/run diagnosis steering counts as right and false actions, by hand-made jobs; and its policies."""

import pathlib
import sys
import tomllib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from diagnosis import steering  # noqa: E402: found by the line above


def action(right, after_s=10.0):
    return {"right": right, "after_s": after_s}


def case(fault, plain=(), mixed=(), effect=1.0, false_verdicts=0):
    """A job of half an hour with the actions of one way, "w"."""
    def part(actions):
        counts = dict.fromkeys(("tests", "confirmed", "not_confirmed", "not_tested"), len(actions))
        return {"ways": {"w": {"actions": list(actions)} | counts}, "false_verdicts": false_verdicts}
    return {"fault": fault, "effect": effect, "job_s": 1800, "as_it_is": part(plain),
            "with_false_verdicts": part(mixed)}


class Score(unittest.TestCase):
    def test_false_actions_are_counted_by_the_kind_of_job(self):
        found = steering.score([case("none", [action(False)], [action(False), action(False)], false_verdicts=5),
                                case("none", [], [], false_verdicts=3), case("none"),
                                case("slow_nic", [action(True), action(False)])], "w")
        self.assertEqual(found["healthy"], {"hours": 1.5, "false_actions": 1})
        self.assertEqual(found["invented"], {"verdicts": 8, "jobs": 2, "false_actions": 2, "jobs_acted_on": 1})
        self.assertEqual((found["faults"]["false_actions"], found["faults"]["all_jobs"]), (1, 1))

    def test_the_first_right_action_after_the_fault_counts(self):
        jobs = [case("slow_rank", [action(False, 1), action(True, after), action(True, 99)]) for after in (10, 20, 60)]
        jobs.append(case("slow_rank", [action(True, -5)]))  # of chance
        jobs.append(case("slow_rank"))
        found = steering.score(jobs, "w")["faults"]
        self.assertEqual((found["jobs"], found["right"], found["delay_s_median"]), (5, 3, 20))
        self.assertEqual(steering.score(jobs, "w")["by_fault"]["slow_rank"]["right"], 3)
        self.assertIsNone(steering.score([case("slow_rank")], "w")["faults"]["delay_s_median"])

    def test_slowness_without_an_effect_is_not_expected_to_be_found_and_a_hang_is(self):
        jobs = [case("slow_rank", effect=0.04), case("slow_rank", [action(False)], effect=0.04),
                case("stopped_rank", [action(True)], [], effect=0)]
        found = steering.score(jobs, "w")
        self.assertEqual((found["faults"]["jobs"], found["faults"]["right"]), (1, 1))
        self.assertEqual(found["faults"]["false_actions"], 1)
        self.assertEqual(found["faults_with_false_verdicts"]["right"], 0)


class Ways(unittest.TestCase):
    def test_policies_differ_in_what_their_names_say_alone(self):
        for way in steering.WAYS:
            policy = tomllib.loads(way["policy"])
            self.assertEqual(len(policy["rule"]), 3)
            for rule in policy["rule"]:
                self.assertEqual(bool(rule["confirm"]), way["test"] is not None, way["name"])
                self.assertEqual((rule["persists"], rule["confidence"]), (way["persists"], way["confidence"]))
            self.assertEqual("test" in way["name"], way["test"] is not None)
        names = [way["name"] for way in steering.WAYS]
        self.assertEqual(len(set(names)), len(names))


if __name__ == "__main__":
    unittest.main()
