"""One connection over four spines, one of them slow, and all permutations of hosts: heddle and TCP.

A lab of namespaces whose switches hash ports as hardware does. "Payload capacity" is the sum of the links'
rates times the payload's share of a frame, (MTU - 28 - 40) / (MTU + 14).
"""

import itertools

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine, override, payload_share
from harness.flows import Contest, Heddle, Tcp
from harness.machine import describe
from harness.meanwhile import summary
from harness.mptcp import Mptcp, kernel_has_mptcp
from harness.report import cpu_note, disturbance_note, row
from harness.rounds import interleave, spread, text
from harness.simulated import simulate

SUMMARY = "one connection over many paths, a slow spine, and all permutations of hosts, in a lab"

_SPINES, _SPINE_MBITS, _SLOW_MBITS = 4, 200, 50
_MTUS = (1500, 9000)


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=4, metavar="N", help="how long one measurement takes [4]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="rounds [5]")
    parser.add_argument("--mtu", type=int, action="append", choices=_MTUS, help="this MTU only [1500 and 9000]")
    parser.add_argument("--paths", type=int, default=32, metavar="N", help="paths of heddle's connections [32]")
    parser.add_argument("--cc", default="cubic", help="heddle's congestion control [cubic]")
    parser.add_argument("--only", choices=["spines", "permutations"], help="this part only")


def _programs(arguments, address):
    programs = [Heddle(f"heddle, {arguments.paths} paths, {arguments.cc}", arguments.paths, arguments.cc),
                Tcp(1), Tcp(8), Tcp(16)]
    return programs + ([Mptcp(8, address, "8 subflows")] if kernel_has_mptcp() else [])


def _spines(arguments, mtu, slow, progress):
    more = override(("leaf0", "spine0"), rate=f"{_SLOW_MBITS}Mbit/s", queue="31250B") + \
        override(("leaf1", "spine0"), rate=f"{_SLOW_MBITS}Mbit/s", queue="31250B") if slow else ""
    rates = _SPINES * _SPINE_MBITS - (_SPINE_MBITS - _SLOW_MBITS if slow else 0)
    capacity = rates * payload_share(mtu)
    with Fabric(leaf_spine(spines=_SPINES, mtu=mtu, more=more)) as fabric:
        flows = [("h0", "h2")]
        programs = _programs(arguments, fabric.address("h2"))
        contests = [Contest(fabric, program, flows, arguments.seconds) for program in programs]
        samples = interleave(contests, arguments.pairs, progress)
        simulated = simulate(fabric.file, flows, arguments.paths, arguments.cc)[0]["goodput_mbits_per_s"]
    return {"mtu_bytes": mtu, "slow_spine": slow, "payload_capacity_mbits_per_s": capacity,
            "simulated_to_capacity": simulated / capacity,
            "programs": [_summary(name, runs, capacity) for name, runs in samples.items()]}


def _summary(name, runs, capacity):
    goodput = [run.flows[0]["goodput_mbits_per_s"] for run in runs]
    return {"program": name, "goodput_mbits_per_s": spread(goodput),
            "to_capacity": spread([one / capacity for one in goodput]),
            "repeated_max": max(run.flows[0].get("repeated", 0) for run in runs),
            "cpu_share": spread([run.cpu_share for run in runs]),
            "machine": summary(runs)}


def _derangements(hosts):
    """The destination of each host, for all permutations in which no host sends to itself."""
    for targets in itertools.permutations(hosts):
        if all(source != to for source, to in zip(hosts, targets)):
            yield list(zip(hosts, targets))


def fair_share(flows, leaf_of, host_mbits, leaf_mbits):
    """Max-min fair rates in Mb/s, with a leaf's uplinks as one pipe, as over perfectly balanced paths."""
    pipes = {}
    for number, (source, to) in enumerate(flows):
        names = [("host up", source), ("host down", to)]
        if leaf_of[source] != leaf_of[to]:
            names += [("leaf up", leaf_of[source]), ("leaf down", leaf_of[to])]
        for name in names:
            pipes.setdefault(name, [leaf_mbits if name[0].startswith("leaf") else host_mbits, set()])[1].add(number)
    rates = {}
    while len(rates) < len(flows):
        name, share = min(((name, capacity / len(members)) for name, (capacity, members) in pipes.items() if members),
                          key=lambda one: one[1])
        for number in list(pipes[name][1]):
            rates[number] = share
            for pipe in pipes.values():
                if number in pipe[1]:
                    pipe[1].remove(number)
                    pipe[0] -= share
    return [rates[number] for number in range(len(flows))]


