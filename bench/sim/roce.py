"""The same traffic over simulated RoCE NICs, with and without PFC and with switches that balance, and over heddle.

Fabrics of 100 Gb/s links, 1 us a hop: 64 hosts on eight leaves and eight spines, or 1,024 on a fat tree of three tiers
whose leaves have eight uplinks as well. Traffic: a permutation, an incast with victims (flows that share switches with
it, but no host), a ring all-reduce and training steps of 16 ranks on random hosts, and ring all-reduces of 16 ranks
each on all hosts at once. Conditions: packets lost at random on links between switches, or one uplink of the first
leaf missing, to which routes have settled. Seeds differ in the pairs of hosts, in the hosts of the ranks, and in all
random choices of the simulation.
"""

import concurrent.futures
import dataclasses
import os
import random
import statistics

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.report import row
from sim.run import KeptRows, simulate

HOSTS = (64, 1024)
NAMES = ("permutation", "incast", "ring", "rings", "training")
LOSSES = ("0%", "0.01%", "0.1%", "1%")
CONDITIONS = ("no loss", *(f"{share} loss" for share in LOSSES[1:]), "an uplink down")
_BYTES_PER_US = 12_500  # 100 Gb/s
_UNTIL = "2s"

# One switch of 16 ports: 1 MiB a port, as a switch chip of 12.8 Tb/s with 128 MB.
_BUFFER = "16MiB"
# RED for DCQCN. The paper's (SIGCOMM 2015) scaled from 40 Gb/s to 100 Gb/s; and what HPCC (SIGCOMM 2019) gives DCQCN,
# 100 KB and 400 KB at 25 Gb/s, which marks later and is better for short flows.
_MARKING = {"paper": 'ecn_min = "12500B"\necn_max = "500KB"\necn_max_probability = "1%"\n',
            "late": 'ecn_min = "400KB"\necn_max = "1600KB"\necn_max_probability = "20%"\n', "none": ""}
_RANKS = 16


@dataclasses.dataclass(frozen=True)
class System:
    """What carries the traffic: options of heddle sim, and of its switches."""

    name: str
    options: tuple
    pfc: bool = False
    balancing: str = "ecmp"
    marking: str = "none"


def _dcqcn(name, marking="late", **switches):
    return System(name, ("--transport", "roce"), marking=marking, **switches)


SYSTEMS = (
    System("RoCE: PFC alone, ECMP", ("--transport", "roce", "--cc", "none"), pfc=True),
    _dcqcn("RoCE: PFC, DCQCN, ECMP", pfc=True),
    _dcqcn("RoCE: PFC, DCQCN as published, ECMP", "paper", pfc=True),
    _dcqcn("RoCE: lossy, DCQCN, ECMP"),
    _dcqcn("RoCE: PFC, DCQCN, flowlets", pfc=True, balancing="flowlet"),
    _dcqcn("RoCE: PFC, DCQCN, spraying", pfc=True, balancing="spray"),
    _dcqcn("RoCE: PFC, DCQCN, adaptive", pfc=True, balancing="adaptive"),
    System("heddle, 128 paths, CUBIC", ("--paths", "128", "--cc", "cubic")),
    System("heddle, 128 paths, credits", ("--paths", "128", "--cc", "credits")),
)


# --- fabrics ---

