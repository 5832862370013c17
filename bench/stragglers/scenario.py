"""`heddle stragglers` on the three public traces of "Understanding Stragglers in Large Model Training Using What-if
Analysis" (OSDI 2025), beside the results that their authors publish with them.

The traces are not part of heddle: --traces names the folder `data` of a copy of ByteDance's StragglerAnalysis. The
exit status is 1 if a figure differs by more than it may.
"""

import gzip
import json
import pathlib
import subprocess
import tempfile
import time

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built
from harness.report import row

SUMMARY = "stragglers of published training traces, beside their authors' results (needs the traces)"

# Of each the root cause, and what names it here. The authors say of the last one that it has a long last stage, too.
_TRACES = {"AR": ("one slow worker", ["workers"]), "ST": ("a long last stage", ["last_stage"]),
           "SE": ("sequence lengths", ["last_stage", "sequence_lengths"])}
_MAY_DIFFER = 0.0002  # the authors round times to 24 bits


def add_arguments(parser):
    parser.add_argument("--traces", required=True, metavar="FOLDER",
                        help="`data` of a copy of ByteDance's StragglerAnalysis")


def _read(path):
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            return json.load(file)
    except (OSError, ValueError) as failure:
        raise CannotMeasure(f"cannot read {path}: {failure}",
                            "give the folder `data` of a copy of ByteDance's StragglerAnalysis") from failure


def _theirs(folder, name):
    result = _read(folder / f"result-{name}.json")
    stages = result["blocking_decompose_by_stage"]
    figures = {"slowdown": result["blocking_slowdown"]}
    figures |= {f"stage {stage}": stages[stage] for stage in sorted(stages, key=int)}
    figures["slowest data-parallel rank"] = max(result["blocking_decompose_by_dp_rank"].values())
    figures["last stage's share"] = _read(folder / f"ms-{name}.json")["Ms"]
    figures["slowest workers' share"] = _read(folder / f"mw-{name}.json")["Mw"]
    return figures, {int(step) for step in result["step_t_base"]}


def _ours(events, parent):
    timeline = pathlib.Path(parent) / "timeline.json"
    timeline.write_text(json.dumps(events), encoding="utf-8")
    began = time.monotonic()
    done = subprocess.run([built("heddle"), "stragglers", timeline, "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, 1):
        raise CannotMeasure(done.stderr.strip(), "see what it said")
    found = json.loads(done.stdout)
    figures = {"slowdown": found["slowdown"]}
    figures |= {f"stage {stage}": slowdown for stage, slowdown in enumerate(found["slowdown_by_stage"])}
    figures["slowest data-parallel rank"] = max(found["slowdown_by_data_rank"])
    figures["last stage's share"] = found["last_stage_share"]
    figures["slowest workers' share"] = found["slowest_workers_share"]
    return figures, found, time.monotonic() - began


def _case(folder, name, parent):
    theirs, steps = _theirs(folder, name)
    # Of one trace the timeline has more steps than the results are of.
    events = [event for event in _read(folder / f"timeline-{name}.json.gz")
              if event["ph"] != "X" or event["args"]["step"] in steps]
    ours, found, seconds = _ours(events, parent)
    return {"trace": name, "root_cause": _TRACES[name][0], "causes": found["causes"],
            "expected_causes": _TRACES[name][1], "steps": found["steps"],
            "workers": len(found["workers"]), "seconds": seconds,
            "figures": [{"name": key, "theirs": theirs[key], "ours": ours[key],
                         "may_differ": _may_differ(key)} for key in theirs]}


def _may_differ(key):
    """Shares are of the small difference of two step times. The authors choose the slowest workers by the lesser of
    their rank's and their stage's slowdown, heddle by their own; so their shares are only alike where one stands out.
    """
    if key == "slowest workers' share":
        return 0.1
    return 5 * _MAY_DIFFER if key.endswith("share") else _MAY_DIFFER


def run(arguments, progress):
    folder = pathlib.Path(arguments.traces)
    cases = []
    with tempfile.TemporaryDirectory() as parent:
        for i, name in enumerate(_TRACES):
            progress.say(i, len(_TRACES), f"trace {name}")
            cases.append(_case(folder, name, parent))
    right = all(case["causes"] == case["expected_causes"] for case in cases) and all(
        abs(each["ours"] - each["theirs"]) <= each["may_differ"] for case in cases for each in case["figures"])
    return {"machine": describe(), "cases": cases, "exit_status": 0 if right else 1}


def show(document):
    for case in document["cases"]:
        print(f"{case['trace']}: {case['root_cause']}; {case['steps']} steps, {case['workers']} workers, "
              f"{case['seconds']:.1f} s; heddle says: {', '.join(case['causes']) or 'no cause'}")
        row("", "authors", "heddle", "within")
        for each in case["figures"]:
            differs = abs(each["ours"] - each["theirs"]) > each["may_differ"]
            row(each["name"], f"{each['theirs']:.4f}", f"{each['ours']:.4f}",
                f"{each['may_differ']}" + (" NO" if differs else ""))
