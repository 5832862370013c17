"""From the JSON document of `bench/run plan` to figures: see extract.py."""

import statistics

from figure import figure, one, percent, spread


def _of_fabrics(case, key):
    values = sorted(fabric[key] for fabric in case["fabrics"])
    return {"median": case["gbits_per_s"][key], "min": values[0], "max": values[-1]}


_PLANNED = (("ECMP, one path", "ecmp"), ("heddle, spraying", "spraying"), ("heddle, plan", "plan"),
            ("bound, without headers", "bound"))
_FAILED = (("before: ECMP, one path", "before_ecmp"), ("before: heddle, plan", "before_plan"),
           ("ECMP, one path", "ecmp"), ("heddle, spraying", "spraying"),
           ("heddle, plan from before", "stale_plan"), ("heddle, concerned flows planned again", "moved_plan"),
           ("heddle, all planned again", "plan"), ("bound, without headers", "bound"))


def _planned_case(name):
    """Short enough for the head of a column."""
    for word, digit in (("one", "1"), ("two", "2"), ("eight", "8")):
        name = name.replace(word + " ", digit + " ")
    return name.split(", an uplink")[0]


def _by_spines(cases):
    """Tables of their own for two spines: (of its name, of its title, cases)."""
    two = [case for case in cases if "two spines" in case["case"]]
    others = [case for case in cases if case not in two]
    return [part for part in (("", "", others), ("_two_spines", ", two spines", two)) if part[-1]]


_TENANTS = (("ECMP, one path", "ecmp"), ("heddle, spraying", "spraying"), ("heddle, each job planned alone", "alone"),
            ("heddle, leases", "leases"), ("heddle, all planned at once", "together"),
            ("bound, without headers", "bound"))


def _to_spraying(case, value):
    """Of a rate over that of spraying on the same fabric."""
    shares = sorted(value(fabric) / fabric["spraying"] for fabric in case["fabrics"])
    return {"median": statistics.median(shares), "min": shares[0], "max": shares[-1]}


def _plan_tenants(document):
    jobs, backgrounds = document["tenants"], document["backgrounds"]
    loads = [case for case in backgrounds if case["medians"]["errors"]]
    rows = [("ECMP, one path", [_to_spraying(case, lambda of: of["ecmp"]) for case in loads]),
            ("heddle, plan that does not know of them", [_to_spraying(case, lambda of: of["without"])
                                                          for case in loads])]
    for error in loads[0]["medians"]["errors"]:
        rate = lambda of, error=error: of["errors"][error]["gbits_per_s"]
        name = f"heddle, plan, counters {error}% off" if error != "0" else "heddle, plan, counters exact"
        rows.append((name, [_to_spraying(case, rate) for case in loads]))
    made = [figure(f"plan_tenants{name}_simulated", f"Each flow's rate by the time of the last of all jobs{title}, "
                   "simulated", "Gb/s", [_planned_case(case["case"]) for case in cases],
                   [(label, [_of_fabrics(case, field) for case in cases]) for label, field in _TENANTS], 1,
                   better="more", simulated=True) for name, title, cases in _by_spines(jobs)]
    return [*made,
            figure("plan_background_simulated", "Rate beside loads without a lease, simulated",
                   "times heddle's spraying on the same fabric",
                   [f"{case['percent']}% of the uplinks" for case in loads], rows, 2, better="more",
                   simulated=True)]


_SHARED = (("ECMP, one path", "ecmp"), ("Crux's path selection, ties by chance", "crux"),
           ("Crux's path selection, ties to the first", "crux_first"), ("heddle, spraying", "spraying"),
           ("heddle, each job planned alone", "alone"), ("heddle, leases", "leases"),
           ("heddle, all planned at once", "together"))


def _plan_shares(document):
    """Of the rates of jobs that share a fabric."""
    return [_shares(*part) for part in _by_spines(document["shares"])]


def _shares(name, title, cases):
    columns = [(case, key) for case in cases for key in ("worst", "mean", "jain")]
    of = lambda case, key, way: spread([fabric[way][key] for fabric in case["fabrics"]])
    return figure(f"plan_shares{name}_simulated",
                  f"Rates of eight jobs{title}, simulated: worst and mean to the bound, Jain's index", "share",
                  [f"{_planned_case(case['case'])}, {key.replace('jain', 'Jain')}" for case, key in columns],
                  [(label, [of(case, key, way) for case, key in columns]) for label, way in _SHARED], 3,
                  better="more", simulated=True)


