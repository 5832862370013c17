"""Goodput over a distance: `heddle size distance` beside the simulator, and beside RDMA writes in the virtual machine.

windows: messages of which a sender has N outstanding, over 100 Gb/s: the formula, and heddle in the simulator. loss:
a flow that lacks no window, with packets lost: the formula of go-back-N beside the simulator's RoCE NIC, that of
selective repeat beside heddle. Both are rates after the start: a long run less a short one. relayed: such windows
through two relays of heddle in the simulator, beside the formula without relays: a message is confirmed by the far
end, so a window counts for the whole distance, and of a larger one than a relay holds as much as it holds. The
formula is of RoCEv2's headers, so heddle's longer ones are a part of the errors.

writes: perftest's ib_write_bw over soft-RoCE with the distance made by netem. The emulated processor is slow, and its
timers add some milliseconds now and then, so the formula has the capacity and the round trip that were measured at
10 km: only what further kilometers cost is predicted, and no error has a bound.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built, installed
from harness.report import row
from size.beside import error, figures, percent, simulated

_INSIDE = pathlib.Path(__file__).with_name("distance_in_vm.py")
_KM = (0, 10, 100, 300, 1000)
_WRITES_KM = (10, 100, 300, 1000)  # the first one gives what the others are predicted from
_RTT_US, _US_OF_KM = 10, 10  # round trip of hosts and switches, and of a kilometer
_RATE = "100Gbit/s"
_MTU = 4096                  # payload of RoCE; with its headers an IP packet of 4,178 bytes
_WINDOWS = ((64 << 10, 16), (1 << 20, 1), (1 << 20, 16), (1 << 20, 128))  # bytes of a message, outstanding
_RELAYED = (1 << 20, (16, 128))  # bytes of a message, outstanding
_RELAYED_START = 16              # windows before those that count
_RELAY_HOLDS = 2048 * (32 << 10)  # bytes of a session and direction, at most (relaying/relay.cc)
_LOSSES = ("0.001%", "0.01%")
_FLOW_BYTES = (2_000_000_000, 10_000_000_000)
_WRITES = ((4096, 1), (4096, 8), (65536, 1))  # bytes of a message, outstanding
_DEEP = (65536, 16)                           # fills what the virtual machine carries
_MOST_ERROR = {"windows": 0.03, "relayed": 0.06, "loss": 0.15}


def _topology(km, loss="0%"):
    return (f'[fabric]\nkind = "point_to_point"\n[host_link]\nrate = "{_RATE}"\nmtu = {_MTU + 82}\nqueue = "256MiB"\n'
            f'delay = "{(_RTT_US + _US_OF_KM * km) / 2:g}us"\nloss = "{loss}"\n')


def _in_slots(count, slots, action, label):
    """`count` actions, of which `slots` are in progress at once."""
    return [f'"{action} as {label}{number % slots}' + (f' after {label}{number % slots}"' if number >= slots else '"')
            for number in range(count)]


def _program(size, outstanding, count):
    sends = _in_slots(count, outstanding, f"send world {size}x1 to 1", "s")
    receives = _in_slots(count, 2 * outstanding, f"receive world {size}x1 from 0", "r")
    parts = [f'[[job.program]]\nranks = ["{rank}"]\nrepeat = 2\nactions = [{", ".join(actions)}]\n'
             for rank, actions in enumerate((sends, receives))]
    return '[[job]]\nkind = "program"\nranks = 2\n' + "".join(parts)


def _formula(km, size, outstanding, *more, rate=_RATE, rtt_us=_RTT_US):
    return figures("distance", "--km", km, "--rtt", f"{rtt_us:.3f}us", "--rate", rate, "--message", size,
                   "--outstanding", outstanding, "--payload", _MTU, *more)["goodput_bits_per_s"] / 1e9


def _of_windows(folder, km):
    """The second step of a program, as the first one has the start, less that of a program half as long."""
    for size, outstanding in _WINDOWS:
        counts = [windows * outstanding for windows in ((8, 16) if outstanding >= 128 else (16, 32))]
        took = []
        for count in counts:
            document = simulated(folder, _topology(km), _program(size, outstanding, count), "--window-limit", "256MiB")
            took.append(document["jobs"][0]["steps"][1]["took_us"])
        bits = 8 * size * (counts[1] - counts[0])
        yield _case(km, f"{size >> 10} KiB x {outstanding}", _formula(km, size, outstanding),
                    bits / (took[1] - took[0]) / 1e3)


def _of_relays(km):
    size, windows = _RELAYED
    for outstanding in windows:
        words = (km, size, outstanding, _RELAYED_START, _RTT_US)
        done = subprocess.run([built("heddle-bench-relayed"), *map(str, words)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"heddle-bench-relayed failed: {done.stderr.strip()[-300:]}", "run it by hand")
        yield _case(km, f"{size >> 10} KiB x {outstanding}",
                    _formula(km, size, min(outstanding, _RELAY_HOLDS // size)), json.loads(done.stdout)["gbits_per_s"])


def _of_loss(folder, km, loss):
    """Flows of which the longer one less the shorter one is without a start."""
    outstanding = 1024  # of 1 MiB: more than any distance here holds
    for name, formula_options, options in (
            ("go-back-N, RoCE NIC", (), ("--transport", "roce", "--cc", "none", "--ack-timeout", "67ms")),
            ("selective, heddle", ("--selective-repeat",), ("--window-limit", "256MiB"))):
        took = []
        for size in _FLOW_BYTES:
            document = simulated(folder, _topology(km, loss), f'[[flow]]\nfrom = "h0"\nto = "h1"\nbytes = "{size}B"\n',
                                 *options)
            took.append(document["flows"][0]["fct_us"])
        yield _case(km, f"{loss} lost, {name}",
                    _formula(km, "1M", outstanding, "--loss", loss, *formula_options),
                    8 * (_FLOW_BYTES[1] - _FLOW_BYTES[0]) / (took[1] - took[0]) / 1e3)


def _case(km, name, formula, seen):
    return {"km": km, "name": name, "formula_gbits_per_s": formula, "seen_gbits_per_s": seen,
            "error": error(formula, seen)}


def _measured(progress):
    """Gb/s by kilometers, size and outstanding messages; None without the programs for it."""
    try:
        installed("ib_write_bw", "perftest")
        heddle = built("heddle")
    except CannotMeasure as missing:
        progress.clear()
        print(f"bench/run: writes in the virtual machine are left out: {missing}", file=sys.stderr)
        return None
    words = [f"{km}:{size}:{outstanding}" for km in _WRITES_KM for size, outstanding in (*_WRITES, _DEEP)]
    with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
        done = subprocess.run([heddle, "lab", "vm", "--out", folder, "--", sys.executable, "-B", str(_INSIDE), *words],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"the virtual machine ended with {done.returncode}: {done.stderr.strip()[-400:]}",
                                "run scripts/setup --vm, and `heddle lab vm -- true` by hand")
        return json.loads(pathlib.Path(folder, "rates.json").read_text(encoding="utf-8"))


def _of_writes(rates):
    nearest, *others = _WRITES_KM
    capacity = rates[f"{nearest}:{_DEEP[0]}:{_DEEP[1]}"]
    # The formula takes headers from the rate; they are a part of what was measured.
    rate = f"{capacity * (_MTU + 82) / _MTU * 1e9:.0f}bit/s"
    for size, outstanding in _WRITES:
        # What a window takes there, less its message at the rate of the deep one and the cable.
        window_us = 8 * size * outstanding / rates[f"{nearest}:{size}:{outstanding}"] / 1e3
        rtt_us = max(0.0, window_us - 8 * size / capacity / 1e3 - _US_OF_KM * nearest)
        for km in others:
            yield _case(km, f"{size >> 10} KiB x {outstanding}",
                        _formula(km, size, outstanding, rate=rate, rtt_us=rtt_us), rates[f"{km}:{size}:{outstanding}"])


def run(_, progress):
    parts = {"windows": [], "relayed": [], "loss": [], "writes": []}
    with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
        for number, km in enumerate(_KM):
            progress.say(number, len(_KM) + 1, f"{km} km, simulated")
            parts["windows"] += _of_windows(folder, km)
            parts["relayed"] += _of_relays(km)
            parts["loss"] += [case for loss in _LOSSES if km >= 100 for case in _of_loss(folder, km, loss)]
    progress.say(len(_KM), len(_KM) + 1, "in the virtual machine")
    rates = _measured(progress)
    if rates:
        parts["writes"] += _of_writes(rates)
    sound = all(abs(case["error"]) <= most for part, most in _MOST_ERROR.items() for case in parts[part])
    return {"machine": describe(), "rate": _RATE, "parts": parts, "bounds": _MOST_ERROR,
            "write_rates_gbits_per_s": rates,
            "exit_status": 0 if sound else 1}


_TITLES = {"windows": "Messages with a bounded number outstanding, 100 Gb/s",
           "relayed": "The same through two relays, 100 Gb/s; the formula is without relays",
           "loss": "Packets lost, 100 Gb/s",
           "writes": "Writes of perftest over soft-RoCE in the virtual machine"}


def show(document):
    for part, cases in document["parts"].items():
        if not cases:
            continue
        print(f"{_TITLES[part]}, Gb/s\n")
        row("", "formula", "measured" if part == "writes" else "simulated", "error")
        for case in cases:
            row(f"{case['km']:5} km, {case['name']}", f"{case['formula_gbits_per_s']:.4g}",
                f"{case['seen_gbits_per_s']:.4g}", percent(case["error"]))
        bound = f", bound {100 * document['bounds'][part]:g}%" if part in document["bounds"] else ""
        print(f"\nlargest error {100 * max(abs(case['error']) for case in cases):.1f}%{bound}\n")
