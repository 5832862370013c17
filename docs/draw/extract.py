"""From the JSON document of a scenario of bench/run to the figures (figure.py) that the pages show. One function a
scenario; those of NCCL are in extract_nccl.py, of plans in extract_plan.py, of diagnosis in extract_diagnosis.py.
"""

from extract_diagnosis import diagnosis
from extract_nccl import gpu, nccl
from extract_plan import plan
from figure import by_program, figure, one, percent, size_name


def p2p(document):
    parts = document["bandwidth"]
    columns = [f"MTU {part['mtu_bytes']}" for part in parts]
    latency = document["latency"]["programs"]
    return [figure("p2p", "One connection, one thread a side, no rate limit", "Gb/s of payload", columns,
                   by_program(parts, "goodput_gbits_per_s"), 1,
                   page_rows=["raw UDP, one copy", "heddle", "TCP cubic, 128K writes", "TCP cubic, 1M writes",
                              "TCP bbr, 128K writes", "TCP bbr, 1M writes"]),
            figure("p2p_cpu", "CPU time of both hosts for a GB of payload", "seconds a GB", columns,
                   by_program(parts, "host_cpu_seconds_per_gbyte")),
            figure("latency", "One-way latency (RTT/2) of 64 bytes, both sides spinning", "µs", ["p50", "p99"],
                   [(program["program"], [program["half_round_trip_us_p50"], program["half_round_trip_us_p99"]])
                    for program in latency])]


def _short(name):
    return "heddle" if name.startswith("heddle") else name


def _spines_title(part):
    return f"{'one slow' if part['slow_spine'] else 'even'}, MTU {part['mtu_bytes']}"


def multipath(document):
    made, spines, all_pairs = [], document["spines"], document["permutations"]
    if spines:
        columns = [_spines_title(part) for part in spines]
        made += [figure("multipath", "One connection over four spines of 200 Mb/s", "share of payload capacity",
                        columns, by_program(spines, "to_capacity", _short),
                        capacities_mbits=[part["payload_capacity_mbits_per_s"] for part in spines]),
                 figure("multipath_simulated", "One connection over four spines, simulated",
                        "share of payload capacity", columns,
                        [("heddle", [one(part["simulated_to_capacity"]) for part in spines])], 3, simulated=True)]
    if all_pairs:
        columns = [f"{part['leaves']} leaves x {part['hosts_per_leaf']} hosts" for part in all_pairs]
        names = list(all_pairs[0]["worst_pair_to_fair_share"])
        made += [figure("permutations", "All permutations of four hosts: the worst pair", "share of its fair share",
                        columns,
                        [(_short(name), [part["worst_pair_to_fair_share"].get(name) for part in all_pairs])
                         for name in names]),
                 figure("permutations_simulated", "All permutations of four hosts, simulated: the worst pair",
                        "share of its fair share", columns,
                        [("heddle", [part["simulated_worst_pair_to_fair_share"] for part in all_pairs])], 3,
                        simulated=True)]
    return made


def loss(document):
    parts = document["losses"]
    columns = [f"{part['loss']} lost" for part in parts]
    return [figure("loss", "Goodput under random loss, four spines of 100 Mb/s", "Mb/s of payload", columns,
                   by_program(parts, "goodput_mbits_per_s", _short), 0),
            figure("loss_share", "Goodput under random loss, to the same program without loss",
                   "share of what the loss leaves", columns, by_program(parts, "of_what_is_left", _short), 3),
            figure("loss_simulated", "Goodput under random loss, simulated", "share of what the loss leaves", columns,
                   [("heddle", [one(part["simulated"]) for part in parts])], 3, simulated=True)]


def failure(document):
    rows, notes = [], []
    for part in (document["heddle"], document["tcp"]):
        rows.append((part["program"], [part["longest_gap_ms"]]))
        lost = part.get("never_recovered", 0)
        notes.append(f"({lost} of {part['runs']} never recovered)" if lost else f"({part['runs']} runs)")
    made = figure("failure", "Longest gap when one of four spines becomes a black hole", "ms without a message",
                  ["longest gap"], rows, 1)
    for row, note in zip(made["rows"], notes):
        row["note"] = note
    return [made, figure("failure_simulated", "Longest gap at a black hole, simulated", "ms without a message",
                         ["longest gap"],
                         [(document["heddle"]["program"], [document["simulated"]["longest_gap_ms"]])], 1,
                         simulated=True)]


