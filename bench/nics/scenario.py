"""Two NICs on each host, used together: heddle with both, compared with heddle and TCP with one, and MPTCP;
and an all-reduce.

A lab with two rails: first NICs are on one leaf, second ones on another. The only setting of `heddle perf`
and `heddle bench` is `bind`. "Of one NIC" is each round's goodput relative to that of heddle with one NIC in
the same round.
"""

import json
import os
import subprocess
import tempfile

from harness.cable import need_network_rights
from harness.failure import CannotMeasure
from harness.fabric import Fabric, payload_share
from harness.flows import Contest, FlowSample, Heddle, Tcp
from harness.machine import describe
from harness.meanwhile import Meanwhile, summary
from harness.mptcp import Mptcp, kernel_has_mptcp
from harness.pair import built, start
from harness.report import cpu_note, row
from harness.rounds import interleave, ratio, spread, text

SUMMARY = "two NICs a host used together by one connection, and by an all-reduce, in a lab"

_RATES_MBITS = ((500, 500), (500, 100))
_MTU = 1500
_ONE, _BOTH = "nic0", "nic0,nic1"


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=4, metavar="N", help="how long one measurement takes [4]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="rounds [5]")
    parser.add_argument("--paths", type=int, default=8, metavar="N", help="paths of heddle's connections [8]")
    parser.add_argument("--cc", default="cubic", help="heddle's congestion control [cubic]")
    parser.add_argument("--only", choices=["bw", "allreduce"], help="this part only")


def _rails(first_mbits, second_mbits):
    """Two hosts with two NICs; NIC i is on leaf i. Queues are 5 ms."""
    overrides = "".join(f"""[[override]]
link = ["h{host}.1", "leaf1"]
rate = "{second_mbits}Mbit/s"
queue = "{second_mbits * 625}B"
""" for host in range(2)) if second_mbits != first_mbits else ""
    return f"""version = 1
[fabric]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
nics_per_host = 2
rails = true
[host_link]
rate = "{first_mbits}Mbit/s"
queue = "{first_mbits * 625}B"
mtu = {_MTU}
{overrides}"""


def _heddle(arguments, name, nics):
    return Heddle(f"heddle, {name}", arguments.paths, arguments.cc, words=("--set", f"bind={nics}"))


def _bandwidth(arguments, rates, progress):
    with Fabric(_rails(*rates)) as fabric:
        programs = [_heddle(arguments, "one NIC", _ONE), _heddle(arguments, "two NICs", _BOTH), Tcp(1)]
        if kernel_has_mptcp():
            programs.append(Mptcp(2, fabric.address("h1", 1), "2 NICs", ["--nic"]))
        contests = [Contest(fabric, program, [("h0", "h1")], arguments.seconds) for program in programs]
        samples = interleave(contests, arguments.pairs, progress)
    capacity = sum(rates) * payload_share(_MTU)
    goodput = {name: [run.flows[0]["goodput_mbits_per_s"] for run in runs] for name, runs in samples.items()}
    one = goodput[programs[0].name]
    return {"rates_mbits_per_s": rates, "payload_capacity_mbits_per_s": capacity,
            "programs": [{"program": name, "goodput_mbits_per_s": spread(goodput[name]),
                          "to_one_nic": ratio(goodput[name], one),
                          "to_capacity": spread([each / capacity for each in goodput[name]]),
                          "cpu_share": spread([run.cpu_share for run in runs]), "machine": summary(runs)}
                         for name, runs in samples.items()]}


