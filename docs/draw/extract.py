"""From the JSON document of a scenario of bench/run to the figures (figure.py) that the pages show. One function a
scenario; those of NCCL are in extract_nccl.py, of plans in extract_plan.py, of RDMA in extract_rdma.py, of simulations
in extract_sim.py, of sizing in extract_size.py, of diagnosis in extract_diagnosis.py, of heddle alone in
extract_own.py.
"""

from extract_diagnosis import diagnosis, monitor
from extract_nccl import gpu, nccl
from extract_own import beside_lab, reading, recording, transport
from extract_plan import plan
from extract_rdma import rdma
from extract_sim import sim
from extract_size import size
from figure import by_program, check_direction, figure, one, size_name, spread


def p2p(document):
    parts = document["bandwidth"]
    columns = [f"MTU {part['mtu_bytes']}" for part in parts]
    latency = document["latency"]["programs"]
    xdp = document.get("datapath") == "xdp"
    end, over = ("_xdp", ", heddle over XDP sockets") if xdp else ("", "")
    limit = "raw AF_XDP" if xdp else "raw UDP, one copy"
    return [figure(f"p2p{end}", f"One connection, one thread a side, no rate limit{over}", "Gb/s of payload", columns,
                   by_program(parts, "goodput_gbits_per_s"), 1, better="more",
                   page_rows=[limit, "heddle", *(["heddle over UDP"] if xdp else []), "TCP cubic, 128K writes",
                              "TCP cubic, 1M writes", "TCP bbr, 128K writes", "TCP bbr, 1M writes"][:6]),
            figure(f"p2p{end}_cpu", f"CPU time of both hosts for a GB of payload{over}", "seconds a GB", columns,
                   by_program(parts, "host_cpu_seconds_per_gbyte"), better="less"),
            figure(f"latency{end}", f"One-way latency (RTT/2) of 64 bytes, both sides spinning{over}", "µs",
                   ["p50", "p99"],
                   [(program["program"], [program["half_round_trip_us_p50"], program["half_round_trip_us_p99"]])
                    for program in latency], better="less")]


def engines(document):
    parts = document["parts"]
    columns = [f"MTU {part['mtu_bytes']}" for part in parts]
    end, over = ("_xdp", ", XDP sockets") if document["datapath"] == "xdp" else ("", "")
    what = f"{document['flows']} connections to one host{over}"
    return [figure(f"engines{end}", what, "Gb/s of payload", columns, by_program(parts, "goodput_gbits_per_s"), 1,
                   better="no_peer"),
            figure(f"engines{end}_share", f"{what}, beside one engine", "of one engine", columns,
                   by_program(parts, "to_one_engine"), better="no_peer")]


def _short(name):
    return "heddle" if name.startswith("heddle") else name


def _spines_title(part):
    return f"{'one slow' if part['slow_spine'] else 'even'}, MTU {part['mtu_bytes']}"


def multipath(document):
    made, spines, all_pairs = [], document["spines"], document["permutations"]
    if spines:
        columns = [_spines_title(part) for part in spines]
        made += [figure("multipath", "One connection over four spines of 200 Mb/s", "share of payload capacity",
                        columns, by_program(spines, "to_capacity", _short), better="more",
                        capacities_mbits=[part["payload_capacity_mbits_per_s"] for part in spines]),
                 figure("multipath_simulated", "One connection over four spines, simulated",
                        "share of payload capacity", columns,
                        [("heddle", [one(part["simulated_to_capacity"]) for part in spines])], 3, better="no_peer",
                        simulated=True)]
    if all_pairs:
        columns = [f"{part['leaves']} leaves x {part['hosts_per_leaf']} hosts" for part in all_pairs]
        names = list(all_pairs[0]["worst_pair_to_fair_share"])
        made += [figure("permutations", "All permutations of four hosts: the worst pair", "share of its fair share",
                        columns,
                        [(_short(name), [part["worst_pair_to_fair_share"].get(name) for part in all_pairs])
                         for name in names], better="more"),
                 figure("permutations_simulated", "All permutations of four hosts, simulated: the worst pair",
                        "share of its fair share", columns,
                        [("heddle", [part["simulated_worst_pair_to_fair_share"] for part in all_pairs])], 3,
                        better="no_peer", simulated=True)]
    return made


