"""Figures of `bench/run sim`: traffic over heddle beside htsim and beside simulated RoCE NICs, the model of those NICs
beside published figures, and what heddle alone fills of a fabric and of a long cable, and costs to simulate.
"""

from figure import figure, one, spread

_TRAFFIC = (("permutation", "p99", "roce_permutation", "permutation of 2 MB: 99th percentile of flow time"),
            ("incast with victims", "p99", "roce_incast", "incast: its 99th percentile of flow time"),
            ("incast with victims", "victims_p99", "roce_victims",
             "incast: 99th percentile of its victims' flow time"),
            ("ring all-reduce", "mean", "roce_all_reduce", "16 ranks, ring all-reduce of 1 MB: time of a call"),
            ("ring all-reduces on all hosts", "mean", "roce_all_reduces",
             "a ring all-reduce of 1 MB on each 16 of them at once: time of a call"),
            ("training step", "mean", "roce_training", "16 ranks, training: time of a step to its computation"))


def _of_seeds(value):
    """A document of one seed may have the value alone."""
    return one(value) if isinstance(value, float) else value


def _beside_roce(document):
    made = []
    for traffic, key, name, what in _TRAFFIC:
        cases = [case for case in document["cases"] if case["traffic"] == traffic]
        conditions, systems = (list(dict.fromkeys(case[field] for case in cases)) for field in ("condition", "system"))
        found = {(case["system"], case["condition"]): case["times_of_ideal"][key] for case in cases}
        rows = [(system, [_of_seeds(found[system, each]) for each in conditions]) for system in systems]
        hosts = "" if document["hosts"] == 64 else f"_{document['hosts']}"
        if cases:
            made.append(figure(f"{name}{hosts}_simulated", f"{document['hosts']} hosts, {what}, simulated",
                               "times the ideal", conditions, rows, 1, better="less", simulated=True))
    return made


def _published(document):
    rows = document["rows"]
    made = figure("roce_published_simulated", "Simulated RoCE NICs and lossless switches beside published figures",
                  "model of RoCE NICs", ["simulated"], [(row["what"], [one(row["measured"])]) for row in rows], 2,
                  better="no_peer", simulated=True)
    for row, shown in zip(rows, made["rows"]):
        shown["note"] = f"{row['unit']} (published: {row['published']}; {row['source']})".strip()
    return [made]


def _until_known(results, case, key):
    """Until the last sender knows that all has arrived: to the time that the link alone takes."""
    return spread([result[key] / case["ideal_us"] for result in results])


def _megabytes(results):
    return f"{max(result['memory_mb'] for result in results):.0f}"


def _beside_eqds(document):
    """Of the cases that htsim ran, too. Its switches trim packets, heddle's do not."""
    cases = [case for case in document["cases"] if case["htsim"]]
    permutations = [case for case in cases if case["case"].startswith("permutation, ")]
    incasts = [case for case in cases if case["case"].startswith("incast ")]
    hosts, end = f"{document['hosts']:,} hosts", "" if document["hosts"] == 1024 else f"_{document['hosts']}"
    size = f"{document['bytes'] / 1e6:g} MB"

    def known(name, title, some, columns):
        rows = [(program, [_until_known(case[kind], case, key) for case in some])
                for program, kind, key in (("heddle", "heddle", "tail_acked_us"),
                                           ("htsim EQDS", "htsim", "tail_fct_us"))]
        return figure(f"htsim_{name}{end}_simulated", f"{hosts} at 100 Gb/s, {title}: until the last sender knows, "
                      "simulated", "times the ideal", columns, rows, 2, better="less", simulated=True,
                      remark="htsim's switches trim in these runs, heddle's do not. The ideal is the payload's time on "
                             "the link, with heddle's headers.")
    made = []
    if permutations:
        columns = [case["case"].removeprefix("permutation, ") for case in permutations]
        made.append(known("tail", f"permutation of {size}", permutations, columns))
    if incasts:
        columns = [case["case"].removeprefix("incast ").replace("_", " ") for case in incasts]
        made.append(known("incast", f"incasts of {size} a sender", incasts, columns))
    if permutations:
        rows = [(program, [spread([result["wall_s"] for result in case[kind]]) for case in permutations])
                for program, kind in (("heddle", "heddle"), ("htsim EQDS", "htsim"))]
        memory = "; ".join(f"{kind} {' and '.join(_megabytes(case[kind]) for case in permutations)} MB"
                           for kind in ("heddle", "htsim"))
        made.append(figure(f"htsim_wall{end}_simulated", f"Wall time of simulating {hosts}", "s",
                           [case["case"] for case in permutations], rows, 1, better="less", simulated=True,
                           remark=f"Memory: {memory}."))
    return made


def _paths(document):
    cases = document["cases"]
    shapes = list(dict.fromkeys((case["spines"], case["mtu_bytes"]) for case in cases))
    found = {(case["spines"], case["mtu_bytes"], case["paths"]): case["to_capacity"] for case in cases}
    rows = [(f"heddle, {paths} paths", [found[spines, mtu, paths] for spines, mtu in shapes])
            for paths in dict.fromkeys(case["paths"] for case in cases)]
    return [figure("paths_simulated",
                   f"How many paths fill a fabric (median of {len(document['hash_seeds'])} hash seeds), simulated",
                   "share of payload capacity", [f"{spines} spines, MTU {mtu}" for spines, mtu in shapes], rows, 2,
                   better="no_peer", simulated=True)]


def _distance(document):
    cases = document["cases"]
    trips, losses = (list(dict.fromkeys(case[key] for case in cases)) for key in ("round_trip_us", "loss"))
    found = {(case["loss"], case["round_trip_us"]): case for case in cases}
    rows = [(f"heddle, {what}{'' if loss == '0%' else f', {loss} lost'}",
             [one(found[loss, trip][key]) for trip in trips])
            for loss in losses
            for what, key in (("whole", "to_capacity"), ("2nd half", "to_capacity_after_start"))]
    return [figure("distance_flow_simulated",
                   f"A flow of {document['bytes'] / 1e9:g} GB at {document['gbits_per_s']} Gb/s, whole and its second "
                   "half, simulated",
                   "share of payload capacity", [f"RTT {trip / 1e3:g} ms" for trip in trips], rows, 2,
                   better="no_peer", simulated=True)]


def _memory(megabytes):
    return f"({megabytes / 1e3:.2f} GB)" if megabytes >= 1e3 else f"({megabytes:.0f} MB)"


def _scale(document):
    made = []
    for kind, name, what, digits in (
            ("permutation", "scale", f"a permutation of {document['bytes'] / 1e6:g} MB, 128 paths", 1),
            ("job", "jobs", f"a job of {document['ranks']:,} ranks", 0)):
        cases = [case for case in document["cases"] if case["kind"] == kind]
        if not cases:
            continue
        events = ", ".join(f"{case['events'] / 1e6:.3g}" for case in cases)
        each = figure(f"{name}_simulated", f"CPU time of simulating {what}", "s", ["CPU time"],
                      [(case["case"], [case["cpu_s"]]) for case in cases], digits, better="no_peer", simulated=True,
                      all_ours=True, remark=f"In parentheses peak memory. Events: {events} million.")
        for row, case in zip(each["rows"], cases):
            row["note"] = _memory(case["memory_mb"])
        made.append(each)
    return made


def sim(document):
    if "part" in document:
        return {"paths": _paths, "distance": _distance, "scale": _scale}[document["part"]](document)
    return {"roce": _beside_roce, "published": _published, None: _beside_eqds}[document.get("peer")](document)
