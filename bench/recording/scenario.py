"""The cost of recording: collectives and training with and without it, run in turn, and single events.

Intervals are of the median of pairs' ratios, by order statistics, at 95% or a little more: they hold for any
distribution. Times are of calls and of steps. Off compared with off shows the machine's noise.

Separately started programs differ by more than the cost of recording. So all-reduces with and without it are
also called in turn within one process (alternating_main.cc), for a thousand rounds, and training steps within
the same two processes (training_in_turn.py): by wall-clock time and by CPU time.
"""

import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

from harness.bridge import Bridge
from harness.cable import need_network_rights
from harness.collectives import Heddle
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built, installed
from harness.report import disturbance_note, row
from harness.rounds import interleave
from harness.trainer import Trainer

SUMMARY = "what recording costs: collectives and training with and without it, and an event in ns and instructions"

_MTU = 9000
_LEVELS = ("counters", "bins", "messages", "segments")
_GROUP = (65536, 16 << 20, 40)  # first bytes, last bytes, calls
_COUNTS = (20_000, 220_000)
_LIMIT = 0.01
_ALTERNATING = ((64 << 10, 32), (1 << 20, 8), (16 << 20, 1))  # bytes of an all-reduce, consecutive calls
_KINDS = ("wall_ns", "cpu_ns")  # of measured times
_IN_TURN = pathlib.Path(__file__).resolve().parent / "training_in_turn.py"
_LIVES = 192  # number of times that endpoints are created again over all rounds: a multiple of 3 or 4 ways
_ROOM = 16  # MiB of a recording: more than a core's own caches
_TRAINING_LIVES = 72  # number of times that the training processes start again, with groups created in
                      # another order each time


def add_arguments(parser):
    parser.add_argument("--pairs", type=int, default=31, metavar="N",
                        help="rounds of programs one after the other, 0: none [31]")
    parser.add_argument("--rounds", type=int, default=1000, metavar="N",
                        help="rounds of calls in turn within one process, of each size; 0: none [1000]")
    parser.add_argument("--fresh", action="store_true",
                        help="calls in turn with recordings whose room was never used: the first MiB cost more")
    parser.add_argument("--training-rounds", type=int, default=720, metavar="N",
                        help="rounds of steps of training in turn, at least one a life of the processes; 0: none [720]")
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="so many ranks [2]")
    parser.add_argument("--level", action="append", choices=_LEVELS, help="this level only [bins and messages]")
    parser.add_argument("--steps", type=int, default=6, metavar="N", help="timed steps of training, 0: none [6]")
    parser.add_argument("--folder", metavar="FILE", help="where to record [a temporary folder]")
    parser.add_argument("--no-callgrind", action="store_true", help="count no instructions")


def median_interval(values, confidence=0.95):
    """(low, high) that contain the median of the values' distribution with at least that confidence; none if
    there are too few values. P(the k-th smallest of n is above the median) is the binomial sum below k.
    """
    ordered, count = sorted(values), len(values)
    below, kept = 0.0, None
    for k in range(count // 2):
        below += math.comb(count, k) / 2**count
        if 1 - 2 * below < confidence:
            break
        kept = k
    return None if kept is None else (ordered[kept], ordered[count - 1 - kept])


def cost(on, off, lives=None):
    """The relative increase of time with recording. With `lives`, the rounds consist of this many consecutive
    lives, and each life's median counts once: its rounds have the same endpoints, whose memory layout changes
    times.
    """
    ratios = [a / b for a, b in zip(on, off, strict=True)]
    if lives:
        rounds = len(ratios) // lives
        ratios = [statistics.median(ratios[at:at + rounds]) for at in range(0, rounds * lives, rounds)]
    interval = median_interval(ratios)
    median = statistics.median(ratios)
    return {"median": median - 1, "interval": None if interval is None else [end - 1 for end in interval],
            "pairs": len(ratios),
            "excludes_1_percent": interval is not None and interval[1] - 1 < _LIMIT}


class _Recorded:
    """A contest that records each run in a separate temporary folder; level None: it does not record."""

    def __init__(self, name, level, folder, run):
        self.name, self._level, self._folder, self._run = name, level, folder, run

    def run(self):
        if self._level is None:
            return self._run({})
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="heddle-bench-recording-") as folder:
            sample = self._run({"record": os.path.join(folder, "job"), "record_level": self._level})
            if not os.listdir(os.path.join(folder, "job")):
                raise CannotMeasure("nothing was recorded", "see what `heddle record` says")
            return sample


