"""An integrator's acceptance test of Ethernet for AI, and the same questions on this machine.

Three steps, each before the next: does RDMA talk (rping), how much (qperf), does training gain (ResNet-18 on one
server and on two). Published figures have a column of their own: two GPU servers, one 100GbE switch, 60 s a run.
Ours are shares of what each link can carry here, since absolute figures of a veth pair, or of soft-RoCE on an emulated
processor, say nothing about a NIC's. A fourth question is of the test itself: `faults` breaks labs in known ways, and
looks whether `heddle verify` names the place.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from acceptance import faults
from harness.cable import Cable, need_network_rights
from harness.fabric import leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built, installed, run_pair
from harness.report import disturbance_note, row
from harness.rounds import interleave, ratio, spread, text

SUMMARY = "an integrator's acceptance test beside the same questions here"

_MTU = 9000
_IMAGES = 50_000  # as CIFAR-10 has
# Gradients of ResNet-18, 44.7 MB, which each of two ranks sends once a step, take 0.38 s at this rate. `heddle verify`
# takes batches whose computing is at least 1.3 times that; backward passes are two thirds of it, and one core needs
# 0.53 s for one of 256 images: the gradients can be hidden. At its own 200 Mb/s they take 1.9 s.
_TRAINING_LINK = {"host_rate": "1Gbit/s", "host_queue": "625KB", "spine_rate": "1Gbit/s", "spine_queue": "625KB"}
_MESSAGES = 20  # of a test of reach
_STEPS = ("reach", "throughput", "rdma", "training", "faults")
_VM = pathlib.Path(__file__).with_name("inside_vm.py")
# The integrator's figures: Gb/s, microseconds, minutes.
_THEIR_LINK = 100
_THEIRS = {"tcp_bw": 16.9, "tcp_lat": 35.3, "udp_bw sent": 21.5, "udp_bw received": 1.45, "udp_lat": 28.4,
           "rc_bw": 97.3, "rc_lat": 13.9, "minutes, one server": 27, "minutes, two servers": 15}


def add_arguments(parser):
    parser.add_argument("step", choices=_STEPS, help="the integrator's step, or a part of it")
    parser.add_argument("--seconds", type=int, default=2, metavar="N", help="how long a measurement takes [2]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N",
                        help="rounds: so often each program is measured, in turn [5]")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="of faults: of each one [3]")
    parser.add_argument("--clean", type=int, default=10, metavar="N", help="of faults: runs without one [10]")
    parser.add_argument("--cifar", metavar="FOLDER", help="of training: files of CIFAR-10 [images are made]")
    parser.add_argument("--weights", metavar="FILE", help="of training: weights to begin from [random ones]")


def _by_qperf(output):
    """{test: {figure: value}} of `qperf -uu`: bytes a second, nanoseconds."""
    tests = {}
    for line in output.splitlines():
        if line.endswith(":"):
            tests[line[:-1]] = {}
        elif "=" in line:
            name, value = line.split("=")
            tests[list(tests)[-1]][name.strip()] = float(value.split()[0])
    return tests


def _gbits(bytes_per_s):
    return bytes_per_s * 8 / 1e9


# --- in the virtual machine ---

def _in_vm(seconds, rounds, progress):
    heddle = built("heddle")
    for program, package in (("rping", "rdmacm-utils"), ("qperf", "qperf")):
        installed(program, package)
    progress.say(0, 1, "in the virtual machine")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([heddle, "lab", "vm", "--out", folder, "--", sys.executable, "-B", str(_VM), heddle,
                               str(seconds), str(rounds)], capture_output=True, text=True, check=False)
        path = os.path.join(folder, "results.json")
        if done.returncode != 0 or not os.path.exists(path):
            raise CannotMeasure(f"the virtual machine ended with {done.returncode}: {done.stderr.strip()[-400:]}",
                                "run scripts/setup --vm, and `heddle lab vm -- true` by hand")
        with open(path, encoding="utf-8") as file:
            return json.load(file)


# --- steps ---

def _reach(arguments, progress):
    """rping's question: do messages come back unchanged."""
    found = _in_vm(arguments.seconds, 0, progress)
    rows = [{"program": "rping, RC in the virtual machine", "messages": found["rping"].count("ping data")}]
    for name, output in found["ping"].items():
        rows.append({"program": f"{name} in the virtual machine", "messages": _verified(output)})
    with Cable(_MTU) as cable:
        heddle = built("heddle")
        sample = run_pair(cable, [heddle, "ping", "--listen", "--once"],
                          [heddle, "ping", cable.far_address, "-C", str(_MESSAGES)], "listens", 20)
    rows.append({"program": "heddle, UDP between namespaces", "messages": _verified(sample.output)})
    return {"rows": rows, "exit_status": status_of_reach(rows)}