def loss(document):
    parts = document["losses"]
    columns = [f"{part['loss']} lost" for part in parts]
    return [figure("loss", "Goodput under random loss, four spines of 100 Mb/s", "Mb/s of payload", columns,
                   by_program(parts, "goodput_mbits_per_s", _short), 0, better="more"),
            figure("loss_share", "Goodput under random loss, to the same program without loss",
                   "share of what the loss leaves", columns, by_program(parts, "of_what_is_left", _short), 3,
                   better="more"),
            figure("loss_simulated", "Goodput under random loss, simulated", "share of what the loss leaves", columns,
                   [("heddle", [one(part["simulated"]) for part in parts])], 3, better="no_peer", simulated=True)]


def failure(document):
    rows, notes = [], []
    for part in (document["heddle"], document["tcp"]):
        rows.append((part["program"], [part["longest_gap_ms"]]))
        lost = part.get("never_recovered", 0)
        notes.append(f"({lost} of {part['runs']} never recovered)" if lost else f"({part['runs']} runs)")
    made = figure("failure", "Longest gap when one of four spines becomes a black hole", "ms without a message",
                  ["longest gap"], rows, 1, better="less")
    for row, note in zip(made["rows"], notes):
        row["note"] = note
    return [made, figure("failure_simulated", "Longest gap at a black hole, simulated", "ms without a message",
                         ["longest gap"],
                         [(document["heddle"]["program"], [document["simulated"]["longest_gap_ms"]])], 1,
                         better="no_peer", simulated=True)]


def _elastic_faults(document):
    rows = []
    for case in document["cases"]:
        on = [each for each in case["runs"] if each["seconds"] is not None]
        name = f"{case['program']}: {case['fault']}"
        if len(on) < len(case["runs"]):
            name += f" (went on within {document['patience_s']} s: {len(on)} of {len(case['runs'])})"
        rows.append((name, [spread([each[key] for each in on]) if on else None
                            for key in ("seconds", "lost_steps")]))
    made = figure("elastic_faults", f"A rank of {document['ranks']} is killed, wedged or slow", "job",
                  ["seconds until it goes on", "steps made again"], rows, 1, better="less")
    for row, case in zip(made["rows"], document["cases"]):
        row["case"] = case["fault"]
    return [made]


def elastic(document):
    if document.get("part") == "faults":
        return _elastic_faults(document)
    rows = [(part["program"], [part["next_step_s"]]) for part in document["programs"]]
    return [figure("elastic", f"From kill -9 of one of {document['ranks']} ranks to the next finished step",
                   "seconds", ["next step"], rows, better="less")]


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
                           by_program(parts, "p99_of_ideal"), 2, better="less", reference=1))
        if any(simulated):
            made.append(figure(f"{name}_simulated", f"{what}, simulated: 99th percentile of message time",
                               "times the ideal", columns,
                               [("heddle, credits", [value and one(value) for value in simulated])], 2,
                               better="no_peer", simulated=True))
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


_SOCKETS = "UDP sockets alone"


def _to_itself(parts):
    """How heddle compares with itself in the same rounds: medians of all sizes."""
    found = [(part["ranks"], [row["ratio"]["heddle again"]["median"] for row in part["rows"]]) for part in parts
             if all("heddle again" in row["ratio"] for row in part["rows"])]
    shares = ", ".join(f"{min(medians):.2f} to {max(medians):.2f} with {ranks} ranks" for ranks, medians in found)
    return {"remark": f"heddle to itself: {shares}."} if shares else {}


def _sockets(parts):
    """Times of bare sockets to heddle's, of the sizes at which they were measured."""
    rows = []
    for size in (row["bytes"] for row in parts[0]["rows"]):
        ratios = [next(row for row in part["rows"] if row["bytes"] == size)["ratio"].get(_SOCKETS) for part in parts]
        if any(ratios):
            rows.append((size_name(size), ratios))
    return [figure("allreduce_links_udp", "All-reduce, links without a rate: time of bare UDP sockets to heddle's",
                   "times as fast", [f"{part['ranks']} ranks" for part in parts], rows, better="no_peer", reference=1,
                   all_ours=True,
                   remark="The sockets move the bytes of a ring in full bursts and add half of them: no order, no "
                          "retransmissions, no headers.")] if rows else []


