"""Verify, second stage: all-reduces of four ranks, one on each host."""

from harness.collectives import Heddle, OpenMpi, TorchGloo, factor
from harness.failure import CannotMeasure
from comparison import measure as measure_rounds
from comparison import row

TITLE = "all-reduce between 4 ranks, one on each host"

# First bytes, last bytes, calls. Small sizes have enough calls that a run is longer than another program's
# time slice.
_GROUPS = ((1024, 1024, 1000), (1 << 20, 1 << 20, 8), (16 << 20, 16 << 20, 1))
_SHOWN = {1024: "1 KiB", 1 << 20: "1 MiB", 16 << 20: "16 MiB"}


class _Contest:
    def __init__(self, network, program):
        self.name = program.name
        self._network, self._program = network, program

    def run(self):
        return self._program.run(self._network, "allreduce", _GROUPS)


def _peers(network, tools, skip):
    """The peers that are installed."""
    for make in (lambda: OpenMpi(tools), TorchGloo):
        try:
            yield _Contest(network, make())
        except CannotMeasure as failure:
            skip(f"a peer of the all-reduce: {failure}")


def measure(network, tools, arguments, skip, progress):
    contests = [_Contest(network, Heddle()), *_peers(network, tools, skip)]
    measured = measure_rounds(contests, arguments.rounds, progress, arguments.again)
    scale = factor("allreduce", len(network.hosts))
    for size, name in _SHOWN.items():
        if size <= 4096:
            yield row("allreduce", f"all-reduce of {name}, us", measured, lambda run, size=size: run.times[size], True)
        else:
            yield row("allreduce", f"all-reduce of {name}, MB/s of bus", measured,
                      lambda run, size=size: scale * size / run.times[size])
