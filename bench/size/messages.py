"""Messages and packets of RDMA writes: `heddle size messages` beside a capture of perftest's `ib_write_bw`.

In one boot of the virtual machine tcpdump captures writes of several sizes and path MTUs over soft-RoCE;
`heddle size capture` counts them. A bucket of NCCL that makes messages of the same size gives the formula's side.
"""

import pathlib
import subprocess
import sys
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built, installed
from harness.report import row
from size.beside import document_of, error, figures, percent

_INSIDE = pathlib.Path(__file__).with_name("messages_in_vm.py")
_CASES = ((1 << 20, 4096), (1 << 20, 1024), (64 << 10, 4096), (10 << 10, 4096))  # bytes of a write, path MTU
_WRITES = 20
_HEADERS = 14 + 20 + 8 + 12 + 4  # that a capture has: Ethernet, IPv4, UDP, BTH, ICRC
_UNSEEN = 24                     # preamble, checksum and gap, which it has not
_RETH = 16                       # of the first packet of a write
_MOST_ERROR = 0.002              # of bytes on the wire: the formula leaves RETH out


def _captures(folder, progress):
    heddle = built("heddle")
    installed("ib_write_bw", "perftest")
    installed("tcpdump", "tcpdump")
    progress.say(0, 1, "in the virtual machine")
    words = [f"{size}:{mtu}" for size, mtu in _CASES]
    done = subprocess.run([heddle, "lab", "vm", "--out", folder, "--", sys.executable, "-B", str(_INSIDE), str(_WRITES),
                           *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"the virtual machine ended with {done.returncode}: {done.stderr.strip()[-400:]}",
                            "run scripts/setup --vm, and `heddle lab vm -- true` by hand")
    return [document_of("size", "capture", pathlib.Path(folder, f"{number}.pcap")) for number in range(len(_CASES))]


def _formula(size, mtu):
    """Two GPUs, one channel, and a buffer of which a slice is a quarter: a slice is one message."""
    found = figures("messages", "--gpus", 2, "--channels", 1, "--bucket", 4 * size, "--nccl-buffer", 4 * size,
                    "--payload", mtu)
    return {name: found[name] for name in ("message_bytes", "packets", "wire_bytes")}


def _only(pairs):
    """The one size that all have; None: they differ."""
    return pairs[0]["least"] if len(pairs) == 1 and pairs[0]["least"] == pairs[0]["most"] else None


def _captured(document):
    (writes,) = document["classes"]
    whole = (writes["messages"] == _WRITES and writes["other_lengths"] == 0 and writes["missing_packets"] == 0
             and writes["incomplete_messages"] == 0)
    if not whole:
        raise CannotMeasure("packets are missing in the capture", "repeat it on a machine that does less beside it")
    # Retransmitted ones are packets, and no part of a message.
    wire = writes["payload_bytes"] + writes["packets"] * (_HEADERS + _UNSEEN) + writes["messages"] * _RETH
    return {"message_bytes": _only(writes["message_bytes"]), "packets": _only(writes["packets_of_message"]),
            "wire_bytes": wire / writes["messages"], "retransmitted_packets": writes["retransmitted_packets"]}


def run(_arguments, progress):
    cases = []
    with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
        for (size, mtu), document in zip(_CASES, _captures(folder, progress)):
            formula, captured = _formula(size, mtu), _captured(document)
            cases.append({"write_bytes": size, "mtu_bytes": mtu, "writes": _WRITES, "formula": formula,
                          "captured": captured, "error": error(formula["wire_bytes"], captured["wire_bytes"])})
    same = all(case["formula"][name] == case["captured"][name] for case in cases
               for name in ("message_bytes", "packets"))
    sound = same and all(abs(case["error"]) <= _MOST_ERROR for case in cases)
    return {"machine": describe(), "cases": cases, "worst_error": max(abs(case["error"]) for case in cases),
            "exit_status": 0 if sound else 1}


def show(document):
    print("RDMA writes from FIRST to LAST, soft-RoCE in the virtual machine\n")
    for case in document["cases"]:
        formula, captured = case["formula"], case["captured"]
        row(f"ib_write_bw -s {case['write_bytes']} -m {case['mtu_bytes']}", "formula", "captured", "error")
        for name, label in (("message_bytes", "DMA length, B"), ("packets", "packets of a message"),
                            ("wire_bytes", "on the wire, B")):
            seen = "differ" if captured[name] is None else f"{captured[name]:,.0f}"
            row(f"  {label}", f"{formula[name]:,.0f}", seen, percent(case["error"]) if name == "wire_bytes" else "")
        print()
    print("messages and packets are those of the formulas; the wire has 16 bytes (RETH) a message more"
          if document["exit_status"] == 0 else "FORMULA AND CAPTURE DIFFER")
