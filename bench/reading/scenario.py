"""Reading recordings: events per second of one core, and memory, for different numbers of ranks.

The recording is synthetic, so the expected results are known; the exit status is 1 if a result differs.
Seconds are of CPU: a busy machine or a slow disk changes them little.
"""

import json
import os
import subprocess
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built
from harness.report import row

SUMMARY = "reading recordings of many ranks and events: events a second of a core, and memory"

_COMMANDS = {
    "summary": ("summary", "--json"),
    "matrix": ("matrix", "--format", "json"),
    "info": ("record info", "--json"),  # aligns the clocks, so it reads the files twice
}


def add_arguments(parser):
    parser.add_argument("--ranks", type=int, default=1000, metavar="N", help="a multiple of 8 [1000]")
    parser.add_argument("--events", type=int, default=10_000_000, metavar="N", help="of all ranks [10000000]")
    parser.add_argument("--folder", metavar="FILE", help="where to write the recording [a temporary folder]")


def _measure(words):
    """Its output, seconds of CPU, and peak memory in KiB."""
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(words, stdout=said) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise CannotMeasure(f"`{' '.join(words)}` failed", "see what it said")
        said.seek(0)
        return json.load(said), usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def run(arguments, progress):
    heddle, generate = built("heddle"), built("heddle-bench-generate")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as parent:
        progress.say(0, 1 + len(_COMMANDS), "writing the recording")
        made = subprocess.run([generate, f"{parent}/job", "--ranks", str(arguments.ranks), "--events",
                               str(arguments.events)], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise CannotMeasure(made.stderr.strip(), "give other --ranks, or a --folder with more room")
        truth = json.loads(made.stdout)
        rows = {}
        for i, (name, (command, *options)) in enumerate(_COMMANDS.items()):
            progress.say(1 + i, 1 + len(_COMMANDS), name)
            document, seconds, kib = _measure([heddle, *command.split(), f"{parent}/job", *options])
            bytes_ = document.get("delivered_bytes", document.get("totals", {}).get("measured"))
            right = document["events"] == truth["events"] if bytes_ is None else bytes_ == truth["sent_bytes"]
            rows[name] = {"cpu_s": seconds, "events_per_cpu_s": truth["events"] / seconds, "memory_mib": kib / 1024,
                          "right": right}
        size = sum(os.stat(f"{parent}/job/{name}").st_blocks * 512 for name in os.listdir(f"{parent}/job"))
    return {"machine": describe(), "ranks": truth["ranks"], "events": truth["events"], "recording_bytes": size,
            "commands": rows, "exit_status": 0 if all(each["right"] for each in rows.values()) else 1}


def show(document):
    print(f"{document['events']} events of {document['ranks']} ranks, {document['recording_bytes'] / 1e6:.0f} MB")
    row("", "million events/s of CPU", "memory MiB", "as it must be")
    for name, each in document["commands"].items():
        row(name, f"{each['events_per_cpu_s'] / 1e6:.1f}", f"{each['memory_mib']:.0f}",
            "yes" if each["right"] else "NO")
