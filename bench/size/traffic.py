"""Bytes that a rank sends in a training step: the formulas of `heddle size traffic` beside counted ones.

`heddle workload run` executes the step with real packets over the loopback of a network of its own, one process a rank,
under `heddle record`. Counted: payload delivered, a rank, from the recording; and bytes of the interface, of all ranks
together with headers, acknowledgements and opening, which are printed beside it and have no bound.

Where PyTorch and heddle's backend are there, ResNet-18 trains under DistributedDataParallel as well.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import ROOT, built
from harness.report import row
from size.beside import error, figures, percent

GPUS = (2, 4)
BOUND = 0.001
_STEPS = 2
_PYTHON = "/usr/bin/python3"  # Debian's PyTorch is for Debian's Python
_SEQUENCE = 1024
_WIDTH = 4  # bytes of gradients, parameters and activations
_LAYERS = 4
_MODEL = (f'name = "small"\nlayers = {_LAYERS}\nhidden = 256\nheads = 4\nffn = 1024\nvocabulary = 512\n')
_ACTIVATIONS = _SEQUENCE * 256 * _WIDTH

# Name, parallel ranks and keys of the workload, options of heddle size; {n} is the number of ranks, {half} half of it.
_CASES = (
    ("data {n}", {}, ()),
    ("data {n}, sharded (ZeRO 3)", {"sharded": "true"}, ("--zero", 3)),
    ("tensor 2 x data {half}", {"tensor": 2}, ("--tensor", 2)),
    ("pipeline 2 x data {half}", {"pipeline": 2, "microbatches": 2}, ("--pipeline", 2)),
)


def _workload(gpus, keys, parameters):
    layer_bytes = round(parameters * _WIDTH / _LAYERS / keys.get("tensor", 1))
    given = {"layers": _LAYERS, "layer_bytes": f'"{layer_bytes}B"', "activation_bytes": f'"{_ACTIVATIONS}B"',
             "bucket": '"4MB"', "forward": '"1ms"', "algorithm": '"ring"', "steps": _STEPS,
             "hosts": f'["h0..h{gpus - 1}"]', **keys}
    lines = [f"{key} = {value}" for key, value in given.items()]
    return "version = 1\n[[job]]\nkind = \"training\"\n" + "\n".join(lines) + "\n"


# Brings up the loopback of a network of its own, runs a command, and prints the bytes that the loopback sent.
_IN_A_NETWORK = """
ip link set lo up && "$@" >run.out 2>run.log; status=$?
sed -n 's/^ *lo: *//p' /proc/net/dev | awk '{print $9}'
exit $status
"""


def _recorded(folder, command, by, part, steps):
    """Bytes that each rank delivered in a step, by `part` of the recording, and bytes of the interface a rank and step.
    """
    heddle = built("heddle")
    whole = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", _IN_A_NETWORK, "sh",
             heddle, "record", "-o", "recorded", "--", heddle, *command]
    done = subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not re.fullmatch(r"\d+\n", done.stdout):
        log = pathlib.Path(folder, "run.log")
        why = log.read_text(encoding="utf-8") if log.is_file() else done.stderr
        raise CannotMeasure(f"{shlex.join(whole[8:])} failed: {why.strip()[-300:]}", "run it by hand")
    matrix = subprocess.run([heddle, "matrix", "recorded", "--by", by, "--json"], cwd=folder, capture_output=True,
                            text=True, check=False)
    if matrix.returncode != 0:
        raise CannotMeasure(f"heddle matrix failed: {matrix.stderr.strip()[-300:]}", "run it by hand")
    parts = {each["name"]: each["measured"] for each in json.loads(matrix.stdout)["parts"]}
    sent = [sum(line) / steps for line in parts[part]]
    return sent, int(done.stdout) / steps / len(sent)


def _row(job, gpus, formula, sent, interface):
    return {"job": job, "gpus": gpus, "formula_bytes": formula, "counted_bytes": max(sent),
            "counted_least_bytes": min(sent), "interface_bytes": interface, "error": error(formula, max(sent)),
            "interface_above": interface / (sum(sent) / gpus) - 1}


def _case(folder, gpus, parts):
    name, keys, options = parts
    model = pathlib.Path(folder, "model.toml")
    model.write_text(_MODEL, encoding="utf-8")
    found = figures("traffic", "--model", model, "--gpus", gpus, "--gpus-per-node", 1, "--sequence", _SEQUENCE,
                    *(word for kind in ("gradient", "parameter", "activation")
                      for word in (f"--{kind}-bytes", _WIDTH)),
                    "--batch", gpus // keys.get("tensor", 1) // keys.get("pipeline", 1) * keys.get("microbatches", 1),
                    *options)
    pathlib.Path(folder, "job.toml").write_text(_workload(gpus, keys, found["parameters"]), encoding="utf-8")
    command = ["workload", "run", "job.toml", "-n", str(gpus), "--json"]
    sent, interface = _recorded(folder, command, "phase", "step", _STEPS)
    return _row(name.format(n=gpus, half=gpus // 2), gpus, found["nic_bytes"], sent, interface)


def _with_torch():
    """Whether PyTorch of Debian finds heddle's backend; sets where it is found."""
    module = os.environ.get("HEDDLE_TORCH_MODULE", str(ROOT / "build" / "release" / "python"))
    os.environ["PYTHONPATH"] = os.pathsep.join([module, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([_PYTHON, "-c", "import torch, torchvision, heddle_torch"], capture_output=True, check=False)
    return done.returncode == 0


def _torch_case(folder, gpus):
    os.environ.update({"HEDDLE_ALGORITHM": "allreduce:ring", "HEDDLE_SHARED_MEMORY": "never"})
    command = ["run", "-n", str(gpus), "--", _PYTHON, str(pathlib.Path(__file__).with_name("torch_step.py")),
               "resnet18", str(_STEPS)]
    sent, interface = _recorded(folder, command, "op", "allreduce", _STEPS)
    parameters = int(pathlib.Path(folder, "run.out").read_text(encoding="utf-8"))
    found = figures("traffic", "--parameters", parameters, "--gpus", gpus, "--gpus-per-node", 1)
    return _row(f"PyTorch ResNet-18, data {gpus}", gpus, found["nic_bytes"], sent, interface)


def run(arguments, progress):
    planned = [(gpus, case) for gpus in arguments.gpus or GPUS for case in _CASES
               if gpus > 2 or not {"tensor", "pipeline"} & set(case[1])]
    cases = []
    for number, (gpus, case) in enumerate(planned):
        progress.say(number, len(planned), case[0].format(n=gpus, half=gpus // 2))
        with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
            cases.append(_case(folder, gpus, case))
    largest = max(case["gpus"] for case in cases)
    if _with_torch():
        progress.say(len(planned) - 1, len(planned), "PyTorch")
        with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
            cases.append(_torch_case(folder, largest))
    else:
        progress.clear()
        print("bench/run: PyTorch is left out: scripts/setup --torch installs it", file=sys.stderr)
    worst = max(abs(case["error"]) for case in cases)
    return {"steps": _STEPS, "machine": describe(), "cases": cases, "worst_error": worst, "bound": BOUND,
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