def _contests(levels, folder, run):
    ways = [("off", None), ("off again", None), *((level, level) for level in levels)]
    return [_Recorded(name, level, folder, run) for name, level in ways]


def _costs(samples, time_of):
    return {name: cost([time_of(run) for run in runs], [time_of(run) for run in samples["off"]])
            for name, runs in samples.items() if name != "off"}


def _collectives(arguments, levels, progress):
    with Bridge(arguments.ranks, _MTU) as network:
        def run(settings):
            words = [f"{key}={value}" for key, value in settings.items()]
            return Heddle(["shared_memory=never", *words]).run(network, "allreduce", [_GROUP])
        samples = interleave(_contests(levels, arguments.folder, run), arguments.pairs, progress)
    sizes = sorted(samples["off"][0].times)
    return {"sizes": {size: _costs(samples, lambda run, size=size: run.times[size]) for size in sizes},
            "programs": _programs(samples)}


def _programs(samples):
    return [{"program": name, "machine": summary(runs)} for name, runs in samples.items()]


def _training(arguments, levels, progress):
    words = ["--steps", arguments.steps, "--warm-up", 2, "--measure", 0, "--batch", 16]
    with Bridge(arguments.ranks, _MTU) as network:
        def run(settings):
            variables = {"HEDDLE_" + key.upper(): value for key, value in settings.items()}
            return Trainer("heddle", words, variables=variables).run(network)
        samples = interleave(_contests(levels, arguments.folder, run), arguments.pairs, progress)
    return {"steps": _costs(samples, lambda run: run.result["step_s"]), "programs": _programs(samples)}


