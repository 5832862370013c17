"""The cost of sampling a machine: the CPU time of `heddle agent serve`, and of the sampler's thread beside a recorded
job, as a share of one core. The machine is a network namespace with as many virtual interfaces as a large host has of
all kinds, half of which carry packets in each second, beside a job that keeps its cores busy.

CPU time is the scheduler's, in ns (/proc/PID/task/TID/schedstat). A window is some seconds; the interval is the lowest
and the highest window.
"""

import contextlib
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from harness.cable import need_network_rights
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built, start
from harness.report import row

SUMMARY = "what sampling the machine costs: an agent, and the thread beside a recorded job"

_AIM = 0.005  # of a core
_NOISE = """
import socket, sys, time
names = sys.argv[1:]
sockets = []
for name in names:
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((name, 0))
    sockets.append(sender)
while True:
    for sender in sockets:
        sender.send(bytes(60))
    time.sleep(0.2)
"""


def add_arguments(parser):
    parser.add_argument("--windows", type=int, default=6, metavar="N", help="windows of each [6]")
    parser.add_argument("--seconds", type=int, default=10, metavar="N", help="of a window [10]")
    parser.add_argument("--interfaces", type=int, action="append", metavar="N", help="this many only [4, 64]")


def _cpu_ns(pid, name=None):
    """Of the process's threads, or of those with this name."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if name is None or (task / "comm").read_text().strip() == name:
                total += int((task / "schedstat").read_text().split()[0])
    return total


def _shares(read, arguments, progress, name):
    shares = []
    for window in range(arguments.windows):
        progress.say(window, arguments.windows, name)
        before, began = read(), time.monotonic_ns()
        time.sleep(arguments.seconds)
        shares.append((read() - before) / (time.monotonic_ns() - began))
    return {"median": statistics.median(shares), "least": min(shares), "most": max(shares)}


class _Host:
    """A namespace with interfaces that carry a few packets."""

    def __init__(self, interfaces):
        self._name = f"heddle-bench-{os.getpid()}"
        self._run("ip", "netns", "add", self._name)
        try:
            lines = ["link set lo up"]
            for number in range(interfaces // 2):
                lines += [f"link add v{number} type veth peer name w{number}", f"link set v{number} up",
                          f"link set w{number} up"]
            self._run("ip", "-n", self._name, "-batch", "-", text="\n".join(lines) + "\n")
            names = [f"v{number}" for number in range(max(1, interfaces // 4))]
            self._noise = start(self.inside(["python3", "-c", _NOISE, *names]))
        except BaseException:
            self._run("ip", "netns", "del", self._name)
            raise

    @staticmethod
    def _run(*words, text=None):
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"{' '.join(words)}: {done.stderr.strip()}", "run it by hand")

    def inside(self, words):
        return ["ip", "netns", "exec", self._name, *words]

    def close(self):
        self._noise.kill()
        self._noise.wait()
        self._run("ip", "netns", "del", self._name)


def _waits_for(path):
    end = time.monotonic() + 20
    while not list(path.glob("*.heddle")):
        if time.monotonic() > end:
            raise CannotMeasure(f"nothing is sampled in {path}", "run `heddle agent serve` by hand")
        time.sleep(0.1)


@contextlib.contextmanager
def _ended(process):
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _agent(host, folder, arguments, progress):
    state = pathlib.Path(folder) / "state"
    words = host.inside([built("heddle"), "agent", "serve", "--state", str(state)])
    with _ended(start(words, stderr=subprocess.DEVNULL)) as agent:
        _waits_for(state)
        return _shares(lambda: _cpu_ns(agent.pid), arguments, progress, "agent")


def _beside_a_job(host, folder, arguments, progress):
    job = pathlib.Path(folder) / "job"
    ranks = ["run", "-n", "2", "--", built("heddle"), "bench", "allreduce", "-b", "1M", "-e", "1M", "-n", "100000000"]
    words = host.inside([built("heddle"), "record", "-o", str(job), "--", built("heddle"), *ranks])
    with _ended(start(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as recording:
        _waits_for(job / "nodes")
        return _shares(lambda: _cpu_ns(recording.pid, "heddle-node"), arguments, progress, "beside a job")


def run(arguments, progress):
    need_network_rights()
    rows = []
    for interfaces in arguments.interfaces or (4, 64):
        host = _Host(interfaces)
        try:
            for name, measure in (("agent", _agent), ("beside a job", _beside_a_job)):
                with tempfile.TemporaryDirectory(prefix="heddle-bench-node-") as folder:
                    rows.append({"what": name, "interfaces": interfaces,
                                 "core_share": measure(host, folder, arguments, progress)})
        finally:
            host.close()
    missed = any(each["core_share"]["median"] >= _AIM for each in rows)
    return {"machine": describe(), "seconds": arguments.seconds, "windows": arguments.windows, "rows": rows,
            "aim_core_share": _AIM, "exit_status": 1 if missed else 0}


def show(document):
    row("sampled each second", "interfaces", "share of a core", "least", "most")
    for each in document["rows"]:
        share = each["core_share"]
        row(each["what"], each["interfaces"], *(f"{100 * share[name]:.3f}%" for name in ("median", "least", "most")))
    print(f"  the aim is below {100 * document['aim_core_share']:.1f}%")
