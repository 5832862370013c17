"""Runs in the virtual machine of `heddle lab vm`: captures writes of perftest between its two RDMA devices, a file
NUMBER.pcap below $OUT for each case.

Usage: messages_in_vm.py WRITES BYTES:MTU...
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

_WRITE = ("ib_write_bw", "-x", "1", "-F")
_PATIENCE_S = 120


def _client(words):
    """perftest's client refuses at once where its server does not listen yet."""
    end = time.monotonic() + _PATIENCE_S
    while True:
        done = subprocess.run([*_WRITE, "-d", "rxe0", *words, "h1"], capture_output=True, text=True, check=False,
                              timeout=_PATIENCE_S)
        # With 1 it mistrusts the clock of an emulated processor, and has measured.
        if done.returncode == 0 or "BW average" in done.stdout and done.returncode == 1:
            return
        if time.monotonic() > end:
            raise SystemExit(f"ib_write_bw: {done.stderr or done.stdout}")
        time.sleep(0.2)


def _capture(path, words):
    with subprocess.Popen(["tcpdump", "-i", "h0", "-s", "128", "-B", "65536", "-w", path, "udp", "port", "4791"],
                          stderr=subprocess.PIPE, text=True) as capture:
        if "listening" not in capture.stderr.readline():
            raise SystemExit("tcpdump does not listen")
        with subprocess.Popen([*_WRITE, "-d", "rxe1", *words], stdout=subprocess.DEVNULL) as server:
            _client(words)
            server.wait(_PATIENCE_S)
        time.sleep(1)  # tcpdump reads its buffer once a second
        capture.send_signal(signal.SIGINT)
        capture.communicate(timeout=_PATIENCE_S)


def main(writes, cases):
    for number, case in enumerate(cases):
        size, mtu = case.split(":")
        _capture(pathlib.Path(os.environ["OUT"], f"{number}.pcap"), ["-n", writes, "-s", size, "-m", mtu])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