def _cables(hosts):
    """(names of switches, cables of hosts, cables between switches); hosts count leaf by leaf, eight a leaf."""
    leaves = hosts // 8
    of_hosts = [(f"h{host}", f"leaf{host // 8}") for host in range(hosts)]
    if hosts == 64:
        spines = [f"spine{spine}" for spine in range(8)]
        between = [(f"leaf{leaf}", spine) for leaf in range(leaves) for spine in spines]
        return [f"leaf{leaf}" for leaf in range(leaves)] + spines, of_hosts, between
    between = []
    for pod in range(leaves // 8):
        for leaf in range(8):
            between += [(f"leaf{8 * pod + leaf}", f"spine{8 * pod + spine}") for spine in range(8)]
        for spine in range(8):
            between += [(f"spine{8 * pod + spine}", f"core{8 * spine + core}") for core in range(8)]
    names = [f"{kind}{number}" for kind, count in (("leaf", leaves), ("spine", leaves), ("core", 64))
             for number in range(count)]
    return names, of_hosts, between


def topology(hosts, system, condition):
    """The topology file of a fabric."""
    switches, of_hosts, between = _cables(hosts)
    loss = condition.split()[0] if condition.endswith("loss") and condition != "no loss" else "0%"
    if condition == "an uplink down":
        between = between[1:]
    link = 'rate = "100Gbit/s"\ndelay = "1us"\nmtu = 4154\n' + _MARKING[system.marking]
    text = ["version = 1\n", f'[switches]\nbuffer = "{_BUFFER}"\nbalancing = "{system.balancing}"',
            "pfc = true\n" if system.pfc else ""]
    text += [f'[[host]]\nname = "h{host}"\n' for host in range(hosts)]
    text += [f'[[switch]]\nname = "{name}"\n' for name in switches]
    text += [f'[[link]]\nends = ["{a}", "{b}"]\n{link}' for a, b in of_hosts]
    text += [f'[[link]]\nends = ["{a}", "{b}"]\nloss = "{loss}"\n{link}' for a, b in between]
    return "\n".join(text)


# --- traffic ---

def _flows(pairs, size):
    return "".join(f'[[flow]]\nfrom = "h{a}"\nto = "h{b}"\nbytes = "{size}B"\n' for a, b in pairs)


def _random_order(hosts, seed):
    order = list(range(hosts))
    random.Random(12 + seed).shuffle(order)
    return order


@dataclasses.dataclass(frozen=True)
class Traffic:
    """A workload file, and what of a run's document counts: name of the figure to times of the ideal."""

    name: str
    text: str
    measure: object


def _slowdowns(flows, ideal_us):
    """Mean and 99th percentile of flow times to the ideal; None where a flow did not arrive."""
    times = sorted(flow["fct_us"] for flow in flows if flow["fct_us"] is not None)
    if len(times) < len(flows):
        return {"mean": None, "p99": None}
    return {"mean": sum(times) / len(times) / ideal_us, "p99": times[-1 - len(times) // 100] / ideal_us}


def _permutation(hosts, size, seed):
    order = _random_order(hosts, seed)
    text = _flows([(order[i - 1], order[i]) for i in range(hosts)], size)
    return Traffic("permutation", text, lambda document: _slowdowns(document["flows"], size / _BYTES_PER_US))


def _incast(hosts, size):
    """Seven hosts of each of some leaves send to h0. Victims: the eighth host of each sends to a leaf of its own, and
    seven hosts of another leaf send to the other hosts of h0's leaf.
    """
    leaves = range(1, 5 if hosts == 64 else 17)
    senders = [8 * leaf + i for leaf in leaves for i in range(7)]
    beside = 8 * (leaves[-1] + 1)
    apart = beside + 8
    victims = [(8 * leaf + 7, apart + i) for i, leaf in enumerate(leaves)] + [(beside + i, 1 + i) for i in range(7)]
    text = _flows([(sender, 0) for sender in senders], size) + _flows(victims, 4 * size)

    def measure(document):
        flows = document["flows"]
        to_one = _slowdowns(flows[:len(senders)], len(senders) * size / _BYTES_PER_US)
        hurt = _slowdowns(flows[len(senders):], 4 * size / _BYTES_PER_US)
        return {"p99": to_one["p99"], "victims_mean": hurt["mean"], "victims_p99": hurt["p99"]}
    return Traffic("incast with victims", text, measure)


def _names(hosts):
    return ", ".join(f'"h{host}"' for host in hosts)


def _job_done(document):
    job = document["jobs"][0]
    return job if job["ranks_done"] == job["ranks"] else None


def _all_reduce(hosts, size, seed):
    text = (f'[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "{size}B"\ncount = 3\n'
            f"hosts = [{_names(_random_order(hosts, seed)[:_RANKS])}]\n")
    ideal_us = 2 * (_RANKS - 1) / _RANKS * size / _BYTES_PER_US

    def measure(document):
        job = _job_done(document)
        times = sorted(call["took_us"] / ideal_us for call in job["calls"]) if job else [None] * 3
        return {"mean": sum(times) / len(times) if job else None, "p99": times[-1]}
    return Traffic("ring all-reduce", text, measure)


def _all_reduces(hosts, size, seed):
    """Rings of 16 ranks on all hosts. A call is measured in the ring whose calls are the slowest."""
    order = _random_order(hosts, seed)
    rings = [order[first:first + _RANKS] for first in range(0, hosts, _RANKS)]
    text = "".join(f'[[job]]\nname = "ring{i}"\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "{size}B"\n'
                   f"count = 3\nhosts = [{_names(ring)}]\n" for i, ring in enumerate(rings))
    ideal_us = 2 * (_RANKS - 1) / _RANKS * size / _BYTES_PER_US

    def measure(document):
        if any(job["ranks_done"] < job["ranks"] for job in document["jobs"]):
            return {"mean": None, "p99": None}
        times = [[call["took_us"] / ideal_us for call in job["calls"]] for job in document["jobs"]]
        return {"mean": statistics.mean(sum(each) / len(each) for each in times), "p99": max(map(max, times))}
    return Traffic("ring all-reduces on all hosts", text, measure)


def _training(hosts, steps, seed):
    text = (f'[[job]]\nkind = "training"\ntensor = 2\npipeline = 4\nlayers = 8\nlayer_bytes = "1MB"\n'
            f'activation_bytes = "250KB"\nmicrobatches = 4\nforward = "200us"\nsteps = {steps}\n'
            f"hosts = [{_names(_random_order(hosts, seed)[:_RANKS])}]\n")

    def measure(document):
        job = _job_done(document)
        times = sorted(step["took_us"] / step["computed_us"] for step in job["steps"]) if job else [None]
        return {"mean": sum(times) / len(times) if job else None, "p99": times[-1]}
    return Traffic("training step", text, measure)


def traffics(hosts, seed):
    return (_permutation(hosts, 2_000_000, seed), _incast(hosts, 500_000), _all_reduce(hosts, 1_000_000, seed),
            _all_reduces(hosts, 1_000_000, seed), _training(hosts, 2, seed))


# --- runs ---

def _case(kept, hosts, seed, parts):
    traffic, condition, system = parts
    fabric, flows = topology(hosts, system, condition), "version = 1\n" + traffic.text
    words = ("--seed", str(seed), "--until", _UNTIL, *system.options)
    return _row(seed, traffic, kept.get(lambda: _of_document(simulate(fabric, flows, words)), fabric, flows, words))


def _of_document(document):
    """What rows are made of."""
    jobs = [{"ranks": job["ranks"], "ranks_done": job["ranks_done"],
             "calls": [{"took_us": call["took_us"]} for call in job["calls"]],
             "steps": [{key: step[key] for key in ("took_us", "computed_us")} for step in job["steps"]]}
            for job in document["jobs"]]
    return {"flows": [{"fct_us": flow["fct_us"]} for flow in document["flows"]], "jobs": jobs,
            **{key: document[key] for key in ("counters", "roce", "flows_failed", "flows_unfinished", "simulated_us",
                                              "wall_s")}}


def _row(seed, traffic, document):
    counters, roce = document["counters"], document["roce"] or {}
    return {"seed": seed, "times_of_ideal": traffic.measure(document),
            "flows_unfinished": document["flows_failed"] + document["flows_unfinished"],
            "queue_drops": counters["packets"]["queue full"], "lost_packets": counters["packets"]["lost"],
            "pauses": counters["pauses"], "paused_us": counters["paused_us"],
            "retransmitted_share": counters["segments_retransmitted"] / max(counters["segments_sent"], 1),
            "reordered_packets": roce.get("reordered_packets"), "timeouts": roce.get("timeouts"),
            "queue_pairs_failed": roce.get("queue_pairs_failed"), "simulated_us": document["simulated_us"],
            "wall_s": document["wall_s"]}


def _over_seeds(values):
    """None where the traffic was not done with some seed."""
    if None in values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def _summary(parts, runs):
    traffic, condition, system = parts
    times = {key: _over_seeds([run["times_of_ideal"][key] for run in runs]) for key in runs[0]["times_of_ideal"]}
    medians = {key: statistics.median(run[key] for run in runs)
               for key in ("queue_drops", "pauses", "retransmitted_share")}
    return {"traffic": traffic, "condition": condition, "system": system, "times_of_ideal": times, **medians,
            "runs": runs}


def _conditions(arguments):
    if arguments.loss:
        return tuple("no loss" if share == "0%" else f"{share} loss" for share in arguments.loss)
    return arguments.conditions or CONDITIONS


def _systems(arguments):
    chosen = tuple(system for system in SYSTEMS
                   if not arguments.systems or any(text in system.name for text in arguments.systems))
    if not chosen:
        raise CannotMeasure(f"no system is called {' or '.join(arguments.systems)}",
                            "use a part of " + "; ".join(system.name for system in SYSTEMS))
    return chosen


def run(arguments, progress):
    hosts = arguments.hosts or HOSTS[0]
    if hosts not in HOSTS:
        raise CannotMeasure(f"--peer roce has no fabric of {hosts} hosts", "use 64 or 1024")
    seeds = range(arguments.seed, arguments.seed + arguments.pairs)
    parts = [(seed, (traffic, condition, system)) for seed in seeds
             for name, traffic in zip(NAMES, traffics(hosts, seed))
             if not arguments.traffic or name in arguments.traffic
             for condition in _conditions(arguments) for system in _systems(arguments)]
    kept, runs = KeptRows(arguments.rows), {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs or len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(_case, kept, hosts, seed, part) for seed, part in parts]
        for number, (future, (seed, part)) in enumerate(zip(futures, parts)):
            progress.say(number, len(parts), f"{part[0].name}, {part[1]}, {part[2].name}, seed {seed}")
            try:
                runs.setdefault((part[0].name, part[1], part[2].name), []).append(future.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    cases = [_summary(part, of_part) for part, of_part in runs.items()]
    return {"peer": "roce", "hosts": hosts, "seeds": list(seeds), "machine": describe(), "cases": cases,
            "exit_status": 0}


# --- text ---

_COLUMNS = {"permutation": (("mean", "mean"), ("p99", "p99")),
            "incast with victims": (("p99", "incast"), ("victims_mean", "victims, mean"),
                                    ("victims_p99", "victims, p99")),
            "ring all-reduce": (("mean", "mean"), ("p99", "slowest")),
            "ring all-reduces on all hosts": (("mean", "mean"), ("p99", "slowest")),
            "training step": (("mean", "mean"), ("p99", "slowest"))}
_IDEALS = {"permutation": "flow time to the payload's time on an idle link",
           "incast with victims": "time to the payload's on the receiver's link; of victims to an idle link",
           "ring all-reduce": "time of a call to 2(n-1)/n S/B",
           "ring all-reduces on all hosts": "time of a call to 2(n-1)/n S/B",
           "training step": "time of a step to its computation"}


def _times(value):
    return "not done" if value is None else f"{value['median']:.2f}"


def show(document):
    print(f"{document['hosts']} hosts, 100 Gb/s, 1 us a hop, eight uplinks a leaf; simulated; medians over "
          f"{len(document['seeds'])} seeds\n")
    for traffic, columns in _COLUMNS.items():
        cases = [case for case in document["cases"] if case["traffic"] == traffic]
        if not cases:
            continue
        print(f"{traffic}: {_IDEALS[traffic]}")
        for condition in CONDITIONS:
            row(condition, *(title for _, title in columns), "queue drops", "pauses", "retransmitted")
            for case in (case for case in cases if case["condition"] == condition):
                row("  " + case["system"], *(_times(case["times_of_ideal"][key]) for key, _ in columns),
                    case["queue_drops"], case["pauses"], f"{case['retransmitted_share']:.2%}")
        print()
