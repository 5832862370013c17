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

import perftest

_PATIENCE_S = 120


def _capture(path, words):
    with subprocess.Popen(["tcpdump", "-i", "h0", "-s", "128", "-B", "65536", "-w", path, "udp", "port", "4791"],
                          stderr=subprocess.PIPE, text=True) as capture:
        if "listening" not in capture.stderr.readline():
            raise SystemExit("tcpdump does not listen")
        perftest.write(*words)
        time.sleep(1)  # tcpdump reads its buffer once a second
        capture.send_signal(signal.SIGINT)
        capture.communicate(timeout=_PATIENCE_S)


def main(writes, cases):
    for number, case in enumerate(cases):
        size, mtu = case.split(":")
        _capture(pathlib.Path(os.environ["OUT"], f"{number}.pcap"), ["-n", writes, "-s", size, "-m", mtu])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
