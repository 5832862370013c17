"""Figures of `bench/run gpu` and `bench/run nccl`: NCCL's traffic over heddle and over NCCL's own sockets."""

from figure import figure, one, size_name, spread

_WHERE = {"cable": "no rate limit", "fabric": "four spines of 1 Gb/s", "loss": "four spines, 0.1% of packets lost"}
_PLACES = {"cable": "no rate limit", "fabric": "four spines of 1 Gb/s"}


def _is_own(name):
    return name.startswith("heddle")


def _best(speeds, own):
    return max((name for name in speeds if _is_own(name) == own), key=lambda name: speeds[name]["median"])


def _to_best(speeds):
    """heddle's best setting to the best of the others, round by round."""
    ours, theirs = (speeds[_best(speeds, own)]["samples"] for own in (True, False))
    return spread([mine / other for mine, other in zip(ours, theirs)])


def _operations(part, kind):
    """A figure an operation, and one of ratios."""
    names = [program["program"] for program in part["programs"]]
    threads = any("thread" in name for name in names)
    stem = "gpu_threads" if threads else f"gpu_{kind}"
    sizes = list(dict.fromkeys(point["bytes"] for point in part["points"]))
    columns = [size_name(size) for size in sizes]
    best = {"cable": "gpu_best" if threads else "gpu_default_best", "fabric": "gpu_fabric_best",
            "loss": "gpu_loss_best"}[kind]
    made, ratios, defaults = [], [], []
    for operation in dict.fromkeys(point["operation"] for point in part["points"]):
        points = [point for point in part["points"] if point["operation"] == operation]
        title = f"NCCL's {operation} between two processes on one GPU, {_WHERE[kind]}"
        made.append(figure(f"{stem}_{operation}", title, "GB/s, bus bandwidth", columns,
                           [(name, [point["bus_gbytes_per_s"][name] for point in points]) for name in names], 2,
                           better="more", compared_in=best))
        ratios.append((operation, [_to_best(point["bus_gbytes_per_s"]) for point in points]))
        defaults.append((operation, [point["heddle_to"]["NCCL Socket"] for point in points]))
    made.append(_cores(part, kind if not threads else "threads", _WHERE[kind]))
    if kind == "cable" and not threads:
        made.append(figure("gpu_default", "As both set themselves up: NCCL on a GPU, no rate limit", "times as fast",
                           columns, defaults, better="more"))
        title = "heddle's default to Socket's best setting: NCCL on a GPU, no rate limit"
    else:
        title = f"heddle's best setting to Socket's best: NCCL on a GPU, {_WHERE[kind]}"
    made.append(figure(best, title, "times as fast", columns, ratios, better="more"))
    return made


def _cores(part, name, where):
    return figure(f"gpu_{name}_cores", f"Cores that are busy meanwhile: NCCL on a GPU, {where}", "share of the cores",
                  ["busy"], [(program["program"], [program["cpu_share"]]) for program in part["programs"]],
                  better="less")


def _training(parts):
    names = list(dict.fromkeys(program["program"] for part in parts for program in part["programs"]))
    found = [{program["program"]: program["step_s"] for program in part["programs"]} for part in parts]
    return figure("gpu_training", "A training step of ResNet-50 on a GPU", "ms",
                  [_PLACES[part["on"]] for part in parts],
                  [(name, [part.get(name) and {key: 1000 * part[name][key] for key in ("median", "min", "max")}
                           for part in found]) for name in names], 0, better="less")


def _runs(results):
    return {name: [each for each in results if each["program"] == name]
            for name in dict.fromkeys(each["program"] for each in results)}


def _blackhole(results):
    runs = _runs(results)
    made = figure("gpu_blackhole", "One of four spines becomes a black hole under NCCL's all-reduces",
                  "ms without a step", ["longest gap"],
                  [(name, [spread([1000 * each["longest_gap_s"] for each in some])]) for name, some in runs.items()], 0,
                  better="less")
    for row, some in zip(made["rows"], runs.values()):
        lost = sum(not each["survived"] for each in some)
        row["note"] = f"({lost} of {len(some)} stood still until they were ended)" if lost else f"({len(some)} runs)"
    return made


