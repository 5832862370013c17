"""How well `heddle diagnose` finds faults, and how often it is wrong about healthy jobs.

heddle-bench-diagnosis draws jobs from seeds: shapes, noise of healthy hosts and networks, and one fault or none. Their
events come from simulated packets, or are synthesised (streams), for volume. A fault's *effect* is the share of the
job's time since its onset that it costs, beside the same job without it. Seeds for development and those that are held
back are apart: nothing was tuned on the latter. cost: what such faults cost a job of thirty days (cost.py). roc: recall
and false positives by confidence (roc.py). scale: what a monitor does with many ranks (scale.py). steering: what a
policy does about true and false verdicts (steering.py).
"""

import concurrent.futures
import json
import os
import statistics
import subprocess

from diagnosis import cost, roc, scale, steering
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built
from harness.report import row

SUMMARY = "heddle diagnose on jobs with known faults, and on healthy ones: recall, place, delay, false positives"

FAULTS = ("stopped_rank", "frozen_rank", "mismatch", "slow_rank", "gradual_rank", "slow_nic", "lossy_nic", "slow_link",
          "slow_host", "collision", "flapping_link", "flapping_nic")
HANGS = FAULTS[:3]
_SIMULATED_ONLY = FAULTS[-2:]  # streams have no paths
_SEEN_WITHOUT_EFFECT = (*HANGS, *_SIMULATED_ONLY)
SOURCES = ("simulation", "stream")
ALGORITHMS = ("ring", "tree", "recursive_doubling", "halving_doubling", "two_level")
_FIRST_SEED = {"development": 1, "held back": 1_000_000_001}
_BANDS = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 1.01)
_VISIBLE = 0.05  # insight/diagnosis/params.h: kLeastLate
_JOBS_AT_ONCE = {"stream": 50, "simulation": 2}
_MISSED_SHOWN = 40

_OTHERS = {"cost": cost, "roc": roc, "scale": scale, "steering": steering}

# Checks of the exit status.
_LEAST_RECALL = 0.99
_LEAST_PLACE = 0.98
_DELAY_AIM_S = 1  # stated beside what is reached, without a check


def add_arguments(parser):
    parser.add_argument("question", nargs="?", choices=("accuracy", *_OTHERS), default="accuracy",
                        help="how well faults are found, what they cost a long job, how recall and false positives "
                             "depend on confidence, what watching many ranks takes, or what a policy does about "
                             "verdicts [accuracy]")
    parser.add_argument("--histories", type=int, default=200, metavar="N",
                        help="of cost: seeds of a job's faults [200]")
    parser.add_argument("--faults", type=int, default=200, metavar="N", help="streams of each class of fault [200]")
    parser.add_argument("--healthy", type=int, default=10_000, metavar="N", help="healthy streams [10000]")
    parser.add_argument("--simulations", type=int, default=20, metavar="N",
                        help="simulations of each class of fault [20]")
    parser.add_argument("--healthy-simulations", type=int, default=100, metavar="N", help="healthy simulations [100]")
    parser.add_argument("--algorithm", choices=ALGORITHMS, help="simulations alone, of all-reduces by this one")
    parser.add_argument("--held-back", action="store_true", help="seeds that nothing was tuned on")
    roc.add_arguments(parser)
    scale.add_arguments(parser)
    steering.add_arguments(parser)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="programs at once [a core each]")


def _counts(arguments):
    """Number of jobs by source and fault."""
    for source, faults, healthy in (("stream", arguments.faults, arguments.healthy),
                                    ("simulation", arguments.simulations, arguments.healthy_simulations)):
        if source == "stream" and arguments.algorithm:
            continue
        yield from ((source, fault, faults) for fault in FAULTS
                    if source == "simulation" or fault not in _SIMULATED_ONLY)
        yield source, "none", healthy


def _portions(arguments):
    first = _FIRST_SEED["held back" if arguments.held_back else "development"]
    for source, fault, count in _counts(arguments):
        size = _JOBS_AT_ONCE[source] * (10 if fault == "none" and source == "stream" else 1)
        for begin in range(0, count, size):
            yield source, fault, first + begin, min(size, count - begin), arguments.algorithm