def _instructions(program, folder, count):
    done = subprocess.run([installed("valgrind", "valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           program, folder, "--count", str(count)], capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise CannotMeasure(f"callgrind says: {done.stderr.strip()[-200:]}", "leave it out by --no-callgrind")
    return int(found[1])


def _alternating(arguments, levels, progress):
    program, sizes = built("heddle-bench-alternating"), {}
    if arguments.rounds == 0:
        return sizes
    for number, (size, calls) in enumerate(_ALTERNATING):
        progress.say(number, len(_ALTERNATING), f"all-reduces of {size} bytes in turn")
        with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="heddle-bench-recording-") as folder:
            words = [program, folder, "--bytes", size, "--calls", calls, "--lives", _LIVES, "--mebibytes", _ROOM,
                     "--rounds", -(-arguments.rounds // _LIVES), "--levels", ",".join(levels),
                     *(["--fresh"] if arguments.fresh else [])]
            done = subprocess.run([str(word) for word in words],
                                  capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"{program}: {done.stderr.strip()[-200:]}", "give another --folder")
        sizes[size] = _costs_in_turn(json.loads(done.stdout), _LIVES)
    return sizes


def _costs_in_turn(told, lives):
    off = told.pop("off")
    return {kind: {name: cost(times[kind], off[kind], lives) for name, times in told.items()} for kind in _KINDS}


def _training_in_turn(arguments, levels, progress):
    rounds = -(-arguments.training_rounds // _TRAINING_LIVES)
    told = {}
    with (Bridge(arguments.ranks, _MTU) as network,
          tempfile.TemporaryDirectory(dir=arguments.folder, prefix="heddle-bench-recording-") as folder):
        for life in range(_TRAINING_LIVES):
            progress.say(life, _TRAINING_LIVES, "steps of training in turn")
            words = [folder, "--levels", ",".join(levels), "--rounds", rounds, "--first", life]
            lived = Trainer("heddle", words, program=_IN_TURN).run(network, patience_s=120 + 10 * rounds).result
            for name, times in lived.items():
                kept = told.setdefault(name, {kind: [] for kind in _KINDS})
                for kind in _KINDS:
                    kept[kind] += times[kind]
    return _costs_in_turn(told, _TRAINING_LIVES)


def _event(arguments):
    program = built("heddle-bench-recording")
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="heddle-bench-recording-") as folder:
        done = subprocess.run([program, folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"{program}: {done.stderr.strip()}", "give another --folder")
        event = json.loads(done.stdout)
        if not arguments.no_callgrind:
            few, many = (_instructions(program, folder, count) for count in _COUNTS)
            event["instructions"] = (many - few) / (_COUNTS[1] - _COUNTS[0])
    return event


def run(arguments, progress):
    need_network_rights()
    levels = arguments.level or ["bins", "messages"]
    document = {"scenario": "recording", "machine": describe(), "ranks": arguments.ranks, "event": _event(arguments),
                "alternating": _alternating(arguments, levels, progress)}
    if arguments.pairs > 0:
        document["collectives"] = _collectives(arguments, levels, progress)
    for name, wanted, measure in (("training_in_turn", arguments.training_rounds > 0, _training_in_turn),
                                  ("training", arguments.pairs > 0 and arguments.steps > 0, _training)):
        try:
            if wanted:
                document[name] = measure(arguments, levels, progress)
        except CannotMeasure as missing:
            document["training_missing"] = str(missing)
    return document


def _percent(value):
    return f"{100 * value:+.2f} %"


def _line(name, each):
    interval = each["interval"]
    shown = "too few pairs" if interval is None else f"{_percent(interval[0])} to {_percent(interval[1])}"
    row(name, _percent(each["median"]), shown, "yes" if each["excludes_1_percent"] else "no")


def show(document):
    event = document["event"]
    print(f"an event: {event['event_ns']:.1f} ns, with a time by the processor's counter "
          f"{event['event_and_stamp_ns']:.1f} ns (that alone {event['stamp_ns']:.1f}, off by at most "
          f"{event['stamps_off_ns']}), by the system's clock {event['event_and_clock_ns']:.1f} ns "
          f"(that alone {event['clock_ns']:.1f})"
          + (f", {event['instructions']:.0f} instructions" if "instructions" in event else ""))
    row("one by one, ns", *event["one_ns"])
    row("recorded", *(f"{value:.0f}" for value in event["one_ns"].values()))
    row("with a time", *(f"{value:.0f}" for value in event["one_stamped_ns"].values()))
    row("nothing", *(f"{value:.0f}" for value in event["none_ns"].values()))
    parts = [(f"all-reduce of {int(size)} bytes in turn in one process, 2 ranks, {title}", costs[kind])
             for size, costs in document["alternating"].items()
             for kind, title in (("wall_ns", "by the clock"), ("cpu_ns", "processor's time of both"))]
    ranks = f"{document['ranks']} ranks"
    if "training_in_turn" in document:
        parts += [(f"a step of ResNet-18 in turn in the same processes, {ranks}, {title}",
                   document["training_in_turn"][kind])
                  for kind, title in (("wall_ns", "by the clock"), ("cpu_ns", "processor's time of rank 0"))]
    for size, costs in document.get("collectives", {"sizes": {}})["sizes"].items():
        parts.append((f"all-reduce of {int(size)} bytes, {ranks}", costs))
    if "training" in document:
        parts.append((f"a step of ResNet-18, {ranks}", document["training"]["steps"]))
    for title, costs in parts:
        print(f"\n{title}: time with recording beside without")
        row("", "median", "95% interval", "excludes 1 %")
        for name, each in costs.items():
            _line(name, each)
    if "training_missing" in document:
        print(f"\ntraining was not measured: {document['training_missing']}")
    if "collectives" in document:
        disturbance_note([program["machine"] for program in document["collectives"]["programs"]])
