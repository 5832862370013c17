"""`heddle verify --quick` on labs with a known fault each, and on clean ones: what it names.

A fault is found when its place is among what the report names: links that it marks, and hosts with a row that failed or
warns. What it names besides is listed, too: an end of the broken link, or a place that has nothing.
"""

import json
import subprocess
import threading
import time

from harness.fabric import Fabric, leaf_spine, override
from harness.failure import CannotMeasure
from harness.pair import built
from harness.report import row

_RATES = {"host_rate": "20Mbit/s", "host_queue": "50KB", "spine_rate": "20Mbit/s", "spine_queue": "50KB"}
_DEVICE = "nic0"  # of a lab's hosts


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


def _ethtool(fabric, host, *words):
    fabric.run(host, ["ethtool", "-K", _DEVICE, *words])


# Of each fault: its places, the rates of the plan where they are not all alike, and how it is made.
def _faults():
    return {
        "a link of 4 of 20 Mb/s": (["leaf0 - spine1"], "", lambda lab: _Once(
            lambda: lab.fault("rate", "leaf0", "spine1", "4Mbit/s"))),
        "a link that loses 1%": (["leaf0 - spine1"], "", lambda lab: _Once(
            lambda: lab.fault("loss", "leaf0", "spine1", "1%"))),
        "a host with an MTU of 1,400": (["h1"], "", lambda lab: _Once(
            lambda: lab.run("h1", ["ip", "link", "set", _DEVICE, "mtu", "1400"]))),
        "a black hole from leaf0 to spine1": (["leaf0 - spine1"], "", lambda lab: _Once(
            lambda: lab.fault("blackhole", "leaf0", "spine1"))),
        "an unplugged NIC": (["h1 - leaf0"], "", lambda lab: _Once(lambda: lab.fault("down", "h1", "leaf0"))),
        "swapped rates of two hosts": (["h0 - leaf0", "h1 - leaf0"], override(("h1", "leaf0"), rate="10Mbit/s"),
                                       lambda lab: _Once(lambda: lab.fault("rate", "h0", "leaf0", "10Mbit/s"),
                                                         lambda: lab.fault("rate", "h1", "leaf0", "20Mbit/s"))),
        "a paused host": (["h1"], "", lambda lab: _Repeated((lambda: lab.fault("pause", "h1"), 0.2))),
        "a host that runs a fifth of the time": (["h1"], "", lambda lab: _Repeated(
            (lambda: lab.fault("pause", "h1"), 0.2), (lambda: lab.fault("resume", "h1"), 0.05))),
        "a host with another offload": (["h1"], "", lambda lab: _Once(lambda: _ethtool(lab, "h1", "gro", "on"))),
        "a link that is down 1 s of 4": (["leaf0 - spine1"], "", lambda lab: _Repeated(
            (lambda: lab.fault("up", "leaf0", "spine1"), 3), (lambda: lab.fault("down", "leaf0", "spine1"), 1))),
    }


def _verify(lab):
    done = subprocess.run([built("heddle"), "verify", "--lab", lab.name, "--topology", lab.file, "--quick", "--json"],
                          capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError as missing:
        raise CannotMeasure(f"heddle verify gave no report: {done.stderr.strip()[-400:]}",
                            "run it by hand") from missing


def _named(report, hosts):
    """Links that are marked, and hosts of rows that failed or warn. Rows of pairs name no place."""
    links = {link["label"] for link in report["links"] if link["named"]}
    rows = [each for stage in report["stages"] for each in stage["rows"] if each["grade"] in ("warn", "fail")]
    return links | {each["where"] for each in rows if each["where"] in hosts | links}


def _run(more, break_it):
    with Fabric(leaf_spine(spines=2, hosts_per_leaf=2, more=more, **_RATES)) as lab:
        began = time.monotonic()
        with break_it(lab):
            report = _verify(lab)
        return {"verdict": report["verdict"], "named": sorted(_named(report, set(lab.hosts))),
                "others_busy_share": report["others_busy_share"], "seconds": time.monotonic() - began}


def measure(arguments, progress):
    faults = _faults()
    total, cases = len(faults) * arguments.runs + arguments.clean, []
    for name, (places, more, break_it) in faults.items():
        runs = []
        for _ in range(arguments.runs):
            progress.say(len(cases) * arguments.runs + len(runs), total, name)
            runs.append(_run(more, break_it))
        cases.append({"fault": name, "places": places, "runs": runs,
                      "found": sum(set(places) <= set(one["named"]) for one in runs),
                      "others": sorted({other for one in runs for other in one["named"]} - set(places))})
    clean = []
    for number in range(arguments.clean):
        progress.say(total - arguments.clean + number, total, "no fault")
        clean.append(_run("", lambda _: _Once()))
    return {"cases": cases, "clean": clean,
            "exit_status": 0 if all(case["found"] == len(case["runs"]) for case in cases) and
            all(one["verdict"] != "FAIL" for one in clean) else 1}


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
