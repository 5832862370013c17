"""Faults of real ranks in a lab while `heddle monitor` watches them: which are named, where, and how soon; and healthy
trainings, in which none may be.

Four ranks, a host each: all-reduces in a ring without a pause, or a training in PyTorch with a data loader and
checkpoints. A fault begins once the job has run for some seconds; the delay is from then to the line that the monitor
prints.
"""

import contextlib
import tempfile
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric
from harness.machine import describe
from harness.meanwhile import Meanwhile
from harness.report import row
from harness.rounds import spread, text
from monitor.faults import FAULTS, HOST
from monitor.jobs import KINDS, Job, need_torch

SUMMARY = "live diagnosis: real faults in a lab, found where and how soon; healthy trainings"

_WARM_S = 6        # of the job, before a fault
_EFFECT_S = 5      # of a slow job, in which calls are counted
_PATIENCE_S = 30   # for an alarm
_AIM_S = 5
_HEALTHY = "training"


def add_arguments(parser):
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="of each fault [5]")
    parser.add_argument("--fault", action="append", choices=sorted(FAULTS), help="this fault only; may be repeated")
    parser.add_argument("--healthy", type=int, default=2, metavar="N", help="healthy trainings [2]")
    parser.add_argument("--healthy-seconds", type=int, default=300, metavar="N", help="how long each is watched [300]")


def _texts(alarms):
    return [f"{alarm['class']}: {alarm['place_text']}" for _, alarm in alarms]


@contextlib.contextmanager
def _files(fault):
    """Where the job's ranks keep files."""
    if fault.site:
        with fault.site() as site:
            yield site.folder, site
    else:
        with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
            yield folder, None


def _watch(job, fault, before):
    """What was named, until the fault is, or too late."""
    began = time.monotonic()
    fault.make(job)
    slowed = 1 - job.calls_a_second(_EFFECT_S) / before if fault.slows else 1
    while time.monotonic() - began < _PATIENCE_S and not any(fault.is_named_by(one) for _, one in job.alarms()):
        time.sleep(0.05)
    time.sleep(2)  # for wrong ones that follow
    return began, slowed


def _run_of(name, fabric):
    fault = FAULTS[name]
    with _files(fault) as (place, site), Job(fabric, fault.kind, place) as job:
        job.site = site
        job.wait_until_it_runs()
        if fault.before:
            fault.before(job)
        pace = job.calls_a_second(_WARM_S)
        before = job.alarms()
        try:
            began, slowed = _watch(job, fault, pace)
        finally:
            fabric.fault("clear")
            fabric.fault("resume", HOST)
        found = job.alarms()[len(before):]
    right = [when - began for when, alarm in found if fault.is_named_by(alarm)]
    return {"before": _texts(before), "effect": slowed, "delay_s": right[0] if right else None,
            "found": _texts(found), "others": len(found) - (1 if right else 0)}


def _healthy(fabric, seconds):
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as place, Job(fabric, _HEALTHY, place) as job:
        job.wait_until_it_runs()
        meanwhile, calls = Meanwhile(), job.calls()
        with meanwhile:
            time.sleep(seconds)
        return {"alarms": _texts(job.alarms()), "calls_per_s": (job.calls() - calls) / seconds,
                "cores_busy": meanwhile.cpu_share}


class _Labs:
    """One at a time, for as long as jobs of the same kind follow each other."""

    def __init__(self, stack):
        self._stack, self._kind, self._fabric = stack, None, None

    def of(self, kind):
        if kind != self._kind:
            self._stack.close()
            self._fabric = self._stack.enter_context(Fabric(KINDS[kind].fabric))
            self._kind = kind
        return self._fabric


def _delays(faults):
    return [one["delay_s"] for fault in faults.values() for one in fault["runs"] if one["delay_s"] is not None]


def check(faults, healthy):
    """What was missed or wrong; empty: nothing."""
    wrong = []
    for name, fault in faults.items():
        runs = fault["runs"]
        missed = sum(one["delay_s"] is None for one in runs)
        others = sum(one["others"] for one in runs)
        before = sum(len(one["before"]) for one in runs)
        if missed:
            wrong.append(f"{name}: not named at its place in {missed} of {len(runs)} runs")
        if others:
            wrong.append(f"{name}: {others} alarms of another class or place")
        if before:
            wrong.append(f"{name}: {before} alarms before the fault")
    accused = sum(len(one["alarms"]) for one in healthy)
    if accused:
        wrong.append(f"{accused} alarms in healthy trainings")
    delays = _delays(faults)
    if delays and spread(delays)["median"] > _AIM_S:
        wrong.append(f"the median delay is {spread(delays)['median']:.1f} s, and the limit is {_AIM_S} s")
    return wrong


def run(arguments, progress):
    need_network_rights()
    names = arguments.fault or list(FAULTS)
    if arguments.healthy or any(FAULTS[name].kind == _HEALTHY for name in names):
        need_torch()
    faults, healthy = {name: [] for name in names}, []
    turns = [(name, FAULTS[name].kind) for name in names for _ in range(arguments.runs)]
    turns = sorted(turns, key=lambda turn: list(KINDS).index(turn[1]))
    total = len(turns) + arguments.healthy
    with contextlib.ExitStack() as stack:
        labs = _Labs(stack)
        for done, (name, kind) in enumerate(turns):
            progress.say(done, total, name)
            faults[name].append(_run_of(name, labs.of(kind)))
        for turn in range(arguments.healthy):
            progress.say(len(turns) + turn, total, "a healthy training")
            healthy.append(_healthy(labs.of(_HEALTHY), arguments.healthy_seconds))
    made = {name: {"job": FAULTS[name].kind, "runs": runs} for name, runs in faults.items() if runs}
    missed = check(made, healthy)
    return {"scenario": "monitor", "machine": describe(), "runs": arguments.runs, "faults": made, "healthy": healthy,
            "healthy_seconds": arguments.healthy_seconds, "missed": missed, "exit_status": 1 if missed else 0}


def show(document):
    print("four ranks in a lab, a host each; faults at rank 2, its host, or a link between leaves")
    if document["faults"]:
        row("", "at the right place", "delay, s", "calls fewer by", "other alarms")
    for name, fault in document["faults"].items():
        runs = fault["runs"]
        found = [one["delay_s"] for one in runs if one["delay_s"] is not None]
        row(name, f"{len(found)} of {len(runs)}", text(spread(found)) if found else "",
            f"{spread([one['effect'] for one in runs])['median']:.0%}",
            str(sum(one["others"] + len(one["before"]) for one in runs)))
    delays = _delays(document["faults"])
    if delays:
        print(f"  median of all delays: {spread(delays)['median']:.1f} s (aim: {_AIM_S} s)")
    if document["healthy"]:
        alarms = sum(len(one["alarms"]) for one in document["healthy"])
        print(f"  healthy: {alarms} alarms in {len(document['healthy'])} trainings of {document['healthy_seconds']} s")
    for each in document["missed"]:
        print(f"  MISSED: {each}")