class AllReduce:
    """`heddle bench` of two ranks, one on each host."""

    def __init__(self, fabric, arguments, name, nics):
        self.name = f"heddle, {name}"
        self._fabric, self._arguments, self._nics = fabric, arguments, nics

    def run(self):
        meanwhile = Meanwhile()
        with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
            ranks = []
            try:
                with meanwhile:
                    ranks += [self._start(rank, folder) for rank in range(2)]
                    for rank in ranks:
                        self._wait(rank)
            finally:
                for rank in ranks:
                    rank.kill()
                    rank.wait()
                    rank.stderr.close()
            with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
                result = json.load(file)["results"][-1]["out_of_place"]
        meanwhile.settle()
        return FlowSample([{"goodput_mbits_per_s": result["bus_bw"] * 8e3}], meanwhile)

    def _start(self, rank, folder):
        # A call moves 16 MiB in each direction: about 0.3 s through one NIC of 500 Mb/s.
        calls = str(max(1, self._arguments.seconds * 3))
        command = ["env", f"HEDDLE_RANK={rank}", "HEDDLE_SIZE=2", f"HEDDLE_STORE=file://{folder}/store",
                   f"HEDDLE_BIND={self._nics}", f"HEDDLE_PATHS={self._arguments.paths}",
                   f"HEDDLE_CONGESTION={self._arguments.cc}", "HEDDLE_SPIN=never", built("heddle"), "bench",
                   "allreduce", "-b", "16M", "-e", "16M", "-n", calls, "-J", os.path.join(folder, "out.json")]
        return start(self._fabric.inside(f"h{rank}", command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def _wait(self, rank):
        try:
            _, complaint = rank.communicate(timeout=60 + 10 * self._arguments.seconds)
        except subprocess.TimeoutExpired as late:
            raise CannotMeasure("the all-reduce does not end", "run it by hand") from late
        if rank.returncode != 0:
            raise CannotMeasure(f"`heddle bench` failed: {complaint.strip()[-400:]}", "run it by hand")


def _all_reduce(arguments, progress):
    rates = _RATES_MBITS[0]
    with Fabric(_rails(*rates)) as fabric:
        contests = [AllReduce(fabric, arguments, "one NIC", _ONE), AllReduce(fabric, arguments, "two NICs", _BOTH)]
        samples = interleave(contests, arguments.pairs, progress)
    rate = {name: [run.flows[0]["goodput_mbits_per_s"] for run in runs] for name, runs in samples.items()}
    one = rate[contests[0].name]
    return [{"program": name, "busbw_mbits_per_s": spread(rate[name]), "to_one_nic": ratio(rate[name], one),
             "cpu_share": spread([run.cpu_share for run in runs]), "machine": summary(runs)}
            for name, runs in samples.items()]


def run(arguments, progress):
    need_network_rights()
    document = {"scenario": "nics", "machine": describe(), "rounds": arguments.pairs, "seconds": arguments.seconds,
                "paths": arguments.paths, "bandwidth": [], "allreduce": []}
    if arguments.only != "allreduce":
        for rates in _RATES_MBITS:
            document["bandwidth"].append(_bandwidth(arguments, rates, progress))
    if arguments.only != "bw":
        document["allreduce"] = _all_reduce(arguments, progress)
    return document


def show(document):
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn; "
          f"{document['paths']} paths, MTU {_MTU}")
    for part in document["bandwidth"]:
        first, second = part["rates_mbits_per_s"]
        print(f"\nOne connection, NICs of {first} and {second} Mb/s a host; both carry "
              f"{part['payload_capacity_mbits_per_s']:.0f} Mb/s of payload")
        row("", "Mb/s", "of one NIC", "of both", "CPU busy")
        for program in part["programs"]:
            row(program["program"], text(program["goodput_mbits_per_s"], 0), text(program["to_one_nic"], 2),
                text(program["to_capacity"], 3), text(program["cpu_share"], 2))
        cpu_note(part["programs"])
    if document["allreduce"]:
        print("\nAll-reduce of 16 MiB on two hosts, NICs of 500 and 500 Mb/s")
        row("", "bus Mb/s", "of one NIC", "CPU busy")
        for program in document["allreduce"]:
            row(program["program"], text(program["busbw_mbits_per_s"], 0), text(program["to_one_nic"], 2),
                text(program["cpu_share"], 2))
        cpu_note(document["allreduce"])
