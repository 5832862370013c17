"""Bytes that a rank sends in a training step: the formulas of `heddle size traffic` beside counted ones.

`heddle workload run` executes the step with real packets over the loopback of a network of its own, one process a rank,
under `heddle record`. Counted: payload delivered, a rank, from the recording; and bytes of the interface, of all ranks
together with headers, acknowledgements and opening, which are printed beside it and have no bound.

Where PyTorch and heddle's backend are there, four models of torchvision train under DistributedDataParallel as well;
their interfaces carry the parameters that it broadcasts before the first step too.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from harness.machine import describe
from harness.pair import ROOT
from harness.report import row
from size import small_model
from size.beside import error, figures, percent
from size.counted import record, sent

GPUS = (2, 4)
BOUND = 0.001
_BUCKET = 4_000_000  # bytes
_PYTHON = "/usr/bin/python3"  # Debian's PyTorch is for Debian's Python
_TORCH_MODELS = {"mobilenet_v2": "MobileNet v2", "resnet18": "ResNet-18", "resnet50": "ResNet-50", "vgg11": "VGG-11"}
_TORCH_GPUS = (2, 3, 4)

# Name, keys of the workload, options of heddle size; {n} is the number of ranks, {half} half of it.
_CASES = (
    ("data {n}", {}, ()),
    ("data {n}, sharded (ZeRO 3)", {"sharded": "true"}, ("--zero", 3)),
    ("tensor 2 x data {half}", {"tensor": 2}, ("--tensor", 2)),
    ("pipeline 2 x data {half}", {"pipeline": 2, "microbatches": 2}, ("--pipeline", 2)),
)


def _counted(folder, command, by, part):
    """Bytes that each rank delivered in a step, and bytes of the interface a rank and step."""
    interface = record(folder, command)
    delivered = [each / small_model.STEPS for each in sent(pathlib.Path(folder, "recorded"), by, part)]
    return delivered, interface / small_model.STEPS / len(delivered)


def _row(job, gpus, formula, counted):
    delivered, interface = counted
    return {"job": job, "gpus": gpus, "formula_bytes": formula, "counted_bytes": max(delivered),
            "counted_least_bytes": min(delivered), "interface_bytes": interface,
            "error": error(formula, max(delivered)), "interface_above": interface / (sum(delivered) / gpus) - 1}


def _case(folder, gpus, parts):
    name, keys, options = parts
    model = pathlib.Path(folder, "model.toml")
    model.write_text(small_model.TEXT, encoding="utf-8")
    found = figures("traffic", *small_model.options(model, gpus, keys), *options)
    pathlib.Path(folder, "job.toml").write_text(small_model.workload(gpus, keys, found["parameters"], _BUCKET),
                                                encoding="utf-8")
    counted = _counted(folder, ["workload", "run", "job.toml", "-n", str(gpus), "--json"], "phase", "step")
    return _row(name.format(n=gpus, half=gpus // 2), gpus, found["nic_bytes"], counted)


def _with_torch():
    """Whether PyTorch of Debian finds heddle's backend; sets where it is found."""
    module = os.environ.get("HEDDLE_TORCH_MODULE", str(ROOT / "build" / "release" / "python"))
    os.environ["PYTHONPATH"] = os.pathsep.join([module, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([_PYTHON, "-c", "import torch, torchvision, heddle_torch"], capture_output=True, check=False)
    return done.returncode == 0


def _torch_case(folder, gpus, model):
    command = ["run", "-n", str(gpus), "--", _PYTHON, str(pathlib.Path(__file__).with_name("torch_step.py")),
               model, str(small_model.STEPS)]
    counted = _counted(folder, command, "op", "allreduce")
    parameters = int(pathlib.Path(folder, "run.out").read_text(encoding="utf-8"))
    found = figures("traffic", "--parameters", parameters, "--gpus", gpus, "--gpus-per-node", 1)
    return _row(f"PyTorch {_TORCH_MODELS[model]}, data {gpus}", gpus, found["nic_bytes"], counted)


def _planned(arguments):
    """Names of cases, and what counts each in a folder."""
    chosen = arguments.gpus or GPUS
    planned = [(case[0].format(n=gpus, half=gpus // 2), _case, gpus, case) for gpus in chosen for case in _CASES
               if not gpus % 2 and gpus > 2 or not {"tensor", "pipeline"} & set(case[1])]
    if _with_torch():
        planned += [(f"PyTorch {name}, data {gpus}", _torch_case, gpus, model)
                    for model, name in _TORCH_MODELS.items() for gpus in arguments.gpus or _TORCH_GPUS]
    else:
        print("bench/run: PyTorch is left out: scripts/setup --torch installs it", file=sys.stderr)
    return planned


def run(arguments, progress):
    planned = _planned(arguments)
    cases = []
    for number, (name, count, *of) in enumerate(planned):
        progress.say(number, len(planned), name)
        with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
            cases.append(count(folder, *of))
    worst = max(abs(case["error"]) for case in cases)
    return {"steps": small_model.STEPS, "machine": describe(), "cases": cases, "worst_error": worst, "bound": BOUND,
            "exit_status": 0 if worst <= BOUND else 1}


def show(document):
    print("Bytes that a rank sends in a step; of the rank that sends most\n")
    for case in document["cases"]:
        row(case["job"], "formula", "counted", "error")
        row("  payload", f"{case['formula_bytes']:,.0f} B", f"{case['counted_bytes']:,.0f} B", percent(case["error"]))
        row("  interface, mean of ranks", "", f"{case['interface_bytes']:,.0f} B",
            f"{percent(case['interface_above'])} beside payload")
        print()
    print(f"largest error {100 * document['worst_error']:.3f}%, bound {100 * document['bound']:g}%")
