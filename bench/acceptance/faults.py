"""`heddle verify --quick` on labs with a known fault each, and on clean ones: what it names.

A fault is found when its place is among what the report names: links that it marks, and hosts and switches with a row
that failed or warns. Besides it may name an end of the broken link, the link of the broken host, and pairs of hosts
whose packets cross the place. Anything else is a wrong name, and ends the scenario with exit status 1. Each run of a
fault has another place.
"""

import json
import pathlib
import subprocess
import tempfile
import threading
import time

from harness import moved_clock
from harness.fabric import Fabric, leaf_spine, override
from harness.failure import CannotMeasure
from harness.pair import built
from harness.report import row

_RATES = {"host_rate": "20Mbit/s", "host_queue": "50KB", "spine_rate": "20Mbit/s", "spine_queue": "50KB"}
_DEVICE = "nic0"  # of a lab's hosts
_HOSTS_PER_LEAF = 2
# Of this machine, which hosts of a lab share: no fault of one of them.
_SHARED = ("clock synchronization",)
_CLOCK_S = 2  # heddle verify names clocks that are more than 1 s apart


class _Repeated:
    """Calls of `act` in turn with a time each, until the block ends."""

    def __init__(self, *acts):
        self._acts, self._ended = acts, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._ended.is_set():
            for act, seconds in self._acts:
                act()
                self._ended.wait(seconds)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()


class _Once:
    def __init__(self, *acts):
        self._acts = acts

    def __enter__(self):
        for act in self._acts:
            act()

    def __exit__(self, *_):
        pass


class _MovedClock:
    """Machines that `heddle lab exec` starts programs on, since hosts of a lab share a clock, which verify knows. Those
    of one host have another time; the words that test them are given to the block."""

    def __init__(self, lab, host, seconds):
        self._lab, self._host, self._seconds = lab, host, seconds
        self._folder = tempfile.TemporaryDirectory(prefix="heddle-bench-clock-")

    def __enter__(self):
        library = moved_clock.make_library(self._folder.name)
        moved = " ".join(f"{name}={value}" for name, value in moved_clock.settings(library, self._seconds).items())
        shell = pathlib.Path(self._folder.name, "shell")
        begin = f'"{built("heddle")}" lab exec --name {self._lab.name} "$host" --'
        shell.write_text(f'#!/bin/sh\nhost=$1; shift\n[ "$host" = {self._host} ] || exec {begin} sh -c "$*"\n'
                         f'exec {begin} env {moved} sh -c "$*"\n', encoding="utf-8")
        shell.chmod(0o755)
        hosts = self._lab.hosts
        return self._lab.inside(hosts[0], [built("heddle"), "verify", "--hosts", ",".join(hosts), "--via",
                                           f"{shell} {{host}} {{command}}"])

    def __exit__(self, *_):
        self._folder.cleanup()


def _ethtool(fabric, host, *words):
    fabric.run(host, ["ethtool", "-K", _DEVICE, *words])


def _link(leaf, spine):
    return f"{leaf} - {spine}"


def _leaf_of(host):
    return f"leaf{int(host[1:]) // _HOSTS_PER_LEAF}"


def _faults(turn):
    """Of each fault: its places, the rates of the plan where they are not all alike, and how it is made."""
    leaf, spine, number = f"leaf{turn % 2}", f"spine{(turn // 2 + 1) % 2}", (turn + 1) % 4
    host, other = f"h{number}", f"h{number ^ 1}"
    hosts_leaf, between = _leaf_of(host), _link(leaf, spine)
    return {
        "a link of 4 of 20 Mb/s": ([between], "", lambda lab: _Once(
            lambda: lab.fault("rate", leaf, spine, "4Mbit/s"))),
        "a link that loses 1%": ([between], "", lambda lab: _Once(lambda: lab.fault("loss", leaf, spine, "1%"))),
        "a host with an MTU of 1,400": ([host], "", lambda lab: _Once(
            lambda: lab.run(host, ["ip", "link", "set", _DEVICE, "mtu", "1400"]))),
        "a black hole from a leaf to a spine": ([between], "", lambda lab: _Once(
            lambda: lab.fault("blackhole", leaf, spine))),
        "an unplugged NIC": ([_link(host, hosts_leaf)], "", lambda lab: _Once(
            lambda: lab.fault("down", host, hosts_leaf))),
        "swapped rates of two hosts": ([_link(host, hosts_leaf), _link(other, hosts_leaf)],
                                       override((host, hosts_leaf), rate="10Mbit/s"),
                                       lambda lab: _Once(lambda: lab.fault("rate", other, hosts_leaf, "10Mbit/s"),
                                                         lambda: lab.fault("rate", host, hosts_leaf, "20Mbit/s"))),
        "a paused host": ([host], "", lambda lab: _Repeated((lambda: lab.fault("pause", host), 0.2))),
        "a host that runs a fifth of the time": ([host], "", lambda lab: _Repeated(
            (lambda: lab.fault("pause", host), 0.2), (lambda: lab.fault("resume", host), 0.05))),
        "a host with another offload": ([host], "", lambda lab: _Once(lambda: _ethtool(lab, host, "gro", "on"))),
        "a link that is down 1 s of 4": ([between], "", lambda lab: _Repeated(
            (lambda: lab.fault("up", leaf, spine), 3), (lambda: lab.fault("down", leaf, spine), 1))),
        "a clock off by 2 s": ([host], "", lambda lab: _MovedClock(lab, host, -_CLOCK_S if turn % 2 else _CLOCK_S)),
    }