def _death(results):
    return figure("gpu_death", "From kill -9 of a rank to NCCL's error at the other", "ms", ["until it is reported"],
                  [(name, [spread([1000 * each["seconds"] for each in some])]) for name, some in
                   _runs(results).items()], 0, better="less")


def gpu(document):
    made = [each for kind in _WHERE if kind in document for each in _operations(document[kind], kind)]
    if "training" in document:
        made.append(_training(document["training"]))
    if "blackhole" in document:
        made.append(_blackhole(document["blackhole"]))
    if "death" in document:
        made.append(_death(document["death"]))
    return made


_PEERS = {"peer": "NCCL Socket", "peer, 4 sockets": "Socket, 4 sockets"}


def _channels(count):
    return f"{count} channel{'s' if count > 1 else ''}"


def _by_name(rows, key):
    names = list(dict.fromkeys(program["program"] for row in rows for program in row["programs"]))
    found = [{program["program"]: program[key] for program in row["programs"]} for row in rows]
    return [(_PEERS.get(name, name), [values.get(name) for values in found]) for name in names]


def _veth(rows):
    """The ratios of all sizes, and an MTU's and a number of channels' figures apart."""
    groups = {}
    for row in rows:
        groups.setdefault((row["mtu"], row["channels"]), []).append(row)
    sizes = [f"{row['bytes']}iB" for row in next(iter(groups.values()))]
    made = []
    if all("peer" in row["heddle_to"] for row in rows):
        made.append(figure("nccl_veth", "NCCL's traffic between two namespaces without a rate limit, to NCCL's sockets",
                           "times as fast", sizes,
                           [(f"MTU {mtu}, {_channels(channels)}", [row["heddle_to"]["peer"] for row in some])
                            for (mtu, channels), some in groups.items()], better="more"))
    more = {"compared_in": "nccl_veth"} if made else {}
    for (mtu, channels), some in groups.items():
        title = f"NCCL's traffic, MTU {mtu}, {_channels(channels)}, no rate limit"
        stem = f"nccl_veth_{mtu}_{channels}"
        made += [figure(stem, title, "GB/s of each rank", sizes, _by_name(some, "gbytes_per_s"), better="more",
                        **more),
                 figure(f"{stem}_cpu", f"{title}: CPU time", "seconds a GB", sizes,
                        _by_name(some, "cpu_seconds_per_gb"), better="less")]
    return made


def _spines(document):
    rows = [*document.get("fabric", []), *document.get("loss", [])]
    columns = [_channels(row["channels"]) for row in document.get("fabric", [])]
    columns += [f"0.1% lost, {_channels(row['channels'])}" for row in document.get("loss", [])]
    return [figure("nccl_spines", "NCCL's traffic over four spines of 200 Mb/s", "GB/s of each rank", columns,
                   _by_name(rows, "gbytes_per_s"), 3, better="more")]


def _stopped_spine(results):
    made = figure("nccl_blackhole", "NCCL's traffic when one of four spines becomes a black hole", "ms",
                  ["longest send"], [(_PEERS.get(each["program"], each["program"]),
                                      [one(each["send_latency_ms_max"]) if each["survived"] else None])
                                     for each in results], 0, better="less")
    for row, each in zip(made["rows"], results):
        row["note"] = "(went on)" if each["survived"] else f"(ended after {each['took_s']:.0f} s without an answer)"
    return made


def nccl(document):
    made = _veth(document["cable"]) if "cable" in document else []
    if "fabric" in document or "loss" in document:
        made += _spines(document)
    if "blackhole" in document:
        made.append(_stopped_spine(document["blackhole"]))
    return made
