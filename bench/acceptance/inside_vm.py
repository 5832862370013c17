"""Runs in the virtual machine of `heddle lab vm`: rping, qperf over RC and heddle over each datapath, between its two
RDMA devices, and writes what they print as results.json below $OUT.

Usage: inside_vm.py HEDDLE SECONDS ROUNDS (rounds 0: only what the step reach needs)
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

H0, H1 = "10.9.0.1", "10.9.0.2"
DATAPATHS = {"heddle, RC": ("--set", "datapath=verbs", "--set", "rdma_mode=rc"),
             "heddle, UC": ("--set", "datapath=verbs", "--set", "rdma_mode=uc"),
             "heddle, UDP": ()}


@contextlib.contextmanager
def server(*words):
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def run(*words, seconds=0):
    """What a client prints that measures for these seconds; it is tried again until its server listens."""
    limit_s = 60 + 3 * seconds
    end = time.monotonic() + limit_s
    while True:
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{' '.join(words)} does not end") from None
        if done.returncode == 0:
            return done.stdout
        if time.monotonic() > end:
            raise SystemExit(f"{' '.join(words)}: {done.stderr or done.stdout}")
        time.sleep(0.2)


def rping():
    with server("rping", "-s", "-a", H1, "-P"):
        return run("rping", "-c", "-a", H1, "-I", H0, "-C", "20", "-v")


def qperf(seconds):
    with server("qperf"):
        return run("qperf", "-t", str(seconds), "-uu", "-cm", "1", H1, "rc_bw", "rc_lat", seconds=seconds)


def heddle(program, datapath, *words, seconds=0):
    with server(program, words[0], "--listen", "--bind", "h1", *datapath):
        return run(program, words[0], H1, *words[1:], "--bind", "h0", *datapath, seconds=seconds)


def main(program, seconds, rounds):
    results = {"rping": rping(),
               "ping": {name: heddle(program, datapath, "ping", "-C", "20", "-S", "64")
                        for name, datapath in DATAPATHS.items()},
               "rounds": []}
    for _ in range(rounds):
        one = {"qperf": qperf(seconds)}
        for name, datapath in DATAPATHS.items():
            one[name] = heddle(program, datapath, "perf", "bw", "lat", "-t", f"{seconds}s", "--json", seconds=seconds)
        results["rounds"].append(one)
    pathlib.Path(os.environ["OUT"], "results.json").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