def _verified(output):
    """Messages of `heddle ping` that came back unchanged: all or none."""
    return _MESSAGES if "each verified" in output else 0


def status_of_reach(rows):
    """1 where a program lost a message or had one come back changed: then figures of speed say nothing."""
    return 0 if all(each["messages"] == _MESSAGES for each in rows) else 1


class _Contest:
    def __init__(self, name, cable, server, client, limit_s):
        self.name = name
        self._arguments = (cable, server, client, "listens", limit_s)

    def run(self):
        return run_pair(*self._arguments)


def _throughput_contests(cable, seconds):
    heddle, raw, qperf = built("heddle"), built("heddle-bench-raw-udp"), installed("qperf", "qperf")
    tests = ("tcp_bw", "tcp_lat", "udp_bw", "udp_lat")
    asking = f"{qperf} -ws 5 -t {seconds} -uu {cable.far_address} {' '.join(tests)} && {qperf} {cable.far_address} quit"
    raw_server = [raw, "--server", "--once"]
    raw_client = [raw, "--client", cable.far_address, "-t", str(seconds), "--json"]
    return [
        _Contest("qperf", cable, ["sh", "-c", f"echo listens; exec {qperf}"], ["sh", "-c", asking],
                 seconds * len(tests) + 20),
        _Contest("heddle, bandwidth", cable, [heddle, "perf", "--listen", "--once"],
                 [heddle, "perf", cable.far_address, "bw", "-t", f"{seconds}s", "-s", "1M", "--json"], seconds + 20),
        _Contest("heddle, latency", cable, [heddle, "perf", "--listen", "--once"],
                 [heddle, "perf", cable.far_address, "lat", "-t", f"{seconds}s", "-s", "64", "--json"], seconds + 20),
        _Contest("limit, bandwidth", cable, raw_server, [*raw_client, "--mtu", str(_MTU), "--mode", "copy"],
                 seconds + 20),
        _Contest("limit, latency", cable, raw_server, [*raw_client, "--test", "lat", "-s", "64"], seconds + 20),
    ]


def _of_heddle(output):
    """Goodput in Gb/s and one-way latency (RTT/2) in microseconds."""
    bandwidth, latency = json.loads(output)["tests"]
    return bandwidth["goodput_gbits_per_s"], latency["half_round_trip_us_p50"]


def _figures_of(samples):
    """{measure: [value of a round, …]}."""
    figures = {}

    def add(name, value):
        figures.setdefault(name, []).append(value)

    for sample in samples["qperf"]:
        tests = _by_qperf(sample.output)
        add("tcp_bw", _gbits(tests["tcp_bw"]["bw"]))
        add("udp_bw sent", _gbits(tests["udp_bw"]["send_bw"]))
        add("udp_bw received", _gbits(tests["udp_bw"]["recv_bw"]))
        for name in ("tcp_lat", "udp_lat"):
            add(name, tests[name]["latency"] / 1e3)
    for who in ("heddle", "limit"):
        for what, key in (("bandwidth", "goodput_gbits_per_s"), ("latency", "half_round_trip_us_p50")):
            for sample in samples[f"{who}, {what}"]:
                add(f"{who}, {what}", json.loads(sample.output)["tests"][0][key])
    return figures


