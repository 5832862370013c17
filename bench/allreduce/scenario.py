"""All-reduce (and reduce-scatter, all-to-all) between ranks in separate network namespaces: heddle, Open MPI
over TCP, the Gloo library and Gloo through PyTorch; on links without a rate limit, on a shaped fabric, on two
sites that a slow link joins, or on one host. Limits for comparison: on links, UDP sockets that move the same
bytes without a protocol (the kernel's throughput); on the fabric, several TCP flows from each host to the next.

Every rank is a process; programs must use the network, except on one host. TCP's congestion control is cubic,
the fastest for these peers here. Times are means over a run's calls, in place; the table has medians over
rounds. heddle runs twice in each round: the difference of the two shows the noise. Bus bandwidth is defined
as in nccl-tests. With --algorithms, heddle's choice is compared with each algorithm pinned.
"""

import contextlib
import os

from harness.bridge import Bridge
from harness.cable import need_network_rights
from harness.collectives import Gloo, Heddle, OpenMpi, RawUdp, TcpFlows, Tools, TorchGloo, cubic, factor, sizes
from harness.failure import CannotMeasure
from harness.fabric import WAN, Fabric, leaf_spine, wan
from harness.machine import describe
from harness.meanwhile import summary
from harness.ranks import OneHost
from harness.report import cpu_note, row
from harness.rounds import interleave, ratio, spread, text

SUMMARY = "all-reduce, reduce-scatter and all-to-all of ranks, beside Open MPI and Gloo"

_TESTS = ("allreduce", "reducescatter", "alltoall")
# First bytes, last bytes, calls.
_GROUPS = ((1024, 16384, 400), (65536, 1 << 20, 60), (4 << 20, 64 << 20, 5))
_SLOW_GROUPS = ((1024, 16384, 400), (65536, 1 << 20, 10), (4 << 20, 64 << 20, 1))
_WAN_GROUPS = ((1024, 16384, 5), (65536, 1 << 20, 2), (4 << 20, 4 << 20, 1))
_MTU = 9000
_TCP_FLOWS = 8
_MPI_LINKS = "4"  # the fastest there: with 8, Open MPI 4.1.4 hangs from 64 KiB on
_ALGORITHMS = {"allreduce": ("ring", "halving_doubling", "recursive_doubling", "tree"),
               "reducescatter": ("ring", "pairwise"), "alltoall": ("pairwise", "bruck")}


def add_arguments(parser):
    parser.add_argument("--ranks", type=int, action="append", metavar="N",
                        help="a number of ranks [2 and 4; of wan 4 and 6]")
    parser.add_argument("--on", choices=["links", "fabric", "wan", "host"], default="links",
                        help="links without a rate, the shaped fabric (4 ranks), two sites of half the ranks each, or "
                             "one host, where Open MPI shares memory [links]")
    parser.add_argument("--test", choices=_TESTS, default="allreduce", help="the collective [allreduce]")
    parser.add_argument("--pairs", type=int, default=15, metavar="N", help="rounds [15]")
    parser.add_argument("--most", type=int, default=64 << 20, metavar="BYTES", help="the largest size [67108864]")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of heddle")
    parser.add_argument("--without", action="append", default=[], choices=["gloo", "torch", "mpi", "limit"],
                        help="leave it out")
    parser.add_argument("--algorithms", action="store_true",
                        help="beside heddle's own algorithms, each pinned, and no other program")


class _Contest:
    def __init__(self, network, program, test, groups):
        self.name = program.name
        self._network, self._program, self._test, self._groups = network, program, test, groups

    def run(self):
        return self._program.run(self._network, self._test, self._groups)


def _programs(arguments, tools, on_one_host, fabric, ranks):
    words = list(arguments.set)
    programs = [Heddle(words), Heddle(words, name="heddle again")]
    if arguments.algorithms:
        names = list(_ALGORITHMS[arguments.test])
        if arguments.test == "allreduce" and ranks > 2 and ranks % 2 == 0:
            names.append(f"two_level/{ranks // 2}")
        return programs + [Heddle([*words, f"algorithm={arguments.test}:{name}"], name=name) for name in names]
    if "mpi" not in arguments.without:
        programs.append(OpenMpi(tools, shared_memory=on_one_host))
        if fabric:
            programs.append(OpenMpi(tools, ["--mca", "btl_tcp_links", _MPI_LINKS],
                                    name=f"Open MPI, btl_tcp_links {_MPI_LINKS}"))
    if "gloo" not in arguments.without and arguments.test == "allreduce":
        programs.append(Gloo(tools))
    if "torch" not in arguments.without and arguments.test != "reducescatter":
        programs.append(TorchGloo())
    if "limit" not in arguments.without:
        if arguments.on == "links" and arguments.test == "allreduce" and arguments.most >= RawUdp.LEAST_BYTES:
            programs.append(RawUdp(tools))
        if fabric and arguments.test != "alltoall" and arguments.most >= TcpFlows.LEAST_BYTES:
            programs.append(TcpFlows(_TCP_FLOWS))
    return programs


