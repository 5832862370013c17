"""How recall and false positives change as the confidence that a verdict needs rises: a receiver operating
characteristic (ROC), and the area below it.

The rules report slowness from 8.5 standard errors of the noise on, where healthy jobs have next to no verdicts. So the
threshold is lowered, and each job's verdicts are then taken or left by their confidence. A fault counts as found if a
verdict of that confidence names its place; a healthy job counts if any look at it gives such a verdict.
"""

import concurrent.futures
import json
import math
import subprocess

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built
from harness.report import row

_SLOW = ("slow_rank", "gradual_rank", "slow_nic", "lossy_nic", "slow_link", "slow_host", "collision")
_RULES = 8.5           # insight/diagnosis/params.h: kLeastErrors
_MOST_CONFIDENCE = 0.99  # kMostOutlierConfidence
_ERRORS = (3, 4, 5, 6, 7, 8, _RULES, 9, 10, 12, 15, 20, 30)
_VISIBLE = 0.05        # kLeastLate
_JOBS_AT_ONCE = 50


def add_arguments(parser):
    parser.add_argument("--least-errors", type=float, default=3, metavar="N",
                        help="of roc: standard errors from which slowness is a verdict [3]")


def confidence_of(errors):
    """Of an outlier, as insight/diagnosis/outliers.cc has it."""
    return 0.5 + (_MOST_CONFIDENCE - 0.5) * (1 - math.exp(-errors / _RULES))


def _judge(portion, least_errors):
    fault, first, count = portion
    words = [built("heddle-bench-diagnosis"), "--fault", fault, "--first-seed", str(first), "--count", str(count),
             "--least-errors", str(least_errors)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"`{' '.join(words)}` failed: {done.stderr.strip()[-300:]}", "run it by hand")
    return [json.loads(line) for line in done.stdout.splitlines()]


def points(cases, least_errors):
    """One a threshold, from the lowest on: recall and false positives."""
    healthy = [case["most_confidence"] for case in cases if case["fault"] == "none"]
    faulty = [case for case in cases if case["fault"] != "none" and case["effect"] >= _VISIBLE]
    made = []
    for errors in (each for each in _ERRORS if each >= least_errors):
        least = confidence_of(errors) - 1e-9
        by_fault = {}
        for case in faulty:
            right = case["place_right"] and case["confidence"] >= least
            found, jobs = by_fault.get(case["fault"], (0, 0))
            by_fault[case["fault"]] = (found + right, jobs + 1)
        made.append({"errors": errors, "confidence": confidence_of(errors),
                     "found": sum(found for found, _ in by_fault.values()), "faulty": len(faulty),
                     "accused": sum(each >= least for each in healthy), "healthy": len(healthy),
                     "by_fault": {fault: {"found": found, "jobs": jobs} for fault, (found, jobs) in by_fault.items()}})
    return made


def area(made):
    """Below the curve by trapezoids, from no false positives at the strictest threshold to all jobs accused, where
    recall is taken to stay as it is at the lowest one measured.
    """
    curve = [(0.0, 0.0)] + [(one["accused"] / one["healthy"], one["found"] / one["faulty"]) for one in reversed(made)]
    curve.append((1.0, curve[-1][1]))
    return sum((right - left) * (low + high) / 2 for (left, low), (right, high) in zip(curve, curve[1:]))


def run(arguments, progress):
    counts = [(fault, arguments.faults) for fault in _SLOW] + [("none", arguments.healthy)]
    portions = [(fault, first, min(_JOBS_AT_ONCE, count + 1 - first)) for fault, count in counts
                for first in range(1, count + 1, _JOBS_AT_ONCE)]
    cases = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, arguments.jobs)) as pool:
        judged = pool.map(lambda portion: _judge(portion, arguments.least_errors), portions)
        for number, found in enumerate(judged):
            progress.say(number, len(portions), portions[number][0])
            cases += found
    made = points(cases, arguments.least_errors)
    if not made or not made[0]["healthy"] or not made[0]["faulty"]:
        raise CannotMeasure("there is no curve without healthy and faulty jobs", "give more --faults and --healthy")
    return {"machine": describe(), "seeds": "development", "points": made, "area": area(made)}


def show(document):
    first = document["points"][0]
    print(f"{first['faulty']} slow jobs whose fault costs {_VISIBLE:.0%} and more, {first['healthy']} healthy ones, "
          "eight looks at each")
    row("confidence from", "standard errors", "found at the place", "healthy jobs accused")
    for one in document["points"]:
        row(f"{one['confidence']:.3f}" + (" (the rules')" if one["errors"] == _RULES else ""), f"{one['errors']:g}",
            f"{one['found']} ({one['found'] / one['faulty']:.1%})",
            f"{one['accused']} ({one['accused'] / one['healthy']:.2%})")
    print(f"  area below the curve: {document['area']:.3f}")
