"""What a policy of `heddle monitor` does about true and false verdicts: right actions, false ones, and how soon.

heddle-bench-steered draws the jobs of the fault library from seeds, looks at them each second as the monitor does, and
lets the monitor's own rules and steering decide, in the job's time. Each job is decided about twice: as it is, and with
false verdicts about hosts, NICs and links without a fault, since healthy jobs give next to none by themselves. An
action is *right* if the host or link that it is about has the job's fault, and *false* else. Active tests measure the
state of the simulated hosts and links as examples/steering/probe.py does, and are wrong in a stated share of their runs
on top of that. The other parts of the policy (classes, places, limits) are the same in all ways.
"""

import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built

FAULTS = ("stopped_rank", "frozen_rank", "slow_rank", "gradual_rank", "slow_nic", "lossy_nic", "slow_link")
_SLOW = FAULTS[2:]
_VISIBLE = 0.05  # insight/diagnosis/params.h: kLeastLate
_HEALTHY_FOR_EACH = 2
_JOBS_AT_ONCE = 5
_FALSE_MOST_S = 300

_RULES = (("rank", ("non_communication_hang", "communication_hang", "non_communication_slow", "degradation"),
           ("probe", "compute", "{host}", "{peer}"), 'action = "slurm_drain"'),
          ("nic", ("communication_hang", "communication_slow", "degradation"),
           ("probe", "network", "{host}", "{peer}"), 'action = "slurm_drain"'),
          ("link", ("communication_hang", "communication_slow", "degradation"),
           ("probe", "link", "{from}", "{to}"), 'action = "command"\ncommand = ["report", "{from}", "{to}"]'))
# persists and confidence: the defaults of policies, and those of the first policy of docs/how-to/steer_a_job.md.
_AT_ONCE, _DEFAULTS, _STRICT = ("0s", 0), ("30s", 0.9), ("60s", 0.95)


def policy(persists, confidence, tested):
    """A policy file's text: a rule for each place, and the limits that policies have by default."""
    rules = [f'[[rule]]\nname = "{place}"\nclass = {json.dumps(classes)}\nplace = ["{place}"]\n'
             f'confidence = {confidence}\npersists = "{persists}"\nconfirm = {json.dumps(test if tested else [])}\n'
             f"{action}\n" for place, classes, test, action in _RULES]
    return "version = 1\n" + "\n".join(rules)


def _way(name, when, each_verdict=False, **test):
    return {"name": name, "each_verdict": each_verdict, "persists": when[0], "confidence": when[1],
            "test": test or None, "policy": policy(*when, bool(test))}


WAYS = (_way("each verdict", _AT_ONCE, each_verdict=True),
        _way("each alarm", _AT_ONCE),
        _way("90%, 30 s", _DEFAULTS),
        _way("95%, 60 s", _STRICT),
        _way("each alarm, test, 1% wrong", _AT_ONCE, wrong=0.01),
        _way("90%, 30 s, test, 1% wrong", _DEFAULTS, wrong=0.01),
        _way("90%, 30 s, test, 5% wrong", _DEFAULTS, wrong=0.05),
        _way("90%, 30 s, test, 1% wrong, half of the hangs", _DEFAULTS, wrong=0.01, sees_hangs=0.5))


def add_arguments(parser):
    parser.add_argument("--seeds", type=int, default=15, metavar="N",
                        help="of steering: jobs of each fault, and twice as many healthy ones [15]")
    parser.add_argument("--false-verdicts", type=float, default=60, metavar="RATE",
                        help="of steering: false verdicts that are added in an hour of a job [60]")
    parser.add_argument("--after", type=float, default=120, metavar="SECONDS",
                        help="of steering: each job goes on for at least this after its fault [120]")


def _judge(portion, ways, arguments):
    fault, first, count = portion
    words = [built("heddle-bench-steered"), ways, "--fault", fault, "--first-seed", str(first), "--count", str(count),
             "--after-s", str(arguments.after), "--false-verdicts", str(arguments.false_verdicts),
             "--false-most-s", str(_FALSE_MOST_S)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"`{' '.join(words)}` failed: {done.stderr.strip()[-300:]}", "run it by hand")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(arguments, progress):
    """What heddle-bench-steered prints of each job."""
    counts = [(fault, arguments.seeds) for fault in FAULTS] + [("none", _HEALTHY_FOR_EACH * arguments.seeds)]
    portions = [(fault, first, min(_JOBS_AT_ONCE, count + 1 - first)) for fault, count in counts
                for first in range(1, count + 1, _JOBS_AT_ONCE)]
    cases = []
    with tempfile.TemporaryDirectory(prefix="heddle-steering-") as folder:
        ways = pathlib.Path(folder) / "ways.json"
        ways.write_text(json.dumps([way | {"test": way["test"] or {}} for way in WAYS]), encoding="utf-8")
        with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, arguments.jobs)) as pool:
            judged = pool.map(lambda portion: _judge(portion, str(ways), arguments), portions)
            for number, found in enumerate(judged):
                progress.say(number, len(portions), portions[number][0])
                cases += found
    return cases


