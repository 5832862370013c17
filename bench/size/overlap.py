"""Steps of data parallel training at 100 Gb/s: the formulas of `heddle size overlap` beside `heddle sim`.

Two models of one size differ in the time that they compute in a step. The simulated job has a layer for each bucket,
so gradients are produced as evenly as the formulas take them to be. Ranks are hosts of one switch.
"""

import tempfile

from harness.machine import describe
from harness.report import row
from size.beside import error, figures, percent, simulated

GPUS = (2, 4, 8, 16)
MODELS = {"A: backward 800 ms": 0.8, "B: backward 400 ms": 0.4}
BOUND = 0.03
BUCKET = 25_000_000
GRADIENT_BYTES = 4
_RATE = "100Gbit/s"
_MTU = 9_000
# Of a segment: Ethernet with preamble and gap 38, IPv4 20, UDP 8, heddle 44.
_PAYLOAD, _HEADERS = 8_928, 110
CHUNK = "256KiB"
_ALONE = 20  # all-reduces of the communication alone, one like the other; its time is for all buckets


def _fabric(hosts):
    link = f'rate = "{_RATE}"\nmtu = {_MTU}\n'
    return (f'[fabric]\nkind = "leaf_spine"\nleaves = 1\nspines = 1\nhosts_per_leaf = {hosts}\n'
            f"[host_link]\n{link}[switch_link]\n{link}")


def _us(seconds):
    return f'"{round(seconds * 1e6)}us"'


def training(hosts, buckets, backward_s, steps=1):
    return (f'[[job]]\nkind = "training"\nlayers = {buckets}\nlayer_bytes = "{BUCKET}B"\nbucket = "{BUCKET}B"\n'
            f'forward = {_us(backward_s / 2 / buckets)}\nbackward = {_us(backward_s / buckets)}\n'
            f'algorithm = "ring"\nchunk = "{CHUNK}"\nsteps = {steps}\nhosts = ["h0..h{hosts - 1}"]\n')


def all_reduces(hosts, buckets):
    return (f'[[job]]\nkind = "all_reduce"\nalgorithm = "ring"\nbytes = "{BUCKET}B"\ncount = {buckets}\n'
            f'element_bytes = {GRADIENT_BYTES}\nchunk = "{CHUNK}"\nhosts = ["h0..h{hosts - 1}"]\n')


def _formulas(gpus, parameters, backward_s):
    return figures("overlap", "--parameters", parameters, "--gpus", gpus, "--rate", _RATE,
                   "--backward", f"{round(backward_s * 1e6)}us", "--bucket", BUCKET, "--gradient-bytes",
                   GRADIENT_BYTES, "--payload", _PAYLOAD, "--headers", _HEADERS, "--chunk", CHUNK)


def _communication_s(folder, gpus, buckets):
    count = min(buckets, _ALONE)
    job = simulated(folder, _fabric(gpus), all_reduces(gpus, count))["jobs"][0]
    return sum(step["took_us"] for step in job["steps"]) / 1e6 / count * buckets


def _step(folder, gpus, buckets, backward_s):
    """(step, computation, exposed) of a simulated step, in seconds."""
    step = simulated(folder, _fabric(gpus), training(gpus, buckets, backward_s))["jobs"][0]["steps"][0]
    return step["took_us"] / 1e6, step["computed_us"] / 1e6, step["exposed_us"] / 1e6


def _case(name, gpus, formula, simulation):
    step_s, computation_s, exposed_s, communication_s = simulation
    both = {"computation_s": computation_s, "communication_s": communication_s, "step_s": step_s,
            "exposed_s": exposed_s, "speedup": gpus * computation_s / step_s}
    return {"model": name, "gpus": gpus, "overlaps": formula["bucket_s"] <= formula["bucket_backward_s"],
            "formula": {key: formula[key] for key in both}, "simulated": both,
            "errors": {key: error(formula[key], value) for key, value in both.items()}}


def run(arguments, progress):
    all_gpus = arguments.gpus or GPUS
    buckets = max(1, round((arguments.parameters or 1e9) * GRADIENT_BYTES / BUCKET))
    parameters = buckets * BUCKET // GRADIENT_BYTES
    share = parameters / 1e9  # a smaller model computes less, so that the two regimes stay
    cases = []
    with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
        for number, gpus in enumerate(all_gpus):
            progress.say(number * 3, len(all_gpus) * 3, f"{gpus} GPUs, communication alone")
            communication_s = _communication_s(folder, gpus, buckets)
            for kind, (name, backward_s) in enumerate(MODELS.items()):
                progress.say(number * 3 + kind + 1, len(all_gpus) * 3, f"{gpus} GPUs, {name}")
                formula = _formulas(gpus, parameters, backward_s * share)
                simulation = (*_step(folder, gpus, buckets, backward_s * share), communication_s)
                cases.append(_case(name, gpus, formula, simulation))
    worst = max(abs(value) for case in cases for value in case["errors"].values())
    return {"parameters": parameters, "bucket_bytes": BUCKET, "rate": _RATE, "machine": describe(), "cases": cases,
            "worst_error": worst, "bound": BOUND, "exit_status": 0 if worst <= BOUND else 1}


def _ms(seconds):
    return f"{1e3 * seconds:.2f} ms"


def show(document):
    print(f"{document['parameters'] / 1e6:g} million parameters, {document['rate']}, buckets of "
          f"{document['bucket_bytes'] / 1e6:g} MB; formula, simulated, error of the formula\n")
    for case in document["cases"]:
        row(f"{case['model']}, {case['gpus']} GPUs", "formula", "simulated", "error")
        for key in case["errors"]:
            text = (lambda value: f"{value:.3f}") if key == "speedup" else _ms
            row(f"  {key}", text(case["formula"][key]), text(case["simulated"][key]), percent(case["errors"][key]))
        print()
    print(f"largest error {100 * document['worst_error']:.2f}%, bound {100 * document['bound']:g}%")
