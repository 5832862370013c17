"""Planned paths on simulated fabrics: one path by ECMP, heddle's spraying, a plan, and the bound.

Hosts of 100 Gb/s on 8 leaves: one ring through all hosts, and eight rings of one host a leaf at once; with as many
uplinks as hosts (1:1), half as many (2:1), hosts with two ports on two leaves, and two spines with uplinks of the same
sum: 400 Gb/s (1:1) and 200 Gb/s (2:1). Then one of eight uplinks fails, and all switches have routes without it: ECMP,
spraying, the plan from before, its concerned flows planned again, and all planned again. Every flow counts with the
time of the last one; the bound is the least time of the most loaded link, without headers. A column has C4P's figures
(theirs.py). Instead --speed measures how long plans take (planner_bench), --tenants what several jobs gain
that plan one after another, and what a plan gains beside loads that it has to forecast, --shares how evenly such jobs
share a fabric, --steps which share of a training step a plan saves, --recovery how soon flows recover from a failed
uplink, and --lab the same in a lab.
"""

import json
import pathlib
import statistics
import subprocess
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import ROOT
from harness.report import row
from plan import lab, recovery, shares, steps, tenants, theirs
from plan.fabrics import Fabric, eight_rings, heddle, one_ring, workload

SUMMARY = "planned paths on simulated fabrics: ECMP, spraying, plan and bound; with a failed uplink"

_OTHERS = {"tenants": tenants, "shares": shares, "steps": steps, "recovery": recovery,
           "lab": lab}  # by option, and by the document's key


def add_arguments(parser):
    parser.add_argument("--bytes", type=int, default=16_000_000, metavar="N", help="of each flow [16000000]")
    parser.add_argument("--fabrics", type=int, default=3, metavar="N", help="fabrics whose switches hash apart [3]")
    parser.add_argument("--paths", type=int, default=64, metavar="N", help="of spraying and plans [64]")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--tenants", action="store_true", help="instead: jobs with leases, and loads without a plan")
    other.add_argument("--shares", action="store_true",
                       help="instead: the worst and the mean of jobs that share a fabric, beside Crux's rule")
    other.add_argument("--steps", action="store_true", help="instead: steps of data parallel training")
    other.add_argument("--recovery", action="store_true", help="instead: an uplink fails while flows are sent")
    other.add_argument("--lab", action="store_true", help="instead: the same in a lab (root)")
    other.add_argument("--speed", action="store_true",
                       help="instead: how long plans take, up to 16,384 hosts of 8 rails")
    recovery.add_arguments(parser)
    lab.add_arguments(parser)


class Case:
    """A fabric with flows in a folder."""

    def __init__(self, folder, fabric, flows, arguments):
        self.folder, self.paths, self.bytes = folder, arguments.paths, arguments.bytes
        self.write("fabric.toml", fabric.text)
        self.write("flows.toml", workload(flows, arguments.bytes))
        fault = '[[fault]]\nat = "0s"\nlink = ["leaf0", "spine0"]\nkind = "down"\n'
        self.write("failed.toml", fabric.text + fault)

    def write(self, name, text):
        pathlib.Path(self.folder, name).write_text(text, encoding="utf-8")

    def plan(self, name, *more):
        return heddle(self.folder, "plan", "--topology", "fabric.toml", "--workload", "flows.toml", "--paths",
                       self.paths, "-o", name, "--json", *more)

    def gbits(self, *how, fabric="fabric.toml"):
        """What each flow gets, by the time of the last."""
        simulated = heddle(self.folder, "sim", "--topology", fabric, "--workload", "flows.toml", "--json",
                            "--convergence", "0s", *how)
        return self.bytes * 8e-3 / simulated["tail_fct_us"]

    def bound(self, plan):
        return self.bytes * 8e-3 / plan["bound_us"]


def _compare(case):
    plan = case.plan("plan.json")
    return {"ecmp": case.gbits("--paths", 1), "spraying": case.gbits("--paths", case.paths),
            "plan": case.gbits("--plan", "plan.json"), "bound": case.bound(plan), "parts": plan["parts"]}


def _fail(case):
    before = case.plan("plan.json")
    after = case.plan("after.json", "--after", "plan.json", "--failed", "leaf0:spine0")
    whole = case.plan("whole.json", "--failed", "leaf0:spine0")
    failed = {"fabric": "failed.toml"}
    return {"before_ecmp": case.gbits("--paths", 1), "before_plan": case.gbits("--plan", "plan.json"),
            "before_bound": case.bound(before), "ecmp": case.gbits("--paths", 1, **failed),
            "spraying": case.gbits("--paths", case.paths, **failed),
            "stale_plan": case.gbits("--plan", "plan.json", **failed),
            "moved_plan": case.gbits("--plan", "after.json", **failed),
            "plan": case.gbits("--plan", "whole.json", **failed), "bound": case.bound(whole), "kept": after["kept"]}