_RECOVERY = (("ECMP, one path", "ecmp"), ("heddle, spraying", "spraying"), ("heddle, plan from before", "stale_plan"),
             ("heddle, planned again", "replan"))
_RECOVERED = (("before, Gb/s", "before"), ("before, worst flow", "before_worst"), ("lowest", "lowest"),
              ("recovered after, ms", "recovered_ms"), ("after", "after"), ("after, worst flow", "after_worst"))


def _plan_recovery(document):
    fabrics = document["recovery"]
    of = lambda name, key: spread([fabric[name][key] for fabric in fabrics])
    return [figure("plan_recovery_simulated",
                   "An uplink of eight fails, simulated: a flow's rate, and the time to recover", "see the columns",
                   [label for label, _ in _RECOVERED],
                   [(label, [of(name, key) for _, key in _RECOVERED]) for label, name in _RECOVERY], 1,
                   better=["less" if key == "recovered_ms" else "more" for _, key in _RECOVERED], simulated=True)]


def _plan_lab(document):
    columns = (("before", "before"), ("before, worst flow", "before_worst"), ("after", "after"),
               ("after, worst flow", "after_worst"))
    made = [figure("plan_lab", "An uplink of four is pulled in a lab: goodput", "to what the links carry",
                   [label for label, _ in columns],
                   [(each["program"], [each[key] for _, key in columns]) for each in document["lab"]], 2,
                   better="more")]
    times = [each for each in document["lab"] if "followed_ms" in each]
    if any(each["not_followed"] for each in times):
        raise ValueError("a run in which no new plan was followed has no time: measure again")
    made.append(figure("plan_lab_times", "Planning again in a lab", "ms", ["plan made", "replaced until followed"],
                       [(each["program"], [each["planned_ms"], each["followed_ms"]]) for each in times], 0,
                       better="no_peer", all_ours=True))
    return made


def _of_steps(cases, key):
    return [spread([fabric[key] for fabric in case["fabrics"]]) for case in cases]


def _plan_steps(document):
    cases = document["steps"]
    columns = [case["case"].split(",")[0] for case in cases]
    saved = [(label, [percent(value) for value in _of_steps(cases, key)])
             for label, key in (("waited for with ECMP", "exposed_share"),
                                ("heddle's plan saves, of ECMP", "over_ecmp"),
                                ("heddle's plan saves, of spraying", "over_spraying"))]
    times = [(label, [{name: value[name] / 1e3 for name in value} for value in _of_steps(cases, key)])
             for label, key in (("ECMP, one path", "ecmp_us"), ("heddle, spraying", "spraying_us"),
                                ("heddle, plan", "plan_us"))]
    return [figure("plan_steps_simulated", "Shares of a data parallel training step, simulated", "% of the step",
                   columns, saved, 1, better="no_peer", simulated=True),
            figure("plan_step_times_simulated", "A data parallel training step, simulated", "ms", columns, times, 2,
                   better="less", simulated=True)]


def plan(document):
    if "tenants" in document:
        return _plan_tenants(document)
    for kind, made in (("shares", _plan_shares), ("steps", _plan_steps), ("recovery", _plan_recovery),
                       ("lab", _plan_lab)):
        if kind in document:
            return made(document)
    if "speed" in document:
        return [figure("plan_speed", "Planning for hosts of 8 NICs: CPU time", "ms", ["CPU time"],
                       [(each["plan"], [one(each["cpu_ms"])]) for each in document["speed"]], 0, better="no_peer",
                       all_ours=True)]
    made = []
    for name, title, key, rows in (("plan", "Each flow's rate by the time of the last", "cases",
                                    _PLANNED),
                                   ("plan_failure", "The same with a failed uplink of eight",
                                    "failures", _FAILED)):
        some = [figure(f"{name}{spines}_simulated", f"{title}{more}, simulated", "Gb/s",
                        [_planned_case(case["case"]) for case in cases],
                        [(label, [_of_fabrics(case, field) for case in cases]) for label, field in rows], 1,
                        better="more", simulated=True) for spines, more, cases in _by_spines(document[key])]
        for row in (row for each in some for row in each["rows"] if row["name"].startswith("before: ")):
            row["case"] = "before"  # beside no row of a failed uplink
        made += some
    return made
