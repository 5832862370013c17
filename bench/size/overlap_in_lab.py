"""Steps of data parallel training: the formulas of `heddle size overlap` beside real packets of `heddle workload run`.

A tenth of overlap's model on hosts of a lab, whose links have a rate that this machine sustains: gradients are summed
and sent in buckets, computation is a span of time in which a rank waits. Model A's backward pass is longer than its
communication, model B's shorter. Every step of a run counts, the first one with its connections too. The machine's
other load is a part of the errors, so these have no bound; it is in the document.
"""

import json
import os
import pathlib
import subprocess
import tempfile

from harness.cable import need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import Meanwhile, summary
from harness.pair import built
from harness.report import disturbance_note, row
from harness.rounds import spread, text
from size import overlap
from size.beside import error, figures, percent

GPUS = (2, 4)
_PARAMETERS = 1e8
_MODELS = {"A: backward 24 s": 24, "B: backward 8 s": 8}
_STEPS = 2
_RATE = "250Mbit/s"
_QUEUE = "5MB"  # holds what a congestion window has in flight: the formulas know no losses
# Of a segment, as the lab counts a rate: Ethernet 14, IPv4 20, UDP 8, heddle 44.
_MTU, _PAYLOAD, _HEADERS = 9_000, 8_928, 86
_ENVIRONMENT = {"HEDDLE_SHARED_MEMORY": "never"}


class _Run:
    """One workload on the hosts of a lab: its steps, and the machine's other load."""

    def __init__(self, fabric, folder, workload):
        path = pathlib.Path(folder, "workload.toml")
        path.write_text("version = 1\n" + workload, encoding="utf-8")
        command = [built("heddle"), "workload", "run", str(path), "--lab", fabric.name, "--json"]
        self.meanwhile, self.made_again = Meanwhile(), 0
        with self.meanwhile:
            done = subprocess.run(command, env=os.environ | _ENVIRONMENT, capture_output=True, text=True, check=False)
        self.meanwhile.settle()
        if done.returncode != 0:
            raise CannotMeasure(f"heddle workload run failed: {(done.stderr or done.stdout).strip()[-300:]}",
                                "run it by hand")
        self.steps = json.loads(done.stdout)["jobs"][0]["steps"]

    def seconds(self, key):
        return [step[key] / 1e6 for step in self.steps]


def _formulas(gpus, parameters, backward_s):
    return figures("overlap", "--parameters", parameters, "--gpus", gpus, "--rate", _RATE, "--backward",
                   f"{backward_s}s", "--bucket", overlap.BUCKET, "--gradient-bytes", overlap.GRADIENT_BYTES,
                   "--payload", _PAYLOAD, "--headers", _HEADERS, "--chunk", overlap.CHUNK)


def _case(name, gpus, formula, step, communication_s):
    took = step.seconds("took_us")
    measured = {"computation_s": spread(step.seconds("computed_us")), "communication_s": spread(communication_s),
                "step_s": spread(took), "exposed_s": spread(step.seconds("exposed_us")),
                "speedup": spread([gpus * computed / one for computed, one in zip(step.seconds("computed_us"), took)])}
    return {"model": name, "gpus": gpus, "overlaps": formula["bucket_s"] <= formula["bucket_backward_s"],
            "formula": {key: formula[key] for key in measured}, "measured": measured,
            "errors": {key: error(formula[key], values["median"]) for key, values in measured.items()},
            "machine": summary([step])}


def _alone_s(fabric, folder, gpus, buckets, steps):
    """Seconds of all buckets' all-reduces, without computation; as often as there are steps."""
    took = _Run(fabric, folder, overlap.all_reduces(gpus, buckets * steps)).seconds("took_us")
    return [sum(took[first:first + buckets]) for first in range(0, len(took), buckets)]


def run(arguments, progress):
    need_network_rights()
    all_gpus, steps = arguments.gpus or GPUS, arguments.steps or _STEPS
    wanted = arguments.parameters or _PARAMETERS
    buckets = max(1, round(wanted * overlap.GRADIENT_BYTES / overlap.BUCKET))
    parameters = buckets * overlap.BUCKET // overlap.GRADIENT_BYTES
    total, cases = len(all_gpus) * (1 + len(_MODELS)), []
    for number, gpus in enumerate(all_gpus):
        topology = leaf_spine(leaves=1, spines=1, hosts_per_leaf=gpus, mtu=_MTU, host_rate=_RATE, host_queue=_QUEUE,
                              spine_rate=_RATE)
        with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder, Fabric(topology) as fabric:
            done = number * (1 + len(_MODELS))
            progress.say(done, total, f"{gpus} ranks, communication alone")
            communication_s = _alone_s(fabric, folder, gpus, buckets, steps)
            for kind, (name, backward_s) in enumerate(_MODELS.items()):
                progress.say(done + kind + 1, total, f"{gpus} ranks, {name}")
                backward_s *= parameters / _PARAMETERS  # a smaller model computes less, so that the two regimes stay
                step = _Run(fabric, folder, overlap.training(gpus, buckets, backward_s, steps))
                cases.append(_case(name, gpus, _formulas(gpus, parameters, backward_s), step, communication_s))
    return {"lab": True, "parameters": parameters, "bucket_bytes": overlap.BUCKET, "rate": _RATE, "steps": steps,
            "machine": describe(), "cases": cases,
            "worst_error": max(abs(value) for case in cases for value in case["errors"].values())}


def show(document):
    print(f"{document['parameters'] / 1e6:g} million parameters, {document['rate']}, buckets of "
          f"{document['bucket_bytes'] / 1e6:g} MB, real packets in a lab; formula, median (least to most) of "
          f"{document['steps']} steps, error of the formula\n")
    for case in document["cases"]:
        row(f"{case['model']}, {case['gpus']} ranks", "formula", "measured", "error")
        for key in case["errors"]:
            row(f"  {key}", f"{case['formula'][key]:.3f}", text(case["measured"][key], 3),
                percent(case["errors"][key]))
        print()
    print(f"largest error {100 * document['worst_error']:.2f}%; no bound: the machine's other load is a part of it")
    disturbance_note([case["machine"] for case in document["cases"]])
