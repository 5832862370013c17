"""NCCL's traffic through heddle's net plugin and through another: between two namespaces, and over four spines.

`heddle nccl drive` plays NCCL's part in both: the same calls, message sizes and threads, ring order, each rank sends
and receives at once. The peer is a net plugin whose file is given by --peer, such as NCCL's own Socket transport built
as a library; without it only heddle is measured.
"""

import json
import subprocess
import tempfile
import threading
import time

from harness.arguments import at_least_one
from harness.cable import Cable, need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.report import cpu_note, row
from harness.rounds import calm, interleave, ratio, spread, text
from nccl import drive

SUMMARY = "NCCL's traffic through heddle's plugin and another: a cable, four spines, loss, a black hole"

_PARTS = ("cable", "fabric", "loss", "blackhole")
_SPINE_MBITS = 200
_FAULT_AFTER_S = 2
_BLACKHOLE_S = 8
_GIVE_UP_S = 30  # after the time of the run: a job that stands still


def add_arguments(parser):
    parser.add_argument("--peer", metavar="FILE", help="another net plugin (.so) to measure beside heddle's")
    parser.add_argument("--part", action="append", choices=_PARTS, help="measure this only [all]")
    parser.add_argument("--seconds", type=at_least_one, default=2, metavar="N",
                        help="how long one measurement takes [2]")
    parser.add_argument("--pairs", type=at_least_one, default=5, metavar="N", help="rounds [5]")
    parser.add_argument("--sizes", default="64K,1M,16M,64M", help="bytes of a rank's buffer [64K,1M,16M,64M]")
    parser.add_argument("--channels", default="1,2,8", help="comms to a neighbor [1,2,8]")


def _plugins(arguments, congestion):
    """`congestion`: of TCP. The peer runs as NCCL sets it up by itself, and with four sockets a comm."""
    plugins = [drive.Plugin("heddle", drive.own_plugin(), HEDDLE_IFNAME="={device}", HEDDLE_SPIN="auto")]
    if arguments.peer:
        plugins.append(drive.Plugin("peer", arguments.peer, NCCL_SOCKET_IFNAME="={device}"))
        if congestion:
            plugins.append(drive.Plugin("peer, 4 sockets", arguments.peer, NCCL_SOCKET_IFNAME="={device}",
                                        NCCL_SOCKET_NTHREADS="2", NCCL_NSOCKS_PERTHREAD="2"))
    return plugins


def _row(samples, **what):
    kept = calm(samples)
    programs = []
    for name, runs in kept.items():
        programs.append({"program": name, "gbytes_per_s": spread([run.gbytes_per_s for run in runs]),
                         "cpu_seconds_per_gb": spread([run.cpu_seconds_per_gb for run in runs]),
                         "cpu_share": spread([run.cpu_share for run in runs]), "machine": summary(samples[name])})
    ratios = {name: ratio([run.gbytes_per_s for run in kept["heddle"]], [run.gbytes_per_s for run in runs])
              for name, runs in kept.items() if name != "heddle"}
    return {**what, "programs": programs, "heddle_to": ratios}


def _wait_for_carrier(inside, hosts, devices):
    """The kernel reports a new veth's carrier up to a second late; a net plugin uses no NIC without one."""
    for host, device in zip(hosts, devices):
        wait = f"for i in $(seq 50); do ip -o link show {device} | grep -q NO-CARRIER || exit 0; sleep 0.1; done"
        subprocess.run(inside(host, ["sh", "-c", wait]), check=False)


