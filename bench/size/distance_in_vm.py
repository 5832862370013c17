"""Runs in the virtual machine of `heddle lab vm`: rates of perftest's writes over distances that netem makes.

Usage: distance_in_vm.py KM:BYTES:OUTSTANDING...

Writes $OUT/rates.json: goodput in Gb/s by argument.
"""

import json
import os
import pathlib
import subprocess
import sys

import perftest

_US_OF_KM = 5    # one way
_WINDOWS = 12    # of outstanding messages in a run


def _set_distance(km):
    for device in ("h0", "h1"):
        subprocess.run(["tc", "qdisc", "replace", "dev", device, "root", "netem", "delay", f"{km * _US_OF_KM}us",
                        "limit", "100000"], check=True)


def _rate(size, outstanding):
    words = ["-s", str(size), "-t", str(outstanding), "-n", str(max(20, _WINDOWS * outstanding))]
    text = perftest.write("-m", "4096", "--report_gbits", *words)
    lines = text.splitlines()
    titles = next(number for number, line in enumerate(lines) if "BW average" in line)
    return float(lines[titles + 1].split()[3])


def main(cases):
    rates = {}
    for case in cases:
        km, size, outstanding = map(int, case.split(":"))
        _set_distance(km)
        # The best of five: an emulated processor stands still now and then.
        rates[case] = max(_rate(size, outstanding) for _ in range(5))
    pathlib.Path(os.environ["OUT"], "rates.json").write_text(json.dumps(rates), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
