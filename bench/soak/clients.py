"""Honest clients of a soak: each thread starts programs in turn against a server, and records failures."""

import json
import random
import signal
import subprocess
import threading

from harness.pair import built, start

_HUNG_S = 240
_SIZES = ("1", "700", "9000", "64K", "1M", "4M")


class Tally:
    """The sums over all clients."""

    def __init__(self):
        self._lock = threading.Lock()
        self.counts = {}
        self.failures = []

    def add(self, **counts):
        with self._lock:
            for name, count in counts.items():
                self.counts[name] = self.counts.get(name, 0) + count

    def fail(self, what, status, said):
        with self._lock:
            self.failures.append({"command": what, "exit_status": status, "said": said.strip()[-300:]})


class Client(threading.Thread):
    """`one(client)` runs a program; repeated until stopped."""

    def __init__(self, fabric, host, server, one, tally, seed, stop):
        """`server`: its address, and settings that its clients need."""
        super().__init__()
        self._fabric, self._host, self._one = fabric, host, one
        self.address, self._settings = server
        self.tally, self.random, self.stop_asked = tally, random.Random(seed), stop
        self.turn = 0

    def run(self):
        while not self.stop_asked.wait(self.random.uniform(0.1, 0.6)):
            self._one(self)
            self.turn += 1

    def begin(self, *words):
        command = [built("heddle"), words[0], self.address, *words[1:], "--json", "--set", "spin=never"]
        for setting in self._settings:
            command += ["--set", setting]
        return start(self._fabric.inside(self._host, command), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process, what):
        """The program's document; None if it failed, which is recorded."""
        try:
            output, complaint = process.communicate(timeout=_HUNG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            output, complaint = process.communicate()[0], f"it hung for {_HUNG_S} s"
        try:
            document = json.loads(output)
        except ValueError:
            document = None
        if process.returncode != 0:
            self.tally.fail(what, process.returncode, complaint)
        return document


def _count(client, document):
    tests = (document or {}).get("tests") or []
    for test in tests:
        wrong = test.get("wrong_messages", 0)
        client.tally.add(connections=1, messages=test.get("messages", 0), payload_bytes=test.get("payload_bytes", 0),
                         wrong_messages=wrong)


def checked_transfer(client):
    """Some seconds of one size, every byte checked; every second transfer in both directions."""
    size = _SIZES[client.turn % len(_SIZES)]
    both = ["--bidirectional"] if client.turn % 2 else []
    words = ["perf", "bw", "-s", size, "-t", "3", "--check", *both]
    _count(client, client.finish(client.begin(*words), f"{client.address}: {' '.join(words)}"))


def short_connection(client):
    """A connection that is opened, used briefly and closed."""
    words = ["perf", "lat", "-t", "0.02"]
    client.finish(client.begin(*words), f"{client.address}: {' '.join(words)}")
    client.tally.add(connections=1)


def pings(client):
    words = ["ping", "-C", "100", "-S", client.random.choice(("64", "9000", "100K"))]
    document = client.finish(client.begin(*words), f"{client.address}: {' '.join(words)}")
    client.tally.add(connections=1, rounds=(document or {}).get("rounds", 0),
                     wrong_messages=(document or {}).get("wrong_rounds", 0))


def killed(client):
    """In mid-transfer: stopped for a while and continued, or killed, or both in turn."""
    # The server keeps a dead client's test for a while: a large one would hide its other memory.
    process = client.begin("perf", "bw", "-s", "64K", "-t", "600", "--bidirectional")
    try:
        client.stop_asked.wait(client.random.uniform(0.3, 4))
        if client.random.random() < 0.5:
            process.send_signal(signal.SIGSTOP)
            # Often long enough for the server to declare it dead.
            client.stop_asked.wait(client.random.choice((0.5, 1.5, 8)))
            process.send_signal(signal.SIGCONT)
            client.tally.add(stopped_clients=1)
            client.stop_asked.wait(client.random.uniform(0, 1))
    finally:
        process.kill()
        process.communicate()
    client.tally.add(killed_clients=1)
