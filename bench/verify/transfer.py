"""Verify, first stage: one connection between two hosts on different leaves."""

from harness.failure import CannotMeasure
from harness.flows import Heddle, Tcp, run_flows

TITLE = "one connection from host 0 to host 2, across the spines"


def measure(network, _tools, arguments, skip):
    flows = [(network.hosts[0], network.hosts[2])]
    mine = _goodput(network, Heddle(paths=32, check=True), flows, arguments.seconds)
    row = {"stage": "transfer", "what": "one connection, Mb/s", "heddle": f"{mine:.0f}"}
    try:
        theirs = _goodput(network, Tcp(1, name="TCP, one flow"), flows, arguments.seconds)
        row |= {"peer_name": "TCP cubic, one flow", "peer": f"{theirs:.0f}", "ratio": mine / theirs}
    except CannotMeasure as failure:
        skip(f"TCP beside the transfer: {failure}")
    yield row


def _goodput(network, program, flows, seconds):
    return run_flows(network, program, flows, seconds).flows[0]["goodput_mbits_per_s"]
