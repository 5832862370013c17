"""Calls and bytes of a training step for four ways to cut a model: by the formulas, simulated, and counted.

Data parallel, sharded (ZeRO 3), tensor parallel and pipelined over four ranks, each alone. Gradients and parameters are
exchanged layer by layer, so the formula's one call of all of them is as many calls as the model has layers. Simulated:
`heddle sim` at 100 Gb/s. Counted: `heddle workload run` with real packets, one process a rank. Calls are those of a
rank; messages of a pipeline, those of the stage that sends most. Bytes are payload of the rank that sends most.
"""

import json
import pathlib
import tempfile

from harness.machine import describe
from harness.report import row
from size import small_model
from size.beside import document_of, error, percent
from size.counted import record, sent

GPUS = 4
BOUND = 0.001
_MESSAGE = "message"
_TOPOLOGY = f"""version = 1
[fabric]
kind = "leaf_spine"
leaves = 1
spines = 1
hosts_per_leaf = {GPUS}
"""

# Name, keys of the workload, options of heddle size; of each operation the formula's part, and whether it is cut by
# layers.
_WAYS = (
    ("data", {}, (), {"all_reduce": ("data", True)}),
    ("sharded (ZeRO 3)", {"sharded": "true"}, ("--zero", 3),
     {"all_gather": ("data_parameters", True), "reduce_scatter": ("data", True)}),
    ("tensor", {"tensor": GPUS}, ("--tensor", GPUS), {"all_reduce": ("tensor", False)}),
    ("pipeline", {"pipeline": GPUS, "microbatches": GPUS}, ("--pipeline", GPUS), {_MESSAGE: ("pipeline", False)}),
)


def _by_formula(found, operations):
    """Calls of each operation in a step, and bytes of all."""
    calls = {}
    for operation, (part, by_layers) in operations.items():
        terms = {term["symbol"]: term["value"] for term in found[f"{part}_nic_bytes"]["terms"]}
        calls[operation] = terms["calls"] * (small_model.LAYERS if by_layers else 1)
    return calls, found["nic_bytes"]["value"]


def _counted(document, recording):
    """The same of a document of heddle sim or heddle workload run, and of its recording."""
    job, = document["jobs"]
    calls = {}
    for call in job["calls"]:
        calls[call["operation"]] = calls.get(call["operation"], 0) + 1 / small_model.STEPS
    messages = max(sent(recording, "phase", "step", "count")) / small_model.STEPS
    return calls or {_MESSAGE: messages}, max(sent(recording, "phase", "step")) / small_model.STEPS


def _way(folder, parts):
    name, keys, options, operations = parts
    folder = pathlib.Path(folder)
    model, job, fabric = (folder / each for each in ("model.toml", "job.toml", "topology.toml"))
    model.write_text(small_model.TEXT, encoding="utf-8")
    fabric.write_text(_TOPOLOGY, encoding="utf-8")
    found = {figure["name"]: figure for figure in
             document_of("size", "traffic", *small_model.options(model, GPUS, keys), *options)["figures"]}
    job.write_text(small_model.workload(GPUS, keys, found["parameters"]["value"]), encoding="utf-8")
    simulated = document_of("sim", "--topology", fabric, "--workload", job, "--trace", folder / "simulated")
    record(folder, ["workload", "run", "job.toml", "-n", str(GPUS), "--json"])
    ran = json.loads((folder / "run.out").read_text(encoding="utf-8"))
    sides = {"formula": _by_formula(found, operations), "simulated": _counted(simulated, folder / "simulated"),
             "counted": _counted(ran, folder / "recorded")}
    return {"way": name, "gpus": GPUS, "layers": small_model.LAYERS,
            "calls": {operation: {side: calls.get(operation, 0) for side, (calls, _) in sides.items()}
                      for operation in sorted(set().union(*(calls for calls, _ in sides.values())))},
            "bytes": {side: sent_bytes for side, (_, sent_bytes) in sides.items()}}


def _errors(case):
    return [error(numbers["formula"], numbers[side]) if numbers[side] else 1.0
            for numbers in (case["bytes"], *case["calls"].values()) for side in ("simulated", "counted")]


def run(_, progress):
    cases = []
    for number, parts in enumerate(_WAYS):
        progress.say(number, len(_WAYS), parts[0])
        with tempfile.TemporaryDirectory(prefix="heddle-bench-size-") as folder:
            cases.append(_way(folder, parts))
    worst = max((each for case in cases for each in _errors(case)), key=abs)
    return {"steps": small_model.STEPS, "machine": describe(), "cases": cases, "worst_error": abs(worst),
            "bound": BOUND, "exit_status": 0 if abs(worst) <= BOUND else 1}


def show(document):
    print("Calls and bytes of a rank in a training step\n")
    for case in document["cases"]:
        row(f"{case['way']}, {case['gpus']} GPUs", "formula", "simulated", "counted")
        for operation, calls in case["calls"].items():
            for of, parts in (("a step", 1), (f"a layer, of {case['layers']}", case["layers"])):
                row(f"  {operation}s {of}", *(f"{calls[side] / parts:g}" for side in case["bytes"]))
        for of, parts in (("a step", 1), (f"a layer, of {case['layers']}", case["layers"])):
            row(f"  bytes {of}", *(f"{value / parts:,.0f} B" for value in case["bytes"].values()))
        print()
    print(f"largest error {percent(document['worst_error'])}, bound {100 * document['bound']:g}%")
