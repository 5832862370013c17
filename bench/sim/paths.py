"""How many paths fill a fabric: one connection between two leaves, over spines that are the bottleneck.

Goodput as a share of payload capacity, which is what full segments leave of all spines. The hashes of the switches
decide which spines a number of paths meets, so each case has fabrics with twelve seeds of them.
"""

import os
import tempfile

from harness import simulated
from harness.machine import describe
from harness.report import row
from harness.rounds import spread, text
from sim.run import each_of

_SPINES, _MTUS, _PATHS = (4, 8), (1500, 9000), (8, 16, 32, 64)
_HASH_SEEDS = range(1, 13)
_SPINE_MBITS, _HOST_MBITS_A_SPINE = 200, 250  # hosts are not the limit
_SECONDS, _WARM_UP_S = 2, 1


def topology(spines, mtu, hash_seed):
    """Two leaves, two hosts a leaf; queues of 5 ms."""
    host, spine = spines * _HOST_MBITS_A_SPINE, _SPINE_MBITS
    return (f'version = 1\n[fabric]\nkind = "leaf_spine"\nleaves = 2\nspines = {spines}\nhosts_per_leaf = 2\n'
            f"hash_seed = {hash_seed}\n"
            f'[host_link]\nrate = "{host}Mbit/s"\nqueue = "{host * 625}B"\nmtu = {mtu}\n'
            f'[switch_link]\nrate = "{spine}Mbit/s"\nqueue = "{spine * 625}B"\nmtu = {mtu}\n')


def _share(spines, mtu, paths, hash_seed):
    """Of payload capacity."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", prefix="heddle-bench-", delete=False) as file:
        file.write(topology(spines, mtu, hash_seed))
    try:
        flow, = simulated.simulate(file.name, [("h0", "h2")], paths, seconds=_SECONDS, warm_up=_WARM_UP_S)
    finally:
        os.unlink(file.name)
    capacity = spines * _SPINE_MBITS * simulated.payload_share(flow["segment_bytes"], mtu)
    return flow["goodput_mbits_per_s"] / capacity


def run(arguments, progress):
    shapes = [(spines, mtu, paths) for spines in _SPINES for mtu in _MTUS for paths in _PATHS]
    shares = each_of(_share, [(*shape, seed) for shape in shapes for seed in _HASH_SEEDS], arguments.jobs, progress)
    count = len(_HASH_SEEDS)
    cases = [{"spines": spines, "mtu_bytes": mtu, "paths": paths,
              "to_capacity": spread(shares[number * count:(number + 1) * count])}
             for number, (spines, mtu, paths) in enumerate(shapes)]
    return {"machine": describe(), "hash_seeds": list(_HASH_SEEDS), "seconds": _SECONDS, "cases": cases,
            "exit_status": 0}


def show(document):
    print(f"one connection, CUBIC, simulated: share of payload capacity, median (least to most) of "
          f"{len(document['hash_seeds'])} seeds of the switches' hashes\n")
    shapes = list(dict.fromkeys((case["spines"], case["mtu_bytes"]) for case in document["cases"]))
    row("", *(f"{spines} spines, MTU {mtu}" for spines, mtu in shapes))
    for paths in dict.fromkeys(case["paths"] for case in document["cases"]):
        row(f"{paths} paths", *(text(case["to_capacity"], 3) for case in document["cases"] if case["paths"] == paths))
