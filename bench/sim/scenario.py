"""The simulator at scale: heddle's transport on 1,024 hosts, and htsim where it is installed.

A permutation of 2 MB flows over a three-tier fat tree of 100 Gb/s links, 1 us a hop, with 128 paths and with
one; and incasts of 15 and 127 senders. Flow times are measured from open connections. htsim's EQDS trims
packets; heddle's figures are without trimming. htsim reports when a sender knows that all data has arrived,
heddle when it has arrived: both of heddle's times are shown.

--peer roce compares with simulated RoCE NICs instead (sim/roce.py), --peer published those with published figures
(sim/published.py). Three parts have no peer: paths, how much of several spines a number of paths fills (sim/paths.py);
distance, how much of 100 Gb/s a long flow fills (sim/distance.py); scale, what simulating takes (sim/scale.py).
"""

import json
import pathlib
import re
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built
from harness.report import disturbance_note, row
from harness.timed import Timed
from sim import distance, fat_tree, paths, published, roce, scale

SUMMARY = "simulated fabrics: flow times, wall time and memory, beside htsim; flows and jobs beside RoCE NICs"

_WIRE_SHARE = 4086 / 4192  # payload's share of a full segment with framing
_LINK_GBITS = 100
_PEERS = {"roce": roce, "published": published}
_PARTS = {"paths": paths, "distance": distance, "scale": scale}


def add_arguments(parser):
    parser.add_argument("part", nargs="?", choices=tuple(_PARTS),
                        help="paths: what of a fabric some paths fill; distance: what of 100 Gb/s a long flow fills; "
                             "scale: CPU time and memory of simulations [flows beside those of --peer]")
    parser.add_argument("--htsim", metavar="DIR", help="a folder of htsim (sim/datacenter), built; else heddle alone")
    parser.add_argument("--pairs", type=int, default=3, metavar="N",
                        help="so often each is run, in turn; with --peer roce: seeds [3]")
    parser.add_argument("--hosts", type=int, choices=(64, 128, 1024, 8192),
                        help="hosts of the fabric [1024; with --peer roce 64; of scale three sizes, and jobs]")
    parser.add_argument("--bytes", type=int, default=2_000_000, metavar="N", help="of each flow [2000000]")
    parser.add_argument("--cc", default="cubic", help="of the permutations and of distance [cubic]")
    parser.add_argument("--seed", type=int, default=1, help="of heddle's runs [1]")
    parser.add_argument("--peer", choices=("htsim", "roce", "published"), default="htsim",
                        help="roce: the same traffic over simulated RoCE NICs, with PFC and balancing switches; "
                             "published: their model beside published figures, and htsim's if its folder is given")
    parser.add_argument("--traffic", nargs="+", choices=roce.NAMES, help="with --peer roce: these alone [all]")
    parser.add_argument("--conditions", nargs="+", choices=roce.CONDITIONS, metavar="NAME",
                        help=f"with --peer roce: these alone, of {', '.join(roce.CONDITIONS)} [all]".replace("%", "%%"))
    parser.add_argument("--loss", nargs="+", choices=roce.LOSSES, metavar="SHARE",
                        help=f"with --peer roce: the conditions with such loss alone, of {', '.join(roce.LOSSES)}"
                        .replace("%", "%%"))
    parser.add_argument("--systems", nargs="+", metavar="TEXT",
                        help="with --peer roce: those alone whose names contain one of these [all]")
    parser.add_argument("--rows", metavar="FILE",
                        help="with --peer roce: rows are added to this file, and those that it has are not made again")
    parser.add_argument("--jobs", type=int, metavar="N",
                        help="of paths, of distance, and with --peer roce or published: simulations at once [a core "
                             "each]")


def _heddle(folder, workload, *more):
    run = Timed([built("heddle"), "sim", "--topology", "fabric.topo", "--workload", workload, "--json", *more], folder)
    document = json.loads(run.output)
    document.pop("flows")
    return run, {"tail_fct_us": document["tail_fct_us"], "median_fct_us": document["median_fct_us"],
                 "tail_acked_us": document["tail_acked_us"],
                 "tail_fct_with_handshake_us": document["tail_fct_with_handshake_us"],
                 "segments_retransmitted": document["counters"]["segments_retransmitted"],
                 "events": document["events"], "history": document["history"]}


