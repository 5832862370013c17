"""One connection between two sites, direct and through relays: heddle, and TCP (cubic, relays by socat).

Each site has a host and a relay on a switch; the switches are joined by a cable of 5 us a kilometer, one way,
with loss where that is asked for. All programs have the socket buffers of a plain Debian. Goodput, and the
one-way latency (RTT/2) of single messages. No program is required to win: the exit status is 0.
"""

import contextlib
import json
import pathlib
import re
import subprocess
import sys
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric, payload_share
from harness.failure import CannotMeasure
from harness.flows import Contest, Heddle, Tcp
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built, installed, start, wait_until_listening
from harness.report import cpu_note, row
from harness.rounds import Spare, interleave, ratio, spread, text

SUMMARY = "goodput and message times between two sites, direct and through relays, in a lab"

_KM = (0, 100, 300, 1000)
_NS_A_KM = 5_000
_MTU = 1500
_FLOWS = [("h0", "h1")]
_PEER = str(pathlib.Path(__file__).resolve().parents[1] / "distance" / "tcp_peer.py")
_WARM_UP_S = 0.3
_BUFFER = "receive_buffer_bytes=212992"  # of an unprivileged process on Debian
_SIZES = {"64K": 65536, "1M": 1 << 20}
_IPERF, _MESSAGES = 5201, 18762
_PLAIN_RELAYS, _FEC_RELAYS = 18704, 18705
_METRICS = 18780
# name: (port of the relays, forward error correction)
_HEDDLE = {"heddle": (None, False), "heddle, relays": (_PLAIN_RELAYS, False)}
_WITH_FEC = {"heddle, FEC": (None, True), "heddle, relays, FEC": (_FEC_RELAYS, True)}
# name: (through relays)
_TCP = {"TCP": False, "TCP, relays": True}
_PAGE = ("import urllib.request; "
         f"print(urllib.request.urlopen('http://127.0.0.1:{_METRICS}/metrics').read().decode())")


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=2, metavar="N", help="how long one measurement takes [2]")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="rounds [3]")
    parser.add_argument("--again", type=int, default=120, metavar="N",
                        help="most seconds a case for runs that were disturbed [120]")
    parser.add_argument("--km", type=int, action="append", metavar="N", help="this distance only [0 to 1000]")
    parser.add_argument("--loss", action="append", metavar="SHARE", help='of the long cable [0%% and 0.01%%]')
    parser.add_argument("--local-loss", default="0%", metavar="SHARE",
                        help="of the sender's cable within its site [0%%]")
    parser.add_argument("--mbits", type=int, default=100, metavar="N", help="rate of all cables [100]")
    parser.add_argument("--paths", type=int, default=8, metavar="N", help="paths of heddle's connections [8]")
    parser.add_argument("--cc", default="cubic", help="heddle's congestion control [cubic]")
    parser.add_argument("--fec", metavar="DATA:PARITY",
                        help="heddle with forward error correction beside heddle without it")
    parser.add_argument("--size", action="append", choices=sorted(_SIZES), help="messages of this size only")
    parser.add_argument("--without", choices=["tcp"], help="no TCP")


class _HeddleBandwidth(Heddle):
    def __init__(self, name, fabric, arguments):
        port, fec = {**_HEDDLE, **_WITH_FEC}[name]
        # Hosts beside a relay have a short leg: they need none.
        words = ["--set", f"fec={arguments.fec}"] if fec and not port else []
        super().__init__(name, arguments.paths, arguments.cc, words=["--set", _BUFFER, *words])
        self._route = _route(fabric, port) if port else []

    def server(self):
        words, sign = super().server()
        return words + (["--relayed"] if self._route else []), sign

    def client(self, address, seconds):
        return super().client(address, seconds) + self._route


class _HeddleMessages(_HeddleBandwidth):
    """Single messages in both directions, as a program of harness.flows."""

    def __init__(self, name, fabric, arguments, size):
        super().__init__(name, fabric, arguments)
        self.name = f"{name}, {size}"
        self._bytes = str(_SIZES[size])

    def client(self, address, seconds):
        return [built("heddle"), "perf", address, "lat", "-t", str(seconds), "-s", self._bytes, "--json",
                *self._words, *self._route]

    def read(self, output):
        return _times(json.loads(output)["tests"][0])


