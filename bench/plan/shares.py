"""Eight jobs at once on one simulated fabric, 1:1 and 2:1: how much the worst one gets, and how even they are.

The jobs are those of tenants.py: rings of one host a leaf. A job's rate is that of its last flow. Of the eight rates
the worst and the mean are given to the bound of one plan for all flows, and Jain's index (Jain, Chiu and Hawe 1984):
1 where all are equal, an eighth where one job has everything. Leases and single plans are heddle's; Crux is the rule of
crux.py.
"""

import statistics

from harness.machine import describe
from harness.report import row
from plan import crux, theirs
from plan.fabrics import LEAVES
from plan.tenants import SHAPES, each_fabric, jobs_of, leased, on_one_path

STRATEGIES = (("ECMP, one path", "ecmp"), ("Crux's paths, ties by chance", "crux"),
              ("Crux's paths, ties: first", "crux_first"), ("heddle, spraying", "spraying"),
              ("heddle, planned alone", "alone"), ("heddle, leases", "leases"), ("heddle, all at once", "together"))
_KEYS = ("worst", "mean", "jain")


def _shares(rates, bound):
    jobs = [min(rates[i:i + LEAVES]) for i in range(0, len(rates), LEAVES)]
    return {"worst": min(jobs) / bound, "mean": statistics.mean(jobs) / bound,
            "jain": sum(jobs) ** 2 / len(jobs) / sum(rate * rate for rate in jobs)}


def _compare(fabric, seed):
    jobs = jobs_of(fabric, seed)
    flows = [(a, b, fabric.bytes) for job in jobs for a, b in job]
    whole = fabric.plan("whole", [flow for job in jobs for flow in job], "--lab-addresses")
    routes = crux.Routes(seed, fabric.spines, fabric.paths)
    routes.check(whole)
    as_crux = lambda by_chance: [crux.plan_of(whole, crux.choose(routes, jobs, by_chance, seed))]
    plans = {"ecmp": [on_one_path(whole)], "crux": as_crux(True), "crux_first": as_crux(False), "spraying": [],
             "alone": [fabric.plan(f"alone{i}", job) for i, job in enumerate(jobs)], "leases": leased(fabric, jobs),
             "together": [whole]}
    bound = fabric.bytes * 8e-3 / whole["bound_us"]
    return {name: _shares(fabric.rates(plan, flows), bound) for name, plan in plans.items()}


def run(arguments, progress):
    cases = [{"case": name, "fabrics": each_fabric(f"eight jobs, {name}", shape, arguments, progress, _compare)}
             for name, shape in SHAPES.items()]
    return {"shares": cases, "bytes": arguments.bytes, "paths": arguments.paths, "theirs": theirs.FIGURES,
            "machine": describe(),
            "exit_status": 0}


def show(document):
    print(f"Rates of eight jobs at once, flows of {document['bytes'] / 1e6:g} MB, {document['paths']} paths: the worst "
          "and the mean to the bound, Jain's index (worst, mean, Jain);\nmedian of the fabrics\n")
    row("", *(case["case"] for case in document["shares"]), theirs.HEAD)
    for name, key in STRATEGIES:
        row(name, *(", ".join(f"{statistics.median(fabric[key][of] for fabric in case['fabrics']):.3f}" for of in _KEYS)
                    for case in document["shares"]), theirs.jobs(key))
    theirs.note()