def _judge(portion):
    source, fault, first, count, algorithm = portion
    words = [built("heddle-bench-diagnosis"), "--source", source, "--fault", fault, "--first-seed", str(first),
             "--count", str(count), *(["--algorithm", algorithm] if algorithm else [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"`{' '.join(words)}` failed: {done.stderr.strip()[-300:]}", "run it by hand")
    return [json.loads(line) | {"source": source} for line in done.stdout.splitlines()]


def _measure(arguments, progress):
    portions = list(_portions(arguments))
    cases = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, arguments.jobs)) as pool:
        for number, found in enumerate(pool.map(_judge, portions)):
            progress.say(number, len(portions), f"{portions[number][1]} ({portions[number][0]})")
            cases += found
    return cases


def _share(cases, key):
    return sum(case[key] for case in cases) / len(cases) if cases else None


def scores_of(cases):
    found = [case for case in cases if case["found"]]
    delays = sorted(case["delay_s"] for case in cases if case["delay_s"] is not None)
    return {"jobs": len(cases), "recall": _share(cases, "found"), "place_right": _share(found, "place_right"),
            "place_right_of_all": _share(cases, "place_right"),
            "class_right": _share(found, "class_right"),
            "other_verdicts": sum(case["others"] > 0 for case in cases),
            "delay_s_median": statistics.median(delays) if delays else None,
            "delay_s_p95": delays[int(0.95 * (len(delays) - 1))] if delays else None}


def _visible(case):
    return case["fault"] in _SEEN_WITHOUT_EFFECT or case["effect"] >= _VISIBLE


def _by_effect(cases):
    rows = []
    for low, high in zip(_BANDS, _BANDS[1:]):
        band = [case for case in cases if max(case["effect"], 0) >= low and case["effect"] < high]
        if band:
            rows.append({"effect_from": low, "effect_to": min(high, 1), **scores_of(band)})
    return rows


def _by_severity(cases):
    rows = []
    for severity in sorted({case["severity"] for case in cases}):
        same = [case for case in cases if case["severity"] == severity]
        rows.append({"severity": severity, "effect_median": statistics.median(case["effect"] for case in same),
                     **scores_of(same)})
    return rows


def _class_document(cases):
    fault = cases[0]["fault"]
    document = {"source": cases[0]["source"], "fault": fault, "all": scores_of(cases),
                "visible": scores_of([case for case in cases if _visible(case)])}
    if fault not in _SEEN_WITHOUT_EFFECT:
        document |= {"by_effect": _by_effect(cases), "by_severity": _by_severity(cases)}
    return document


def _healthy_document(cases):
    wrong = [case for case in cases if case["verdicts"]]
    judged = sum(case["judged"] for case in cases)
    # The upper end of the 95% interval of a share with no event in n is 3/n.
    return {"source": cases[0]["source"], "jobs": len(cases), "judged": judged, "false_positives": len(wrong),
            "wrong": [{key: case[key] for key in ("seed", "shape", "ranks", "verdicts")} for case in wrong]}


def _confusion(cases):
    table = {}
    for case in cases:
        classes = table.setdefault(case["fault"], {})
        classes[case["first_class"]] = classes.get(case["first_class"], 0) + 1
    return table


def _missed(cases):
    keys = ("source", "fault", "seed", "shape", "ranks", "severity", "effect", "found", "verdicts")
    return [{key: case[key] for key in keys} for case in cases
            if case["fault"] != "none" and _visible(case) and not case["place_right"]]


def _check(document):
    """Against the aims."""
    wrong = []
    for source in SOURCES:
        scores = document["visible"].get(source)
        if scores and scores["recall"] < _LEAST_RECALL:
            wrong.append(f"{source}: recall {scores['recall']:.3f} is below {_LEAST_RECALL}")
        if scores and scores["place_right"] is not None and scores["place_right"] < _LEAST_PLACE:
            wrong.append(f"{source}: place {scores['place_right']:.3f} is below {_LEAST_PLACE}")
    for each in document["healthy"]:
        if each["false_positives"]:
            wrong.append(f"{each['source']}: {each['false_positives']} healthy jobs have a verdict")
    return wrong


