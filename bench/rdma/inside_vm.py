"""Runs in the virtual machine of `heddle lab vm`: each program on the same link, without faults and then with each of
them, and writes what they found as results.json below $OUT.

Usage: inside_vm.py PLAN: a JSON document with heddle, tcp_peer, seconds, rounds, budget_s, programs and conditions
(name to words of netem). Files and paths are those of the host, which the machine sees.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from programs import PROGRAMS, Ended

DEVICES = ("h0", "h1")
_COUNTERS = pathlib.Path("/sys/class/infiniband")


def shape(words):
    """Both directions of the link, by netem; without words it is as it was."""
    for device in DEVICES:
        subprocess.run(["tc", "qdisc", "delete", "dev", device, "root"], stderr=subprocess.DEVNULL, check=False)
        if words:
            subprocess.run(["tc", "qdisc", "add", "dev", device, "root", "netem", "limit", "100000", *words.split()],
                           check=True)


def counters():
    """What soft-RoCE counts, of both devices together."""
    found = {}
    for path in _COUNTERS.glob("rxe*/ports/1/hw_counters/*"):
        if path.name in ("sent_pkts", "rcvd_seq_err", "completer_retry_err", "retry_exceeded_err"):
            found[path.name] = found.get(path.name, 0) + int(path.read_text(encoding="ascii"))
    return found


def measured(program, sizes, seconds):
    """Of one program in one condition: a measure that ended early says why, and the others go on."""
    found = {}
    before = counters()
    for name, call in (("goodput", lambda: program.goodput(seconds)),
                       *((f"message {size}", lambda size=size: program.message(size, seconds)) for size in sizes)):
        try:
            found[name] = call()
        except Ended as early:
            found[name] = {"ended": str(early)}
    found["nic"] = {name: value - before[name] for name, value in counters().items()}
    return found


def one_round(plan, number):
    names = plan["programs"]
    names = names[number % len(names):] + names[:number % len(names)]
    found = {}
    for condition, words in plan["conditions"].items():
        shape(words)
        found[condition] = {name: measured(PROGRAMS[name](plan), plan["sizes"], plan["seconds"]) for name in names}
    shape("")
    return found


def main(plan):
    """A round begins while the budget leaves the time of the longest one; the first one always does."""
    began, longest_s, rounds = time.monotonic(), 0.0, []
    while len(rounds) < plan["rounds"] and (not rounds or
                                            time.monotonic() - began + longest_s <= plan["budget_s"]):
        start = time.monotonic()
        rounds.append(one_round(plan, len(rounds)))
        longest_s = max(longest_s, time.monotonic() - start)
        path = pathlib.Path(os.environ["OUT"], "results.json")
        path.write_text(json.dumps({"rounds": rounds, "took_s": time.monotonic() - began}), encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
