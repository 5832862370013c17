"""The NIC's own transport beside heddle's, on one link that loses or reorders packets.

One boot of `heddle lab vm` (soft-RoCE, netem in both directions) measures perftest over RC, heddle over verbs with RC,
UC and UD queue pairs, heddle over UDP, and TCP: goodput of messages of 1 MiB, and the time of single messages of 64
KiB and 1 MiB. The processor is emulated and soft-RoCE uses it, so each figure is shown with its share of the same
program's own without faults, round by round. The exit status is 1 where heddle over UC
keeps less than the project asks.
"""

import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from harness.arguments import at_least_one
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import Meanwhile
from harness.pair import built, installed, start
from harness.report import row
from harness.rounds import spread, text

SUMMARY = "RC of the NIC, heddle over RC, UC, UD and UDP, and TCP under loss, in a virtual machine"

_HERE = pathlib.Path(__file__).resolve().parent
_TCP_PEER = _HERE.parent / "distance" / "tcp_peer.py"
_PROGRAMS = {"perftest": "perftest, RC", "heddle-rc": "heddle, RC", "heddle-uc": "heddle, UC",
             "heddle-ud": "heddle, UD", "heddle-udp": "heddle, UDP", "tcp": "TCP cubic"}
_SIZES = {"64 KiB": 65536, "1 MiB": 1 << 20}
_CLEAN = "no fault"
_LOSSES = ("0.01%", "0.1%", "1%")
_REORDERED = {"reordered": "delay 1ms reorder 1%"}
# A boot, and a round that goes on beyond the budget because measures end by their limits.
_MARGIN_S = 600
# What the project asks of heddle over UC: the share of its own goodput without loss.
_ASKED = {"0.1%": 0.90, "1%": 0.75}


def _share(word):
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%", word)
    if not match or not 0 < float(match[1]) <= 100:
        raise argparse.ArgumentTypeError(f"'{word}' is no loss: a share above 0% and up to 100%, like 0.1%")
    return word


def _rate(word):
    if not re.fullmatch(r"[1-9][0-9]{0,5}[kmg]bit", word):
        raise argparse.ArgumentTypeError(f"'{word}' is no rate, like 50mbit")
    return word


def add_arguments(parser):
    parser.add_argument("--seconds", type=at_least_one, default=1, metavar="N",
                        help="how long a measurement takes [1; perftest's goodput 2]")
    parser.add_argument("--pairs", type=at_least_one, default=3, metavar="N", help="rounds at most [3]")
    parser.add_argument("--minutes", type=at_least_one, default=7, metavar="N",
                        help="no round begins that would end later than this [7]")
    parser.add_argument("--kept", metavar="FILE",
                        help="rounds of earlier commands with the same options and heddle are in this file, and count; "
                             "those of this one are added")
    parser.add_argument("--loss", action="append", type=_share, metavar="SHARE",
                        help=f"this loss only [{', '.join(_LOSSES)}, and reordering]".replace("%", "%%"))
    parser.add_argument("--only", action="append", choices=_PROGRAMS, help="this program only [all]")
    parser.add_argument("--paths", type=at_least_one, default=16, metavar="N",
                        help="heddle's paths, each a queue pair where it uses them [16]")
    parser.add_argument("--rate", type=_rate, metavar="RATE",
                        help="rate of the link, whose queue has no bound, like 50mbit [unlimited]")


def _conditions(arguments):
    """Name to words of netem."""
    rate = f"rate {arguments.rate} " if arguments.rate else ""
    found = {_CLEAN: rate.strip()}
    found.update((f"{loss} lost", f"{rate}loss {loss}") for loss in arguments.loss or _LOSSES)
    if not arguments.loss:
        found.update((name, rate + words) for name, words in _REORDERED.items())
    return found


# --- in the virtual machine ---

