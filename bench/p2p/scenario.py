"""Two hosts and one cable without other traffic: heddle, raw UDP (the limit) and TCP at its best.

Bandwidth: one thread on each side. The one-copy limit gathers the same headers and copies payload once; the
predicted-placement limit receives payload in its final place (bench/p2p/raw_udp*.cc, no reliability). heddle
runs twice in each round, so that its spread against itself can be compared with the ratios. Latency: 64
bytes, both sides spinning; of the raw sockets by send and recv, by sendmmsg and recvmmsg, and by an io_uring.

With `--datapath xdp` heddle uses XDP sockets, and raw AF_XDP (bench/p2p/raw_xdp.cc: the same frames, no
reliability) is the limit beside the others; this needs root outside of user namespaces. The exit status is 1 below 0.9
of that limit's goodput or above 1.3 of its latency.
"""

import json
import os
import pathlib

from harness.cable import Cable, need_network_rights
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built, installed, run_pair
from harness.report import disturbance_note
from harness.rounds import interleave, ratio, spread, text

SUMMARY = "goodput, host CPU and latency of one connection between two namespaces"

_MTUS = (9000, 1500)
_TCP_CONTROLS = ("cubic", "bbr")
_TCP_WRITES = ("128K", "1M")
_HEDDLE, _AGAIN = "heddle", "heddle again"
_ONE_COPY, _PREDICTED = "raw UDP, one copy", "raw UDP, predicted place"
_RAW_XDP = "raw AF_XDP"
_OVER_UDP = "heddle over UDP"
# What the project asks of heddle over XDP sockets, beside raw AF_XDP: the least share of goodput, the most of latency.
_ASKED_GOODPUT, _ASKED_LATENCY = 0.9, 1.3
_RAW_LATENCY, _HEDDLE_LATENCY, _AGAIN_LATENCY = "raw UDP", "heddle", "heddle again"
_RAW_BATCH, _RAW_RING = "raw UDP, sendmmsg", "raw UDP, io_uring"


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=2, metavar="N",
                        help="how long a measurement takes [2]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N",
                        help="rounds: so often each program is measured, in turn [5]")
    parser.add_argument("--mtu", type=int, action="append", choices=_MTUS,
                        help="this MTU only [9000 and 1500]")
    parser.add_argument("--datapath", choices=("udp", "xdp"), default="udp",
                        help="what heddle sends through [udp]; xdp also measures raw AF_XDP")
    parser.add_argument("--heddle-option", action="append", default=[], metavar="WORD",
                        help="a word for heddle's command line on both sides, e.g. --paths=16")


class Contest:
    """One program in one setting."""

    def __init__(self, name, cable, server, client, sign, seconds):
        self.name = name
        self._cable, self._server, self._client = cable, server, client
        self._sign, self._patience_s = sign, seconds + 20

    def run(self):
        return run_pair(self._cable, self._server, self._client, self._sign, self._patience_s)


def _raw(name, cable, seconds, words):
    program = built("heddle-bench-raw-udp")
    client = [program, "--client", cable.far_address, "-t", str(seconds), "--json", *words]
    return Contest(name, cable, [program, "--server", "--once"], client, "listens", seconds)


def _datapath_words(arguments):
    # The interface has the same name in both namespaces.
    return ["--set", "datapath=xdp", "--bind", "cable0"] if arguments.datapath == "xdp" else []


def _heddle(name, cable, arguments, test, words, over_udp=False):
    program = built("heddle")
    words = [*words, *([] if over_udp else _datapath_words(arguments)), *arguments.heddle_option]
    client = [program, "perf", cable.far_address, test, "-t", str(arguments.seconds), "--json", *words]
    return Contest(name, cable, [program, "perf", "--listen", "--once", *words], client, "listens",
                   arguments.seconds)


def _tcp(cable, seconds, control, write):
    program = installed("iperf3", "iperf3")
    client = [program, "-c", cable.far_address, "-t", str(seconds), "-C", control, "-l", write, "-J"]
    return Contest(f"TCP {control}, {write} writes", cable, [program, "-s", "-1", "--forceflush"], client,
                   "listening", seconds)


