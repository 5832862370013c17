"""Figures of scenarios that have no other program beside heddle: `bench/run transport`, `reading`, `recording` and
`beside_lab`.
"""

from figure import figure, one, percent, size_name


def transport(document):
    cases = document["cases"]
    mtus, messages = (list(dict.fromkeys(case[key] for case in cases)) for key in ("mtu_bytes", "message_bytes"))
    found = {(case["mtu_bytes"], case["message_bytes"]): case for case in cases}
    columns = [f"messages of {size_name(message)}" for message in messages]
    title = "The transport's own work for a segment, sender and receiver together"

    def rows(value):
        return [(f"segment at MTU {mtu}", [value(found[mtu, message]) for message in messages]) for mtu in mtus]
    made = [figure("segment_work", title, "ns of CPU time", columns, rows(lambda case: case["segment_ns"]), 0,
                   better="no_peer", all_ours=True,
                   remark="64 paths, acknowledgements, 0.1% loss, no system calls. At MTU 9000 a message of 4 KiB is "
                          "one segment, and pays for posting, grant, matching and completion alone.")]
    if all("segment_instructions" in case for case in cases):
        made.append(figure("segment_instructions", f"{title}, instructions", "instructions (callgrind)", columns,
                           rows(lambda case: one(case["segment_instructions"])), 0, better="no_peer", all_ours=True))
    return made


def reading(document):
    commands = (("heddle matrix", "matrix"), ("heddle summary", "summary"), ("heddle record info", "info"))
    rows = [(name, [one(document["commands"][key]["events_per_cpu_s"] / 1e6)]) for name, key in commands]
    return [figure("reading", "Reading a recording: events a second of one core", "millions of events a second",
                   ["speed"], rows, 1, better="no_peer",
                   remark=f"{document['events'] / 1e6:g} million events of {document['ranks']:,} ranks; record info "
                          "reads twice.")]


_NOISE = "off again"  # the same without recording, a second time


def _interval(each):
    low, high = each["interval"] or (each["median"], each["median"])
    return percent({"median": each["median"], "min": low, "max": high})


def _noise(costs):
    intervals = [(name, _interval(cost[_NOISE])) for name, cost in costs.items() if _NOISE in cost]
    shown = ", ".join(f"{name} {value['min']:+.1f} to {value['max']:+.1f}%" for name, value in intervals)
    return {"remark": f"A second time without recording, beside the first: {shown}."} if intervals else {}


def recording(document):
    costs = {f"all-reduce of {size_name(int(size))}": cost["wall_ns"] for size, cost in document["alternating"].items()}
    if "training_in_turn" in document:
        costs["step of ResNet-18, batch 16"] = document["training_in_turn"]["wall_ns"]
    levels = [level for level in next(iter(costs.values())) if level != _NOISE]
    return [figure("recording", "What recording adds to the time", "% more time, 95% interval",
                   [f"level {level}" for level in levels],
                   [(name, [_interval(cost[level]) if level in cost else None for level in levels])
                    for name, cost in costs.items()], 1, better="no_peer", all_ours=True, **_noise(costs))]


_WORKLOADS = {"permutation": "permutation of 2 MB", "incast, 7 to 1": "incast of 7 x 400 KB",
              "ring all-reduce": "ring all-reduce of 1 MB, a step"}


def beside_lab(document):
    cases = document["cases"]

    def rows(key):
        return [(_WORKLOADS.get(case["case"], case["case"]), [case[what][key] for what in ("tail", "median")])
                for case in cases]
    off = [100 * case["tail"]["off"] for case in cases]
    remark = (f"The simulated tails are {min(off):+.1f} to {max(off):+.1f}% off; {100 * document['bound']:g}% make the "
              "exit status 1. A lab's rates leave out the preamble, check sequence and gap of Ethernet.")
    where = f"{document['hosts']} hosts at {document['mbits']} Mb/s"
    return [figure("beside_lab", f"{where} in the lab, real packets", "ms", ["tail", "median"], rows("real_ms"), 0,
                   better="no_peer", all_ours=True),
            figure("beside_lab_simulated", f"The same workloads on {where}, simulated", "ms", ["tail", "median"],
                   rows("simulated_ms"), 0, better="no_peer", all_ours=True, simulated=True, remark=remark)]
