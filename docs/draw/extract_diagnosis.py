"""Figures of `bench/run diagnosis`: how well faults are found, what they cost a long job, and what policies do about
true and false verdicts; and of `bench/run monitor`: real faults in a lab.
"""

from figure import figure, one, spread


def _cost(document):
    cases = document["cases"]
    rows = [(name, [{"median": 100 * share["median"], "min": 100 * share["p5"], "max": 100 * share["p95"]}
                    for share in (case["ways"][name]["share_of_job"] for case in cases)])
            for name in cases[0]["ways"]]
    ranks, days = (document["assumed"][key] for key in ("ranks", "days"))
    return [figure("diagnosis_cost_simulated", f"What faults cost a job of {ranks:,} ranks in {days} days, simulated",
                   "% of its rank-hours, 5% to 95%",
                   [f"people look {case['search_s'] / 60:g} min" for case in cases], rows, 2, better="less",
                   simulated=True)]


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
                   shares, 1, better="no_peer", simulated=True),
            figure("diagnosis_steering_delays_simulated", "From a fault to the policy's right action, simulated", "s",
                   ["median", "95th percentile"], delays, 1, better="no_peer", simulated=True)]


def _roc(document):
    made = document["points"]
    rows = [(f"{each['confidence']:.2f} ({each['errors']:g} standard errors)",
             [_share(each["found"], each["faulty"]), _share(each["accused"], each["healthy"])]) for each in made]
    counts = f"{made[0]['faulty']:,} slow jobs, {made[0]['healthy']:,} healthy ones"
    return [figure("diagnosis_roc_simulated", f"Recall and false positives by confidence, simulated: {counts}",
                   "% by the least confidence", ["found at the place", "healthy jobs accused"], rows, 2,
                   better="no_peer", simulated=True,
                   page_rows=[name for (name, _), each in zip(rows, made) if each["errors"] in (3, 5, 8.5, 12, 20)])]


_SOURCES = {"stream": "synthesised", "simulation": "simulated"}


def _found(scores):
    shares = [scores[key] for key in ("recall", "place_right", "class_right")]
    return [share if share is None else one(100 * share) for share in shares]


def _accuracy(document):
    """Of the jobs whose fault costs 5% and more. A share of what is found is of these."""
    made = []
    for source, text in _SOURCES.items():
        classes = [each for each in document["classes"] if each["source"] == source]
        if not classes:
            continue
        scores = [(each["fault"], each["visible"]) for each in classes] + [("all", document["visible"][source])]
        rows = [(f"{fault}, {of['jobs']} jobs", _found(of)) for fault, of in scores]
        seeds = document["seeds"].replace(" ", "_")
        made.append(figure(f"diagnosis_accuracy_{seeds}_{source}_simulated",
                           f"Faults found in {text} jobs, seeds: {document['seeds']}",
                           "effect of 5% and more", ["found, %", "place right, %", "class right, %"], rows, 1,
                           better="no_peer", simulated=True))
        made.append(_confusion(document["confusion"][source], f"{seeds}_{source}", text, document["seeds"]))
    return made


def _confusion(table, name, source, seeds):
    """All jobs, also those whose fault costs less than 5%."""
    classes = sorted({each for found in table.values() for each in found}, key=lambda each: (each == "none", each))
    rows = [(fault, [one(found.get(each, 0)) for each in classes]) for fault, found in table.items()]
    return figure(f"diagnosis_confusion_{name}_simulated",
                  f"The first verdict's class, in {source} jobs of any effect, seeds: {seeds}", "jobs", classes, rows,
                  0, better="no_peer", simulated=True)


def monitor(document):
    """None where healthy jobs alone were watched."""
    rows, notes = [], []
    for name, fault in document["faults"].items():
        runs = fault["runs"]
        delays = [run["delay_s"] for run in runs if run["delay_s"] is not None]
        others = sum(run["others"] + len(run["before"]) for run in runs)
        rows.append((name, [spread(delays) if delays else None]))
        more = f", {others} other alarm{'s' * (others > 1)}" if others else ""
        notes.append(f"({len(delays)} of {len(runs)}{more})")
    made = figure("monitor", "Real faults in a lab, named at their place by heddle monitor", "s after the fault",
                  ["named"], rows, 1, better="no_peer",
                  page_rows=["stopped rank", "NIC without carrier", "NIC that loses 20%", "data loader that sleeps",
                             "less memory than a rank uses", "slow disk for checkpoints"])
    for row, note in zip(made["rows"], notes):
        row["note"] = note
    return [made] if rows else []


def diagnosis(document):
    """None of scale."""
    ways = {"accuracy": _accuracy, "cost": _cost, "roc": _roc, "steering": _steering}
    return ways.get(document["question"], lambda _: [])(document)