def is_visible(case):
    """Whether a job has a fault that costs enough to be found."""
    return case["fault"] not in ("none", *_SLOW) or (case["fault"] in _SLOW and case["effect"] >= _VISIBLE)


def _delays(cases, part, way):
    """Seconds from the fault to the first right action, of those jobs that have one."""
    firsts = [next((action["after_s"] for action in case[part]["ways"][way]["actions"]
                    if action["right"] and action["after_s"] >= 0), None) for case in cases]
    return sorted(each for each in firsts if each is not None)


def _false(cases, part, way):
    return [action for case in cases for action in case[part]["ways"][way]["actions"] if not action["right"]]


def _right(cases, part, way):
    delays = _delays(cases, part, way)
    return {"jobs": len(cases), "right": len(delays),
            "delay_s_median": statistics.median(delays) if delays else None,
            "delay_s_p95": delays[int(0.95 * (len(delays) - 1))] if delays else None}


def score(cases, way):
    """Of one way, over all jobs."""
    faulty = [case for case in cases if case["fault"] != "none"]
    visible = [case for case in faulty if is_visible(case)]
    healthy = [case for case in cases if case["fault"] == "none"]
    mixed = "with_false_verdicts"
    return {"healthy": {"hours": sum(case["job_s"] for case in healthy) / 3600,
                        "false_actions": len(_false(healthy, "as_it_is", way))},
            "invented": {"verdicts": sum(case[mixed]["false_verdicts"] for case in healthy),
                         "jobs": sum(case[mixed]["false_verdicts"] > 0 for case in healthy),
                         "false_actions": len(_false(healthy, mixed, way)),
                         "jobs_acted_on": sum(bool(_false([case], mixed, way)) for case in healthy
                                              if case[mixed]["false_verdicts"] > 0)},
            "faults": _right(visible, "as_it_is", way) | {"false_actions": len(_false(faulty, "as_it_is", way)),
                                                          "all_jobs": len(faulty)},
            "faults_with_false_verdicts": _right(visible, mixed, way),
            "by_fault": {fault: _right([case for case in visible if case["fault"] == fault], "as_it_is", way)
                         for fault in FAULTS},
            "tests": {key: sum(case[part]["ways"][way][key] for case in cases for part in ("as_it_is", mixed))
                      for key in ("tests", "confirmed", "not_confirmed", "not_tested")}}


def run(arguments, progress):
    cases = measure(arguments, progress)
    return {"seeds": arguments.seeds, "healthy_jobs": _HEALTHY_FOR_EACH * arguments.seeds, "after_s": arguments.after,
            "false_verdicts_an_hour": arguments.false_verdicts,
            "false_verdicts_most_s": _FALSE_MOST_S, "hours": sum(case["job_s"] for case in cases) / 3600,
            "ways": [{key: way[key] for key in ("name", "persists", "confidence", "test", "each_verdict")}
                     | score(cases, way["name"]) for way in WAYS],
            "policy": WAYS[-1]["policy"], "machine": describe()}


def _line(name, *cells):
    print(f"  {name:46}" + "".join(f"{cell:>17}" for cell in cells))


def _delay(right):
    return "-" if right["delay_s_median"] is None else f"{right['delay_s_median']:.0f} ({right['delay_s_p95']:.0f})"


def show(document):
    print(f"{document['seeds']} jobs of each fault, {document['healthy_jobs']} healthy ones, each at least "
          f"{document['after_s']:g} s from its fault on ({document['hours']:.1f} h in all)")
    print(f"False verdicts: {document['false_verdicts_an_hour']:g} an hour of a job, of random classes and places "
          f"without a fault, for 1 to {document['false_verdicts_most_s']} s (log-uniform), confidence 50 to 99% "
          "(uniform)")
    print("Tests: probe.py's measures (3 s a host, a hang 20 s; 1.3 times slower is a fault), the other result in the "
          "stated\nshare of runs. They see all hangs, or half of them: of the others the process hangs alone. Limits: "
          "as by default.\n")
    _line("false actions", "healthy, an hour", "false verdicts", "jobs with them", "jobs with faults")
    for way in document["ways"]:
        healthy, invented = way["healthy"], way["invented"]
        _line(f"  {way['name']}", f"{healthy['false_actions'] / healthy['hours']:.2f}",
              f"{invented['false_actions']} of {invented['verdicts']}",
              f"{invented['jobs_acted_on']} of {invented['jobs']}",
              f"{way['faults']['false_actions']} in {way['faults']['all_jobs']}")
    print()
    _line(f"right actions, effect from {_VISIBLE:.0%} on", "faults", "after s (p95)", "with false ones", "tests",
          "not confirmed")
    for way in document["ways"]:
        faults, mixed = way["faults"], way["faults_with_false_verdicts"]
        _line(f"  {way['name']}", f"{faults['right']} of {faults['jobs']}", _delay(faults),
              f"{mixed['right']} of {mixed['jobs']}", way["tests"]["tests"],
              way["tests"]["not_confirmed"])
    print()
    _line("right actions by fault", *FAULTS)
    for way in document["ways"]:
        _line(f"  {way['name']}", *(f"{each['right']} of {each['jobs']}" for each in way["by_fault"].values()))
