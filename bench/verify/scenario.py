"""heddle compared with TCP in one run, on a real fabric of this machine. Creates a leaf-spine network of
namespaces; a transfer, all-reduces and the training of ResNet-18 run over it, with heddle and with
alternatives (iperf3, Open MPI, Gloo), in interleaved rounds: medians and ranges. Runs that other programs
disturbed are repeated within a time limit; remaining disturbance is reported. Each stage is in a separate
file; a stage without installed peers reports that and is left out of the comparison.

Where namespaces are not allowed, everything runs over loopback, and the report says so.
"""

import contextlib
import functools
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness.cable import need_network_rights  # noqa: E402: found by the line above
from harness.collectives import Tools, cubic  # noqa: E402
from harness.fabric import Fabric, leaf_spine  # noqa: E402
from harness.failure import CannotMeasure  # noqa: E402
from harness.machine import describe  # noqa: E402
from harness.pair import built  # noqa: E402
from harness.ranks import OneHost  # noqa: E402
from harness.rounds import text  # noqa: E402
import collective  # noqa: E402
import comparison  # noqa: E402
import training  # noqa: E402
import transfer  # noqa: E402

SUMMARY = "heddle's main job on this machine: a transfer, all-reduces and a training, beside TCP"

_STAGES = {"transfer": transfer, "allreduce": collective, "training": training}


def add_arguments(parser):
    parser.add_argument("--only", action="append", choices=list(_STAGES), help="this stage only")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="interleaved rounds, of a transfer and a training 3 at most [5]")
    parser.add_argument("--again", type=int, default=20, metavar="S",
                        help="seconds a stage for runs that are made again since the machine did other work [20]")
    parser.add_argument("--seconds", type=int, default=2, metavar="N", help="of a transfer [2]")
    parser.add_argument("--steps", type=int, default=4, metavar="N", help="of a training [4]")


def _network(stack, say):
    """The fabric with its description, or loopback; both end with the stack."""
    try:
        _may_make_networks()
        fabric = stack.enter_context(Fabric(leaf_spine(mtu=9000)))
    except CannotMeasure as reason:
        say(f"No network of namespaces can be made here ({reason}).\nEverything runs over loopback instead, which has "
            "no links that fill up: the ratios below say little.")
        return stack.enter_context(OneHost(4)), "loopback"
    try:
        stack.enter_context(cubic(fabric))
    except CannotMeasure as reason:
        say(f"Open MPI and Gloo keep this system's own TCP congestion control ({reason}).")
    return fabric, ("a fabric of 2 leaves and 4 spines on this machine: 4 hosts at 1 Gb/s, every spine link at "
                    "200 Mb/s, MTU 9000; each host is a network namespace")


def _may_make_networks():
    need_network_rights()
    for tool in ("ip", "tc", "nft", "ethtool"):
        if shutil.which(tool) is None:
            raise CannotMeasure(f"`{tool}` is missing", "run scripts/setup")


def run(arguments, progress):
    began = time.monotonic()
    say = functools.partial(print, file=sys.stderr if arguments.json else sys.stdout, flush=True)
    with contextlib.suppress(CannotMeasure):
        need_network_rights()  # may restart the program, with these rights
    version = subprocess.run([built("heddle"), "--version"], capture_output=True, text=True, check=False).stdout
    machine = describe()
    say(f"{version.splitlines()[0] if version else 'heddle'} on Linux {machine['kernel']}, {machine['cores']} cores")
    with contextlib.ExitStack() as stack:
        network, description = _network(stack, say)
        tools = stack.enter_context(Tools())
        say(f"{description}\n")
        measured = measure_stages(network, tools, arguments, progress, say)
    document = {"scenario": "verify", "machine": machine, "network": description, **measured,
                "wall_s": time.monotonic() - began}
    wrong = [row for row in measured["rows"] if row.get("wrong")]
    document["exit_status"] = 1 if wrong or not measured["rows"] else 0
    return document


def measure_stages(network, tools, arguments, progress, say):
    """Their rows, what was skipped, and the seconds of each stage."""
    rows, skipped, seconds = [], [], {}
    names = arguments.only or list(_STAGES)
    for number, name in enumerate(names):
        began = time.monotonic()
        say(f"[{number + 1}/{len(names)}] {_STAGES[name].TITLE}")
        for row in _STAGES[name].measure(network, tools, arguments, skipped.append, progress):
            rows.append(row)
            say("    " + _line(row))
        seconds[name] = time.monotonic() - began
    return {"rows": rows, "skipped": skipped, "seconds": seconds}


def _line(row):
    peer = f", {row['peer_name']} {text(row['peer'], row['digits'])}" if row.get("peer") else ""
    return f"{row['what']}: heddle {text(row['heddle'], row['digits'])}{peer}"


def show(document):
    print(f"\n{'median (least to most)':32}{'heddle':>22}{'without':>24}   {'':22}times as fast")
    disturbed = comparison.disturbed_rows(document["rows"])
    for row in document["rows"]:
        peer, faster = (text(row["peer"], row["digits"]), text(row["ratio"], 2)) if row.get("peer") else ("-", "-")
        print(f"{row['what']:32}{text(row['heddle'], row['digits']):>22}{peer:>24}   {row.get('peer_name') or '':22}"
              f"{faster}{' *' if row in disturbed else ''}")
    for line in comparison.disturbance_text(document["rows"]):
        print(line)
    for line in document["skipped"]:
        print(f"left out: {line}")
    if document["network"] == "loopback":
        print("\nverified: heddle works here, over loopback.")
    elif document["exit_status"] == 0:
        print("\nverified: heddle works here. Both sides send the same data over the same links; TCP puts a\n"
              "connection on one spine, heddle spreads it over all four.")
    stages = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in document["seconds"].items())
    print(f"took {document['wall_s']:.0f} s: {stages}; more: docs/performance.md")
