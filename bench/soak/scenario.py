"""A soak: faults at random in a lab while hosts send each other messages, and every byte is checked.

Links lose, corrupt, reorder and swallow packets, slow down and go down, hosts pause; at most half of the spines are
out at a time, and nothing lasts so long that a peer counts as dead. So every message must arrive, unchanged: the
exit status is 1 where one did not. --seed repeats the choice of faults.
"""

import json
import random
import subprocess
import threading
import time

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built, start, wait_until_listening
from harness.report import row

SUMMARY = "faults at random for minutes or hours, every byte of every message checked, in a lab"

_SPINES, _LEAVES = 4, 2
_HOSTS = ("h0", "h1", "h2", "h3")
_PAIRS = (("h0", "h2"), ("h3", "h1"))
_SIZES = ("1", "700", "9000", "64K", "1M", "8M")
_MOST_OUT = _SPINES // 2   # spines with a fault that stops everything
_PAUSE_MOST_S = 1.5


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=120, metavar="N", help="how long [120]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the faults [1]")
    parser.add_argument("--paths", type=int, default=32, metavar="N", help="paths of a connection [32]")
    parser.add_argument("--cc", default="cubic", help="congestion control [cubic]")
    parser.add_argument("--key-file", metavar="FILE", help="seal every packet with this cluster key")


class Faults(threading.Thread):
    """Breaks something every second or so and mends it later; counts what it did."""

    def __init__(self, fabric, seed, until):
        super().__init__()
        self._fabric, self._random, self._until = fabric, random.Random(seed), until
        self._out = set()
        self.counts, self.error = {}, None

    def run(self):
        try:
            while time.monotonic() < self._until:
                self._one()
                time.sleep(self._random.uniform(0.2, 1))
            self._fabric.fault("clear")
        except CannotMeasure as failure:
            self.error = failure

    def _one(self):
        leaf, spine = f"leaf{self._random.randrange(_LEAVES)}", f"spine{self._random.randrange(_SPINES)}"
        kind = self._random.choice(("loss", "corrupt", "reorder", "rate", "blackhole", "down", "clear", "pause"))
        if kind == "pause":
            host = self._random.choice(_HOSTS)
            self._fabric.fault("pause", host)
            time.sleep(self._random.uniform(0.05, _PAUSE_MOST_S))
            self._fabric.fault("resume", host)
        elif kind in ("blackhole", "down"):
            if len(self._out | {spine}) > _MOST_OUT:
                return
            self._out.add(spine)
            self._fabric.fault(kind, leaf, spine)
        elif kind == "clear":
            self._fabric.fault("clear")
            self._out.clear()
        else:
            value = {"loss": "2%", "corrupt": "0.5%", "reorder": "5%", "rate": "20Mbit/s"}[kind]
            self._fabric.fault(kind, leaf, spine, value)
        self.counts[kind] = self.counts.get(kind, 0) + 1


def _transfers(fabric, pair, arguments, until, results):
    """One after another, of all sizes, each checked."""
    heddle = built("heddle")
    words = ["--set", f"paths={arguments.paths}", "--set", f"congestion={arguments.cc}", "--set", "spin=never"]
    if arguments.key_file:
        words += ["--set", f"key_file={arguments.key_file}"]
    server = start(fabric.inside(pair[1], [heddle, "perf", "--listen", *words]), stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT)
    try:
        wait_until_listening(server, "heddle", "listens")
        for number in range(10 ** 9):
            if time.monotonic() > until:
                break
            size = _SIZES[number % len(_SIZES)]
            command = [heddle, "perf", fabric.address(pair[1]), "bw", "-s", size, "-t", "3", "--check", "--json",
                       *(["--bidirectional"] if number % 2 else []), *words]
            client = start(fabric.inside(pair[0], command), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                output, complaint = client.communicate(timeout=90)
            except subprocess.TimeoutExpired:
                client.kill()
                output, complaint = client.communicate()[0], "it hung for 90 s"
            results.append((" ".join(command[4:9]), client.returncode, output, complaint))
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def run(arguments, progress):
    need_network_rights()
    with Fabric(leaf_spine(_LEAVES, _SPINES, 2, 1500, "400Mbit/s", "250KB", "100Mbit/s", "62500B")) as fabric:
        began = time.monotonic()
        until = began + arguments.seconds
        results = []
        faults = Faults(fabric, arguments.seed, until)
        threads = [threading.Thread(target=_transfers, args=(fabric, pair, arguments, until, results))
                   for pair in _PAIRS]
        for thread in [faults, *threads]:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            progress.say(min(int(time.monotonic() - began), arguments.seconds), arguments.seconds, "soak")
            time.sleep(0.5)
        faults.join()
    if faults.error:
        raise faults.error
    return _document(arguments, results, faults.counts)


def _document(arguments, results, counts):
    messages = payload = wrong = 0
    failures = []
    for what, status, output, complaint in results:
        test = (json.loads(output).get("tests") or [{}])[0] if output else {}
        messages += test.get("messages", 0)
        payload += test.get("payload_bytes", 0)
        wrong += test.get("wrong_messages", 0)
        if status != 0:
            failures.append({"command": what, "exit_status": status, "said": complaint.strip()[-300:]})
    return {"scenario": "soak", "machine": describe(), "seconds": arguments.seconds, "seed": arguments.seed,
            "congestion": arguments.cc, "sealed": bool(arguments.key_file), "transfers": len(results),
            "messages": messages, "payload_bytes": payload, "wrong_messages": wrong, "failures": failures,
            "faults": counts, "exit_status": 1 if failures or wrong else 0}


def show(document):
    print(f"{document['seconds']} s, seed {document['seed']}, {document['congestion']}"
          f"{', sealed' if document['sealed'] else ''}")
    row("transfers", str(document["transfers"]))
    row("messages, all checked", f"{document['messages']:,}")
    row("payload, MB", f"{document['payload_bytes'] / 1e6:,.0f}")
    row("messages changed", str(document["wrong_messages"]))
    row("transfers that failed", str(len(document["failures"])))
    for failure in document["failures"][:5]:
        print(f"    {failure['command']}: {failure['said']}")
    print("  faults: " + ", ".join(f"{kind} {count}" for kind, count in sorted(document["faults"].items())))
