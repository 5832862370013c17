"""One connection over a long cable: heddle, TCP (cubic, bbr) and the simulator on the same topology.

The delay is 5 us a kilometer, one way. Each distance is measured with the socket buffers that any process of
a plain Debian has, and with raised limits: goodput, and the one-way latency (RTT/2) of single messages. At 0
km and with Debian's buffers, heddle's receiver must not drop packets, or the exit status is 1.
"""

import json
import pathlib
import sys

from harness.cable import need_network_rights
from harness.fabric import Fabric, payload_share
from harness.flows import Contest, Heddle, Tcp
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built
from harness.report import cpu_note, row
from harness.rounds import interleave, ratio, spread, text
from harness.simulated import simulate

SUMMARY = "goodput and message times of one connection over 0 to 1,000 km of cable, in a lab"

_KM = (0, 100, 300, 1000)
_NS_A_KM = 5_000
_MTU = 9000
_FLOWS = [("h0", "h1")]
_PEER = str(pathlib.Path(__file__).with_name("tcp_peer.py"))
_CONTROLS = ("cubic", "bbr")
_WARM_UP_S = 0.3
# heddle's setting, the resulting buffer limit, and TCP's limits: net.ipv4.tcp_rmem and tcp_wmem.
_DEBIAN_BYTES, _CAPACITY_BYTES = 212_992, 212_992 * 2 // 4
_BUFFERS = {
    "debian": ([f"receive_buffer_bytes={_DEBIAN_BYTES}"], "4096 131072 6291456", "4096 16384 4194304"),
    "raised": ([], "4096 131072 67108864", "4096 16384 67108864"),
}


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=1, metavar="N", help="how long one measurement takes [1]")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="rounds [3]")
    parser.add_argument("--km", type=int, action="append", metavar="N", help="this distance only [0 to 1000]")
    parser.add_argument("--buffers", choices=_BUFFERS, help="these only [both]")
    parser.add_argument("--mbits", type=int, default=1000, metavar="N", help="rate of the cable [1000]")
    parser.add_argument("--message", type=int, default=65536, metavar="BYTES", help="of those that are timed [65536]")
    parser.add_argument("--paths", type=int, default=8, metavar="N", help="paths of heddle's connection [8]")
    parser.add_argument("--cc", default="cubic", help="heddle's congestion control [cubic]")


class _HeddleMessages(Heddle):
    """Single messages in both directions, as a program of harness.flows."""

    def __init__(self, name, arguments, words):
        super().__init__(name, arguments.paths, arguments.cc, words=words)
        self._bytes = str(arguments.message)

    def client(self, address, seconds):
        return [built("heddle"), "perf", address, "lat", "-t", str(seconds), "-s", self._bytes, "--json", *self._words]

    def read(self, output):
        return _times(json.loads(output)["tests"][0])


class _TcpMessages:
    def __init__(self, name, control, arguments):
        self.name = name
        self._words = [sys.executable, _PEER, "--cc", control, "--bytes", str(arguments.message)]

    def server(self):
        return [*self._words, "--answer"], "listens"

    def client(self, address, seconds):
        return [*self._words, "--ask", address, "--seconds", str(seconds), "--warm-up", str(_WARM_UP_S)]

    def read(self, output):
        return _times(json.loads(output))


def _times(test):
    return {part: test[f"half_round_trip_us_{part}"] for part in ("p50", "p99")}


class _Counted(Contest):
    """Records the packets that the receiver's sockets dropped."""

    def __init__(self, fabric, program, seconds):
        super().__init__(fabric, program, _FLOWS, seconds)
        self.fabric = fabric

    def run(self):
        before = _socket_drops(self.fabric)
        sample = super().run()
        sample.socket_drops = _socket_drops(self.fabric) - before
        return sample


def _socket_drops(fabric):
    """UDP datagrams dropped by full socket buffers on h1 so far."""
    lines = fabric.output("h1", ["cat", "/proc/self/net/snmp"]).splitlines()
    names, numbers = (line.split()[1:] for line in lines if line.startswith("Udp:"))
    return int(dict(zip(names, numbers))["RcvbufErrors"])


def _cable(km, arguments):
    delay = f'delay = "{km * _NS_A_KM}ns"\n' if km else ""
    return f"""version = 1
[fabric]
kind = "point_to_point"
[host_link]
rate = "{arguments.mbits}Mbit/s"
queue = "{arguments.mbits * 625}B"
mtu = {_MTU}
{delay}"""


def _set_tcp_limits(fabric, receive, send):
    for host in fabric.hosts:
        fabric.run(host, ["sysctl", "-qw", f"net.ipv4.tcp_rmem={receive}", f"net.ipv4.tcp_wmem={send}"])