class _TcpBandwidth(Tcp):
    def __init__(self, name, fabric):
        super().__init__(1, "cubic", name)
        self._first = fabric.address("r0") if _TCP[name] else None

    def client(self, address, seconds):
        return super().client(self._first or address, seconds)


class _TcpMessages:
    def __init__(self, name, fabric, size):
        self.name = f"{name}, {size}"
        self._first = fabric.address("r0") if _TCP[name] else None
        self._words = [sys.executable, _PEER, "--cc", "cubic", "--bytes", str(_SIZES[size])]

    def server(self):
        return [*self._words, "--answer"], "listens"

    def client(self, address, seconds):
        return [*self._words, "--ask", self._first or address, "--seconds", str(seconds), "--warm-up", str(_WARM_UP_S)]

    def read(self, output):
        return _times(json.loads(output))


def _route(fabric, port):
    return ["--relay", ",".join(f"{fabric.address(relay)}:{port}" for relay in ("r0", "r1"))]


def _times(test):
    return {part: test[f"half_round_trip_us_{part}"] for part in ("p50", "p99")}


def _sites(km, loss, arguments):
    hosts = "".join(f'[[host]]\nname = "{name}"\n' for name in ("h0", "r0", "r1", "h1"))
    switches = "".join(f'[[switch]]\nname = "{name}"\n' for name in ("site0", "site1"))
    # 5 ms at the rate, and for the long cable 20 ms, as its routers have.
    common = f'rate = "{arguments.mbits}Mbit/s"\nmtu = {_MTU}\n'

    def link(one, other, queue_ms, more=""):
        return (f'[[link]]\nends = ["{one}", "{other}"]\nqueue = "{arguments.mbits * 125 * queue_ms}B"\n'
                f"{common}{more}")

    local = f'loss = "{arguments.local_loss}"\n'
    delay = f'delay = "{km * _NS_A_KM}ns"\n' if km else ""
    return ("version = 1\n" + hosts + switches + link("h0", "site0", 5, local) + link("r0", "site0", 5)
            + link("r1", "site1", 5) + link("h1", "site1", 5)
            + link("site0", "site1", 20, f'{delay}loss = "{loss}"\n'))


@contextlib.contextmanager
def _relays(fabric, arguments):
    """All kinds of relays on r0 and r1; idle ones cost nothing."""
    after = {"r0": "r1", "r1": "h1"}
    kinds = {_PLAIN_RELAYS: []}
    if arguments.fec:
        kinds[_FEC_RELAYS] = ["--fec", arguments.fec, "--metrics", str(_METRICS)]
    processes = []
    try:
        for host, to in after.items():
            for port, more in kinds.items():
                relay = start(fabric.inside(host, [
                    built("heddle"), "relay", "--to", fabric.address(to), "--without-keys", "--set", _BUFFER, "--set",
                    "spin=never", "--cc", arguments.cc, "--paths", str(arguments.paths), "-p", str(port), *more]),
                    stdout=-1, stderr=-2)
                processes.append(relay)
                wait_until_listening(relay, "heddle relay", "relays on")
            for port in () if arguments.without else (_IPERF, _MESSAGES):
                processes.append(start(fabric.inside(host, [
                    installed("socat", "socat"), f"TCP-LISTEN:{port},fork,reuseaddr,nodelay",
                    f"TCP:{fabric.address(to)}:{port},nodelay"]), stdout=-3, stderr=-3))
        time.sleep(0.2)
        if any(process.poll() is not None for process in processes):
            raise CannotMeasure("a relay has ended", "run it by hand")
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _case(km, loss, arguments, progress):
    capacity = arguments.mbits * payload_share(_MTU)
    with Fabric(_sites(km, loss, arguments)) as fabric, _relays(fabric, arguments):
        heddles = [*_HEDDLE, *(_WITH_FEC if arguments.fec else ())]
        tcps = [] if arguments.without else [*_TCP]
        programs = [*(_HeddleBandwidth(name, fabric, arguments) for name in heddles),
                    *(_TcpBandwidth(name, fabric) for name in tcps)]
        for size in _sizes(arguments):
            programs += [_HeddleMessages(name, fabric, arguments, size) for name in heddles]
            programs += [_TcpMessages(name, fabric, size) for name in tcps]
        contests = [Contest(fabric, program, _FLOWS, arguments.seconds) for program in programs]
        samples = interleave(contests, arguments.pairs, progress, Spare(arguments.again))
        parity = {relay: _parity(fabric, relay) for relay in ("r0", "r1")} if arguments.fec else None
    names = heddles + tcps
    sizes = _sizes(arguments)
    mine = _parts(samples["heddle, relays"], "goodput_mbits_per_s")
    return {"km": km, "one_way_us": km * _NS_A_KM / 1e3, "loss": loss, "payload_capacity_mbits_per_s": capacity,
            "programs": [_program(name, samples, capacity, sizes) for name in names], "parity": parity,
            "relays_to": {name: ratio(mine, _parts(samples[name], "goodput_mbits_per_s")) for name in names
                          if name != "heddle, relays"}}