def _row(measure, values, limits, unit):
    theirs = _THEIRS.get(measure)
    share = theirs / _THEIR_LINK if theirs is not None and unit == "Gb/s" else None
    return {"measure": measure, "unit": unit, "theirs": theirs, "their_share_of_link": share, "here": spread(values),
            "to_limit": ratio(values, limits)}


def _throughput(arguments, progress):
    with Cable(_MTU) as cable:
        samples = interleave(_throughput_contests(cable, arguments.seconds), arguments.pairs, progress)
    figures = _figures_of(samples)
    rows = [_row(name, figures[name], figures["limit, bandwidth"], "Gb/s")
            for name in ("tcp_bw", "udp_bw sent", "udp_bw received", "heddle, bandwidth", "limit, bandwidth")]
    rows += [_row(name, figures[name], figures["limit, latency"], "us")
             for name in ("tcp_lat", "udp_lat", "heddle, latency", "limit, latency")]
    return {"rows": rows, "disturbances": [summary(runs) for runs in samples.values()]}


def _rdma(arguments, progress):
    rounds = _in_vm(arguments.seconds, arguments.pairs, progress)["rounds"]
    peer = [_by_qperf(one["qperf"]) for one in rounds]
    limits = {"Gb/s": [_gbits(one["rc_bw"]["bw"]) for one in peer],
              "us": [one["rc_lat"]["latency"] / 1e3 for one in peer]}
    rows = [_row("rc_bw", limits["Gb/s"], limits["Gb/s"], "Gb/s"), _row("rc_lat", limits["us"], limits["us"], "us")]
    for name in (name for name in rounds[0] if name != "qperf"):
        both = [_of_heddle(one[name]) for one in rounds]
        rows.append(_row(f"{name}, bandwidth", [each[0] for each in both], limits["Gb/s"], "Gb/s"))
        rows.append(_row(f"{name}, latency", [each[1] for each in both], limits["us"], "us"))
    return {"rows": rows}


def _given(arguments):
    """The options of what to train with, by paths that hosts of a lab have, too."""
    return [word for name in ("cifar", "weights") if (value := getattr(arguments, name))
            for word in (f"--{name}", os.path.abspath(value))]