def _htsim(directory, folder, workload, *more):
    program = pathlib.Path(directory) / "htsim_eqds"
    if not program.is_file():
        raise CannotMeasure(f"{program} is not there", "build htsim: make in sim, then in sim/datacenter")
    run = Timed([program.resolve(), "-topo", "fabric.topo", "-tm", workload, "-end", 100_000, "-o", "log.dat", *more],
                folder)
    ends = [float(found) for found in re.findall(r"finished at (\S+)", run.output)]
    if not ends:
        raise CannotMeasure("htsim finished no flow", "run it by hand")
    return run, {"tail_fct_us": max(ends), "median_fct_us": sorted(ends)[len(ends) // 2]}


def _incasts(hosts):
    """Name, number of senders, and the first host of their range: in other pods, or also in the receiver's."""
    for senders in (15, 127):
        if 2 * senders <= hosts // 2:
            yield f"{senders}_far", senders, hosts // 2
        if senders < hosts // 2:
            yield f"{senders}_near_and_far", senders, 1


def _ideal_us(size):
    return size * 8 / (_LINK_GBITS * 1e3) / _WIRE_SHARE


def _cases(arguments):
    hosts, size = arguments.hosts, arguments.bytes
    own = ["--paths", 128, "--cc", arguments.cc, "--initial-window", "500KiB"]
    yield "permutation, 128 paths", "perm.cm", _ideal_us(size), own, ["-paths", 128]
    yield "the same, queues of 100 KiB", "perm.cm", _ideal_us(size), [*own, "--queue", "100KiB"], None
    yield "the same, trimming", "perm.cm", _ideal_us(size), [*own, "--queue", "100KiB", "--trim"], None
    yield "permutation, 1 path", "perm.cm", _ideal_us(size), ["--paths", 1, "--cc", arguments.cc], ["-paths", 1]
    for name, senders, _ in _incasts(hosts):
        yield (f"incast {name}", f"{name}.cm", _ideal_us(senders * size), ["--paths", 128, "--cc", "credits"],
               ["-paths", 128])
        yield (f"incast {name}, 100 KiB, trimming", f"{name}.cm", _ideal_us(senders * size),
               ["--paths", 128, "--cc", "credits", "--queue", "100KiB", "--trim"], None)


def run(arguments, progress):
    if arguments.part:
        return {"part": arguments.part, **_PARTS[arguments.part].run(arguments, progress)}
    if arguments.peer != "htsim":
        return _PEERS[arguments.peer].run(arguments, progress)
    return _run_beside_htsim(arguments, progress)


def _run_beside_htsim(arguments, progress):
    hosts = arguments.hosts or 1024
    if hosts not in fat_tree.SHAPES:
        raise CannotMeasure(f"there is no fat tree of {hosts} hosts", "use 128, 1024 or 8192")
    arguments.hosts = hosts
    with tempfile.TemporaryDirectory(prefix="heddle-bench-sim-") as folder:
        texts = {"fabric.topo": fat_tree.topology(arguments.hosts),
                 "perm.cm": fat_tree.permutation(arguments.hosts, arguments.bytes)}
        texts |= {f"{name}.cm": fat_tree.incast(arguments.hosts, senders, first, arguments.bytes)
                  for name, senders, first in _incasts(arguments.hosts)}
        for name, text in texts.items():
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
        cases, all_runs = [], []
        for name, workload, ideal, own, theirs in _cases(arguments):
            case = {"case": name, "ideal_us": ideal, "heddle": [], "htsim": []}
            for number in range(arguments.pairs):
                progress.say(number, arguments.pairs, name)
                runs = [("heddle", *_heddle(folder, workload, "--seed", arguments.seed, *own))]
                if arguments.htsim and theirs:
                    runs.append(("htsim", *_htsim(arguments.htsim, folder, workload, *theirs)))
                for program, ran, result in runs:
                    result |= {"wall_s": ran.wall_s, "cpu_s": ran.cpu_s, "memory_mb": ran.memory_mb}
                    case[program].append(result)
                    all_runs.append(ran)
            cases.append(case)
    agree = all(len({result["history"] for result in case["heddle"]}) == 1 for case in cases)
    return {"hosts": arguments.hosts, "bytes": arguments.bytes, "machine": describe(), "cases": cases,
            "disturbance": summary(all_runs), "histories_agree": agree, "exit_status": 0 if agree else 1}


def _best(results, key):
    return min(result[key] for result in results)


def _above(results, key, case):
    return f"{100 * (results[0][key] / case['ideal_us'] - 1):.1f}%"


def show(document):
    if "part" in document:
        _PARTS[document["part"]].show(document)
        return
    if "peer" in document:
        _PEERS[document["peer"]].show(document)
        return
    print(f"{document['hosts']} hosts, 100 Gb/s, 1 us a hop, flows of {document['bytes'] / 1e6:g} MB; "
          "best of the runs\n")
    for case in document["cases"]:
        own, theirs = case["heddle"], case["htsim"]
        row(case["case"], "heddle", *(["htsim EQDS"] if theirs else []))
        row("  tail, all arrived", f"{own[0]['tail_fct_us']:.1f} us", *(["-"] if theirs else []))
        row("  tail, senders know", f"{own[0]['tail_acked_us']:.1f} us",
            *([f"{theirs[0]['tail_fct_us']:.1f} us"] if theirs else []))
        row("  the same with handshake", f"{own[0]['tail_fct_with_handshake_us']:.1f} us")
        row("  the link's time alone", f"{case['ideal_us']:.1f} us")
        if case["case"].startswith("incast"):
            row("  above it, all arrived", _above(own, "tail_fct_us", case), *(["-"] if theirs else []))
            row("  above it, senders know", _above(own, "tail_acked_us", case),
                *([_above(theirs, "tail_fct_us", case)] if theirs else []))
        for label, key, unit in (("  CPU time", "cpu_s", "s"), ("  wall time", "wall_s", "s"),
                                 ("  memory", "memory_mb", "MB")):
            row(label, f"{_best(own, key):.2f} {unit}", *([f"{_best(theirs, key):.2f} {unit}"] if theirs else []))
        if theirs:
            row("  htsim's CPU time / heddle's", f"{_best(theirs, 'cpu_s') / _best(own, 'cpu_s'):.1f}")
        print()
    if not document["histories_agree"]:
        print("  RUNS WITH ONE SEED DIFFER")
    disturbance_note([document["disturbance"]])
    if not any(case["htsim"] for case in document["cases"]):
        print("  (a path to htsim, --htsim, measures it beside)")
        if document["hosts"] == 1024:
            print("  (at another moment its EQDS took 15.6 s and 110 MB for the permutation with 128 paths,\n"
                  "  with a tail of 206 us; times compare only where they are of the same minute)")
