"""Verify, second stage: all-reduces of four ranks, one on each host."""

from harness.collectives import Heddle, OpenMpi, TorchGloo, factor
from harness.failure import CannotMeasure

TITLE = "all-reduce between 4 ranks, one on each host"

_GROUPS = ((1024, 1024, 100), (65536, 1 << 20, 8), (16 << 20, 16 << 20, 1))
_SHOWN = {1024: "1 KiB", 1 << 20: "1 MiB", 16 << 20: "16 MiB"}


def measure(network, tools, _arguments, skip):
    mine = Heddle().run(network, "allreduce", _GROUPS).times
    best = {}
    for make in (lambda: OpenMpi(tools), TorchGloo):
        try:
            program = make()
            for size, time in program.run(network, "allreduce", _GROUPS).times.items():
                best[size] = min(best.get(size, (time, program.name)), (time, program.name))
        except CannotMeasure as failure:
            skip(f"a peer of the all-reduce: {failure}")
    for size, name in _SHOWN.items():
        latency = size <= 4096
        row = {"stage": "allreduce", "what": f"all-reduce of {name}, " + ("us" if latency else "MB/s of bus"),
               "heddle": _shown(mine[size], size, latency, len(network.hosts))}
        if size in best:
            time, peer = best[size]
            row |= {"peer_name": peer, "peer": _shown(time, size, latency, len(network.hosts)),
                    "ratio": time / mine[size]}
        yield row


def _shown(microseconds, size, latency, ranks):
    if latency:
        return f"{microseconds:.0f}"
    return f"{factor('allreduce', ranks) * size / microseconds:.0f}"
