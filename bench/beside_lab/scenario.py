"""The simulator compared with real packets: one workload over one fabric, in a lab of namespaces and
simulated.

Eight hosts on two leaves and two spines, with links slow enough that this machine is not the limit. A
permutation, an incast of seven to one, and a job of ring all-reduces. Simulated hosts are configured like
those over sockets (windows begin with 64 KB, bursts have up to 64 KB). Real times differ between rounds, so
the median of all rounds is compared with the median of as many seeds.
"""

import dataclasses
import json
import pathlib
import subprocess
import tempfile

from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import Meanwhile, summary
from harness.pair import built
from harness.report import disturbance_note, row
from harness.rounds import interleave, spread

SUMMARY = "flow and step times of the simulator beside real packets in a lab, over one fabric and workload"

_HOSTS = 8
# Largest difference of the simulator's median tail, as a share of the real one.
_BOUND = 0.1
# Bytes that take one to three seconds at 10 Mb/s.
_WORKLOADS = {
    "permutation": '[[job]]\nkind = "permutation"\nbytes = "2MB"\n',
    "incast, 7 to 1": '[[job]]\nkind = "incast"\nto = "h0"\nbytes = "400KB"\n',
    "ring all-reduce": '[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "1MB"\ncount = 2\n',
}


def add_arguments(parser):
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="rounds, and seeds of the simulator [5]")
    parser.add_argument("--mbits", type=int, default=10, metavar="N", help="rate of a host's link [10]")
    parser.add_argument("--paths", type=int, default=16, metavar="N", help="paths of a connection [16]")
    parser.add_argument("--cc", default="cubic", help="congestion control [cubic]")
    parser.add_argument("--bound", type=float, default=_BOUND, metavar="PART",
                        help=f"off by more of the real time is told as wrong [{_BOUND}]")


def _fabric(mbits):
    """Both spines together have the capacity of four hosts; queues are 5 ms."""
    return leaf_spine(leaves=2, spines=2, hosts_per_leaf=4, host_rate=f"{mbits}Mbit/s", host_queue=f"{mbits * 625}B",
                      spine_rate=f"{2 * mbits}Mbit/s", spine_queue=f"{2 * mbits * 625}B")


@dataclasses.dataclass
class _Sample:
    meanwhile: Meanwhile
    document: dict
    made_again: int = 0


class _Real:
    """A workload with real packets. Each round has a different seed, and so another permutation and other
    hash choices.
    """

    def __init__(self, fabric, name, file, arguments):
        self.name, self._file, self._fabric, self._arguments = name, file, fabric, arguments
        self._seed = 0

    def run(self):
        self._seed += 1
        meanwhile = Meanwhile()
        with meanwhile:
            document = _told("workload", "run", self._file, "--lab", self._fabric.name,
                             *_options(self._arguments, self._seed))
        meanwhile.settle()
        return _Sample(meanwhile, document)


def _options(arguments, seed):
    return ["--cc", arguments.cc, "--paths", arguments.paths, "--seed", seed, "--json"]


def _told(*words):
    done = subprocess.run([built("heddle"), *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"heddle {words[0]} failed: {(done.stderr + done.stdout[-300:]).strip()}", "run it by hand")
    return json.loads(done.stdout)


def _simulated(fabric, file, arguments):
    return [_told("sim", "--topology", fabric.file, "--workload", file, "--initial-window", "64KB", "--burst", "64KB",
                  *_options(arguments, seed + 1)) for seed in range(arguments.pairs)]


def _times_ms(document):
    """The slowest and the median time, of flows or of a job's steps."""
    if document["flows"]:
        return document["tail_fct_us"] / 1e3, document["median_fct_us"] / 1e3
    steps = sorted(step["took_us"] / 1e3 for job in document["jobs"] for step in job["steps"])
    return steps[-1], steps[(len(steps) - 1) // 2]


def _case(name, real, simulated, arguments):
    case = {"case": name}
    for place, what in enumerate(("tail", "median")):
        own = spread([_times_ms(document)[place] for document in simulated])
        other = spread([_times_ms(sample.document)[place] for sample in real])
        case[what] = {"real_ms": other, "simulated_ms": own, "off": own["median"] / other["median"] - 1}
    case["machine"] = summary(real)
    case["cpu_share"] = spread([sample.meanwhile.cpu_share for sample in real])
    case["within"] = abs(case["tail"]["off"]) <= arguments.bound
    return case


def run(arguments, progress):
    cases = []
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder, Fabric(_fabric(arguments.mbits)) as fabric:
        files = {}
        for number, (name, text) in enumerate(_WORKLOADS.items()):
            files[name] = pathlib.Path(folder, f"{number}.toml")
            files[name].write_text("version = 1\n" + text, encoding="utf-8")
        contests = [_Real(fabric, name, file, arguments) for name, file in files.items()]
        samples = interleave(contests, arguments.pairs, progress)
        for name, real in samples.items():
            cases.append(_case(name, real, _simulated(fabric, files[name], arguments), arguments))
    return {"hosts": _HOSTS, "mbits": arguments.mbits, "paths": arguments.paths, "cc": arguments.cc,
            "bound": arguments.bound, "machine": describe(), "cases": cases,
            "exit_status": 0 if all(case["within"] for case in cases) else 1}


def show(document):
    print(f"{document['hosts']} hosts of {document['mbits']} Mb/s, {document['cc']}, {document['paths']} paths; "
          "milliseconds, median and range of rounds\n")
    for case in document["cases"]:
        row(case["case"], "real packets", "simulated", "simulated, off by")
        for what in ("tail", "median"):
            cells = [f"{case[what][key]['median']:.0f} ({case[what][key]['min']:.0f} to {case[what][key]['max']:.0f})"
                     for key in ("real_ms", "simulated_ms")]
            row(f"  {what}", *cells, f"{case[what]['off']:+.1%}")
        row("  cores busy", f"{case['cpu_share']['median']:.0%}")
        if not case["within"]:
            print(f"  THE TAIL IS OFF BY MORE THAN {document['bound']:.0%}")
        print()
    disturbance_note([case["machine"] for case in document["cases"]])