def elastic(document):
    rows = [(part["program"], [part["next_step_s"]]) for part in document["programs"]]
    return [figure("elastic", f"From kill -9 of one of {document['ranks']} ranks to the next finished step",
                   "seconds", ["next step"], rows)]


def _queue(count):
    return f"{count / 1e6:g} MB" if count >= 10**6 else f"{count / 1e3:g} KB"


def incast(document):
    made = []
    shapes = list(dict.fromkeys((part["senders"], part["message_bytes"]) for part in document["parts"]))
    for senders, size in shapes:
        parts = [part for part in document["parts"] if (part["senders"], part["message_bytes"]) == (senders, size)]
        columns = [f"queue of {_queue(part['queue_bytes'])}" for part in parts]
        name = "incast" if (senders, size) == (15, 65536) else f"incast_{senders}_{size}"
        what = f"{senders} senders of {size_name(size)} to one receiver"
        simulated = [next((program["simulated_p99_of_ideal"] for program in part["programs"]
                           if program.get("simulated_p99_of_ideal")), None) for part in parts]
        made.append(figure(name, f"{what}: 99th percentile of message time", "times the ideal", columns,
                           by_program(parts, "p99_of_ideal"), 2, reference=1))
        if any(simulated):
            made.append(figure(f"{name}_simulated", f"{what}, simulated: 99th percentile of message time",
                               "times the ideal", columns,
                               [("heddle, credits", [value and one(value) for value in simulated])], 2, simulated=True))
    return made


_SHOWN_SIZES = ["1 KiB", "16 KiB", "256 KiB", "1 MiB", "4 MiB", "64 MiB"]
_PLACES = {"links": "between hosts, links without a rate", "host": "on one host",
           "fabric": "of four hosts over four spines of 200 Mb/s",
           "wan": "of two sites that 20 Mb/s join, RTT 20 ms"}


def _best_ratio(row):
    """Round by round times of the peer with the best median, to heddle's. Sockets alone are no collective."""
    peers = {name: value for name, value in row["ratio"].items()
             if name != "heddle again" and "alone" not in name}
    return min(peers.values(), key=lambda value: value["median"]) if peers else None


def allreduce(document):
    on, parts = document["on"], document["parts"]
    if document["test"] != "allreduce":
        return []
    columns = [f"{part['ranks']} ranks" for part in parts]
    sizes = [row["bytes"] for row in parts[0]["rows"]]
    rows = [(size_name(size),
             [_best_ratio(next(row for row in part["rows"] if row["bytes"] == size)) for part in parts])
            for size in sizes]
    made = [figure(f"allreduce_{on}", f"All-reduce {_PLACES[on]}: time of the better peer to heddle's",
                   "times as fast", columns, rows, chart="ratios", page_rows=_SHOWN_SIZES)]
    if on == "fabric":
        row = parts[0]["rows"][-1]
        factor = 2 * (parts[0]["ranks"] - 1) / parts[0]["ranks"] * row["bytes"]
        made.append(figure("allreduce_fabric_bus", f"All-reduce of {size_name(row['bytes'])} {_PLACES[on]}",
                           "MB/s of bus bandwidth", ["bus bandwidth"],
                           [(name, [{"median": factor / value["median"], "min": factor / value["max"],
                                     "max": factor / value["min"]}]) for name, value in row["us"].items()], 0))
    return made


def training(document):
    places = {"fabric": "four spines of 200 Mb/s", "links": "links without a rate"}
    if all(part["on"] == "wan" for part in document["parts"]):
        parts = document["parts"]
        return [figure("training_wan", "Training a small network on two sites that 20 Mb/s join, RTT 20 ms",
                       "steps a minute", [f"{part['ranks']} ranks" for part in parts],
                       [(label, [part["steps_a_minute"][name] for part in parts])
                        for name, label in (("heddle", "heddle"), ("gloo", "Gloo"))], 0)]
    return [figure("training", "Training ResNet-18: images a second, heddle to Gloo", "times as fast",
                   ["heddle to Gloo"],
                   [(f"{part['ranks']} ranks, {places[part['on']]}", [part["to_gloo"]]) for part in document["parts"]],
                   2, reference=1, all_ours=True)]


def nics(document):
    parts = document["bandwidth"]
    return [figure("nics", "One connection over two NICs a host", "share of both NICs",
                   ["{} + {} Mb/s".format(*part["rates_mbits_per_s"]) for part in parts],
                   by_program(parts, "to_capacity"))]