def _in_vm(plan, limit_s):
    with tempfile.TemporaryDirectory(prefix="heddle-bench-rdma-") as folder:
        path = pathlib.Path(folder, "plan.json")
        path.write_text(json.dumps(plan), encoding="utf-8")
        machine = start([plan["heddle"], "lab", "vm", "--timeout", f"{limit_s}s", "--out", folder, "--",
                         sys.executable, "-B", "-S", str(_HERE / "inside_vm.py"), str(path)],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            _, complaint = machine.communicate()
        finally:
            machine.terminate()  # heddle then ends QEMU and waits for it
            try:
                machine.wait(timeout=10)
            except subprocess.TimeoutExpired:
                machine.kill()
                machine.wait()
        found = pathlib.Path(folder, "results.json")
        if machine.returncode != 0 or not found.exists():
            raise CannotMeasure(f"the virtual machine ended with {machine.returncode}: {complaint.strip()[-400:]}",
                                "run scripts/setup --vm, and `heddle lab vm -- true` by hand")
        return json.loads(found.read_text(encoding="utf-8"))


# --- rounds of earlier commands ---

def _key(plan):
    """Equal for plans whose rounds measure the same with the same build."""
    same = {name: value for name, value in plan.items() if name not in ("rounds", "budget_s")}
    program = hashlib.sha256(pathlib.Path(plan["heddle"]).read_bytes()).hexdigest()
    return hashlib.sha256(json.dumps([program, same]).encode()).hexdigest()


def _kept(path, key):
    """What earlier commands left in the file, a JSON document a line; a line that was cut off does not count."""
    found = []
    if path and pathlib.Path(path).exists():
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            try:
                document = json.loads(line)
            except ValueError:
                continue
            if document["key"] == key:
                found.append(document)
    return found


# --- figures ---

def _measure(rounds, condition, name, measure, key):
    """Its spread, the share of the same program without faults, and why rounds ended early. `key`: of the value."""
    values, shares, ended = [], [], []
    for each in rounds:
        found, clean = each[condition][name][measure], each[_CLEAN][name][measure]
        if "ended" in found:
            ended.append(found["ended"])
            continue
        values.append(found[key])
        if clean.get(key):
            shares.append(found[key] / clean[key])
    return {"value": spread(values) if values else None, "to_own": spread(shares) if shares else None,
            "ended": ended}


def _program(rounds, condition, name):
    own = [each[condition][name] for each in rounds]
    counts = {key: [each["nic"].get(key, 0) for each in own] for key in own[0]["nic"]}
    repeated = {key: [each["goodput"][key] for each in own if key in each["goodput"]]
                for key in ("retransmitted", "retransmitted_spuriously")}
    return {"program": name, "goodput_gbits_per_s": _measure(rounds, condition, name, "goodput", "gbits_per_s"),
            "messages": {size: {"p99_us": _measure(rounds, condition, name, f"message {count}", "p99_us"),
                                "p50_us": _measure(rounds, condition, name, f"message {count}", "p50_us"),
                                "count": sum(each[f"message {count}"].get("messages", 0) for each in own)}
                         for size, count in _SIZES.items()},
            **{key: spread(shares) if shares else None for key, shares in repeated.items()}, "nic": counts}


def _asked(conditions):
    """The shares that the project asks of heddle over UC, beside those found."""
    rows = []
    for loss, share in _ASKED.items():
        condition = next((each for each in conditions if each["condition"] == f"{loss} lost"), None)
        ours = condition and next((each for each in condition["programs"] if each["program"] == "heddle, UC"), None)
        if ours:
            found = ours["goodput_gbits_per_s"]["to_own"]
            rows.append({"loss": loss, "asked": share, "found": found and found["median"]})
    return rows


def run(arguments, progress):
    for program, package in (("ib_write_bw", "perftest"), ("ib_write_lat", "perftest"), ("iperf3", "iperf3")):
        installed(program, package)
    programs = [_PROGRAMS[key] for key in _PROGRAMS if key in (arguments.only or _PROGRAMS)]
    conditions = _conditions(arguments)
    plan = {"heddle": built("heddle"), "tcp_peer": str(_TCP_PEER), "seconds": arguments.seconds,
            "rounds": arguments.pairs, "budget_s": arguments.minutes * 60, "sizes": list(_SIZES.values()),
            "paths": arguments.paths, "programs": programs, "conditions": conditions}
    progress.say(0, 1, f"in the virtual machine, {arguments.minutes} minutes at most")
    meanwhile = Meanwhile()
    with meanwhile:
        found = _in_vm(plan, arguments.minutes * 60 + _MARGIN_S)
    meanwhile.settle()
    boot = {"key": _key(plan), "rounds": found["rounds"], "took_s": found["took_s"],
            "others_share": meanwhile.others_share, "stolen_share": meanwhile.stolen_share}
    boots = [*_kept(arguments.kept, boot["key"]), boot]
    if arguments.kept:
        with open(arguments.kept, "a", encoding="utf-8") as file:
            file.write(json.dumps(boot) + "\n")
    rounds = [each for one in boots for each in one["rounds"]]
    made = [{"condition": name, "netem": words,
             "programs": [_program(rounds, name, program) for program in programs]}
            for name, words in conditions.items()]
    asked = _asked(made)
    return {"scenario": "rdma", "machine": describe(), "rounds": len(rounds), "seconds": arguments.seconds,
            "took_s": sum(one["took_s"] for one in boots), "rate": arguments.rate, "paths": arguments.paths,
            "conditions": made,
            "asked_of_uc": asked,
            "exit_status": 0 if all(each["found"] and each["found"] >= each["asked"] for each in asked) else 1,
            **{key: max(one[key] for one in boots) for key in ("others_share", "stolen_share")}}


# --- text ---

def _cell(measure, digits, scale=1):
    if measure["value"] is None:
        return f"ended: {measure['ended'][0]}"
    shown = f"{measure['value']['median'] / scale:.{digits}f}"
    if measure["to_own"]:
        shown += f"; {text(measure['to_own'], 2)}"
    return shown + (f", {len(measure['ended'])} ended" if measure["ended"] else "")


def _show_program(each):
    row(each["program"], _cell(each["goodput_gbits_per_s"], 3),
        *(_cell(each["messages"][size]["p99_us"], 1, 1e3) for size in _SIZES))
    reasons = {reason for measure in (each["goodput_gbits_per_s"], *(found["p99_us"]
                                                                     for found in each["messages"].values()))
               for reason in measure["ended"]}
    for reason in sorted(reasons):
        row("", f"ended: {reason}")


def show(document):
    print(f"median of {document['rounds']} rounds of {document['seconds']} s, then the share of the same program "
          f"without a fault (least to most);\nP99 of messages to and fro, half the round trip: above 1 is slower. "
          f"Both ends share an emulated processor.")
    for part in document["conditions"]:
        print(f"\n{part['condition']}{' (netem ' + part['netem'] + ', each direction)' if part['netem'] else ''}")
        row("", "goodput, Gb/s; share", *(f"P99 of {size}, ms; share" for size in _SIZES))
        for each in part["programs"]:
            _show_program(each)
    for each in document["asked_of_uc"]:
        found = "nothing" if each["found"] is None else f"{each['found']:.2f}"
        print(f"\nheddle over UC with {each['loss']} lost keeps {found} of its goodput; asked: {each['asked']:.2f}")
    if document["others_share"] > 0.05 or document["stolen_share"] > 0.02:
        print(f"\nother programs had {document['others_share']:.0%} of the cores, a hypervisor "
              f"{document['stolen_share']:.0%}: compare with care")