def _training(arguments, progress):
    """`heddle verify` trains with the same images in each step on one host and on two, one core each."""
    progress.say(0, 1, "heddle verify --stage training")
    python = os.environ.get("HEDDLE_BENCH_PYTHON", "/usr/bin/python3")
    module = os.environ.get("HEDDLE_TORCH_MODULE", str(pathlib.Path(built("heddle")).parents[1] / "python"))
    path = os.pathsep.join(each for each in (module, os.environ.get("PYTHONPATH", "")) if each)
    with tempfile.TemporaryDirectory() as folder:
        topology = pathlib.Path(folder, "two-hosts.toml")
        topology.write_text(leaf_spine(spines=1, hosts_per_leaf=1, mtu=_MTU, **_TRAINING_LINK), encoding="utf-8")
        done = subprocess.run([built("heddle"), "verify", "--topology", topology, "--full", "--stage", "training",
                               "--python", python, *_given(arguments), "--json"],
                              env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    try:
        stage = json.loads(done.stdout)["stages"][0]
        if stage["outcome"] not in ("passed", "failed"):
            raise ValueError(stage["reason"])
        runs = dict(zip(("one", "all", "gloo"), stage["data"]["torch"]))
    except (ValueError, KeyError, IndexError) as missing:
        raise CannotMeasure(f"heddle verify trained nothing: {(done.stderr or done.stdout).strip()[-400:]}",
                            "run scripts/setup --torch and build again") from missing
    return {"runs": runs, "rows": stage["rows"]}


def run(arguments, progress):
    if arguments.step in ("reach", "throughput", "faults"):
        need_network_rights()
    if arguments.step == "faults":
        found = faults.measure(arguments, progress)
        return {"scenario": "acceptance", "step": "faults", "machine": describe(), **found}
    made = {"reach": _reach, "throughput": _throughput, "rdma": _rdma, "training": _training}[arguments.step](
        arguments, progress)
    return {"scenario": "acceptance", "step": arguments.step, "machine": describe(), "seconds": arguments.seconds,
            "theirs": _THEIRS, "their_link_gbits_per_s": _THEIR_LINK, **made}


# --- text ---

_NOT_COMPARABLE = {
    "reach": "rping proves that a NIC's RDMA writes and reads arrive; soft-RoCE proves the same of its driver, and of "
             "no cable.",
    "throughput": "Their link is a cable of 100 Gb/s, ours a veth pair whose limit is what a core moves: raw UDP with "
                  "heddle's headers and one copy. Their hosts' cores are others, and their figures are single runs.",
    "rdma": "soft-RoCE runs on an emulated processor: only ratios within a row's unit say something, and the NIC's "
            "share of the work, which RDMA saves, is the processor's there.",
    "training": "They fine-tune pretrained weights on GPUs with all 50,000 images of CIFAR-10; here two cores of one "
                "machine train, one core each, over shaped links, with {images} and from {start}. Our minutes are "
                "calculated from the rate of about ten steps. What can be compared is the gain from one host to two.",
}


def not_comparable(document):
    one = document["runs"]["one"] if document["step"] == "training" else {}
    return _NOT_COMPARABLE[document["step"]].format(images=one.get("data"),
                                                    start=one.get("weights") or "random weights")


def _theirs_text(each):
    if each["theirs"] is None:
        return "-"
    share = each["their_share_of_link"]
    return f"{each['theirs']}" + (f" ({share:.0%} of the link)" if share is not None else "")


def _show_rows(document):
    # Nothing limits the link of the virtual machine but processors.
    limit = "times rc_bw or rc_lat here" if document["step"] == "rdma" else "to the limit here"
    row("", "integrator", "here, median (range)", limit)
    for each in document["rows"]:
        row(f"{each['measure']}, {each['unit']}", _theirs_text(each), text(each["here"], 2), text(each["to_limit"], 2))


def _show_training(document):
    theirs = document["theirs"]
    row("", "integrator", "heddle", "Gloo")
    runs = document["runs"]
    speed = {name: run["images_per_s"] for name, run in runs.items()}
    minutes = {name: f"{_IMAGES / each / 60:.1f} min" for name, each in speed.items()}
    row(f"one host, {_IMAGES:,} images", f"{theirs['minutes, one server']} min", minutes["one"], "")
    row(f"two hosts, {_IMAGES:,} images", f"{theirs['minutes, two servers']} min", minutes["all"], minutes["gloo"])
    row("images/s, one host", "not published", f"{speed['one']:.1f}", "")
    row("images/s, two hosts", "not published", f"{speed['all']:.1f}", f"{speed['gloo']:.1f}")
    gain = theirs["minutes, one server"] / theirs["minutes, two servers"]
    row("gain", f"{gain:.2f}x", f"{speed['all'] / speed['one']:.2f}x", f"{speed['gloo'] / speed['one']:.2f}x")
    row("efficiency", f"{gain / 2:.0%}", f"{speed['all'] / speed['one'] / 2:.0%}",
        f"{speed['gloo'] / speed['one'] / 2:.0%}")
    row("time saved", f"{1 - 1 / gain:.0%}", f"{1 - speed['one'] / speed['all']:.0%}",
        f"{1 - speed['one'] / speed['gloo']:.0%}")


def show(document):
    step = document["step"]
    if step == "faults":
        faults.show(document)
        return
    print(f"{step}: the integrator's test (two GPU servers, one 100GbE switch) and this machine\n")
    if step == "reach":
        row("", f"messages of {_MESSAGES}")
        row("integrator: rping, RoCE", str(_MESSAGES))
        for each in document["rows"]:
            row(each["program"], str(each["messages"]))
    elif step == "training":
        _show_training(document)
    else:
        _show_rows(document)
    if "disturbances" in document:
        disturbance_note(document["disturbances"])
    print(f"\n  {not_comparable(document)}")