def hostile(document):
    made = []
    if "keys" in document:
        part = document["keys"]
        made.append(figure("keys", f"One connection with cluster keys, MTU {part['mtu_bytes']}, no rate limit",
                           "Gb/s of payload", ["goodput"],
                           [(name, [value]) for name, value in part["goodput_gbits_per_s"].items()], 1,
                           page_rows=["heddle without keys", "heddle, headers protected", "heddle with keys"]))
    if "flood" in document:
        part = document["flood"]
        made.append(figure("flood", f"Encrypted transfer over a link of {part['link']} under a flood",
                           "Gb/s of payload", ["goodput"], [(f"heddle, {name}", [value])
                                         for name, value in part["goodput_gbits_per_s"].items()], 2))
    return made


def _interval(each):
    low, high = each["interval"] or (each["median"], each["median"])
    return percent({"median": each["median"], "min": low, "max": high})


def recording(document):
    costs = {f"all-reduce of {size_name(int(size))}": cost["wall_ns"] for size, cost in document["alternating"].items()}
    if "training_in_turn" in document:
        costs["step of ResNet-18, batch 16"] = document["training_in_turn"]["wall_ns"]
    levels = list(next(iter(costs.values())))
    return [figure("recording", "What recording adds to the time", "% more time, 95% interval",
                   [f"level {level}" for level in levels],
                   [(name, [_interval(cost[level]) if level in cost else None for level in levels])
                    for name, cost in costs.items()], 1, all_ours=True)]


def distance(document):
    parts = [case for case in document["cases"] if case["buffers"] != "debian"] or document["cases"]
    columns = [f"{part['km']} km" for part in parts]
    return [figure("distance", f"One connection over a cable of {document['mbits']} Mb/s", "share of payload capacity",
                   columns, by_program(parts, "to_capacity")),
            figure("distance_message", "Messages of 64 KiB over distance, RTT/2, median", "µs", columns,
                   by_program(parts, "message_us_p50"), 0),
            figure("distance_simulated", "One connection over distance, simulated", "share of payload capacity",
                   columns,
                   [("heddle", [one(part["simulated_to_capacity"]) for part in parts])], 3, simulated=True)]


def verify(document):
    rows = [{"what": row["what"].replace(", us", ", µs").replace("MB/s of bus", "MB/s of bus bandwidth"),
             "digits": row["digits"], "heddle": row["heddle"], "peer": row.get("peer"),
             "peer_name": row.get("peer_name", ""), "ratio": row.get("ratio")} for row in document["rows"]]
    return [{"id": "verify", "title": f"`make verify` on {document['network']}", "comparison": rows}]


_ROCE_FIGURES = (("permutation", "p99", "roce_permutation_simulated",
                  "permutation of 2 MB: 99th percentile of flow time"),
                 ("incast with victims", "p99", "roce_incast_simulated", "incast: its 99th percentile of flow time"),
                 ("incast with victims", "victims_p99", "roce_victims_simulated",
                  "incast: 99th percentile of its victims' flow time"),
                 ("ring all-reduce", "mean", "roce_all_reduce_simulated",
                  "16 ranks, ring all-reduce of 1 MB: time of a call"),
                 ("training step", "mean", "roce_training_simulated",
                  "16 ranks, training: time of a step to its computation"))


def _of_seeds(value):
    """A document of one seed may have the value alone."""
    return one(value) if isinstance(value, float) else value


def sim(document):
    if document.get("peer") != "roce":
        return []
    made = []
    for traffic, key, name, what in _ROCE_FIGURES:
        cases = [case for case in document["cases"] if case["traffic"] == traffic]
        conditions, systems = (list(dict.fromkeys(case[field] for case in cases)) for field in ("condition", "system"))
        found = {(case["system"], case["condition"]): case["times_of_ideal"][key] for case in cases}
        rows = [(system, [_of_seeds(found[system, each]) for each in conditions]) for system in systems]
        if len(document.get("seeds", [])) > 1:
            name = name.replace("_simulated", "_seeds_simulated")
        if cases:
            made.append(figure(name, f"{document['hosts']} hosts, {what}, simulated", "times the ideal", conditions,
                               rows, 1, simulated=True))
    return made


_OVERLAP_ERRORS = (("computation_s", "computation"), ("communication_s", "communication"), ("step_s", "both at once"),
                   ("exposed_s", "exposed"), ("speedup", "speed-up"))