_EIGHT = {"spines": 8, "ports": 1}
_COMPARED = [(f"{flows}, {name}", shape, flows == "eight rings")
             for name, shape in (("1:1", _EIGHT), ("2:1", _EIGHT | {"spines": 4}),
                                 ("two ports", _EIGHT | {"ports": 2}),
                                 ("two spines, 1:1", _EIGHT | {"spines": 2, "uplink_gbits": 400}),
                                 ("two spines, 2:1", _EIGHT | {"spines": 2, "uplink_gbits": 200}))
             for flows in ("one ring", "eight rings")]


def _medians(results):
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def _measured(case, measure, arguments, progress):
    (name, shape, many), results = case, []
    for seed in range(1, arguments.fabrics + 1):
        progress.say(seed - 1, arguments.fabrics, name)
        fabric = Fabric(seed=seed, **shape)
        flows = eight_rings(fabric, seed) if many else one_ring(fabric)
        with tempfile.TemporaryDirectory(prefix="heddle-bench-plan-") as folder:
            results.append(measure(Case(folder, fabric, flows, arguments)))
    return {"case": name, "gbits_per_s": _medians(results), "fabrics": results}


def _speed(progress):
    program = ROOT / "build/release/bin/planner_bench"
    if not program.exists():
        raise CannotMeasure(f"{program} is missing", "run `ninja -C build/release planner_bench`")
    progress.say(0, 1, "planner_bench")
    done = subprocess.run([program, "--benchmark_format=json"], capture_output=True, text=True, check=True)
    rows = [{"plan": each["name"], "cpu_ms": each["cpu_time"], "wall_ms": each["real_time"],
             "of_bound": each.get("of_bound"), "kept": each.get("kept")}
            for each in json.loads(done.stdout)["benchmarks"]]
    return {"speed": rows, "machine": describe()}


def run(arguments, progress):
    if arguments.speed:
        return _speed(progress)
    for kind in _OTHERS:
        if getattr(arguments, kind):
            return _OTHERS[kind].run(arguments, progress)
    compared = [_measured(case, _compare, arguments, progress) for case in _COMPARED]
    failures = [_measured((f"{flows}, an uplink of 8 failed", _EIGHT, flows == "eight rings"), _fail, arguments,
                          progress) for flows in ("one ring", "eight rings")]
    worst = min(each["gbits_per_s"]["plan"] / each["gbits_per_s"]["spraying"] for each in [*compared, *failures])
    return {"bytes": arguments.bytes, "paths": arguments.paths, "cases": compared, "failures": failures,
            "theirs": theirs.FIGURES, "least_plan_over_spraying": worst, "machine": describe(),
            "exit_status": 0 if worst >= 0.99 else 1}


def show(document):
    for kind in _OTHERS:
        if kind in document:
            _OTHERS[kind].show(document)
            return
    if "speed" in document:
        row("plan of", "CPU", "wall clock", "time / bound")
        for each in document["speed"]:
            row(each["plan"], f"{each['cpu_ms']:.1f} ms", f"{each['wall_ms']:.1f} ms",
                f"{each['of_bound']:.3f}" if each["of_bound"] else "-")
        return
    print(f"Gb/s of each flow by the time of the last, {document['bytes'] / 1e6:g} MB, {document['paths']} paths; "
          "median of the fabrics\n")
    row("", "ECMP", "spraying", "plan", "bound", theirs.HEAD)
    for case in document["cases"]:
        of = case["gbits_per_s"]
        row(case["case"], *(f"{of[key]:.1f}" for key in ("ecmp", "spraying", "plan", "bound")),
            theirs.rate(case["case"]))
    for case in document["failures"]:
        of = case["gbits_per_s"]
        print()
        row(case["case"], "Gb/s", theirs.HEAD)
        for label, key in (("before, ECMP", "before_ecmp"), ("before, plan", "before_plan"), ("ECMP", "ecmp"),
                           ("spraying", "spraying"), ("the plan that does not know", "stale_plan"),
                           ("concerned flows planned again", "moved_plan"), ("all planned again", "plan"),
                           ("bound", "bound")):
            row(f"  {label}", f"{of[key]:.1f}", theirs.failed_uplink(key))
    print(f"\n  plan / spraying, least: {document['least_plan_over_spraying']:.3f}")
    theirs.note()
