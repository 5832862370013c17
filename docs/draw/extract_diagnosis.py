"""Figures of `bench/run diagnosis`: what faults cost a long job, and what policies do about true and false verdicts."""

from figure import figure, one


def _cost(document):
    cases = document["cases"]
    rows = [(name, [{"median": 100 * share["median"], "min": 100 * share["p5"], "max": 100 * share["p95"]}
                    for share in (case["ways"][name]["share_of_job"] for case in cases)])
            for name in cases[0]["ways"]]
    ranks, days = (document["assumed"][key] for key in ("ranks", "days"))
    return [figure("diagnosis_cost_simulated", f"What faults cost a job of {ranks:,} ranks in {days} days, simulated",
                   "% of its rank-hours, 5% to 95%",
                   [f"people look {case['search_s'] / 60:g} min" for case in cases], rows, 2, simulated=True)]


def _share(part, whole):
    return one(100 * part / whole) if whole else None


def _steering(document):
    ways = document["ways"]
    shares = [(way["name"], [_share(way["invented"]["jobs_acted_on"], way["invented"]["jobs"]),
                             _share(way["faults"]["right"], way["faults"]["jobs"]),
                             _share(way["faults_with_false_verdicts"]["right"],
                                    way["faults_with_false_verdicts"]["jobs"])]) for way in ways]
    delays = [(way["name"], [way["faults"][key] and one(way["faults"][key])
                             for key in ("delay_s_median", "delay_s_p95")]) for way in ways]
    rate = f"{document['false_verdicts_an_hour']:g} false verdicts an hour"
    return [figure("diagnosis_steering_simulated", "What a policy does about true and false verdicts, simulated", "%",
                   ["healthy jobs with false verdicts acted on", "faults acted on rightly", f"the same beside {rate}"],
                   shares, 1, simulated=True),
            figure("diagnosis_steering_delays_simulated", "From a fault to the policy's right action, simulated", "s",
                   ["median", "95th percentile"], delays, 1, simulated=True)]


def diagnosis(document):
    """None of accuracy and scale."""
    return {"cost": _cost, "steering": _steering}.get(document["question"], lambda _: [])(document)