def _overlap_in_lab(document):
    cases = document["cases"]
    rows = [(f"{case['model']}, {case['gpus']} ranks: {name}",
             [one(case["formula"][key]), case["measured"][key], one(round(100 * case["errors"][key], 2) + 0.0)])
            for case in cases for key, name in _OVERLAP_ERRORS]
    title = f"Two models of {document['parameters'] / 1e6:g} million parameters in a lab of {document['rate']}"
    return [figure("size_overlap_lab", title.replace("Mbit/s", " Mb/s"), "seconds, speed-up, %",
                   ["formula", "measured", "error, %"], rows, 2)]


def _overlap(document):
    if document.get("lab"):
        return _overlap_in_lab(document)
    cases = document["cases"]
    numbers, models = (list(dict.fromkeys(case[key] for case in cases)) for key in ("gpus", "model"))
    found = {(case["model"], case["gpus"]): case for case in cases}
    columns = [f"{number} GPUs" for number in numbers]
    speedups = [(f"{model}, {kind}", [one(found[model, number][kind]["speedup"]) for number in numbers])
                for model in models for kind in ("formula", "simulated")]
    errors = [(f"{model}, {name}",
               [one(round(100 * found[model, number]["errors"][key], 2) + 0.0) for number in numbers])
              for model in models for key, name in _OVERLAP_ERRORS]
    rate = document["rate"].replace("Gbit/s", " Gb/s")
    what = f"two models of {document['parameters'] / 1e9:g} billion parameters at {rate}"
    return [figure("size_overlap_simulated", f"Speed-up of {what}, simulated", "speed-up", columns, speedups,
                   simulated=True),
            figure("size_overlap_errors_simulated", f"Error of the formulas for {what}, beside the simulation",
                   "%", columns, errors, simulated=True)]


def _headroom(document):
    cases = document["cases"]
    columns = [f"{case['gbits_per_s']} Gb/s, {case['meters'] / 1000:g} km, MTU {case['mtu_bytes']}" for case in cases]
    keys = (("formula", "formula_bytes"), ("simulated, worst of 16 phases", "used_bytes"),
            ("simulated, smallest buffer without a drop", "smallest_without_drop_bytes"))
    rows = [(name, [case[key] and one(case[key] / 1000) for case in cases]) for name, key in keys]
    rows.append(("formula less simulated, packets", [one(case["unused_packets"]) for case in cases]))
    return [figure("size_headroom_simulated", "PFC headroom of a lossless switch, simulated", "kB", columns, rows, 1,
                   simulated=True)]


_TRAFFIC_SHOWN = ["data 4", "data 4, sharded (ZeRO 3)", "tensor 2 x data 2", "pipeline 2 x data 2",
                  "PyTorch ResNet-50, data 4", "PyTorch VGG-11, data 3"]


def _traffic(document):
    keys = ("formula_bytes", "counted_bytes", "interface_bytes")
    rows = [(case["job"], [one(case[key]) for key in keys]) for case in document["cases"]]
    return [figure("size_traffic", "Bytes that a rank sends in a training step", "bytes",
                   ["formula", "payload, counted", "interface, counted"], rows, 0, page_rows=_TRAFFIC_SHOWN)]


def _patterns(document):
    sides = ("formula", "simulated", "counted")
    rows = []
    for case in document["cases"]:
        name, layers = f"{case['way']}, {case['gpus']} ranks", case["layers"]
        for operation, calls in case["calls"].items():
            rows.append((f"{name}: {operation}s a layer", [one(calls[side] / layers) for side in sides]))
        rows.append((f"{name}: bytes a layer", [one(case["bytes"][side] / layers) for side in sides]))
    return [figure("size_patterns", f"Calls and bytes of a rank in a training step of {layers} layers",
                   "calls and bytes", ["formula", "heddle sim", "counted"], rows, 0)]


