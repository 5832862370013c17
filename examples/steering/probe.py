#!/usr/bin/env python3
"""An active test for policies of `heddle monitor`: is this host slower than another one?

Exit status 0: it is, or its test began and did not end, so the fault is confirmed. 1: it is not. 2: it cannot be
tested: no command runs there, the command fails, or the other host is not tested either.
"""

import argparse
import json
import math
import shlex
import socket
import subprocess
import sys

# The best of five: what else runs on the host disturbs it least.
COMPUTE = """
import time
def once():
    begin = time.perf_counter()
    total = 0
    for i in range(400_000):
        total += i * i % 7
    return time.perf_counter() - begin
print(min(once() for _ in range(5)))
"""


class NotMeasuredError(Exception):
    """It cannot be said how fast the host is: that says nothing about a fault."""


def words_for(options, host, command):
    """A command of the host's shell, which first prints that it has begun."""
    return [*(word.replace("%h", host) for word in shlex.split(options.via)), f"echo begun; exec {shlex.join(command)}"]


def compute(options, host):
    """Seconds of a fixed computation there; infinite where it began and did not end."""
    try:
        done = subprocess.run(words_for(options, host, ["python3", "-c", COMPUTE]), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=options.limit, check=False)
    except subprocess.TimeoutExpired as error:
        if b"begun" in (error.stdout or b""):
            return math.inf
        raise NotMeasuredError("no command began there") from error
    if done.returncode != 0:
        raise NotMeasuredError(f"the command ended with {done.returncode}: {done.stderr.strip()}")
    return measured(done.stdout.split()[-1])


def measured(text):
    seconds = float(text)
    if not 0 < seconds < math.inf:
        raise NotMeasuredError(f"{text} is no time")
    return seconds


def network(options, host):
    """Seconds a gigabit from this machine to that host, by heddle perf; infinite where it began and did not end."""
    listen = ["timeout", str(options.limit + 10), options.heddle, "perf", "--listen", "-p", options.port]
    with subprocess.Popen(words_for(options, host, listen), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as server:
        try:
            said = []
            for line in server.stdout:
                said.append(line.strip())
                if "listens" in line:
                    break
            else:
                raise NotMeasuredError("no server began there: " + " ".join(said[-1:]))
            done = subprocess.run([options.heddle, "perf", f"{host}:{options.port}", "bw", "-t", "2", "--json"],
                                  capture_output=True, text=True, timeout=options.limit, check=False)
            if done.returncode != 0:
                raise NotMeasuredError(f"heddle perf ended with {done.returncode}: {done.stderr.strip()}")
            return measured(8 / max(each["goodput_gbits_per_s"] for each in json.loads(done.stdout)["tests"]))
        except subprocess.TimeoutExpired:
            return math.inf
        finally:
            server.terminate()  # timeout passes it on


def free_port():
    """One that is free here, and so likely there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", 0))
        return str(taken.getsockname()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["compute", "network"])
    parser.add_argument("host")
    parser.add_argument("peer")
    parser.add_argument("--via", default="ssh -o BatchMode=yes -o ConnectTimeout=5 %h",
                        help="what starts a command on a host; %%h stands for its name")
    parser.add_argument("--ratio", type=float, default=1.3, help="slower by this is a fault")
    parser.add_argument("--limit", type=float, default=20, help="seconds for one command")
    parser.add_argument("--heddle", default="heddle")
    parser.add_argument("--port", default=free_port(), help="for heddle perf on the hosts; a free one of this machine")
    options = parser.parse_args()
    measure = {"compute": compute, "network": network}[options.what]
    times = []
    for host in (options.peer, options.host):  # the peer shows that the test works
        try:
            times.append(measure(options, host))
        except Exception as error:  # an error confirms nothing
            print(f"{host} cannot be tested: {error}", file=sys.stderr)
            return 2
    peer, host = times
    if peer == math.inf:
        print(f"{options.peer} does not end its test either", file=sys.stderr)
        return 2
    print(f"{options.host} takes {host:.3f} s, {options.peer} {peer:.3f} s")
    return 0 if host > options.ratio * peer else 1


if __name__ == "__main__":
    sys.exit(main())
