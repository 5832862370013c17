"""Advice on simulated jobs whose best change is known by construction: how often it is named first, and how far its
predicted gain is from the gain of a simulation of the changed job with other seeds.

Rings in a drawn order across a slow spine (the order of leaves is best), ranks on as many leaves as there are while one
leaf has hosts for all (the fewest leaves), an all-reduce by a tree (a ring), one bucket behind the whole computation
(several), a job whose communication is hidden, and one that its hosts' links bind (nothing gains). A recording is made
of each by `heddle sim --trace`, and `heddle plan advise` sees the recording alone. Accumulation of gradients, which
changes the batch, does not count as first.
"""

import json
import pathlib
import random
import statistics
import subprocess
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built
from harness.report import row

SUMMARY = "advice on simulated jobs: how often the best change is named first, and errors of predicted gains"

_STEPS = 5
_TRANSPORT = ("--initial-window", "64KB", "--burst", "64KB")
_TRUTH_SEED = 1_000  # of simulations of changed jobs; advice has seeds from 1


def add_arguments(parser):
    parser.add_argument("--jobs", type=int, default=5, metavar="N", help="of each kind, with seeds of their own [5]")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="of the advice [5]")


def _fabric(leaves, hosts, spines, spine_rate):
    return (f'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = {leaves}\nspines = {spines}\n'
            f'hosts_per_leaf = {hosts}\n[host_link]\nrate = "10Gbit/s"\n[switch_link]\nrate = "{spine_rate}Gbit/s"\n')


def _ring(hosts, size, algorithm="ring"):
    names = ", ".join(f'"h{host}"' for host in hosts)
    return (f'version = 1\n[[job]]\nkind = "all_reduce"\nalgorithm = "{algorithm}"\nbytes = "{size}B"\n'
            f'count = {_STEPS}\nhosts = [{names}]\n')


def _program(ranks, actions):
    listed = ", ".join(f'"{action}"' for action in actions)
    return (f'version = 1\n[[job]]\nkind = "program"\nranks = {ranks}\n[[job.communicator]]\nname = "all"\n'
            f'ranks = ["0..{ranks - 1}"]\n[[job.program]]\nranks = ["0..{ranks - 1}"]\nrepeat = {_STEPS}\n'
            f'actions = [{listed}]\n')


def _backward(buckets, size, compute_us):
    """A computation in equal parts, each with an asynchronous all-reduce behind it."""
    actions = []
    for i in range(buckets):
        actions += [f"compute {compute_us // buckets}us", f"all_reduce all {size // buckets}B ring as b{i}"]
    return actions + [f"wait b{i}" for i in range(buckets)]


def _rank_order(draw):
    hosts = [host for pair in zip(range(4), range(4, 8)) for host in pair]
    # Swaps within a leaf leave each hop across the spine.
    left, right = hosts[::2], hosts[1::2]
    draw.shuffle(left)
    draw.shuffle(right)
    hosts = [host for pair in zip(left, right) for host in pair]
    size = draw.randrange(1_000_000, 4_000_000)
    return _fabric(2, 4, 1, 10), _ring(hosts, size), _ring(sorted(hosts), size), {"rank_order"}


def _placement(draw):
    hosts = [4 * leaf + draw.randrange(4) for leaf in range(4)]
    size = draw.randrange(1_000_000, 4_000_000)
    return _fabric(4, 4, 1, 2), _ring(hosts, size), _ring(range(4), size), {"placement"}


def _algorithm(draw):
    size = draw.randrange(2_000_000, 8_000_000)
    return _fabric(1, 8, 1, 10), _ring(range(8), size, "tree"), _ring(range(8), size), {"algorithm"}


def _one_bucket(draw):
    """Nothing runs beside the computation until it is over; in four parts, three quarters of the exchange do."""
    size, compute = draw.randrange(750_000, 1_250_000) * 4, draw.randrange(8_000, 12_000, 4)
    return (_fabric(1, 8, 1, 10), _program(8, _backward(1, size, compute)), _program(8, _backward(4, size, compute)),
            {"buckets"})