def _contests(fabric, arguments, words):
    goodput = [Heddle("heddle", arguments.paths, arguments.cc, words=words),
               *(Tcp(1, control, f"TCP {control}") for control in _CONTROLS)]
    times = [_HeddleMessages("heddle, messages", arguments, words),
             *(_TcpMessages(f"TCP {control}, messages", control, arguments) for control in _CONTROLS)]
    return [_Counted(fabric, program, arguments.seconds) for program in goodput + times]


def _case(km, buffers, arguments, progress):
    settings, receive, send = _BUFFERS[buffers]
    words = [word for setting in settings for word in ("--set", setting)]
    capacity = arguments.mbits * payload_share(_MTU)
    with Fabric(_cable(km, arguments)) as fabric:
        _set_tcp_limits(fabric, receive, send)
        samples = interleave(_contests(fabric, arguments, words), arguments.pairs, progress)
        room = {"receive_capacity": _CAPACITY_BYTES} if buffers == "debian" else {}
        simulated = simulate(fabric.file, _FLOWS, arguments.paths, arguments.cc, **room)[0]["goodput_mbits_per_s"]
    programs = [_program(name, samples, capacity) for name in ("heddle", *(f"TCP {one}" for one in _CONTROLS))]
    mine = _goodput(samples["heddle"])
    return {"km": km, "one_way_us": km * _NS_A_KM / 1e3, "buffers": buffers, "payload_capacity_mbits_per_s": capacity,
            "programs": programs,
            "simulated_mbits_per_s": simulated, "simulated_to_capacity": simulated / capacity,
            "heddle_to_simulated": spread([one / simulated for one in mine]),
            "heddle_to_tcp": {control: ratio(mine, _goodput(samples[f"TCP {control}"])) for control in _CONTROLS},
            "tcp_to_heddle_p99": {control: ratio(_parts(samples[f"TCP {control}, messages"], "p99"),
                                                 _parts(samples["heddle, messages"], "p99")) for control in _CONTROLS},
            "socket_drops": sum(run.socket_drops for run in samples["heddle"] + samples["heddle, messages"])}


def _goodput(runs):
    return _parts(runs, "goodput_mbits_per_s")


def _parts(runs, key):
    return [run.flows[0][key] for run in runs]


def _program(name, samples, capacity):
    runs, messages = samples[name], samples[f"{name}, messages"]
    return {"program": name, "goodput_mbits_per_s": spread(_goodput(runs)),
            "to_capacity": spread([one / capacity for one in _goodput(runs)]),
            "message_us_p50": spread(_parts(messages, "p50")), "message_us_p99": spread(_parts(messages, "p99")),
            "cpu_share": spread([run.cpu_share for run in runs]), "machine": summary(runs + messages)}


def run(arguments, progress):
    need_network_rights()
    cases = [_case(km, buffers, arguments, progress) for km in arguments.km or _KM
             for buffers in ([arguments.buffers] if arguments.buffers else _BUFFERS)]
    lossless = all(case["socket_drops"] == 0 for case in cases if case["km"] == 0 and case["buffers"] == "debian")
    return {"scenario": "distance", "machine": describe(), "rounds": arguments.pairs, "seconds": arguments.seconds,
            "mbits": arguments.mbits, "mtu_bytes": _MTU, "message_bytes": arguments.message, "paths": arguments.paths,
            "cc": arguments.cc, "cases": cases, "exit_status": 0 if lossless else 1}


def show(document):
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn; one connection, "
          f"{document['mbits']} Mb/s, MTU {document['mtu_bytes']}; times are half round trips of "
          f"{document['message_bytes']} bytes")
    for case in document["cases"]:
        kind = "Debian's socket buffers" if case["buffers"] == "debian" else "raised limits"
        print(f"\n{case['km']} km ({case['one_way_us']:.0f} us one way), {kind}; payload capacity "
              f"{case['payload_capacity_mbits_per_s']:.0f} Mb/s")
        row("", "Mb/s", "of capacity", "message p50 us", "message p99 us")
        for program in case["programs"]:
            row(program["program"], text(program["goodput_mbits_per_s"], 0), text(program["to_capacity"], 3),
                text(program["message_us_p50"], 0), text(program["message_us_p99"], 0))
        row("heddle, simulated", f"{case['simulated_mbits_per_s']:.0f}", f"{case['simulated_to_capacity']:.3f}")
        row("heddle to the simulator", text(case["heddle_to_simulated"], 2))
        for control, values in case["heddle_to_tcp"].items():
            row(f"heddle to TCP {control}", text(values, 2))
            row(f"TCP {control}'s p99 to heddle's", "", "", "", text(case["tcp_to_heddle_p99"][control], 2))
        if case["socket_drops"]:
            print(f"  heddle's receiver lost {case['socket_drops']} packets: its socket buffer was full")
        cpu_note(case["programs"])
