"""One of four uplinks fails in a lab: rates before and after, and the time from a replaced plan until it is followed.

Four hosts on each of two leaves; those of leaf0 each send messages to one of leaf1, over four spines of 50 Mb/s: 1:1.
The cable leaf0 - spine1 is pulled, and all switches have routes without it at once. With a plan, `heddle plan --failed`
then makes another one for all flows, which replaces the file. "followed" is when the last of the four connections gave
its paths the shares of the new plan, by its log; "planned" is what `heddle plan` took, from its start to its end.

MPTCP is the kernel's, one connection for each flow with up to 2, 4 and 8 subflows to further ports of the receiver,
which the switches hash as they do heddle's paths; each of these settings has its row. Goodput is to what the links
carry as heddle's payload; headers of TCP and MPTCP are as long as heddle's within 1%.
"""

import csv
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import threading
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine, payload_share
from harness.failure import CannotMeasure
from harness.flows import WARM_UP_S, Heddle, run_flows
from harness.machine import describe
from harness.meanwhile import summary
from harness.mptcp import Mptcp, why_no_mptcp
from harness.pair import built
from harness.report import disturbance_note, row
from harness.rounds import Spare, interleave, spread, text
from plan import theirs

_SPINES, _HOSTS, _SPINE_MBITS, _MTU = 4, 4, 50, 1500
_FAILS_AFTER_S = 3     # after the clients' start, of which the first second does not count
_SETTLED_AFTER_S = 1.5
_SECONDS = 6           # behind the warm-up
_REPLANS_AFTER_S = 1   # after the failure: it has to be noticed
_MOST_FOLLOW_S = 1     # after the replacement: what is followed later belongs to a later look at the routes
_SPARE_S = 40          # for repeated runs of a disturbed machine
_ECMP, _REPLANNED = "ECMP, 1 path", "heddle, planned again"
_THEIRS = {_ECMP: "ecmp", _REPLANNED: "replan"}  # keys of theirs.py
_SUBFLOWS = (2, 4, 8)   # of MPTCP; the kernel has at most 8 further ones
_FLOWS = [(f"h{i}", f"h{i + _HOSTS}") for i in range(_HOSTS)]


def add_arguments(parser):
    parser.add_argument("--runs", type=int, default=4, metavar="N", help="with --lab: of each kind [4]")


class _Logged(Heddle):
    """With the times at which the connection followed a plan, as seconds since 1970."""

    def client(self, address, seconds):
        return [*super().client(address, seconds), "--set", "log=info"]

    def read_log(self, log):
        now = datetime.datetime.now()
        times = []
        for clock in re.findall(r"^(\d\d:\d\d:\d\d\.\d+) info plan .*: followed to ", log, re.MULTILINE):
            at = datetime.datetime.strptime(clock, "%H:%M:%S.%f").time()
            said = datetime.datetime.combine(now, at)  # yesterday, if that is to come
            times.append((said if said <= now else said - datetime.timedelta(days=1)).timestamp())
        return {"followed_at": times}


class _Failure:
    """One run of all flows with the failure, for harness.rounds.interleave()."""

    def __init__(self, lab, program, replans=False):
        self.name = program.name
        self._lab, self._program, self._replans = lab, program, replans

    def run(self):
        self._lab.fabric.fault("clear")
        self._lab.plan("plan.json")
        times = {}
        timer = threading.Timer(_FAILS_AFTER_S, self._fail, (times,))
        sample = run_flows(self._lab.fabric, self._program, _FLOWS, _SECONDS, after_start=timer.start)
        timer.join()
        sample.times = times
        return sample

    def _fail(self, times):
        self._lab.fabric.fault("down", "leaf0", "spine1")
        if not self._replans:
            return
        time.sleep(_REPLANS_AFTER_S)
        began = time.monotonic()
        self._lab.plan("next.json", "--failed", "leaf0:spine1")
        times["planned_ms"] = (time.monotonic() - began) * 1e3
        times["replaced_at"] = time.time()
        os.rename(self._lab.path("next.json"), self._lab.path("plan.json"))


