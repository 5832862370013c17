"""One of four spines drops everything in mid-transfer while its carrier stays up: heddle and TCP.

heddle sends messages of 64 KiB; the gap is the longest time without a complete message at the receiver after
the fault. TCP's gap is the longest time in which its receiver got no data.
"""

import json
import pathlib
import sys
import tempfile
import threading
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine, payload_share
from harness.flows import Heddle, run_flows
from harness.machine import describe
from harness.meanwhile import summary
from harness.report import disturbance_note, row
from harness.rounds import interleave, spread, text
from harness.simulated import simulate

SUMMARY = "a black hole in mid-transfer: gaps, and what is left, in a lab"

_SPINES, _SPINE_MBITS, _MTU = 4, 100, 1500
_FAULT_AFTER_S = 1.5   # after the clients' start
_SETTLED_AFTER_S = 0.2  # after the fault
_GAP_MOST_MS = 20


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=3, metavar="N", help="how long one run takes [3]")
    parser.add_argument("--runs", type=int, default=50, metavar="N", help="of heddle [50]")
    parser.add_argument("--tcp-runs", type=int, default=12, metavar="N", help="of TCP [12]")
    parser.add_argument("--paths", type=int, default=32, metavar="N", help="paths of heddle's connections [32]")
    parser.add_argument("--cc", default="dctcp", help="heddle's congestion control [dctcp]")
    parser.add_argument("--no-ecn", action="store_true", help="links that mark nothing [they mark when they fill up]")


def _fabric(arguments, more=""):
    return leaf_spine(spines=_SPINES, mtu=_MTU, host_rate="500Mbit/s", host_queue="312500B",
                      spine_rate=f"{_SPINE_MBITS}Mbit/s", spine_queue=f"{_SPINE_MBITS * 625}B",
                      ecn=not arguments.no_ecn, more=more)


class TcpFlow:
    """One flow; its receiver reports the result, since the sender of a flow in a black hole has no
    information.
    """

    name = "TCP cubic, 1 flow"
    _PEER = str(pathlib.Path(__file__).with_name("tcp_peer.py"))

    def server(self):
        return [sys.executable, self._PEER, "--listen"], "listening"

    def client(self, address, seconds):
        return [sys.executable, self._PEER, address, str(seconds)]

    def read(self, output):
        return {}

    def read_server(self, output):
        return json.loads(output)


class Failure:
    """One transfer with the fault, for harness.rounds.interleave()."""

    def __init__(self, fabric, program, seconds):
        self.name = program.name
        self._fabric, self._program, self._seconds = fabric, program, seconds

    def run(self):
        self._fabric.fault("clear")
        timer = threading.Timer(_FAULT_AFTER_S, self._fabric.fault, ("blackhole", "leaf0", "spine0"))
        sample = run_flows(self._fabric, self._program, [("h0", "h2")], self._seconds, after_start=timer.start)
        timer.join()
        return sample


def _after(received, seconds_from):
    """Goodput in Mb/s, starting this long after the first message."""
    skip = int(seconds_from * 1000 / received["interval_ms"])
    kept = received["interval_bytes"][skip:-1]
    return sum(kept) * 8 / (len(kept) * received["interval_ms"] * 1e3)


def _heddle_runs(fabric, arguments, progress):
    program = Heddle(f"heddle, {arguments.cc}", arguments.paths, arguments.cc, size="64K", check=True)
    samples = interleave([Failure(fabric, program, arguments.seconds)], arguments.runs, progress)[program.name]
    flows = [sample.flows[0] for sample in samples]
    gaps = [flow["longest_gap_ms"] for flow in flows]
    after = [_after(flow["received"], _FAULT_AFTER_S + _SETTLED_AFTER_S) for flow in flows]
    left = (_SPINES - 1) * _SPINE_MBITS * payload_share(_MTU)
    return {"program": program.name, "runs": len(gaps), "longest_gap_ms": spread(gaps),
            "runs_below_most": sum(gap <= _GAP_MOST_MS for gap in gaps),
            "messages_wrong": sum(flow["received"]["wrong_messages"] for flow in flows),
            "after_to_what_is_left": spread([one / left for one in after]),
            "cpu_share": spread([sample.cpu_share for sample in samples]), "machine": summary(samples)}


def _simulated_runs(arguments):
    gaps = []
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(_fabric(arguments, f'''[[fault]]
at = "{_FAULT_AFTER_S}s"
kind = "blackhole"
link = ["leaf0", "spine0"]
'''))
        file.flush()
        for seed in range(1, arguments.runs + 1):
            flow = simulate(file.name, [("h0", "h2")], arguments.paths, arguments.cc, size=64 << 10, seconds=1,
                            seed=seed)[0]
            gaps.append(flow["longest_gap_ms"])
    return {"runs": len(gaps), "longest_gap_ms": spread(gaps),
            "runs_below_most": sum(gap <= _GAP_MOST_MS for gap in gaps)}


def _tcp_runs(fabric, arguments, progress):
    program = TcpFlow()
    samples = interleave([Failure(fabric, program, arguments.seconds)], arguments.tcp_runs, progress)[program.name]
    flows = [sample.flows[0] for sample in samples]
    return {"program": program.name, "runs": len(flows),
            "never_recovered": sum(flow["silent_at_end_ms"] > 500 for flow in flows),
            "longest_gap_ms": spread([flow["longest_gap_ms"] for flow in flows]), "machine": summary(samples)}


def run(arguments, progress):
    need_network_rights()
    began = time.monotonic()
    with Fabric(_fabric(arguments)) as fabric:
        document = {"scenario": "failure", "machine": describe(),
                    "heddle": _heddle_runs(fabric, arguments, progress),
                    "tcp": _tcp_runs(fabric, arguments, progress)}
    document["simulated"] = _simulated_runs(arguments)
    document["wall_s"] = time.monotonic() - began
    return document


def show(document):
    heddle, tcp = document["heddle"], document["tcp"]
    print(f"{_SPINES} spines of {_SPINE_MBITS} Mb/s, queues of 5 ms; spine0 swallows what leaf0 sends it from "
          f"{_FAULT_AFTER_S} s on, the carrier stays up")
    print(f"\n{heddle['program']}, {heddle['runs']} runs, messages of 64 KiB")
    row("longest gap, ms", text(heddle["longest_gap_ms"]))
    row(f"runs with at most {_GAP_MOST_MS} ms", f"{heddle['runs_below_most']} of {heddle['runs']}")
    row("goodput after, of 3 spines", text(heddle["after_to_what_is_left"], 3))
    row("messages changed", str(heddle["messages_wrong"]))
    row("CPU busy", text(heddle["cpu_share"], 2))
    simulated = document["simulated"]
    print(f"\nheddle, simulated, {simulated['runs']} seeds")
    row("longest gap, ms", text(simulated["longest_gap_ms"]))
    row(f"runs with at most {_GAP_MOST_MS} ms", f"{simulated['runs_below_most']} of {simulated['runs']}")
    print(f"\n{tcp['program']}, {tcp['runs']} runs")
    row("never recovered", f"{tcp['never_recovered']} of {tcp['runs']}")
    row("longest gap, ms", text(tcp["longest_gap_ms"], 0))
    disturbance_note([heddle["machine"], tcp["machine"]])