def run(arguments, progress):
    if arguments.question in _OTHERS:
        return {"question": arguments.question, **_OTHERS[arguments.question].run(arguments, progress)}
    cases = _measure(arguments, progress)
    groups = [[case for case in cases if case["source"] == source and case["fault"] == fault]
              for source in SOURCES for fault in (*FAULTS, "none")]
    groups = [group for group in groups if group]
    faulty = [case for case in cases if case["fault"] != "none"]
    document = {"question": "accuracy", "seeds": "held back" if arguments.held_back else "development",
                "algorithm": arguments.algorithm, "machine": describe(), "delay_aim_s": _DELAY_AIM_S,
                "events": sum(case["events"] for case in cases),
                "classes": [_class_document(group) for group in groups if group[0]["fault"] != "none"],
                "visible": {source: scores_of(same) for source in SOURCES
                            if (same := [case for case in faulty if case["source"] == source and _visible(case)])},
                "healthy": [_healthy_document(group) for group in groups if group[0]["fault"] == "none"],
                "confusion": {source: _confusion([case for case in cases if case["source"] == source])
                              for source in SOURCES},
                "missed": _missed(cases)}
    document["aims_missed"] = _check(document)
    return document | {"exit_status": 1 if document["aims_missed"] else 0}


def _percent(share):
    return "-" if share is None else f"{share:.1%}"


def _cells(scores):
    delay = "-" if scores["delay_s_median"] is None else f"{scores['delay_s_median']:.1f} ({scores['delay_s_p95']:.1f})"
    return (str(scores["jobs"]), _percent(scores["recall"]), _percent(scores["place_right"]),
            _percent(scores["place_right_of_all"]), _percent(scores["class_right"]), delay,
            str(scores["other_verdicts"]))


def _line(name, cells):
    print(f"  {name:34}" + "".join(f"{cell:>14}" for cell in cells))


_HEAD = ("jobs", "recall", "place right", "place of all", "class right", "delay s (p95)", "also others")


def show(document):
    if document["question"] in _OTHERS:
        return _OTHERS[document["question"]].show(document)
    return _show_accuracy(document)


def _show_accuracy(document):
    print(f"Seeds: {document['seeds']}; {document['events'] / 1e6:.1f} million events"
          f"{'; all-reduces by ' + document['algorithm'] if document['algorithm'] else ''}\n")
    for source, scores in document["visible"].items():
        _line(f"{source}, effect from {_VISIBLE:.0%} on", _HEAD)
        for each in document["classes"]:
            if each["source"] == source:
                _line(each["fault"], _cells(each["visible"]))
        _line("all", _cells(scores))
        if scores["delay_s_median"] is not None:
            print(f"  delay: median {scores['delay_s_median']:.1f} s, 95% within {scores['delay_s_p95']:.1f} s "
                  f"(aim: {document['delay_aim_s']} s); place right: of the found faults "
                  f"{_percent(scores['place_right'])}, of all {_percent(scores['place_right_of_all'])}")
        print()
    for each in document["classes"]:
        if "by_effect" not in each:
            continue
        _line(f"{each['fault']} ({each['source']})", _HEAD)
        for band in each["by_effect"]:
            _line(f"  effect {band['effect_from']:.0%} to {band['effect_to']:.0%}", _cells(band))
        for same in each["by_severity"]:
            _line(f"  severity {same['severity']:g}, effect {same['effect_median']:.1%}", _cells(same))
    print()
    row("healthy", "jobs", "judged", "false positives")
    for each in document["healthy"]:
        row(each["source"], each["jobs"], each["judged"], each["false_positives"])
        for wrong in each["wrong"][:_MISSED_SHOWN]:
            print(f"    seed {wrong['seed']}, {wrong['ranks']} ranks, {wrong['shape']}: {'; '.join(wrong['verdicts'])}")
    _show_confusion(document)
    for case in document["missed"][:_MISSED_SHOWN]:
        print(f"  not found, or elsewhere: {case['source']} {case['fault']}, seed {case['seed']}, "
              f"{case['ranks']} ranks, {case['shape']}, severity {case['severity']:g}, effect {case['effect']:.1%}: "
              f"{'; '.join(case['verdicts']) or 'none'}")
    for each in document["aims_missed"]:
        print(f"  AIM MISSED: {each}")


def _show_confusion(document):
    for source, table in document["confusion"].items():
        if table:
            print(f"\n  {source}: first verdict's class, by fault")
        for fault, classes in table.items():
            text = ", ".join(f"{name} {count}" for name, count in sorted(classes.items(), key=lambda each: -each[1]))
            print(f"    {fault:14} {text}")