class _Lab:
    """The fabric, and a folder with its plan."""

    def __init__(self, fabric, folder):
        self.fabric, self._folder = fabric, pathlib.Path(folder)
        with open(self.path("matrix.csv"), "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("from", "to", "bytes"), *((a, b, 10_000_000) for a, b in _FLOWS)])

    def path(self, name):
        return str(self._folder / name)

    def plan(self, name, *more):
        done = subprocess.run([built("heddle"), "plan", "--topology", self.fabric.file, "--matrix",
                               self.path("matrix.csv"), "--lab-addresses", "-o", self.path(name), *more],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"heddle plan: {done.stderr.strip()[-300:]}", "run it by hand")


def _rate(flow, begin_s, end_s):
    """Goodput in Mb/s between two times after the first message."""
    received = flow["received"]
    bins = received["interval_bytes"][int(begin_s * 1e3 / received["interval_ms"]):
                                      int(end_s * 1e3 / received["interval_ms"])]
    return sum(bins) * 8 / (len(bins) * received["interval_ms"] * 1e3)


def _follow_ms(sample):
    """From the replacement until the last connection followed; None: one did not."""
    replaced = sample.times["replaced_at"]
    last = [max((at for at in flow["followed_at"] if replaced < at < replaced + _MOST_FOLLOW_S), default=None)
            for flow in sample.flows]
    return None if None in last else (max(last) - replaced) * 1e3


def _program(name, samples):
    limit = _SPINES * _SPINE_MBITS * payload_share(_MTU)
    end = WARM_UP_S + _SECONDS - 0.5
    total = lambda sample, begin, until: sum(_rate(flow, begin, until) for flow in sample.flows)
    worst = lambda sample, begin, until: min(_rate(flow, begin, until) for flow in sample.flows)
    settled = _FAILS_AFTER_S + _SETTLED_AFTER_S
    document = {"program": name, "runs": len(samples), "machine": summary(samples),
                "cpu_share": spread([sample.cpu_share for sample in samples]),
                "before": spread([total(each, WARM_UP_S, _FAILS_AFTER_S) / limit for each in samples]),
                "after": spread([total(each, settled, end) / limit * _SPINES / (_SPINES - 1) for each in samples]),
                "before_worst": spread([worst(each, WARM_UP_S, _FAILS_AFTER_S) / limit * _HOSTS for each in samples]),
                "after_worst": spread([worst(each, settled, end) / limit * _HOSTS * _SPINES / (_SPINES - 1)
                                       for each in samples])}
    if "subflows" in samples[0].flows[0]:
        document["subflows"] = spread([flow["subflows"] for sample in samples for flow in sample.flows])
    if "replaced_at" in samples[0].times:
        times = [_follow_ms(sample) for sample in samples]
        known = [time_ms for time_ms in times if time_ms is not None]
        document |= {"followed_ms": spread(known) if known else None, "not_followed": times.count(None),
                     "planned_ms": spread([sample.times["planned_ms"] for sample in samples])}
    return document


def run(arguments, progress):
    need_network_rights()
    text_of_lab = leaf_spine(spines=_SPINES, hosts_per_leaf=_HOSTS, mtu=_MTU, host_rate="200Mbit/s",
                             host_queue="125KB", spine_rate=f"{_SPINE_MBITS}Mbit/s",
                             spine_queue=f"{_SPINE_MBITS * 625}B")
    with tempfile.TemporaryDirectory(prefix="heddle-bench-plan-") as folder, Fabric(text_of_lab) as fabric:
        lab = _Lab(fabric, folder)
        planned = ("--set", f"plan={lab.path('plan.json')}")
        programs = [_Failure(lab, Heddle(_ECMP, 1)), _Failure(lab, Heddle("heddle, spraying", 32)),
                    _Failure(lab, _Logged(_REPLANNED, 32, words=planned), replans=True)]
        programs += [_Failure(lab, Mptcp(count, "own", f"{count} subflows"))
                     for count in (() if why_no_mptcp() else _SUBFLOWS)]
        samples = interleave(programs, arguments.runs, progress, Spare(_SPARE_S))
    measured = [_program(name, of) for name, of in samples.items()]
    followed = not any(each.get("not_followed") for each in measured)
    return {"lab": measured, "no_mptcp": why_no_mptcp(), "theirs": theirs.FIGURES, "machine": describe(),
            "exit_status": 0 if followed else 1}


def show(document):
    print(f"{_HOSTS} flows between two leaves, {_SPINES} spines of {_SPINE_MBITS} Mb/s; leaf0 - spine1 is pulled. "
          "Goodput to what the links carry\n")
    row("", "before", "before, worst flow", "after", "after, worst flow", f"{theirs.HEAD}, of 8")
    for each in document["lab"]:
        row(each["program"], *(text(each[key], 2) for key in ("before", "before_worst", "after", "after_worst")),
            theirs.failed_uplink(_THEIRS.get(each["program"])))
    _show_mptcp(document)
    for each in document["lab"]:
        if "followed_ms" not in each:
            continue
        print()
        row("plan made, ms", text(each["planned_ms"], 0))
        row("replaced until followed, ms", text(each["followed_ms"], 0) if each["followed_ms"] else "never")
        if each["not_followed"]:
            row("runs without", str(each["not_followed"]))
    theirs.note()
    disturbance_note([each["machine"] for each in document["lab"]])


def _show_mptcp(document):
    """What the kernel opened, or why it has no row."""
    if document["no_mptcp"]:
        row("MPTCP", document["no_mptcp"])
    for each in document["lab"]:
        if "subflows" not in each:
            continue
        if each["subflows"]["max"] == 1:
            row(each["program"], "MPTCP fell back to TCP")
        else:
            row(f"{each['program']}: open", text(each["subflows"], 0))