def _sizes(arguments):
    return [size for size in _SIZES if size in (arguments.size or _SIZES)]


def _parity(fabric, relay):
    """Counters of the relay with parity, over all its legs and runs."""
    page = subprocess.run(fabric.inside(relay, [sys.executable, "-c", _PAGE]), check=True, capture_output=True,
                          text=True).stdout
    values = dict(re.findall(r"^heddle_relay_(\w+)_total (\S+)$", page, re.MULTILINE))
    names = ("bytes", "parity_sent", "parity_received", "rebuilt")
    return {name: int(float(values[name])) for name in names}


def _parts(runs, key):
    return [run.flows[0][key] for run in runs]


def _program(name, samples, capacity, sizes):
    runs = samples[name]
    goodput = _parts(runs, "goodput_mbits_per_s")
    messages = {size: samples[f"{name}, {size}"] for size in sizes}
    return {"program": name, "goodput_mbits_per_s": spread(goodput),
            "to_capacity": spread([one / capacity for one in goodput]),
            "messages": {size: {f"{part}_us": spread(_parts(of, part)) for part in ("p50", "p99")}
                         for size, of in messages.items()},
            "cpu_share": spread([run.cpu_share for run in runs]),
            "machine": summary(runs + [run for of in messages.values() for run in of])}


def run(arguments, progress):
    need_network_rights()
    cases = [_case(km, loss, arguments, progress) for km in arguments.km or _KM
             for loss in arguments.loss or ("0%", "0.01%")]
    return {"scenario": "relay", "machine": describe(), "rounds": arguments.pairs, "seconds": arguments.seconds,
            "mbits": arguments.mbits, "mtu_bytes": _MTU, "paths": arguments.paths, "cc": arguments.cc,
            "local_loss": arguments.local_loss, "fec": arguments.fec, "sizes": _sizes(arguments),
            "cases": cases, "exit_status": 0}


def show(document):
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn; one "
          f"connection, {document['mbits']} Mb/s, MTU {document['mtu_bytes']}, Debian's socket buffers;\n"
          f"times are half round trips; loss within the sender's site {document['local_loss']}")
    for case in document["cases"]:
        print(f"\n{case['km']} km ({case['one_way_us']:.0f} us one way), loss {case['loss']}; payload capacity "
              f"{case['payload_capacity_mbits_per_s']:.0f} Mb/s")
        row("", "Mb/s", *(f"{size} {part} us" for size in document["sizes"] for part in ("p50", "p99")))
        for program in case["programs"]:
            times = [text(program["messages"][size][f"{part}_us"], 0) for size in document["sizes"]
                     for part in ("p50", "p99")]
            row(program["program"], text(program["goodput_mbits_per_s"], 0), *times)
        for name, values in case["relays_to"].items():
            row(f"relays to {name}", text(values, 2))
        for relay, counts in (case["parity"] or {}).items():
            print(f"{relay} with FEC {document['fec']}: {counts['parity_sent']} datagrams of parity for "
                  f"{counts['bytes'] / 1e6:.1f} MB forwarded, {counts['parity_received']} received, "
                  f"{counts['rebuilt']} rebuilt")
        cpu_note(case["programs"])