def _distance(document):
    def rows(cases):
        return [(f"{case['km']} km, {case['name']}", [one(case["formula_gbits_per_s"]), one(case["seen_gbits_per_s"])])
                for case in cases]
    parts = document["parts"]
    made = [figure("size_distance_windows_simulated", "Messages of which N are outstanding, 100 Gb/s, simulated",
                   "Gb/s", ["formula", "heddle sim"], rows(parts["windows"]), 2, simulated=True,
                   page_rows=_WINDOWS_SHOWN),
            figure("size_distance_loss_simulated", "Packets lost on a long cable, 100 Gb/s, simulated", "Gb/s",
                   ["formula", "heddle sim"], rows(parts["loss"]), 1, simulated=True, page_rows=_LOSS_SHOWN)]
    if parts.get("relayed"):
        made.append(figure("size_distance_relayed_simulated", "Messages through two relays, 100 Gb/s, simulated",
                           "Gb/s", ["formula without relays", "through relays"], rows(parts["relayed"]), 2,
                           simulated=True))
    if parts["writes"]:
        made.append(figure("size_distance_writes", "RDMA writes in the virtual machine, delayed by netem", "Mb/s",
                           ["formula", "ib_write_bw"],
                           [(name, [one(1000 * each["median"]) for each in values])
                            for name, values in rows(parts["writes"])], 1))
    return made


_WINDOWS_SHOWN = ["0 km, 1024 KiB x 1", "100 km, 1024 KiB x 1", "1000 km, 1024 KiB x 1", "300 km, 1024 KiB x 16",
                  "1000 km, 1024 KiB x 16", "1000 km, 1024 KiB x 128"]
_LOSS_SHOWN = [f"{km} km, 0.01% lost, {name}" for km in (100, 300, 1000)
               for name in ("go-back-N, RoCE NIC", "selective, heddle")]


_OF_MESSAGES = (("DMA length", "message_bytes"), ("packets of a message", "packets"),
                ("bytes on the wire", "wire_bytes"))


def _messages(document):
    rows = [(f"{size_name(case['write_bytes'])}, MTU {case['mtu_bytes']}: {name}",
             [one(case[side][key]) for side in ("formula", "captured")])
            for case in document["cases"] for name, key in _OF_MESSAGES]
    return [figure("size_messages", "Writes of perftest over soft-RoCE, a message", "bytes and packets",
                   ["formula", "captured"], rows, 0)]


def size(document):
    questions = {"overlap": _overlap, "headroom": _headroom, "traffic": _traffic, "patterns": _patterns,
                 "messages": _messages, "distance": _distance}
    return questions[document["question"]](document)


def _acceptance_rates(document, what, name):
    rows = [(each["measure"].replace(", bandwidth", "").replace("_", " "),
             [each["their_share_of_link"] and one(each["their_share_of_link"]), each["to_limit"]])
            for each in document["rows"] if each["unit"] == "Gb/s" and not each["measure"].startswith("limit")]
    return [figure(name, f"Bandwidth between two hosts, {what}, beside an integrator's test",
                   "share of what the link carries", ["integrator, 100 Gb/s", "here"], rows, 2)]


def _acceptance_training(document):
    theirs, runs = document["theirs"], document["runs"]
    gain = theirs["minutes, one server"] / theirs["minutes, two servers"]
    rows = [("integrator, two GPU servers", [one(gain)])]
    rows += [(name, [one(runs[key]["images_per_s"] / runs["one"]["images_per_s"])])
             for name, key in (("heddle", "all"), ("Gloo", "gloo"))]
    return [figure("acceptance_training", "ResNet-18 on two hosts, beside an integrator's test", "times one host",
                   ["gain"], rows, 2)]


def _acceptance_faults(document):
    rows = [(case["fault"], [one(len(case["runs"])), one(case["found"])]) for case in document["cases"]]
    return [figure("acceptance_faults", "Labs with a known fault under heddle verify --quick", "runs",
                   ["runs", "the place was named"], rows, 0)]


def acceptance(document):
    step = document["step"]
    if step == "faults":
        return _acceptance_faults(document)
    if step == "training":
        return _acceptance_training(document)
    if step == "reach":
        return []
    what = "RDMA in a virtual machine" if step == "rdma" else "a veth pair"
    return _acceptance_rates(document, what, f"acceptance_{step}")


def _rdma_rows(parts, measure):
    """Shares of the same program without faults. Where no round ended well, the row says why."""
    rows = []
    for name in (program["program"] for program in parts[0]["programs"]):
        found = [measure(next(each for each in part["programs"] if each["program"] == name)) for part in parts]
        ended = [f"{part['condition']}: ended: {each['ended'][0]}" for part, each in zip(parts, found)
                 if each["ended"] and each["value"] is None]
        rows.append((name, [each["to_own"] for each in found], f"({'; '.join(ended)})" if ended else ""))
    return rows


