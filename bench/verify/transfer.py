"""Verify, first stage: one connection between two hosts on different leaves."""

from harness.failure import CannotMeasure
from harness.flows import Contest, Heddle, Tcp
from comparison import measure as measure_rounds
from comparison import row

TITLE = "one connection from host 0 to host 2, across the spines"

_ROUNDS_MOST = 3  # links are busy for seconds: their rounds differ little


def measure(network, _tools, arguments, skip, progress):
    flows = [(network.hosts[0], network.hosts[2])]
    programs = [Heddle(paths=32, check=True)]
    try:
        programs.append(Tcp(1, name="TCP cubic, one flow"))
    except CannotMeasure as failure:
        skip(f"TCP beside the transfer: {failure}")
    contests = [Contest(network, program, flows, arguments.seconds) for program in programs]
    measured = measure_rounds(contests, min(arguments.rounds, _ROUNDS_MOST), progress, arguments.again)
    yield row("transfer", "one connection, Mb/s", measured, lambda run: run.flows[0]["goodput_mbits_per_s"])
