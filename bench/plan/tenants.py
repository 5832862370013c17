"""Several jobs on one simulated fabric, and plans beside loads that take no part.

Jobs: eight rings of one host a leaf are eight jobs. They are planned without the others, one after another with
--beside, with leases (heddle plan lease), and all at once. Background: beside the rings, 0 to 50% of the uplinks'
capacity is taken by flows of other hosts on one ECMP path each; the plan has counters of the links, in which the load
of each differs from what it is at last by the given share, at random and for as long as a forecast reaches.
"""

import json
import pathlib
import random
import statistics
import tempfile

from harness.machine import describe
from harness.pair import built
from harness.report import row
from plan import theirs
from plan.fabrics import HOSTS, LEAVES, RATE_GBITS, Fabric, eight_rings, heddle, printed, workload

_MORE_HOSTS = 4  # of a leaf, for the background
_WHOLE = 1_000_000
_INTERVAL_S = 10
_INTERVALS = 144
_HOLD = 6  # intervals for which an error stays: as long as a forecast reaches
_BACKGROUNDS = ((0, 0, 0), (10, 1, 0.8), (25, 2, 1), (50, 4, 1))  # per cent; flows of a leaf, their size
_ERRORS = (0, 0.2, 0.5, 1)
SHAPES = {"1:1": {"spines": 8}, "2:1": {"spines": 4}, "two spines, 1:1": {"spines": 2, "uplink_gbits": 400},
          "two spines, 2:1": {"spines": 2, "uplink_gbits": 200}}