def _bandwidth_contests(cable, arguments):
    seconds = arguments.seconds
    mtu = ["--mtu", str(cable.mtu_bytes)]
    contests = [
        _raw(_ONE_COPY, cable, seconds, [*mtu, "--mode", "copy"]),
        _heddle(_HEDDLE, cable, arguments, "bw", []),
        _raw(_PREDICTED, cable, seconds, [*mtu, "--mode", "place"]),
        _heddle(_AGAIN, cable, arguments, "bw", []),
    ]
    if arguments.datapath == "xdp":
        contests.insert(1, _raw(_RAW_XDP, cable, seconds, [*mtu, "--mode", "copy", "--sockets", "xdp"]))
        contests.append(_heddle(_OVER_UDP, cable, arguments, "bw", [], over_udp=True))
    return contests + [_tcp(cable, seconds, control, write)
                       for control in _TCP_CONTROLS for write in _TCP_WRITES]


def _allows_rings():
    """Whether this kernel has what raw_ring.cc asks of an io_uring (Linux 6.1), and lets root make one."""
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) < (6, 1):
        return False
    forbidden = pathlib.Path("/proc/sys/kernel/io_uring_disabled")  # since Linux 6.6
    return not forbidden.exists() or forbidden.read_text(encoding="ascii").strip() != "2"


def _latency_contests(cable, arguments):
    spin = ["--set", "spin=always"]
    message = ["--test", "lat", "-s", "64"]
    contests = [
        _heddle(_HEDDLE_LATENCY, cable, arguments, "lat", spin),
        _raw(_RAW_LATENCY, cable, arguments.seconds, message),
        _heddle(_AGAIN_LATENCY, cable, arguments, "lat", spin),
        _raw(_RAW_BATCH, cable, arguments.seconds, [*message, "--calls", "mmsg"]),
    ]
    if _allows_rings():
        contests.append(_raw(_RAW_RING, cable, arguments.seconds, [*message, "--calls", "uring"]))
    if arguments.datapath == "xdp":
        mtu = ["--mtu", str(cable.mtu_bytes)]
        contests.append(_raw(_RAW_XDP, cable, arguments.seconds, [*message, *mtu, "--sockets", "xdp"]))
        contests.append(_heddle(_OVER_UDP, cable, arguments, "lat", spin, over_udp=True))
    return contests


def _goodput(sample):
    """The receiver's goodput in Gb/s."""
    document = json.loads(sample.output)
    if "tests" in document:
        return document["tests"][0]["goodput_gbits_per_s"]
    return document["end"]["sum_received"]["bits_per_second"] / 1e9


def _cpu_per_gbyte(sample, seconds):
    return sample.host_cpu_s / (_goodput(sample) / 8 * seconds)


def _to_raw_xdp(both, values):
    return {"heddle_to_raw_xdp": ratio(both, values[_RAW_XDP] * 2)} if _RAW_XDP in values else {}


def _summarize_bandwidth(mtu_bytes, samples, seconds):
    goodput = {name: [_goodput(one) for one in runs] for name, runs in samples.items()}
    programs = [{"program": name,
                 "goodput_gbits_per_s": spread(goodput[name]),
                 "host_cpu_seconds_per_gbyte": spread([_cpu_per_gbyte(one, seconds) for one in runs]),
                 "machine": summary(runs)}
                for name, runs in samples.items()]
    tcp = {name: spread(values)["median"] for name, values in goodput.items() if name.startswith("TCP")}
    both = goodput[_HEDDLE] + goodput[_AGAIN]
    return {
        "mtu_bytes": mtu_bytes,
        "programs": programs,
        **_to_raw_xdp(both, goodput),
        "heddle_to_one_copy": ratio(both, goodput[_ONE_COPY] * 2),
        "heddle_to_predicted_place": ratio(both, goodput[_PREDICTED] * 2),
        "heddle_to_itself": ratio(goodput[_HEDDLE], goodput[_AGAIN]),
        "best_tcp": max(tcp, key=tcp.get),
    }


