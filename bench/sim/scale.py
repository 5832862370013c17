"""What simulating takes: CPU time and memory of permutations on fat trees of several sizes, and of jobs of 1,024
ranks. One simulation at a time, since each is timed; --pairs of each, and with one seed all are alike.
"""

import json
import pathlib
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built
from harness.report import disturbance_note, row
from harness.rounds import spread, text
from harness.timed import Timed
from sim import fat_tree

_PERMUTATION = ("--paths", "128", "--initial-window", "500KiB")
_RANKS = 1024
_LEAVES = ('version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 32\nspines = 32\nhosts_per_leaf = 32\n'
           '[host_link]\nrate = "100Gbit/s"\ndelay = "1us"\n[switch_link]\nrate = "100Gbit/s"\ndelay = "1us"\n')


def _training(layer_bytes):
    return ('version = 1\n[[job]]\nkind = "training"\ntensor = 8\npipeline = 4\nlayers = 4\nmicrobatches = 2\n'
            f'layer_bytes = "{layer_bytes}"\nactivation_bytes = "1MB"\nforward = "1ms"\n')


_JOBS = (("training, layers of 1 MB", _training("1MB")), ("training, layers of 16 MB", _training("16MB")),
         ("ring all-reduce of 8 MB", 'version = 1\n[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "8MB"\n'))


def _cases(arguments):
    """(kind, name, files by name, options)."""
    for hosts in [arguments.hosts] if arguments.hosts else fat_tree.SHAPES:
        files = {"fabric.topo": fat_tree.topology(hosts), "flows.cm": fat_tree.permutation(hosts, arguments.bytes)}
        yield "permutation", f"{hosts:,} hosts", files, ("--cc", arguments.cc, *_PERMUTATION)
    if not arguments.hosts:
        for name, job in _JOBS:
            yield "job", name, {"fabric.toml": _LEAVES, "flows.toml": job}, ()


def _timed(folder, files, options):
    for name, content in files.items():
        pathlib.Path(folder, name).write_text(content, encoding="utf-8")
    topology, workload = files
    return Timed([built("heddle"), "sim", "--topology", topology, "--workload", workload, "--json", *options], folder)


def _case(kind, name, runs):
    documents = [json.loads(run.output) for run in runs]
    return {"kind": kind, "case": name, "cpu_s": spread([run.cpu_s for run in runs]),
            "wall_s": spread([run.wall_s for run in runs]), "memory_mb": max(run.memory_mb for run in runs),
            "events": documents[0]["events"], "history": documents[0]["history"],
            "histories_agree": len({document["history"] for document in documents}) == 1, "machine": summary(runs)}


def run(arguments, progress):
    if arguments.hosts and arguments.hosts not in fat_tree.SHAPES:
        raise CannotMeasure(f"there is no fat tree of {arguments.hosts} hosts", "use 128, 1024 or 8192")
    wanted, cases = list(_cases(arguments)), []
    for number, (kind, name, files, options) in enumerate(wanted):
        progress.say(number, len(wanted), name)
        with tempfile.TemporaryDirectory(prefix="heddle-bench-sim-") as folder:
            runs = [_timed(folder, files, ("--seed", str(arguments.seed), *options)) for _ in range(arguments.pairs)]
        cases.append(_case(kind, name, runs))
    agree = all(case["histories_agree"] for case in cases)
    return {"machine": describe(), "rounds": arguments.pairs, "bytes": arguments.bytes, "ranks": _RANKS,
            "cases": cases, "exit_status": 0 if agree else 1}


def show(document):
    print(f"permutations of {document['bytes'] / 1e6:g} MB over 128 paths, and jobs of {document['ranks']:,} ranks; "
          f"median (least to most) of {document['rounds']} runs\n")
    row("", "CPU time, s", "wall time, s", "memory, MB", "million events")
    for case in document["cases"]:
        row(case["case"], text(case["cpu_s"]), text(case["wall_s"]), f"{case['memory_mb']:.0f}",
            f"{case['events'] / 1e6:.2f}")
        if not case["histories_agree"]:
            print("  RUNS WITH ONE SEED DIFFER")
    disturbance_note([case["machine"] for case in document["cases"]])
