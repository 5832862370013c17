"""Figures of `bench/run gpu`: NCCL's operations, a training, a black hole and a death, over heddle and over sockets."""

from figure import figure, size_name, spread

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
    made, ratios, defaults = [], [], []
    for operation in dict.fromkeys(point["operation"] for point in part["points"]):
        points = [point for point in part["points"] if point["operation"] == operation]
        title = f"NCCL's {operation} between two processes on one GPU, {_WHERE[kind]}"
        made.append(figure(f"{stem}_{operation}", title, "GB/s, bus bandwidth", columns,
                           [(name, [point["bus_gbytes_per_s"][name] for point in points]) for name in names], 2,
                           limit=True))
        ratios.append((operation, [_to_best(point["bus_gbytes_per_s"]) for point in points]))
        defaults.append((operation, [point["heddle_to"]["NCCL Socket"] for point in points]))
    if kind == "cable" and not threads:
        made.append(figure("gpu_default", "As both set themselves up: NCCL on a GPU, no rate limit", "times as fast",
                           columns, defaults))
    else:
        name = {"cable": "gpu_best", "fabric": "gpu_fabric_best", "loss": "gpu_loss_best"}[kind]
        made.append(figure(name, f"heddle's best setting to Socket's best: NCCL on a GPU, {_WHERE[kind]}",
                           "times as fast", columns, ratios))
    return made


def _training(parts):
    names = list(dict.fromkeys(program["program"] for part in parts for program in part["programs"]))
    found = [{program["program"]: program["step_s"] for program in part["programs"]} for part in parts]
    return figure("gpu_training", "A training step of ResNet-50 on a GPU", "ms",
                  [_PLACES[part["on"]] for part in parts],
                  [(name, [part.get(name) and {key: 1000 * part[name][key] for key in ("median", "min", "max")}
                           for part in found]) for name in names], 0)


def _runs(results):
    return {name: [each for each in results if each["program"] == name]
            for name in dict.fromkeys(each["program"] for each in results)}


def _blackhole(results):
    runs = _runs(results)
    made = figure("gpu_blackhole", "One of four spines becomes a black hole under NCCL's all-reduces",
                  "ms without a step", ["longest gap"],
                  [(name, [spread([1000 * each["longest_gap_s"] for each in some])]) for name, some in runs.items()], 0)
    for row, some in zip(made["rows"], runs.values()):
        lost = sum(not each["survived"] for each in some)
        row["note"] = f"({lost} of {len(some)} stood still until they were ended)" if lost else f"({len(some)} runs)"
    return made


def _death(results):
    return figure("gpu_death", "From kill -9 of a rank to NCCL's error at the other", "ms", ["until it is reported"],
                  [(name, [spread([1000 * each["seconds"] for each in some])]) for name, some in
                   _runs(results).items()], 0)


def gpu(document):
    made = [each for kind in _WHERE if kind in document for each in _operations(document[kind], kind)]
    if "training" in document:
        made.append(_training(document["training"]))
    if "blackhole" in document:
        made.append(_blackhole(document["blackhole"]))
    if "death" in document:
        made.append(_death(document["death"]))
    return made
