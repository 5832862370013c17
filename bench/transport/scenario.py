"""The transport's own work on a segment, sender and receiver together: no system calls, no payload touched; 64 paths,
acknowledgements, 0.1% loss, counters on (transport_bench's segment_work). Segments arrive in runs of up to 64.

Time is CPU time, of rounds in turn. Instructions are counted by callgrind, where valgrind is installed: those of runs
with further repetitions less those of a run with one, so that the start of the program is left out. Both include the
harness, which copies each header once.
"""

import json
import re
import shutil
import subprocess
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built
from harness.report import disturbance_note, row
from harness.rounds import Spare, interleave, spread, text
from harness.timed import Timed

SUMMARY = "the transport's own work on a segment: CPU time, and instructions where valgrind is installed"

_MTUS, _MESSAGES, _RUN = (9000, 1500), (1 << 20, 4096), 64
_WARM_UP_SEGMENTS = 200_000  # of each repetition: kWarmUpSegments of transport/endpoint/segment_work_bench.cc
_FEW, _MANY = 1, 2           # repetitions under callgrind
# Under callgrind a first batch of segments is measured at once, so all repetitions have as many.
_AT_ONCE = "--benchmark_min_time=0.000001"


def add_arguments(parser):
    parser.add_argument("--pairs", type=int, default=9, metavar="N", help="rounds [9]")
    parser.add_argument("--spare", type=int, default=60, metavar="SECONDS", help="for runs made again [60]")
    parser.add_argument("--no-callgrind", action="store_true", help="count no instructions")


def _command(mtu, message, *words):
    wanted = f"^segment_work/mtu:{mtu}/run:{_RUN}/message:{message}$"
    return [built("transport_bench"), f"--benchmark_filter={wanted}", "--benchmark_format=json", *words]


def segment_ns(output):
    """(CPU time of a segment in ns, measured segments), of each repetition."""
    found = [each for each in json.loads(output)["benchmarks"] if each["run_type"] == "iteration"]
    if not found or any(each["time_unit"] != "ns" for each in found):
        raise CannotMeasure("transport_bench has no such segment_work", "build it anew: make build")
    return [(each["cpu_time"], each["iterations"]) for each in found]


class _Contest:
    def __init__(self, mtu, message, folder):
        self.name, self._folder = f"MTU {mtu}, messages of {message} bytes", folder
        self._command = _command(mtu, message)

    def run(self):
        sample = Timed(self._command, self._folder)
        (sample.segment_ns, _), = segment_ns(sample.output)
        return sample


def _counted(command):
    """(instructions, measured segments of a repetition) of a run under callgrind."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                          capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise CannotMeasure(f"callgrind failed: {done.stderr.strip()[-200:]}", "leave it out by --no-callgrind")
    return int(found[1]), {segments for _, segments in segment_ns(done.stdout)}


def instructions(few, many):
    """Of a segment; `few`, `many`: what _counted() returned for _FEW and _MANY repetitions."""
    segments, = few[1] | many[1]
    return (many[0] - few[0]) / (_MANY - _FEW) / (_WARM_UP_SEGMENTS + segments)


def _instructions(mtu, message):
    return instructions(*(_counted(_command(mtu, message, _AT_ONCE, f"--benchmark_repetitions={count}"))
                          for count in (_FEW, _MANY)))


def run(arguments, progress):
    shapes = [(mtu, message) for mtu in _MTUS for message in _MESSAGES]
    with tempfile.TemporaryDirectory(prefix="heddle-bench-transport-") as folder:
        contests = [_Contest(mtu, message, folder) for mtu, message in shapes]
        samples = interleave(contests, arguments.pairs, progress, Spare(arguments.spare))
    cases = []
    counts = not arguments.no_callgrind and shutil.which("valgrind") is not None
    for number, ((mtu, message), runs) in enumerate(zip(shapes, samples.values())):
        case = {"mtu_bytes": mtu, "message_bytes": message, "segment_ns": spread([run.segment_ns for run in runs]),
                "machine": summary(runs)}
        if counts:
            progress.say(number, len(shapes), f"instructions, MTU {mtu}, messages of {message} bytes")
            case["segment_instructions"] = _instructions(mtu, message)
        cases.append(case)
    return {"machine": describe(), "rounds": arguments.pairs, "cases": cases, "exit_status": 0}


def show(document):
    print(f"a segment, sender and receiver together; median (least to most) of {document['rounds']} rounds\n")
    row("", "CPU time, ns", "instructions")
    for case in document["cases"]:
        counted = case.get("segment_instructions")
        row(f"MTU {case['mtu_bytes']}, messages of {case['message_bytes'] >> 10} KiB", text(case["segment_ns"], 0),
            "-" if counted is None else f"{counted:.0f}")
    disturbance_note([case["machine"] for case in document["cases"]])