def _rdma_figure(parts, name, title, measure):
    rows = _rdma_rows(parts, measure)
    made = figure(name, title, "share of its own without faults", [part["condition"] for part in parts],
                  [row[:2] for row in rows])
    for row, (_, _, note) in zip(made["rows"], rows):
        row["note"] = note
    return made


def rdma(document):
    clean, *parts = document["conditions"]
    made = [_rdma_figure(parts, "rdma", "Goodput on a link with faults, RDMA in a virtual machine",
                         lambda program: program["goodput_gbits_per_s"])]
    made += [_rdma_figure(parts, f"rdma_p99_{size.replace(' ', '').lower()}",
                          f"99th percentile of messages of {size}, RDMA in a virtual machine",
                          lambda program, size=size: program["messages"][size]["p99_us"])
             for size in clean["programs"][0]["messages"]]
    rows = [(program["program"], [program["goodput_gbits_per_s"]["value"],
                                  *(each["p99_us"]["value"] and {key: each["p99_us"]["value"][key] / 1e3 for key in
                                                                 ("median", "min", "max")}
                                    for each in program["messages"].values())]) for program in clean["programs"]]
    columns = ["goodput, Gb/s", *(f"P99 of {size}, ms" for size in clean["programs"][0]["messages"])]
    return made + [figure("rdma_without_faults", "The same link without faults", "absolute", columns, rows, 3)]


def stragglers(document):
    rows = [(f"{case['root_cause']}: {each['name']}", [one(each["theirs"]), one(each["ours"])])
            for case in document["cases"] for each in case["figures"]
            if each["name"] == "slowdown" or each["name"].endswith("share")]
    return [figure("stragglers", "Stragglers of three published traces of training", "ratio, shares",
                   ["authors", "heddle stragglers"], rows, 4)]


SCENARIOS = {"sim": sim, "diagnosis": diagnosis, "size": size, "plan": plan, "p2p": p2p, "multipath": multipath,
             "loss": loss, "failure": failure, "elastic": elastic, "gpu": gpu, "nccl": nccl, "incast": incast,
             "allreduce": allreduce, "training": training, "nics": nics, "hostile": hostile, "recording": recording,
             "distance": distance, "verify": verify, "acceptance": acceptance, "rdma": rdma,
             "stragglers": stragglers}


_BETTER = {"p2p": "more", "p2p_cpu": "less", "latency": "less", "multipath": "more", "permutations": "more",
           "loss": "more", "failure": "less", "elastic": "less", "gpu_training": "less", "gpu_death": "less",
           "nccl_spines": "more",
           "incast": "less", "allreduce": "more", "training_wan": "more", "distance": "more",
           "distance_message": "less"}


_SHORT = {"allreduce_links": "All-reduce between hosts, to the better peer", "training": "Training ResNet-18, to Gloo",
          "allreduce_host": "All-reduce on one host, to Open MPI", "p2p": "One connection, no rate limit",
          "p2p_cpu": "CPU time for a GB of payload", "latency": "One-way latency of 64 bytes",
          "loss": "Goodput under random loss", "gpu_training": "A step of ResNet-50 on a GPU",
          "gpu_best": "NCCL on a GPU, no rate limit, best setting to best",
          "gpu_default": "NCCL on a GPU, no rate limit, as both set themselves up",
          "gpu_default_best": "NCCL on a GPU, no rate limit, heddle's default to Socket's best",
          "gpu_death": "From kill -9 of a rank to NCCL's error",
          "gpu_fabric_best": "NCCL on a GPU, four spines, to Socket's best",
          "nccl_veth": "NCCL's traffic, no rate limit, to NCCL's sockets"}


def _with_direction(figure):
    """Adds a short name, and whether more is better where heddle stands beside peers in one unit."""
    if figure["id"] in _SHORT:
        figure = {**figure, "short": _SHORT[figure["id"]]}
    stem = figure["id"].split("_")[0] if figure["id"].startswith(("incast", "allreduce")) else figure["id"]
    ours_and_peers = not figure.get("simulated") and figure.get("unit") != "times as fast"
    better = _BETTER.get(stem) if ours_and_peers else None
    return {**figure, "better": better} if better else figure


def figures(data):
    """Of one file of docs/performance: those that stand in it (transcribed), or those of its document (saved)."""
    if "figures" in data:
        return data["figures"]
    made = SCENARIOS.get(data["scenario"], lambda document: [])(data["document"])
    return [_with_direction(each) for each in made]