def _hidden(draw):
    actions = ["all_reduce all 400000B ring as b0", f"compute {draw.randrange(10, 30)}ms", "wait b0"]
    return _fabric(2, 4, 2, 40), _program(8, actions), None, {None}


def _host_links(draw):
    return _fabric(2, 4, 4, 40), _ring(range(8), draw.randrange(8_000_000, 16_000_000)), None, {None}


_KINDS = {"order of ranks": _rank_order, "choice of hosts": _placement, "algorithm": _algorithm,
          "one bucket": _one_bucket, "hidden": _hidden, "hosts' links": _host_links}


def _heddle(folder, *words, may_find=False):
    done = subprocess.run([built("heddle"), *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in ((0, 1) if may_find else (0,)):
        raise CannotMeasure(f"heddle {words[0]} failed: {done.stderr.strip()[-300:]}", "run it by hand")
    return json.loads(done.stdout)


def _step_us(folder, workload, seed, *more):
    document = _heddle(folder, "sim", "--topology", "fabric.toml", "--workload", workload, "--seed", seed, *_TRANSPORT,
                       "--json", *more)
    return statistics.median(step["took_us"] for step in document["jobs"][0]["steps"])


def _judge(folder, fabric, job, changed, seed, arguments):
    for name, text in (("fabric.toml", fabric), ("job.toml", job), ("changed.toml", changed)):
        if text is not None:
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
    _step_us(folder, "job.toml", seed, "--trace", "job")
    advice = _heddle(folder, "plan", "advise", "job", "--topology", "fabric.toml", "--seeds", arguments.seeds, "--json",
                     may_find=True)
    gains = [change for change in advice["changes"]
             if change["why_not"] == "gains" and change["kind"] != "accumulation"]
    first = gains[0] if gains else None
    judged = {"first": first and first["kind"], "name": first and first["name"], "off_by": advice["off_by"],
              "predicted": first["gain"]["mean"] if first else 0.0, "true": 0.0}
    if changed is not None:
        judged["true"] = 1 - (_step_us(folder, "changed.toml", _TRUTH_SEED + seed)
                              / _step_us(folder, "job.toml", _TRUTH_SEED + seed))
    return judged


def run(arguments, progress):
    cases = []
    for name, make in _KINDS.items():
        judged = []
        for seed in range(1, arguments.jobs + 1):
            progress.say(seed - 1, arguments.jobs, name)
            fabric, job, changed, right = make(random.Random(f"{name} {seed}"))
            with tempfile.TemporaryDirectory(prefix="heddle-bench-advise-") as folder:
                judged.append(_judge(folder, fabric, job, changed, seed, arguments))
            judged[-1]["right"] = judged[-1]["first"] in right
        errors = [abs(each["predicted"] - each["true"]) for each in judged]
        cases.append({"case": name, "jobs": judged, "right": sum(each["right"] for each in judged),
                      "error_median": statistics.median(errors), "error_most": max(errors)})
    right = sum(case["right"] for case in cases)
    whole = arguments.jobs * len(cases)
    return {"jobs": arguments.jobs, "seeds": arguments.seeds, "cases": cases, "right": right, "whole": whole,
            "machine": describe(), "exit_status": 0 if right == whole else 1}


def show(document):
    print(f"{document['jobs']} jobs of each kind, {document['seeds']} seeds of the advice; gains are parts of a step\n")
    row("best change", "named first", "predicted", "true", "error, median", "most")
    for case in document["cases"]:
        predicted, true = (statistics.median(each[key] for each in case["jobs"]) for key in ("predicted", "true"))
        row(case["case"], f"{case['right']} of {len(case['jobs'])}", f"{predicted:.1%}", f"{true:.1%}",
            f"{case['error_median']:.1%}", f"{case['error_most']:.1%}")
    print(f"\n  right: {document['right']} of {document['whole']}")