def _permutations(arguments, leaves, hosts_per_leaf, progress):
    host_mbits, mtu, spines = 100, 1500, 4
    spine_mbits = host_mbits * hosts_per_leaf // spines
    text_of = leaf_spine(leaves, spines, hosts_per_leaf, mtu, f"{host_mbits}Mbit/s", "62500B",
                         f"{spine_mbits}Mbit/s", f"{spine_mbits * 625}B")
    hosts = [f"h{i}" for i in range(leaves * hosts_per_leaf)]
    leaf_of = {host: i // hosts_per_leaf for i, host in enumerate(hosts)}
    programs = [Heddle(f"heddle, {arguments.paths} paths, {arguments.cc}", arguments.paths, arguments.cc), Tcp(1)]
    worst = {program.name: [] for program in programs}
    kept, simulated = [], []
    with Fabric(text_of) as fabric:
        for flows in _derangements(hosts):
            fair = [one * payload_share(mtu)
                    for one in fair_share(flows, leaf_of, host_mbits, host_mbits * hosts_per_leaf)]
            contests = [Contest(fabric, program, flows, arguments.seconds) for program in programs]
            for name, runs in interleave(contests, 1, progress).items():
                reached = [one["goodput_mbits_per_s"] for one in runs[0].flows]
                worst[name].append(min(got / share for got, share in zip(reached, fair)))
                kept += runs
            reached = simulate(fabric.file, flows, arguments.paths, arguments.cc, seconds=arguments.seconds)
            simulated.append(min(one["goodput_mbits_per_s"] / share for one, share in zip(reached, fair)))
    return {"leaves": leaves, "hosts_per_leaf": hosts_per_leaf, "permutations": len(simulated),
            "worst_pair_to_fair_share": {name: spread(values) for name, values in worst.items()},
            "simulated_worst_pair_to_fair_share": spread(simulated),
            "cpu_share": spread([run.cpu_share for run in kept]), "machine": summary(kept)}


def run(arguments, progress):
    need_network_rights()
    document = {"scenario": "multipath", "machine": describe(), "rounds": arguments.pairs,
                "seconds": arguments.seconds, "spines": [], "permutations": []}
    if arguments.only != "permutations":
        for mtu in arguments.mtu or _MTUS:
            for slow in (False, True):
                document["spines"].append(_spines(arguments, mtu, slow, progress))
    if arguments.only != "spines":
        for leaves, hosts in ((2, 2), (4, 1)):
            document["permutations"].append(_permutations(arguments, leaves, hosts, progress))
    return document


def show(document):
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn")
    for part in document["spines"]:
        slow = f", one of them {_SLOW_MBITS} Mb/s" if part["slow_spine"] else ""
        print(f"\nOne connection, {_SPINES} spines of {_SPINE_MBITS} Mb/s{slow}, MTU {part['mtu_bytes']}; "
              f"payload capacity {part['payload_capacity_mbits_per_s']:.0f} Mb/s")
        row("", "Mb/s", "of capacity", "CPU busy")
        for program in part["programs"]:
            row(program["program"], text(program["goodput_mbits_per_s"], 0), text(program["to_capacity"], 3),
                text(program["cpu_share"], 2))
        row("heddle, simulated", "", f"{part['simulated_to_capacity']:.3f}")
        cpu_note(part["programs"])
    for part in document["permutations"]:
        print(f"\nAll {part['permutations']} permutations of {part['leaves']} leaves x {part['hosts_per_leaf']} hosts, "
              f"4 spines: the worst pair to its fair share")
        for name, values in part["worst_pair_to_fair_share"].items():
            row(name, text(values, 3))
        row("heddle, simulated", text(part["simulated_worst_pair_to_fair_share"], 3))
        row("CPU busy", text(part["cpu_share"], 2))
        disturbance_note([part["machine"]])