def _half_round_trip(sample, part):
    return json.loads(sample.output)["tests"][0][f"half_round_trip_us_{part}"]


def _summarize_latency(samples):
    median = {name: [_half_round_trip(one, "p50") for one in runs] for name, runs in samples.items()}
    programs = [{"program": name,
                 "half_round_trip_us_p50": spread(median[name]),
                 "half_round_trip_us_p99": spread([_half_round_trip(one, "p99") for one in runs]),
                 "machine": summary(runs)}
                for name, runs in samples.items()]
    both = median[_HEDDLE_LATENCY] + median[_AGAIN_LATENCY]
    return {
        "message_bytes": 64,
        "programs": programs,
        **_to_raw_xdp(both, median),
        "heddle_to_raw": ratio(both, median[_RAW_LATENCY] * 2),
        "heddle_to_itself": ratio(median[_HEDDLE_LATENCY], median[_AGAIN_LATENCY]),
    }


def run(arguments, progress):
    need_network_rights()
    document = {"scenario": "p2p", "datapath": arguments.datapath, "machine": describe(), "rounds": arguments.pairs,
                "seconds": arguments.seconds, "bandwidth": []}
    for mtu_bytes in arguments.mtu or _MTUS:
        with Cable(mtu_bytes) as cable:
            samples = interleave(_bandwidth_contests(cable, arguments), arguments.pairs, progress)
            document["bandwidth"].append(_summarize_bandwidth(mtu_bytes, samples, arguments.seconds))
    with Cable(_MTUS[0]) as cable:
        samples = interleave(_latency_contests(cable, arguments), arguments.pairs, progress)
        document["latency"] = _summarize_latency(samples)
    return document | {"exit_status": 0 if _is_as_asked(document) else 1}


def _is_as_asked(document):
    """Whether XDP sockets give what the project asks of them; of UDP it asks nothing here."""
    return (all(part.get("heddle_to_raw_xdp", {"median": 1})["median"] >= _ASKED_GOODPUT
                for part in document["bandwidth"]) and
            document["latency"].get("heddle_to_raw_xdp", {"median": 1})["median"] <= _ASKED_LATENCY)


def _row(name, *cells):
    print(f"  {name:26}" + "".join(f"{cell:>30}" for cell in cells))


def _show_to_raw_xdp(part):
    if "heddle_to_raw_xdp" in part:
        print(f"  heddle to raw AF_XDP             {text(part['heddle_to_raw_xdp'], 2)}")


def show(document):
    machine = document["machine"]
    print(f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}")
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn")
    for part in document["bandwidth"]:
        print(f"\nGoodput of one connection, one thread a side, MTU {part['mtu_bytes']}")
        _row("", "Gb/s", "host CPU s/GB")
        for program in part["programs"]:
            best = " *" if program["program"] == part["best_tcp"] else ""
            _row(program["program"] + best, text(program["goodput_gbits_per_s"]),
                 text(program["host_cpu_seconds_per_gbyte"], 2))
        print("  * TCP at its best")
        print(f"  heddle to the one-copy limit     {text(part['heddle_to_one_copy'], 2)}")
        print(f"  heddle to the predicted places   {text(part['heddle_to_predicted_place'], 2)}")
        _show_to_raw_xdp(part)
        print(f"  heddle to itself                 {text(part['heddle_to_itself'], 2)}")
        disturbance_note([program["machine"] for program in part["programs"]])
    part = document["latency"]
    print(f"\nHalf round trip of {part['message_bytes']} bytes, both sides spinning")
    _row("", "p50 us", "p99 us")
    for program in part["programs"]:
        _row(program["program"], text(program["half_round_trip_us_p50"], 2),
             text(program["half_round_trip_us_p99"], 2))
    print(f"  heddle to raw UDP                {text(part['heddle_to_raw'], 2)}")
    _show_to_raw_xdp(part)
    print(f"  heddle to itself                 {text(part['heddle_to_itself'], 2)}")
    disturbance_note([program["machine"] for program in part["programs"]])
