#!/usr/bin/env python3
"""An active test for policies of `heddle monitor`: is this host slower than another one?

Exit status 0: it is, or it does not answer while the other one does, so the fault is confirmed. 1: it is not.
2: it cannot be tested, for example because the other host does not answer either.
"""

import argparse
import json
import shlex
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


def remote(options, host, command):
    """Standard output of a command on a host; None where it fails or takes too long."""
    words = [word.replace("%h", host) for word in shlex.split(options.via)] + [shlex.join(command)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=options.limit, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{host}: {error}", file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f"{host}: {done.stderr.strip()}", file=sys.stderr)
    return done.stdout if done.returncode == 0 else None


def compute(options, host):
    """Seconds of a fixed computation there."""
    said = remote(options, host, ["python3", "-c", COMPUTE])
    return None if said is None else float(said)


def network(options, host):
    """Seconds a gigabyte from this machine to that host, by heddle perf."""
    words = [word.replace("%h", host) for word in shlex.split(options.via)]
    listen = ["timeout", str(options.limit + 10), options.heddle, "perf", "--listen", "-p", options.port]
    with subprocess.Popen([*words, "exec " + shlex.join(listen)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            if not any("listens" in line for line in server.stdout):
                return None
            done = subprocess.run([options.heddle, "perf", f"{host}:{options.port}", "bw", "-t", "2", "--json"],
                                  capture_output=True, text=True, timeout=options.limit, check=False)
            rates = [each["goodput_gbits_per_s"] for each in json.loads(done.stdout or "{}").get("tests", [])]
            return 8 / max(rates) if rates and max(rates) > 0 else None
        except subprocess.TimeoutExpired:
            return None
        finally:
            server.terminate()  # timeout passes it on


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
    parser.add_argument("--port", default="18790", help="for heddle perf on the hosts")
    options = parser.parse_args()
    measure = {"compute": compute, "network": network}[options.what]
    peer = measure(options, options.peer)
    if peer is None:
        print(f"{options.peer} does not answer either", file=sys.stderr)
        return 2
    host = measure(options, options.host)
    if host is None:
        print(f"{options.host} does not answer, {options.peer} does")
        return 0
    print(f"{options.host} takes {host:.3f} s, {options.peer} {peer:.3f} s")
    return 0 if host > options.ratio * peer else 1


if __name__ == "__main__":
    sys.exit(main())