# Name of the figures, and the multiple of (ranks - 1) / ranks that a rank moves of a call's bytes.
_BUS = {"allreduce": ("All-reduce", 2), "reducescatter": ("Reduce-scatter", 1), "alltoall": ("All-to-all", 1)}


def _bus(test, part):
    """Bus bandwidth at the largest size."""
    name, multiple = _BUS[test]
    row = part["rows"][-1]
    moved = multiple * (part["ranks"] - 1) / part["ranks"] * row["bytes"]
    programs = list(row["us"])
    return figure(f"{test}_fabric_bus", f"{name} of {size_name(row['bytes'])} {_PLACES['fabric']}",
                  "MB/s of bus bandwidth", ["bus bandwidth"],
                  [(program, [{"median": moved / value["median"], "min": moved / value["max"],
                               "max": moved / value["min"]}]) for program, value in row["us"].items()], 0,
                  better="more", page_rows=[program for program in programs if program != "heddle again"])


def allreduce(document):
    on, test, parts = document["on"], document["test"], document["parts"]
    bus = [_bus(test, parts[0])] if on == "fabric" else []
    if test != "allreduce":
        return bus
    columns = [f"{part['ranks']} ranks" for part in parts]
    sizes = [row["bytes"] for row in parts[0]["rows"]]
    rows = [(size_name(size),
             [_best_ratio(next(row for row in part["rows"] if row["bytes"] == size)) for part in parts])
            for size in sizes]
    made = [figure(f"allreduce_{on}", f"All-reduce {_PLACES[on]}: time of the better peer to heddle's",
                   "times as fast", columns, rows, better="more", chart="ratios", page_rows=_SHOWN_SIZES,
                   **_to_itself(parts))]
    return made + bus + (_sockets(parts) if on == "links" else [])


def training(document):
    places = {"fabric": "four spines of 200 Mb/s", "links": "links without a rate"}
    if all(part["on"] == "wan" for part in document["parts"]):
        parts = document["parts"]
        return [figure("training_wan", "Training a small network on two sites that 20 Mb/s join, RTT 20 ms",
                       "steps a minute", [f"{part['ranks']} ranks" for part in parts],
                       [(label, [part["steps_a_minute"][name] for part in parts])
                        for name, label in (("heddle", "heddle"), ("gloo", "Gloo"))], 0, better="more")]
    return [figure("training", "Training ResNet-18: images a second, heddle to Gloo", "times as fast",
                   ["heddle to Gloo"],
                   [(f"{part['ranks']} ranks, {places[part['on']]}", [part["to_gloo"]]) for part in document["parts"]],
                   2, better="more", reference=1, all_ours=True)]


def nics(document):
    parts = document["bandwidth"]
    return [figure("nics", "One connection over two NICs a host", "share of both NICs",
                   ["{} + {} Mb/s".format(*part["rates_mbits_per_s"]) for part in parts],
                   by_program(parts, "to_capacity"), better="more")]


def hostile(document):
    made = []
    if "keys" in document:
        part = document["keys"]
        made.append(figure("keys", f"One connection with cluster keys, MTU {part['mtu_bytes']}, no rate limit",
                           "Gb/s of payload", ["goodput"],
                           [(name, [value]) for name, value in part["goodput_gbits_per_s"].items()], 1,
                           better="no_peer",
                           page_rows=["heddle without keys", "heddle, headers protected", "heddle with keys"]))
    if "flood" in document:
        part = document["flood"]
        made.append(figure("flood", f"Encrypted transfer over a link of {part['link']} under a flood",
                           "Gb/s of payload", ["goodput"], [(f"heddle, {name}", [value])
                                         for name, value in part["goodput_gbits_per_s"].items()], 2,
                           better="no_peer"))
    return made


