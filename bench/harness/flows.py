"""Flows: simultaneous transfers between hosts of a fabric, by heddle or TCP, and their goodput.

Goodput is payload that arrived after a warm-up. Children die with this process.
"""

import json
import subprocess

from harness.failure import CannotMeasure
from harness.meanwhile import Meanwhile
from harness.pair import built, installed, start, wait_until_listening

WARM_UP_S = 1


class Heddle:
    """One connection for each flow."""

    def __init__(self, name="heddle", paths=32, congestion="cubic", size="1M", words=(), check=False):
        self.name = name
        self._program = built("heddle")
        self._words = ["--set", f"paths={paths}", "--set", f"congestion={congestion}", "--set", "spin=never", *words]
        self._size = size
        self._checks = ["--check"] if check else []

    def server(self):
        return [self._program, "perf", "--listen", "--once", *self._words], "listens"

    def client(self, address, seconds):
        return [self._program, "perf", address, "bw", "-t", str(seconds + WARM_UP_S), "-s", self._size,
                "--json", *self._checks, *self._words]

    def read(self, output):
        test = json.loads(output)["tests"][0]
        received = test["server"]["received"]
        skip = WARM_UP_S * 1000 // received["interval_ms"]
        kept = received["interval_bytes"][skip:-1]
        return {"goodput_mbits_per_s": sum(kept) * 8 / (len(kept) * received["interval_ms"] * 1e3),
                "repeated": test["segments_retransmitted"] / max(test["segments_sent"], 1),
                "longest_gap_ms": received["longest_gap_us"] / 1e3, "received": received}


class Tcp:
    """iperf3 with this many connections for each flow."""

    def __init__(self, connections=1, congestion="cubic", name=None):
        self.name = name or f"TCP {congestion}, {connections} flow{'s' if connections > 1 else ''}"
        self._program = installed("iperf3", "iperf3")
        self._words = ["-P", str(connections), "-C", congestion, "-l", "1M"]

    def server(self):
        return [self._program, "-s", "-1", "--forceflush"], "listening"

    def client(self, address, seconds):
        return [self._program, "-c", address, "-t", str(seconds), "-O", str(WARM_UP_S), "-J", *self._words]

    def read(self, output):
        end = json.loads(output)["end"]
        return {"goodput_mbits_per_s": end["sum_received"]["bits_per_second"] / 1e6}


class FlowSample:
    """The result of one run: each flow's goodput, and the other load of the machine."""

    def __init__(self, flows, meanwhile):
        self.flows = flows
        self.meanwhile = meanwhile
        self.cpu_share = meanwhile.cpu_share


def run_flows(fabric, program, flows, seconds, after_start=None):
    """`flows`: (from host, to host), each host at most once on either side. Calls `after_start` when all
    clients run. A program with read_log() also reads what its clients wrote to standard error.
    """
    meanwhile = Meanwhile()
    processes = []
    try:
        for _, to in flows:
            command, sign = program.server()
            server = start(fabric.inside(to, command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            processes.append(server)
            wait_until_listening(server, program.name, sign)
        with meanwhile:
            clients = [start(fabric.inside(source, program.client(fabric.address(to), seconds)),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) for source, to in flows]
            processes += clients
            if after_start:
                after_start()
            texts = [_output(client, program, seconds) for client in clients]
        outputs = [program.read(output) for output, _ in texts]
        if hasattr(program, "read_log"):
            outputs = [output | program.read_log(log) for output, (_, log) in zip(outputs, texts)]
        if hasattr(program, "read_server"):
            servers = processes[:len(flows)]
            outputs = [program.read_server(server.communicate(timeout=seconds + 30)[0]) for server in servers]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
    meanwhile.settle()
    return FlowSample(outputs, meanwhile)


def _output(client, program, seconds):
    try:
        output, complaint = client.communicate(timeout=seconds + 30)
    except subprocess.TimeoutExpired as late:
        raise CannotMeasure(f"{program.name} does not end", "run it by hand") from late
    if client.returncode != 0:
        raise CannotMeasure(f"{program.name} failed: {(complaint or output).strip()[-400:]}", "run it by hand")
    return output, complaint


class Contest:
    """One program in one setting, for harness.rounds.interleave()."""

    def __init__(self, fabric, program, flows, seconds):
        self.name = program.name
        self._fabric, self._program, self._flows, self._seconds = fabric, program, flows, seconds

    def run(self):
        return run_flows(self._fabric, self._program, self._flows, self._seconds)