def _crosses(pair, place):
    """Whether packets of a pair of hosts pass a place of these fabrics, on some of their routes at least."""
    ends = place.split(" - ")
    hosts = [end for end in ends if end.startswith("h")]
    if hosts:
        return hosts[0] in pair
    return (_leaf_of(pair[0]) in ends) != (_leaf_of(pair[1]) in ends)


def _is_right(name, places):
    """Whether the name of a host, a switch, a link or a pair may be that of one of these places."""
    pair = name.split(" to ")
    if len(pair) == 2:
        return any(_crosses(pair, place) for place in places)
    return any(name in (place, *place.split(" - ")) or (" - " not in place and place in name.split(" - "))
               for place in places)


def _wrong(places, named, pairs=()):
    """What is named, pairs included, though it neither is a place nor follows from one."""
    return sorted(each for each in {*named, *pairs} if not _is_right(each, places))


def _verify(lab, command):
    done = subprocess.run([*(command or [built("heddle"), "verify", "--lab", lab.name]), "--topology", lab.file,
                           "--quick", "--json"], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError as missing:
        raise CannotMeasure(f"heddle verify gave no report: {done.stderr.strip()[-400:]}",
                            "run it by hand") from missing


def _rows(report, *grades):
    return [row for stage in report["stages"] for row in stage["rows"] if row["grade"] in grades]


def _named(report):
    """Links that are marked, and hosts and switches of rows that failed or warn."""
    links = {link["label"] for link in report["links"] if link["named"]}
    places = {node["name"] for node in report["nodes"]} | {link["label"] for link in report["links"]}
    return links | {row["where"] for row in _rows(report, "warn", "fail")
                    if row["where"] in places and row["check"] not in _SHARED}


def _failed_pairs(report, hosts):
    """Pairs of hosts with a row that failed, as "h0 to h1"."""
    return {row["where"] for row in _rows(report, "fail")
            if len(ends := row["where"].split(" to ")) == 2 and set(ends) <= set(hosts)}


def _run(more, break_it):
    with Fabric(leaf_spine(spines=2, hosts_per_leaf=_HOSTS_PER_LEAF, more=more, **_RATES)) as lab:
        began = time.monotonic()
        with break_it(lab) as command:
            report = _verify(lab, command)
        return {"verdict": report["verdict"], "named": sorted(_named(report)),
                "pairs": sorted(_failed_pairs(report, lab.hosts)),
                "others_busy_share": report["others_busy_share"], "seconds": time.monotonic() - began}


def _case(name, arguments, say):
    """Runs of one fault, each with the places that it had."""
    runs = []
    for turn in range(arguments.runs):
        say(turn)
        places, more, break_it = _faults(turn)[name]
        one = _run(more, break_it)
        runs.append({**one, "places": places, "wrong": _wrong(places, one["named"], one["pairs"])})
    besides = {name for one in runs for name in {*one["named"], *one["wrong"]} - set(one["places"])}
    return {"fault": name, "places": sorted({place for one in runs for place in one["places"]}), "runs": runs,
            "found": sum(set(one["places"]) <= set(one["named"]) and not one["wrong"] for one in runs),
            "others": sorted(besides)}


def measure(arguments, progress):
    names = list(_faults(0))
    total, cases = len(names) * arguments.runs + arguments.clean, []
    for name in names:
        done = len(cases) * arguments.runs
        cases.append(_case(name, arguments, lambda turn: progress.say(done + turn, total, name)))
    clean = []
    for number in range(arguments.clean):
        progress.say(total - arguments.clean + number, total, "no fault")
        clean.append(_run("", lambda _: _Once()))
    return {"cases": cases, "clean": clean,
            "exit_status": 0 if all(case["found"] == len(case["runs"]) for case in cases) and
            all(one["verdict"] == "PASS" for one in clean) else 1}


def show(document):
    row("", "found", "named besides", "seconds")
    for case in document["cases"]:
        row(case["fault"], f"{case['found']} of {len(case['runs'])}", ", ".join(case["others"]) or "-",
            f"{max(one['seconds'] for one in case['runs']):.0f}")
    verdicts = [one["verdict"] for one in document["clean"]]
    if verdicts:
        row("no fault", ", ".join(f"{verdicts.count(each)} {each}" for each in sorted(set(verdicts))),
            ", ".join(sorted({name for one in document["clean"] for name in one["named"]})) or "-",
            f"{max(one['seconds'] for one in document['clean']):.0f}")
    busy = max((one["others_busy_share"] for one in document["clean"]), default=0)
    print(f"\n  other programs had up to {busy:.0%} of the processors")