def _over_distance(document, parts, end, buffers):
    """Goodput of a long transfer, and of messages their median and P99."""
    columns = [f"{part['km']} km" for part in parts]
    return [figure(f"distance{end}", f"One connection over a cable of {document['mbits']} Mb/s{buffers}",
                   "share of payload capacity", columns, by_program(parts, "to_capacity"), better="more"),
            figure(f"distance_message{end}", f"Messages of 64 KiB over distance, RTT/2, median{buffers}", "µs",
                   columns, by_program(parts, "message_us_p50"), 0, better="less"),
            figure(f"distance_message_p99{end}",
                   f"Messages of 64 KiB over distance, RTT/2, 99th percentile{buffers}", "µs", columns,
                   by_program(parts, "message_us_p99"), 0, better="less")]


def distance(document):
    cases = document["cases"]
    debian = [case for case in cases if case["buffers"] == "debian"]
    raised = [case for case in cases if case not in debian]
    made = [figure("distance_simulated", "One connection over distance, simulated", "share of payload capacity",
                   [f"{case['km']} km" for case in raised or debian],
                   [("heddle", [one(case["simulated_to_capacity"]) for case in raised or debian])], 3,
                   better="no_peer", simulated=True)]
    for parts, end, buffers in ((raised, "", ""), (debian, "_debian", ", Debian's socket buffers")):
        made += _over_distance(document, parts, end, buffers) if parts else []
    return made


def verify(document):
    rows = [{"what": row["what"].replace(", us", ", µs").replace("MB/s of bus", "MB/s of bus bandwidth"),
             "digits": row["digits"], "heddle": row["heddle"], "peer": row.get("peer"),
             "peer_name": row.get("peer_name", ""), "ratio": row.get("ratio")} for row in document["rows"]]
    return [{"id": "verify", "title": "`make verify` on " + document["network"].split(":")[0], "better": "more",
             "comparison": rows}]


# In the virtual machine nothing limits the link but processors: its rc_bw is what others are compared with.
_ACCEPTANCE = {"throughput": ("a veth pair", {"Gb/s": "here, share of raw UDP", "us": "here, times raw UDP's"},
                              {"topic": "connection", "one_is": "raw UDP"}),
               "rdma": ("RDMA in a virtual machine", {"Gb/s": "here, times its rc bw", "us": "here, times its rc lat"},
                        {"topic": "rdma"})}
_IMAGES = 50_000  # as CIFAR-10 has


def _acceptance_rows(document, unit, *columns):
    """Of each measure in this unit; that of the limit itself, which is 1, is left out."""
    return [(each["measure"].replace(", bandwidth", "").replace(", latency", "").replace("_", " "),
             [each[key] and one(each[key]) for key in columns] + [each["to_limit"]])
            for each in document["rows"] if each["unit"] == unit and not each["measure"].startswith("limit")]


def _acceptance_figures(document):
    step = document["step"]
    what, here, more = _ACCEPTANCE[step]
    return [figure(f"acceptance_{step}", f"Bandwidth between two hosts, {what}, beside an integrator's test",
                   "bandwidth", ["integrator, Gb/s", "integrator, share of 100 Gb/s", here["Gb/s"]],
                   _acceptance_rows(document, "Gb/s", "theirs", "their_share_of_link"),
                   better=["no_peer", "no_peer", "more"], **more),
            figure(f"acceptance_{step}_latency", f"Latency between two hosts, {what}, beside an integrator's test",
                   "latency", ["integrator, µs", here["us"]], _acceptance_rows(document, "us", "theirs"), 1,
                   better=["no_peer", "less"], **more)]


def _acceptance_training(document):
    theirs, runs = document["theirs"], document["runs"]
    minutes = {name: _IMAGES / run["images_per_s"] / 60 for name, run in runs.items()}
    trained = [("integrator, two GPU servers", theirs["minutes, one server"], theirs["minutes, two servers"]),
               ("heddle", minutes["one"], minutes["all"]), ("Gloo", minutes["one"], minutes["gloo"])]
    rows = [(name, [one(alone), one(both), one(alone / both)]) for name, alone, both in trained]
    return [figure("acceptance_training", "ResNet-18 on two hosts, beside an integrator's test",
                   f"minutes; here, at the rate of ten steps with {runs['one']['data']}",
                   ["one host", "two hosts", "gain, times"], rows, 2, better=["less", "less", "more"],
                   topic="collectives")]


