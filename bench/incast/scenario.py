"""Many senders to one receiver over a real fabric of namespaces: heddle with and without receiver credits,
and TCP, with the same rounds. A victim flow (TCP cubic) crosses the same switches to another host.

Two leaves, four spines; the receivers are on one leaf, all senders on the other. Every host link has the same
rate and queue. The receiver requests messages from all senders at once and measures the time until each has
arrived; the ideal is senders x size / rate. The same rounds in simulated time are listed for comparison.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import Meanwhile, summary
from harness.pair import built, installed
from harness.report import disturbance_note
from harness.rounds import interleave, spread, text

SUMMARY = "message times of 8 and 15 senders to one receiver in a lab, beside TCP"

_PEER = pathlib.Path(__file__).with_name("tcp_peer.py")
_SENDERS_MOST = 15
_CONTESTS = (("heddle credits", "credits"), ("heddle cubic", "cubic"), ("TCP cubic", "cubic"), ("TCP bbr", "bbr"))


def add_arguments(parser):
    parser.add_argument("--senders", type=int, action="append", metavar="N", help="senders [8 and 15]")
    parser.add_argument("--bytes", type=int, action="append", metavar="N", help="of a message [65536 and 1048576]")
    parser.add_argument("--queue", type=int, action="append", metavar="N",
                        help="bytes of a queue [75000, 300000 and 2000000]")
    parser.add_argument("--rate", type=int, default=100, metavar="MBITS", help="Mb/s of a host's link [100]")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="rounds a measurement [20]")
    parser.add_argument("--pairs", type=int, default=3, metavar="N", help="so often each is measured, in turn [3]")


class Lab(Fabric):
    """Receivers on one leaf, senders on the other; hosts are identified by number."""

    def __init__(self, rate, queue):
        self.rate, self.queue = rate, queue
        self.first_sender = _SENDERS_MOST + 1
        super().__init__(leaf_spine(hosts_per_leaf=self.first_sender, host_rate=f"{rate}Mbit/s", host_queue=f"{queue}B",
                                    spine_rate=f"{4 * rate}Mbit/s", spine_queue=f"{queue}B"))

    def inside(self, host, command):
        return super().inside(f"h{host}", command)

    def received_bytes(self, host):
        text_of = subprocess.run(self.inside(host, ["cat", "/proc/net/dev"]), capture_output=True, text=True).stdout
        devices = dict(line.split(":") for line in text_of.splitlines()[2:])
        return sum(int(counts.split()[0]) for name, counts in devices.items() if name.strip() != "lo")


@contextlib.contextmanager
def _children():
    """Programs that are ended with the block, by their handles."""
    started = []

    def start(command, **streams):
        started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, **streams))
        return started[-1]
    try:
        yield start
    finally:
        for child in started:
            child.terminate()
        for child in started:
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@contextlib.contextmanager
def _victim(lab):
    """A TCP flow to host 1 from the last host."""
    iperf = installed("iperf3", "iperf3")
    with _children() as start:
        server = start(lab.inside(1, [iperf, "-s", "-1", "--forceflush"]), stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL)
        server.stdout.readline()
        start(lab.inside(lab.first_sender + _SENDERS_MOST, [iperf, "-c", "h1", "-t", "3600", "-C", "cubic"]),
              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        yield


class Sample:
    def __init__(self, times, victim_mbits, meanwhile):
        self.times, self.victim_mbits_per_s, self.meanwhile = times, victim_mbits, meanwhile


class Contest:
    def __init__(self, name, control, lab, shape):
        self.name, self._control, self._lab = name, control, lab
        self._senders, self._bytes, self._rounds = shape

    def _commands(self):
        words = ["--bytes", str(self._bytes), "--rounds", str(self._rounds), "--cc", self._control]
        own = [built("heddle-bench-incast")] if self.name.startswith("heddle") else [sys.executable, str(_PEER)]
        receiver = [*own, "--receive", "--senders", str(self._senders), *words]
        return receiver, [*own, "--send", "h0", *words]

    def run(self):
        receiver, sender = self._commands()
        lab = self._lab
        with _victim(lab), _children() as start:
            at = start(lab.inside(0, receiver), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if "listens" not in at.stderr.readline():
                raise CannotMeasure("the receiver does not listen", "run it by hand")
            meanwhile, victim = Meanwhile(), lab.received_bytes(1)  # no settle(): the victim is another program
            with meanwhile:
                for number in range(self._senders):
                    start(lab.inside(lab.first_sender + number, sender), stdout=subprocess.DEVNULL)
                output, complaint = at.communicate(timeout=600)
            victim = (lab.received_bytes(1) - victim) * 8 / meanwhile.wall_s / 1e6
        if at.returncode != 0:
            raise CannotMeasure(f"the receiver failed: {complaint.strip()}", "run it by hand")
        return Sample(json.loads(output)["message_ns"], victim, meanwhile)


def _victim_alone(lab, seconds=3):
    with _victim(lab):
        began, before = time.monotonic(), lab.received_bytes(1)
        time.sleep(seconds)
        return (lab.received_bytes(1) - before) * 8 / (time.monotonic() - began) / 1e6


def _percentile(values, percent):
    return sorted(values)[(len(values) - 1) * percent // 100]


def _jain(rounds):
    rates = [1 / sum(of_sender) for of_sender in zip(*rounds)]
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def _simulated(control, shape, arguments, queue):
    senders, size, rounds = shape
    done = subprocess.run([built("heddle-bench-incast"), "--simulate", "--senders", str(senders), "--bytes", str(size),
                           "--rounds", str(rounds), "--cc", control, "--rate", str(arguments.rate),
                           "--queue", str(queue)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def _summarize(name, samples, ideal_ns, alone):
    flat = [[time_ns for of_round in one.times for time_ns in of_round] for one in samples]
    return {"program": name,
            "p50_of_ideal": spread([_percentile(times, 50) / ideal_ns for times in flat]),
            "p99_of_ideal": spread([_percentile(times, 99) / ideal_ns for times in flat]),
            "jain_index": spread([_jain(one.times) for one in samples]),
            "victim_of_alone": spread([one.victim_mbits_per_s / alone for one in samples]),
            "cpu_busy": spread([one.meanwhile.cpu_share for one in samples]), "machine": summary(samples)}


def _measure(lab, arguments, shape, progress):
    contests = [Contest(name, control, lab, shape) for name, control in _CONTESTS]
    samples = interleave(contests, arguments.pairs, progress)
    ideal_ns = shape[0] * shape[1] * 8e3 / arguments.rate
    alone = _victim_alone(lab)
    part = {"senders": shape[0], "message_bytes": shape[1], "queue_bytes": lab.queue, "ideal_ms": ideal_ns / 1e6,
            "victim_alone_mbits_per_s": alone,
            "programs": [_summarize(name, samples[name], ideal_ns, alone) for name, _ in _CONTESTS]}
    for program, (name, control) in zip(part["programs"], _CONTESTS):
        if name.startswith("heddle"):
            simulated = _simulated(control, shape, arguments, lab.queue)
            program["simulated_p99_of_ideal"] = simulated and simulated["message_ns_p99"] / ideal_ns
    return part


def run(arguments, progress):
    need_network_rights()
    document = {"scenario": "incast", "machine": describe(), "rate_mbits_per_s": arguments.rate,
                "rounds": arguments.rounds, "pairs": arguments.pairs, "parts": []}
    for queue in arguments.queue or (75_000, 300_000, 2_000_000):
        with Lab(arguments.rate, queue) as lab:
            for size in arguments.bytes or (65_536, 1 << 20):
                for senders in arguments.senders or (8, 15):
                    rounds = max(2, arguments.rounds * 65_536 // size)
                    part = _measure(lab, arguments, (senders, size, rounds), progress)
                    document["parts"].append(part)
    return document


def show(document):
    machine = document["machine"]
    print(f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; links of "
          f"{document['rate_mbits_per_s']} Mb/s; median (least to most) of {document['pairs']}, in turn")
    for part in document["parts"]:
        print(f"\n{part['senders']} senders of {part['message_bytes']} bytes, queues of {part['queue_bytes']}; "
              f"ideal {part['ideal_ms']:.1f} ms; the victim alone has {part['victim_alone_mbits_per_s']:.1f} Mb/s")
        print(f"  {'':16}{'p50 / ideal':>24}{'p99 / ideal':>24}{'Jain':>24}{'victim':>22}{'CPU':>8}"
              f"{'simulated p99':>15}")
        for program in part["programs"]:
            simulated = program.get("simulated_p99_of_ideal")
            print(f"  {program['program']:16}{text(program['p50_of_ideal'], 2):>24}"
                  f"{text(program['p99_of_ideal'], 2):>24}{text(program['jain_index'], 3):>24}"
                  f"{text(program['victim_of_alone'], 2):>22}{program['cpu_busy']['median']:>8.0%}"
                  f"{f'{simulated:.2f}' if simulated else '':>15}")
        disturbance_note([program["machine"] for program in part["programs"]])