def _use_tcp(inside, hosts, congestion, peer):
    """Sets TCP's congestion control, and returns the one in use. With a peer it must be the one that is asked for: bbr
    is slow where no rate is limited.
    """
    setting = "/proc/sys/net/ipv4/tcp_congestion_control"
    for host in hosts:
        subprocess.run(inside(host, ["sh", "-c", f"echo {congestion} >{setting}"]), stderr=subprocess.DEVNULL,
                       check=False)
    used = subprocess.run(inside(hosts[0], ["cat", setting]), stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    if peer and used != congestion:
        raise CannotMeasure(f"network namespaces may not use TCP {congestion} here; they have {used}",
                            f"add {congestion} to net.ipv4.tcp_allowed_congestion_control, or load tcp_{congestion}")
    return used


def _cable(arguments, progress):
    rows = []
    for mtu in (9000, 1500):
        with Cable(mtu) as cable:
            _wait_for_carrier(cable.inside, (cable.near, cable.far), ("cable0", "cable0"))
            tcp = _use_tcp(cable.inside, (cable.near, cable.far), "cubic", arguments.peer)
            ends = drive.Ends(cable.inside, (cable.near, cable.far), ("cable0", "cable0"))
            for size in arguments.sizes.split(","):
                for channels in arguments.channels.split(","):
                    options = ["--bytes", size, "--channels", channels]
                    contests = [drive.Drive(plugin, ends, options, arguments.seconds)
                                for plugin in _plugins(arguments, None)]
                    rows.append(_row(interleave(contests, arguments.pairs, progress), mtu=mtu, bytes=size,
                                     channels=int(channels), tcp=tcp))
    return rows


def _topology(loss=None):
    made = leaf_spine(leaves=2, spines=4, hosts_per_leaf=1, mtu=9000, host_rate="1Gbit/s", host_queue="625KB",
                      spine_rate=f"{_SPINE_MBITS}Mbit/s", spine_queue="125KB")
    return made.replace("[switch_link]", f'loss = "{loss}"\n[switch_link]') if loss else made


def _ends(fabric, congestion, peer):
    hosts = ("h0", "h1")
    _wait_for_carrier(fabric.inside, hosts, [fabric.device(host) for host in hosts])
    return (drive.Ends(fabric.inside, hosts, [fabric.device(host) for host in hosts]),
            _use_tcp(fabric.inside, hosts, congestion, peer))


def _fabric(arguments, progress, loss=None, congestion="cubic"):
    rows = []
    with Fabric(_topology(loss)) as fabric:
        ends, tcp = _ends(fabric, congestion, arguments.peer)
        for channels in (1, 4):
            options = ["--bytes", "16M", "--channels", str(channels)]
            contests = [drive.Drive(plugin, ends, options, arguments.seconds + 2)
                        for plugin in _plugins(arguments, congestion)]
            rows.append(_row(interleave(contests, arguments.pairs, progress), bytes="16M", channels=channels,
                             tcp=tcp))
    return rows


def _blackhole(arguments, progress):
    """One spine swallows everything in mid-run, in both directions, and does not come back."""
    results = []
    with Fabric(_topology()) as fabric:
        ends, _ = _ends(fabric, "cubic", arguments.peer)
        for number, plugin in enumerate(_plugins(arguments, "cubic")):
            progress.say(number, 3, plugin.name)
            fabric.fault("clear")
            run = drive.Drive(plugin, ends, ["--bytes", "4M", "--channels", "4"], _BLACKHOLE_S)
            timers = [threading.Timer(_FAULT_AFTER_S, fabric.fault, ("blackhole", leaf, "spine0"))
                      for leaf in ("leaf0", "leaf1")]
            with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
                began = time.monotonic()
                processes = run.start(folder)
                for timer in timers:
                    timer.start()
                ended = drive.finish(processes, _BLACKHOLE_S + _GIVE_UP_S)
                took_s = time.monotonic() - began
            for timer in timers:
                timer.join()
            survived = all(status == 0 for status, _, _ in ended)
            ranks = json.loads(ended[0][1])["ranks"] if survived else []
            longest_us = max((rank["send_latency_us_max"] for rank in ranks), default=0)
            results.append({"program": plugin.name, "survived": survived, "took_s": took_s,
                            "send_latency_ms_max": longest_us / 1e3,
                            "gbytes_per_s": sum(rank["gbytes_per_s"] for rank in ranks) / 2,
                            "said": [said.strip()[-300:] for _, _, said in ended]})
    return results


def run(arguments, progress):
    need_network_rights()
    parts = arguments.part or _PARTS
    document = {"scenario": "nccl", "machine": describe(), "rounds": arguments.pairs, "seconds": arguments.seconds,
                "peer": arguments.peer}
    if "cable" in parts:
        document["cable"] = _cable(arguments, progress)
    if "fabric" in parts:
        document["fabric"] = _fabric(arguments, progress)
    if "loss" in parts:
        document["loss"] = _fabric(arguments, progress, loss="0.1%", congestion="bbr")
    if "blackhole" in parts:
        document["blackhole"] = _blackhole(arguments, progress)
    return document


def _show_rows(title, rows):
    print(f"\n{title}")
    row("", "GB/s", "CPU s a GB", "heddle to it")
    for each in rows:
        head = f"{each['mtu']}, " if "mtu" in each else ""
        print(f"  {head}{each['bytes']}, channels: {each['channels']}, TCP: {each['tcp']}")
        for program in each["programs"]:
            against = each["heddle_to"].get(program["program"])
            row("  " + program["program"], text(program["gbytes_per_s"], 3), text(program["cpu_seconds_per_gb"], 2),
                text(against, 2) if against else "")
    cpu_note([program for each in rows for program in each["programs"]])


def show(document):
    print(f"median (least to most) of {document['rounds']} rounds of {document['seconds']} s, in turn; ring of two "
          "ranks, each sends and receives")
    if "cable" in document:
        _show_rows("veth, by MTU and bytes of an iteration", document["cable"])
    if "fabric" in document:
        _show_rows(f"four spines of {_SPINE_MBITS} Mb/s, hosts of 1 Gb/s", document["fabric"])
    if "loss" in document:
        _show_rows("the same, 0.1% of packets lost on each host's link", document["loss"])
    if "blackhole" in document:
        print(f"\none spine swallows everything from {_FAULT_AFTER_S} s on, for good; runs of {_BLACKHOLE_S} s")
        for each in document["blackhole"]:
            row(each["program"], "survived" if each["survived"] else "did not end or failed",
                f"{each['gbytes_per_s']:.3f} GB/s" if each["survived"] else f"after {each['took_s']:.0f} s",
                f"longest send {each['send_latency_ms_max']:.0f} ms" if each["survived"] else "")
