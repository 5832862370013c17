"""Figures of `bench/run rdma`: goodput and messages of each program under faults, as shares of its own without."""

from figure import figure

# Of fewer messages the 99th percentile is their slowest.
_ENOUGH_FOR_P99 = 100


def _rdma_rows(parts, measure, count=None):
    """Shares of the same program without faults. Where no round ended well, the row says why; where few messages were
    counted, how many.
    """
    rows = []
    for name in (program["program"] for program in parts[0]["programs"]):
        found = [measure(next(each for each in part["programs"] if each["program"] == name)) for part in parts]
        ended = [f"{part['condition']}: ended: {each['ended'][0]}" for part, each in zip(parts, found)
                 if each["ended"] and each["value"] is None]
        fewest = min((count(each) for part in parts for each in part["programs"] if each["program"] == name),
                     default=0) if count else _ENOUGH_FOR_P99
        if fewest < _ENOUGH_FOR_P99:
            ended.append(f"the slowest of {fewest} messages")
        rows.append((name, [each["to_own"] for each in found], f"({'; '.join(ended)})" if ended else ""))
    return rows


def _rdma_figure(parts, name, title, measure, better, count=None):
    rows = _rdma_rows(parts, measure, count)
    made = figure(name, title, "share of its own without faults", [part["condition"] for part in parts],
                  [row[:2] for row in rows], better=better)
    for row, (_, _, note) in zip(made["rows"], rows):
        row["note"] = note
    return made


def rdma(document):
    clean, *parts = document["conditions"]
    made = [_rdma_figure(parts, "rdma", "Goodput on a link with faults, RDMA in a virtual machine",
                         lambda program: program["goodput_gbits_per_s"], "more")]
    made += [_rdma_figure(parts, f"rdma_p99_{size.replace(' ', '').lower()}",
                          f"99th percentile of messages of {size}, RDMA in a virtual machine",
                          lambda program, size=size: program["messages"][size]["p99_us"], "less",
                          lambda program, size=size: program["messages"][size].get("count", _ENOUGH_FOR_P99))
             for size in clean["programs"][0]["messages"]]
    rows = [(program["program"], [program["goodput_gbits_per_s"]["value"],
                                  *(each["p99_us"]["value"] and {key: each["p99_us"]["value"][key] / 1e3 for key in
                                                                 ("median", "min", "max")}
                                    for each in program["messages"].values())]) for program in clean["programs"]]
    columns = ["goodput, Gb/s", *(f"P99 of {size}, ms" for size in clean["programs"][0]["messages"])]
    return made + [figure("rdma_without_faults", "The same link without faults", "absolute", columns, rows, 3,
                          better=["more"] + ["less"] * (len(columns) - 1))]
