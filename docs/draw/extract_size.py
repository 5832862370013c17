"""Figures of `bench/run size`: what `heddle size` calculates beside what is simulated, counted or captured."""

from figure import figure, one, size_name

_OVERLAP_ERRORS = (("computation_s", "computation"), ("communication_s", "communication"), ("step_s", "both at once"),
                   ("exposed_s", "exposed"), ("speedup", "speed-up"))


def _overlap_in_lab(document):
    cases = document["cases"]
    rows = [(f"{case['model']}, {case['gpus']} ranks: {name}",
             [one(case["formula"][key]), case["measured"][key], one(round(100 * case["errors"][key], 2) + 0.0)])
            for case in cases for key, name in _OVERLAP_ERRORS]
    title = f"Two models of {document['parameters'] / 1e6:g} million parameters in a lab of {document['rate']}"
    return [figure("size_overlap_lab", title.replace("Mbit/s", " Mb/s"), "seconds, speed-up, %",
                   ["formula", "measured", "error, %"], rows, 2, better="no_peer")]


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
                   better="no_peer", simulated=True),
            figure("size_overlap_errors_simulated", f"Error of the formulas for {what}, beside the simulation",
                   "%", columns, errors, better="no_peer", simulated=True)]


def _headroom(document):
    cases = document["cases"]
    columns = [f"{case['gbits_per_s']} Gb/s, {case['meters'] / 1000:g} km, MTU {case['mtu_bytes']}" for case in cases]
    keys = (("formula", "formula_bytes"), ("simulated, worst of 16 phases", "used_bytes"),
            ("simulated, smallest buffer without a drop", "smallest_without_drop_bytes"))
    rows = [(name, [case[key] and one(case[key] / 1000) for case in cases]) for name, key in keys]
    rows.append(("formula less simulated, packets", [one(case["unused_packets"]) for case in cases]))
    return [figure("size_headroom_simulated", "PFC headroom of a lossless switch, simulated", "kB", columns, rows, 1,
                   better="no_peer", simulated=True)]


_TRAFFIC_SHOWN = ["data 4", "data 4, sharded (ZeRO 3)", "tensor 2 x data 2", "pipeline 2 x data 2",
                  "PyTorch ResNet-50, data 4", "PyTorch VGG-11, data 3"]


def _traffic(document):
    keys = ("formula_bytes", "counted_bytes", "interface_bytes")
    rows = [(case["job"], [one(case[key]) for key in keys]) for case in document["cases"]]
    return [figure("size_traffic", "Bytes that a rank sends in a training step", "bytes",
                   ["formula", "payload, counted", "interface, counted"], rows, 0, better="no_peer",
                   page_rows=_TRAFFIC_SHOWN)]


def _patterns(document):
    sides = ("formula", "simulated", "counted")
    rows = []
    for case in document["cases"]:
        name, layers = f"{case['way']}, {case['gpus']} ranks", case["layers"]
        for operation, calls in case["calls"].items():
            rows.append((f"{name}: {operation}s a layer", [one(calls[side] / layers) for side in sides]))
        rows.append((f"{name}: bytes a layer", [one(case["bytes"][side] / layers) for side in sides]))
    return [figure("size_patterns", f"Calls and bytes of a rank in a training step of {layers} layers",
                   "calls and bytes", ["formula", "heddle sim", "counted"], rows, 0, better="no_peer")]


def _distance(document):
    def rows(cases):
        return [(f"{case['km']} km, {case['name']}", [one(case["formula_gbits_per_s"]), one(case["seen_gbits_per_s"])])
                for case in cases]
    parts = document["parts"]
    made = [figure("size_distance_windows_simulated", "Messages of which N are outstanding, 100 Gb/s, simulated",
                   "Gb/s", ["formula", "heddle sim"], rows(parts["windows"]), 2, better="no_peer", simulated=True,
                   page_rows=_WINDOWS_SHOWN),
            figure("size_distance_loss_simulated", "Packets lost on a long cable, 100 Gb/s, simulated", "Gb/s",
                   ["formula", "heddle sim"], rows(parts["loss"]), 1, better="no_peer", simulated=True,
                   page_rows=_LOSS_SHOWN)]
    if parts.get("relayed"):
        made.append(figure("size_distance_relayed_simulated", "Messages through two relays, 100 Gb/s, simulated",
                           "Gb/s", ["formula without relays", "through relays"], rows(parts["relayed"]), 2,
                           better="no_peer", simulated=True))
    if parts["writes"]:
        made.append(figure("size_distance_writes", "RDMA writes in the virtual machine, delayed by netem", "Mb/s",
                           ["formula", "ib_write_bw"],
                           [(name, [one(1000 * each["median"]) for each in values])
                            for name, values in rows(parts["writes"])], 1, better="no_peer"))
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
                   ["formula", "captured"], rows, 0, better="no_peer")]


def size(document):
    questions = {"overlap": _overlap, "headroom": _headroom, "traffic": _traffic, "patterns": _patterns,
                 "messages": _messages, "distance": _distance}
    return questions[document["question"]](document)