def _measure(arguments, network, progress):
    of_network = {"fabric": _SLOW_GROUPS, "wan": _WAN_GROUPS}.get(arguments.on, _GROUPS)
    groups = [group for group in of_network if group[0] <= arguments.most]
    groups = [(first, min(last, arguments.most), calls) for first, last, calls in groups]
    with Tools() as tools:
        programs = _programs(arguments, tools, arguments.on == "host", arguments.on == "fabric",
                             len(network.hosts))
        contests = [_Contest(network, program, arguments.test, groups) for program in programs]
        samples = interleave(contests, arguments.pairs, progress)
    return samples, [size for group in groups for size, _ in sizes(group)]


def _table(samples, all_sizes):
    rows = []
    for size in all_sizes:
        times = {name: [run.times[size] for run in runs] for name, runs in samples.items() if size in runs[0].times}
        own = times["heddle"]
        rows.append({"bytes": size, "us": {name: spread(values) for name, values in times.items()},
                     "ratio": {name: ratio(values, own) for name, values in times.items() if name != "heddle"},
                     "algorithm": samples["heddle"][0].algorithms[size]})
    return rows


def _network_of(arguments, ranks):
    if arguments.on == "fabric":
        return Fabric(leaf_spine(mtu=_MTU))
    if arguments.on == "wan":
        return Fabric(wan(hosts_per_leaf=ranks // 2))
    return OneHost(ranks) if arguments.on == "host" else Bridge(ranks, _MTU)


def run(arguments, progress):
    if arguments.on != "host":
        need_network_rights()
    counts = {"fabric": [4], "wan": arguments.ranks or [4, 6]}.get(arguments.on, arguments.ranks or [2, 4])
    if arguments.on == "wan" and any(ranks % 2 for ranks in counts):
        raise CannotMeasure("two sites have half of the ranks each", "give an even number of ranks")
    parts = []
    for ranks in counts:
        with _network_of(arguments, ranks) as network:
            with cubic(network) if arguments.on != "host" else contextlib.nullcontext():
                samples, all_sizes = _measure(arguments, network, progress)
        parts.append({"ranks": ranks, "rows": _table(samples, all_sizes),
                      "programs": [{"program": name, "cpu_share": spread([run.meanwhile.cpu_share for run in runs]),
                                    "machine": summary(runs)} for name, runs in samples.items()]})
    return {"scenario": "allreduce", "machine": describe(), "test": arguments.test, "on": arguments.on,
            "mtu_bytes": 1500 if arguments.on == "wan" else _MTU, "tcp_congestion_control": "cubic", "parts": parts}


def _size(count):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count // unit} {name}"
    return f"{count} B"


def _cells(names, values, write):
    return [write(values[name]) if name in values else "" for name in names]


def show(document):
    where = {"links": "links without a rate", "fabric": "2 leaves, 4 spines of 200 Mb/s, hosts at 1 Gb/s",
             "wan": WAN, "host": "one host"}[document["on"]]
    print(f"{document['test']} on {where}, {os.cpu_count()} cores; in place, TCP cubic")
    for part in document["parts"]:
        names = [one["program"] for one in part["programs"]]
        print(f"\n{part['ranks']} ranks: microseconds a call, median (least to most)")
        row("", *names)
        for one in part["rows"]:
            row(_size(one["bytes"]), *_cells(names, one["us"], lambda times: text(times, 0)))
        print("\n  their time to heddle's, round by round (above 1: heddle is faster)")
        row("", *names[1:])
        for one in part["rows"]:
            row(_size(one["bytes"]), *_cells(names[1:], one["ratio"], lambda ratios: text(ratios, 2)))
        print("\n  bus bandwidth, GB/s")
        row("", *names, "heddle's algorithm")
        for one in part["rows"]:
            scale = factor(document["test"], part["ranks"]) * one["bytes"] / 1e3
            speeds = _cells(names, one["us"], lambda times, scale=scale: f"{scale / times['median']:.3f}")
            row(_size(one["bytes"]), *speeds, one["algorithm"])
        cpu_note(part["programs"])
