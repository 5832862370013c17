"""A rank of a PyTorch job is killed: the time until the next step is finished. heddle goes on with the ranks that are
left; torchelastic starts all ranks again from a checkpoint of the last step, over Gloo.

With --part curve: ResNet-18 is trained while ranks are killed, added and ended, beside undisturbed runs of the same
seeds; their losses, and the time to the next step after each kill. With --part faults: a rank is killed, wedged or
slow, and torchelastic's checkpoints are further apart (faults.py).

Model, data and machine are the same. torchelastic looks for dead ranks at an interval; it is measured with its
default of 5 s, and with 0.1 s.
"""

import os
import pathlib
import subprocess

from elastic import curve, faults
from elastic.job import Job
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.pair import built
from harness.report import disturbance_note, row
from harness.rounds import Spare, interleave, spread, text

SUMMARY = "kill -9 of a rank in training: time to the next step, beside torchelastic's restart"

_HERE = pathlib.Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_PYTHON = "/usr/bin/python3"
_RESTARTS = 3


def add_arguments(parser):
    parser.add_argument("--kills", type=int, default=9, metavar="N",
                        help="of each launcher, one a job; of the part faults: runs of each [9]")
    parser.add_argument("--ranks", type=int, default=4, metavar="N", help="at the start of a job [4]")
    parser.add_argument("--part", choices=["recovery", "curve", "faults"], default="recovery", help="[recovery]")
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="of a run of the part curve [200]")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="of the part curve, two runs each [3]")
    parser.add_argument("--spare", type=int, default=120, metavar="SECONDS", help="for runs made again [120]")


def _variables():
    module = os.environ.get("HEDDLE_TORCH_MODULE", str(_ROOT / "build" / "release" / "python"))
    found = {"PYTHONPATH": os.pathsep.join([module, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]),
             "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "HEDDLE_BIND": "127.0.0.1",
             "GLOO_SOCKET_IFNAME": "lo"}
    needed = "import torch.distributed.run, heddle_torch"
    done = subprocess.run([_PYTHON, "-c", needed], env={**os.environ, **found}, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"{_PYTHON} cannot `{needed}`: {done.stderr.strip().splitlines()[-1:]}",
                            "run scripts/setup --torch and make torch")
    return found


def _heddle(arguments, variables):
    command = [built("heddle"), "run", "-n", str(arguments.ranks), "--elastic", "1", "--tag-output", "--",
               _PYTHON, str(_ROOT / "examples" / "elastic.py"), "--steps", "1000000000"]
    return Job("heddle run --elastic", arguments.ranks, arguments.ranks - 1, False, "output", lambda folder: command,
               variables)


def _torchelastic(arguments, variables, interval_s):
    def command_of(folder):
        # Output and errors to files: PyTorch 1.13 under Python 3.11 fails where a stream is not redirected.
        return [_PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(arguments.ranks),
                "--max_restarts", str(_RESTARTS), "--monitor_interval", str(interval_s), "--redirects", "2", "--tee",
                "1", "--log_dir", folder, str(_HERE / "restarting.py"), folder]
    return Job(f"Gloo, torchelastic, {interval_s:g} s", arguments.ranks, arguments.ranks, True, "steps",
               command_of, variables)


def run(arguments, progress):
    variables = _variables()
    if arguments.part == "curve":
        return {"scenario": "elastic", "part": "curve", "machine": describe(),
                **curve.compare(_PYTHON, arguments.steps, arguments.seeds, variables, progress)}
    if arguments.part == "faults":
        return {"scenario": "elastic", "part": "faults", "machine": describe(),
                **faults.compare(_PYTHON, arguments.ranks, arguments.kills, variables, progress)}
    jobs = [_heddle(arguments, variables), _torchelastic(arguments, variables, 5.0),
            _torchelastic(arguments, variables, 0.1)]
    samples = interleave(jobs, arguments.kills, progress, Spare(arguments.spare))
    return {"scenario": "elastic", "machine": describe(), "ranks": arguments.ranks, "kills": arguments.kills,
            "programs": [{"program": name, "next_step_s": spread([each.seconds for each in made]),
                          "machine": summary(made)} for name, made in samples.items()]}


def _show_curve(document):
    runs = document["runs"]
    print(f"ResNet-18, {document['steps']} steps, {document['ranks']} ranks at first, --elastic {document['elastic']}")
    for run in runs:
        name = f"seed {run['seed']}, {'disturbed' if run['disturbed'] else 'undisturbed'}"
        waits = ", ".join(f"{each:.2f}" for each in run["next_step_s"])
        row(name, f"last loss {run['last_loss']:.3f}" + (f"; next step {waits} s after a kill" if waits else ""))
    calm = {run["seed"]: run["last_loss"] for run in runs if not run["disturbed"]}
    apart = max(abs(run["last_loss"] - calm[run["seed"]]) for run in runs if run["disturbed"])
    row("disturbed and not, of one seed", f"{apart:.3f} apart at most")
    row("undisturbed, of all seeds", f"{max(calm.values()) - min(calm.values()):.3f} apart")
    for each in document["missed"]:
        print(f"  MISSED: {each}")


def show(document):
    if document.get("part") == "curve":
        _show_curve(document)
        return
    if document.get("part") == "faults":
        faults.show(document)
        return
    print(f"{document['ranks']} ranks, one killed in each of {document['kills']} jobs; median (least to most)")
    for one in document["programs"]:
        row(one["program"], f"{text(one['next_step_s'], 2)} s to the next step")
    disturbance_note([one["machine"] for one in document["programs"]])