def _acceptance_faults(document):
    rows = [(case["fault"], [one(len(case["runs"])), one(case["found"]), one(len(case["others"]))])
            for case in document["cases"]]
    clean = document["clean"]
    if clean:
        passed = sum(each["verdict"] == "PASS" for each in clean)
        named = {place for each in clean for place in each["named"]}
        rows.append(("no fault: passes", [one(len(clean)), one(passed), one(len(named))]))
    return [figure("acceptance_faults", "Labs with a known fault, and without, under heddle verify --quick", "fault",
                   ["runs", "as it should be", "places named besides"], rows, 0, better="no_peer")]


def acceptance(document):
    step = document["step"]
    if step == "faults":
        return _acceptance_faults(document)
    if step == "training":
        return _acceptance_training(document)
    if step == "reach":
        return []
    return _acceptance_figures(document)


def stragglers(document):
    rows = [(f"{case['root_cause']}: {each['name']}", [one(each["theirs"]), one(each["ours"])])
            for case in document["cases"] for each in case["figures"]
            if each["name"] == "slowdown" or each["name"].endswith("share")]
    return [figure("stragglers", "Stragglers of three published traces of training", "ratio, shares",
                   ["authors", "heddle stragglers"], rows, 4, better="no_peer")]


SCENARIOS = {"sim": sim, "diagnosis": diagnosis, "size": size, "plan": plan, "p2p": p2p, "multipath": multipath,
             "loss": loss, "failure": failure, "elastic": elastic, "gpu": gpu, "nccl": nccl, "incast": incast,
             "allreduce": allreduce, "training": training, "nics": nics, "hostile": hostile, "recording": recording,
             "distance": distance, "verify": verify, "acceptance": acceptance, "rdma": rdma,
             "stragglers": stragglers, "monitor": monitor, "engines": engines, "transport": transport,
             "reading": reading, "beside_lab": beside_lab}


_SHORT = {"allreduce_links": "All-reduce between hosts, to the better peer", "training": "Training ResNet-18, to Gloo",
          "allreduce_host": "All-reduce on one host, to Open MPI", "p2p": "One connection, no rate limit",
          "p2p_cpu": "CPU time for a GB of payload", "latency": "One-way latency of 64 bytes",
          "loss": "Goodput under random loss", "gpu_training": "A step of ResNet-50 on a GPU",
          "gpu_best": "NCCL on a GPU, no rate limit, best setting to best",
          "gpu_default": "NCCL on a GPU, no rate limit, as both set themselves up",
          "gpu_default_best": "NCCL on a GPU, no rate limit, heddle's default to Socket's best",
          "rdma": "RDMA in a virtual machine with faults, goodput",
          "rdma_p99_64kib": "RDMA in a virtual machine with faults, P99 of 64 KiB",
          "rdma_p99_1mib": "RDMA in a virtual machine with faults, P99 of 1 MiB",
          "rdma_without_faults": "RDMA in a virtual machine without faults",
          "acceptance_rdma": "RDMA in a virtual machine, bandwidth",
          "acceptance_rdma_latency": "RDMA in a virtual machine, latency",
          "acceptance_throughput": "A veth pair, bandwidth", "acceptance_throughput_latency": "A veth pair, latency",
          "acceptance_training": "ResNet-18 on two hosts",
          "gpu_death": "From kill -9 of a rank to NCCL's error",
          "gpu_fabric_best": "NCCL on a GPU, four spines, to Socket's best",
          "nccl_veth": "NCCL's traffic, no rate limit, to NCCL's sockets"}


def figures(data):
    """Of one file of docs/performance: those that are in it (transcribed), or those of its document (saved)."""
    if "figures" in data:
        made = data["figures"]
    else:
        made = SCENARIOS.get(data["scenario"], lambda document: [])(data["document"])
        made = [{**each, "short": _SHORT[each["id"]]} if each["id"] in _SHORT else each for each in made]
    for each in made:
        check_direction(each)
    return made
