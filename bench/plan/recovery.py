"""One of eight uplinks fails while flows are sent: rates before and after, and the time to recover. Simulated.

Hosts of 100 Gb/s on two leaves, eight on each, that send to the host with their number on the other leaf. At 3 ms the
cable leaf0 - spine0 fails: its two switches avoid it at once, all others after the convergence that is assumed. Planned
flows then keep the plan from before, which their hash spreads anew, until a plan of all flows without the cable
replaces it (heddle sim --replan), at a time after the failure that is assumed, too. Rates are those of the receivers'
links, headers included, so the limit is 100, and 87.5 after the failure. A flow's rate "before" is the mean of the last
2 ms, "after" that of the last 8 ms. "lowest" is the least mean of all flows in a millisecond; they have recovered when
the last such mean that is more than 5% below the one after the failure has ended.
"""

import pathlib
import statistics
import tempfile

from harness.machine import describe
from harness.report import row
from plan import theirs
from plan.fabrics import HOSTS, RATE_GBITS, heddle, workload

_SPINES = 8
_BIN_US = 100
_FAILS_US, _UNTIL_US = 3_000, 32_000
_BEFORE_US, _AFTER_US, _WINDOW_US = 2_000, 8_000, 1_000
_WITHIN = 0.95
_BYTES = 500_000_000  # of a flow: more than it sends until the end
_STRATEGIES = (("ECMP, one path", "ecmp"), ("heddle, spraying", "spraying"), ("heddle, plan from before", "stale_plan"),
               ("heddle, planned again", "replan"))


def add_arguments(parser):
    parser.add_argument("--convergence-ms", type=float, default=5, metavar="MS",
                        help="with --recovery: from the failure until all switches have other routes [5]")
    parser.add_argument("--replan-ms", type=float, default=10, metavar="MS",
                        help="with --recovery: from the failure until connections have another plan [10]")


def _fabric(seed):
    return (f'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 2\nspines = {_SPINES}\nhosts_per_leaf = {HOSTS}\n'
            f'hash_seed = {seed}\n')


def _flows():
    return [(host, (host + HOSTS) % (2 * HOSTS)) for host in range(2 * HOSTS)]


def _rates(series):
    """Of each flow, in Gb/s, by bin: what its receiver's link carries."""
    return [[share * RATE_GBITS for share in link["utilization"]] for link in series["links"]
            if link["from"].startswith("leaf") and link["to"].startswith("h")]


def _mean(flows, begin_us, end_us):
    """Of each flow between two times."""
    return [statistics.mean(rates[round(begin_us / _BIN_US):round(end_us / _BIN_US)]) for rates in flows]


def _dip(flows, after):
    """The least mean rate of a millisecond after the failure, and when the last such mean below 95% of `after` ends."""
    together = [statistics.mean(rates) for rates in zip(*flows)]
    bins = _WINDOW_US // _BIN_US
    means = {begin: statistics.mean(together[begin:begin + bins])
             for begin in range(_FAILS_US // _BIN_US, (_UNTIL_US - _AFTER_US) // _BIN_US)}
    below = [begin for begin, mean in means.items() if mean < _WITHIN * after]
    recovered_us = (below[-1] + bins) * _BIN_US - _FAILS_US if below else 0
    return {"lowest": min(means.values()), "recovered_ms": recovered_us / 1e3}


def _measure(folder, how, arguments):
    done = heddle(folder, "sim", "--topology", "failing.toml", "--workload", "flows.toml", "--json", "--convergence",
                  f"{arguments.convergence_ms}ms", "--until", f"{_UNTIL_US}us", "--series", f"{_BIN_US}us", *how,
                  exits=(1,))  # no flow has ended then
    flows = _rates(done["series"])
    before = _mean(flows, _FAILS_US - _BEFORE_US, _FAILS_US)
    after = _mean(flows, _UNTIL_US - _AFTER_US, _UNTIL_US)
    return {"before": statistics.mean(before), "before_worst": min(before), "after": statistics.mean(after),
            "after_worst": min(after), **_dip(flows, statistics.mean(after))}


def _on_fabric(folder, seed, arguments):
    write = lambda name, text: pathlib.Path(folder, name).write_text(text, encoding="utf-8")
    write("fabric.toml", _fabric(seed))
    write("failing.toml", _fabric(seed) + f'[[fault]]\nat = "{_FAILS_US}us"\nlink = ["leaf0", "spine0"]\n'
          'kind = "down"\n')
    write("flows.toml", workload(_flows(), _BYTES))
    plan = lambda name, *more: heddle(folder, "plan", "--topology", "fabric.toml", "--workload", "flows.toml",
                                      "--paths", arguments.paths, "-o", name, "--json", *more)
    plan("plan.json")
    plan("again.json", "--failed", "leaf0:spine0")
    at_us = _FAILS_US + arguments.replan_ms * 1e3
    hows = {"ecmp": ("--paths", 1), "spraying": ("--paths", arguments.paths), "stale_plan": ("--plan", "plan.json"),
            "replan": ("--plan", "plan.json", "--replan", f"{at_us:g}us:again.json")}
    return {name: _measure(folder, how, arguments) for name, how in hows.items()}


def run(arguments, progress):
    fabrics = []
    for seed in range(1, arguments.fabrics + 1):
        progress.say(seed - 1, arguments.fabrics, "a failure")
        with tempfile.TemporaryDirectory(prefix="heddle-bench-recovery-") as folder:
            fabrics.append(_on_fabric(folder, seed, arguments))
    return {"recovery": fabrics, "convergence_ms": arguments.convergence_ms, "replan_ms": arguments.replan_ms,
            "paths": arguments.paths, "theirs": theirs.FIGURES, "machine": describe(), "exit_status": 0}


def _text(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def show(document):
    print("Gb/s of a flow, headers included: mean, and worst flow; all switches have other routes "
          f"{document['convergence_ms']:g} ms after the failure,\nconnections another plan "
          f"{document['replan_ms']:g} ms after it; both are assumed\n")
    row("", "before", "before, worst", "lowest", "recovered after ms", "after", "after, worst", theirs.HEAD)
    for name, key in _STRATEGIES:
        of = [fabric[key] for fabric in document["recovery"]]
        row(name, *(_text([each[field] for each in of], 1)
                    for field in ("before", "before_worst", "lowest", "recovered_ms", "after", "after_worst")),
            theirs.failed_uplink(key))
    theirs.note()