class Fabrics:
    """A fabric in a folder, with flows that are planned in parts."""

    def __init__(self, folder, seed, arguments, **shape):
        self.folder, self.paths, self.bytes = pathlib.Path(folder), arguments.paths, arguments.bytes
        self.spines, self.hosts = shape["spines"], HOSTS + shape.get("more_hosts", 0)
        self.write("fabric.toml", Fabric(ports=1, seed=seed, **shape).text)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def read(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def plan(self, name, flows, *more, paths=None, size=None):
        self.write(f"{name}.toml", workload(flows, size or self.bytes))
        return heddle(self.folder, "plan", "--topology", "fabric.toml", "--workload", f"{name}.toml", "--paths",
                      paths or self.paths, "-o", f"{name}.json", "--json", *more)

    def simulate(self, plans, flows, count=None):
        """What each of the first `count` flows gets, by the time of their last one."""
        return min(self.rates(plans, flows)[:count])

    def rates(self, plans, flows):
        """What each flow gets with these plans' paths. A flow is its sender, receiver and bytes. Flows without a plan
        are sprayed over the paths that suit them at the time."""
        self.write("all.toml", "version = 1\n" + "".join(
            f'[[flow]]\nfrom = "h{a}"\nto = "h{b}"\nbytes = "{size}B"\n' for a, b, size in flows))
        words = ("--paths", self.paths)
        if plans:
            merged = {**plans[0], "flows": [flow for plan in plans for flow in plan["flows"]], "paths": self.paths}
            self.write("all.json", json.dumps(merged))
            words = ("--plan", "all.json")
        done = heddle(self.folder, "sim", "--topology", "fabric.toml", "--workload", "all.toml", *words,
                      "--convergence", "0s", "--json")
        return [self.bytes * 8e-3 / flow["fct_us"] for flow in done["flows"]]


def on_one_path(plan):
    """The plan's flows on their first path each, as ECMP has them."""
    return {**plan, "flows": [{**flow, "paths": [{"path": 0, "share_per_million": _WHOLE}]} for flow in plan["flows"]]}


def jobs_of(fabric, seed):
    """Flows by ring."""
    flows = eight_rings(Fabric(fabric.spines, 1, seed), seed)
    return [flows[i:i + LEAVES] for i in range(0, len(flows), LEAVES)]


def leased(fabric, jobs):
    """Each job starts while those before it run: its command starts the next one."""
    words = ["true"]
    for i in reversed(range(len(jobs))):
        fabric.write(f"job{i}.toml", workload(jobs[i], fabric.bytes))
        words = ["plan", "lease", "--leases", "leases", "--job", f"job{i}", "--topology", "fabric.toml", "--workload",
                 f"job{i}.toml", "--paths", fabric.paths, "-o", f"leased{i}.json", "--",
                 *([built("heddle"), *words] if i + 1 < len(jobs) else words)]
    printed(fabric.folder, *words)
    return [fabric.read(f"leased{i}.json") for i in range(len(jobs))]


def _beside(fabric, jobs):
    plans = []
    for i, flows in enumerate(jobs):
        others = [word for other in range(i) for word in ("--beside", f"beside{other}.json")]
        plans.append(fabric.plan(f"beside{i}", flows, *others))
    return plans


def _compare_jobs(fabric, seed):
    jobs = jobs_of(fabric, seed)
    flows = [(a, b, fabric.bytes) for job in jobs for a, b in job]
    whole = fabric.plan("whole", [flow for job in jobs for flow in job])
    alone = [fabric.plan(f"alone{i}", job) for i, job in enumerate(jobs)]
    return {"ecmp": fabric.simulate([on_one_path(whole)], flows),
            "spraying": fabric.simulate([], flows),
            "alone": fabric.simulate(alone, flows), "beside": fabric.simulate(_beside(fabric, jobs), flows),
            "leases": fabric.simulate(leased(fabric, jobs), flows), "together": fabric.simulate([whole], flows),
            "bound": fabric.bytes * 8e-3 / whole["bound_us"]}


def _background_flows(fabric, count, seed):
    """`count` of each leaf, from its further hosts to another leaf's."""
    draw = random.Random(seed)
    flows = []
    for number in range(count):
        leaves = list(range(LEAVES))
        step = draw.randrange(1, LEAVES)
        flows += [(leaf * fabric.hosts + HOSTS + number, (leaf + step) % LEAVES * fabric.hosts + HOSTS + number)
                  for leaf in leaves]
    return flows


def _link_loads(plan):
    """Flows on each direction of a link between switches, by the plan's switches."""
    loads = {}
    for flow in plan["flows"]:
        for path in flow["paths"]:
            for a, b in zip(path["via"], path["via"][1:]):
                loads[a, b] = loads.get((a, b), 0) + path["share_per_million"] / _WHOLE
    return loads


def _write_counters(fabric, loads, rate_bytes, error, seed):
    """Counters of all links between switches: of each the load, off by the error for _HOLD intervals each."""
    draw = random.Random(seed)
    lines = ["time,link,bytes"]
    ends = [(f"leaf{a}", f"spine{b}") for a in range(LEAVES) for b in range(fabric.spines)]
    for a, b in ends + [(b, a) for a, b in ends]:
        total, rate = 0, loads.get((a, b), 0) * rate_bytes
        for i in range(_INTERVALS + 1):
            if i % _HOLD == 0:
                factor = 1 + error * draw.choice((-1, 1))
            lines.append(f"{1_700_000_000 + i * _INTERVAL_S},{a}:{b},{round(total)}")
            total += rate * factor * _INTERVAL_S
    fabric.write("counters.csv", "\n".join(lines) + "\n")


def _compare_background(fabric, seed, count, size):
    """Gains over the plan without a background, by the error of the counters; and the forecasts' own errors."""
    rings = [(a // HOSTS * fabric.hosts + a % HOSTS, b // HOSTS * fabric.hosts + b % HOSTS)
             for job in jobs_of(fabric, seed) for a, b in job]
    others = _background_flows(fabric, count, seed)
    period_us = fabric.bytes * 8e-3 / RATE_GBITS
    plans, flows = [], [(a, b, fabric.bytes) for a, b in rings]
    if others:
        plans.append(fabric.plan("others", others, "--lab-addresses", paths=1))
        flows += [(a, b, round(size * fabric.bytes)) for a, b in others]
    without = fabric.plan("without", rings)
    rate = lambda plan: fabric.simulate([plan, *plans], flows, len(rings))
    result = {"ecmp": rate(on_one_path(without)), "spraying": fabric.simulate(plans, flows, len(rings)),
              "without": rate(without), "errors": {}}
    for error in _ERRORS if others else ():
        loads = _link_loads(plans[0])
        _write_counters(fabric, loads, size * fabric.bytes / (period_us * 1e-6), error, seed)
        plan = fabric.plan("with", rings, "--background", "counters.csv", "--period", f"{period_us}us")
        background = plan["background"]
        del plan["background"]
        result["errors"][str(round(error * 100))] = {
            "gbits_per_s": rate(plan), "error": background["error"], "used": background["used"]}
    return result


def each_fabric(name, shape, arguments, progress, measure):
    results = []
    for seed in range(1, arguments.fabrics + 1):
        progress.say(seed - 1, arguments.fabrics, name)
        with tempfile.TemporaryDirectory(prefix="heddle-bench-tenants-") as folder:
            results.append(measure(Fabrics(folder, seed, arguments, **shape), seed))
    return results


def _medians(results):
    if not isinstance(results[0], dict):
        return statistics.median(results)
    return {key: _medians([each[key] for each in results]) for key in results[0]}


def run(arguments, progress):
    jobs = []
    for name, shape in SHAPES.items():
        name = f"eight jobs, {name}"
        results = each_fabric(name, shape, arguments, progress, _compare_jobs)
        jobs.append({"case": name, "gbits_per_s": _medians(results), "fabrics": results})
    backgrounds = []
    for percent, count, size in _BACKGROUNDS:
        measure = lambda fabric, seed, of=(count, size): _compare_background(fabric, seed, *of)
        results = each_fabric(f"background {percent}%", {"spines": 8, "more_hosts": _MORE_HOSTS}, arguments, progress,
                              measure)
        backgrounds.append({"percent": percent, "medians": _medians(results), "fabrics": results})
    return {"tenants": jobs, "backgrounds": backgrounds, "bytes": arguments.bytes, "paths": arguments.paths,
            "theirs": theirs.FIGURES, "machine": describe(), "exit_status": 0}


def show(document):
    print(f"Gb/s of each flow by the time of the last, {document['bytes'] / 1e6:g} MB, {document['paths']} paths; "
          "median of the fabrics\n")
    row("", "ECMP", "spraying", "planned alone", "--beside", "leases", "all at once", "bound", theirs.HEAD)
    for case in document["tenants"]:
        of = case["gbits_per_s"]
        row(case["case"], *(f"{of[key]:.1f}" for key in ("ecmp", "spraying", "alone", "beside", "leases", "together",
                                                         "bound")), theirs.rate(case["case"]))
    theirs.note()
    print("\nBeside a background without a plan, as a multiple of spraying on the same fabric, by the error of the "
          "counters\n(in brackets: the forecast's own error, and how much of it was used)\n")
    row("", "spraying, Gb/s", "ECMP", "unknowing plan", *(f"{round(error * 100)}%" for error in _ERRORS))
    for case in document["backgrounds"]:
        of, fabrics = case["medians"], case["fabrics"]
        share = lambda rate, among=fabrics: statistics.median(rate(each) / each["spraying"] for each in among)
        row(f"{case['percent']}%", f"{of['spraying']:.1f}",
            *(f"{share(lambda each, of=key: each[of]):.2f}" for key in ("ecmp", "without")),
            *(f"{share(lambda each, of=error: each['errors'][of]['gbits_per_s']):.2f} "
              f"({found['error'] * 100:.0f}, {found['used'] * 100:.0f})" for error, found in of["errors"].items()))
