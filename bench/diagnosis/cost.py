"""What faults cost a long job: rank-hours lost, with time-outs and people against what heddle measured.

Incidents of a job are drawn from seeds, by rates that others have published. Of each, the whole job waits while it is
detected, while the cause is looked for, and until it runs again; what it computed since its last checkpoint is
repeated. A slow rank or link costs the share by which it slows the job instead. Three ways to handle the same
incidents:

- *time-outs and people*: a crash is seen by the launcher, which knows the rank; a hang by the time-out of the
  communication library, a slow rank by a person, and people look for the cause of these.
- *heddle*: delay, recall and place of verdicts are those of heddle-bench-diagnosis --live in this run. A verdict is
  confirmed by an active test. Where none comes, or it names the wrong place, the rest is as above. Restart and
  checkpoints are the same.
- *heddle, elastic*: the ranks that are left go on with the weights that each of them has, so nothing is repeated. That
  is for data parallel jobs only; the time is that of `bench/run elastic`, which has four ranks.

What is assumed is printed. The result depends most on how long people look, so that has three cases.
"""

import concurrent.futures
import dataclasses
import json
import random
import statistics
import subprocess

from harness.failure import CannotMeasure
from harness.machine import describe
from harness.pair import built

# By kind of incident: the faults of heddle-bench-diagnosis that stand for it.
FAULTS = {"hang": ("stopped_rank", "frozen_rank"), "slow": ("slow_rank", "slow_nic", "slow_link")}
WAYS = {"time-outs and people": {"verdicts": False, "elastic": False},
        "heddle": {"verdicts": True, "elastic": False}, "heddle, elastic": {"verdicts": True, "elastic": True}}
ITEMS = ("detection", "search", "restart", "repeated work", "slowness")
_JOBS_AT_ONCE = 20
_OF_HOUR = 1 / 3600


@dataclasses.dataclass(frozen=True)
class Assumed:
    """Times in seconds. `source`: where a value is from; the others are this bench's own."""

    ranks: int = 1024
    days: int = 30
    interruptions: float = 419 / 54 / 16384  # a rank and day
    hangs: float = 49 / 419  # of interruptions
    slow: float = 0.005 / 8 / 30  # hosts of 8 ranks that become slow, a rank and day
    slowness: float = 0.10  # what a slow one costs the job
    crash_seen: float = 10
    hang_seen: float = 600
    slow_seen: float = 8 * 3600
    search: float = 3600  # a person, once it is seen; of a crash none
    confirm: float = 60  # the active test
    restart: float = 600
    elastic_restart: float = 0.53
    checkpoint: float = 1800  # from one to the next

    SOURCES = {
        "interruptions": "Llama 3: 419 unexpected ones in 54 days at 16,384 GPUs",
        "hangs": "Llama 3: its network switches and cables, NICs and watchdog time-outs (35 + 7 + 7)",
        "slow": "MegaScale: about 0.5% of hosts are slower by 10%; here such a host a month",
        "slowness": "MegaScale, as above",
        "hang_seen": "PyTorch's default time-out of NCCL's collectives",
        "elastic_restart": "bench/run elastic, four ranks",
    }


def _judge(fault, first, count, source):
    words = [built("heddle-bench-diagnosis"), "--source", source, "--fault", fault, "--first-seed", str(first),
             "--count", str(count), "--live"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"`{' '.join(words)}` failed: {done.stderr.strip()[-300:]}", "run it by hand")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(arguments, progress):
    """{kind: [(delay in s, or None without a verdict; whether the place is right), …]}."""
    portions = [(kind, fault, first) for kind, faults in FAULTS.items() for fault in faults
                for first in range(1, arguments.faults + 1, _JOBS_AT_ONCE)]
    verdicts = {kind: [] for kind in FAULTS}
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, arguments.jobs)) as pool:
        judged = pool.map(lambda portion: _judge(*portion[1:], min(_JOBS_AT_ONCE, arguments.faults + 1 - portion[2]),
                                                 "stream"), portions)
        for number, (portion, cases) in enumerate(zip(portions, judged)):
            progress.say(number, len(portions), portion[1])
            verdicts[portion[0]] += [(case["delay_s"] if case["found"] else None, bool(case["place_right"]))
                                     for case in cases if portion[0] == "hang" or case["effect"] >= 0.05]
    return verdicts


def draw_incidents(assumed, seed):
    """[(kind, seconds since the last checkpoint, a draw for the verdict), …] of a job."""
    draw = random.Random(seed)
    rank_days = assumed.ranks * assumed.days
    incidents = []
    for kind, rate in (("crash", assumed.interruptions * (1 - assumed.hangs)),
                       ("hang", assumed.interruptions * assumed.hangs), ("slow", assumed.slow)):
        at = draw.expovariate(rate * rank_days)
        while at < 1:
            incidents.append((kind, draw.uniform(0, assumed.checkpoint), draw.random()))
            at += draw.expovariate(rate * rank_days)
    return incidents


def _by_people(assumed, kind):
    """(until it is seen, until the cause is found), in seconds."""
    return {"crash": (assumed.crash_seen, assumed.confirm), "hang": (assumed.hang_seen, assumed.search),
            "slow": (assumed.slow_seen, assumed.search)}[kind]


def _by_heddle(assumed, kind, drawn, verdicts):
    seen, search = _by_people(assumed, kind)
    if kind == "crash":
        return seen, search
    delay, right = verdicts[kind][int(drawn * len(verdicts[kind]))]
    if delay is None or delay > seen:
        return seen, search
    return delay, assumed.confirm if right else assumed.confirm + search


def lost(assumed, incidents, verdicts=None, elastic=False):
    """Rank-hours by item; without `verdicts` by time-outs and people."""
    hours = dict.fromkeys(ITEMS, 0.0)
    for kind, since_checkpoint, drawn in incidents:
        seen, search = (_by_people(assumed, kind) if verdicts is None
                        else _by_heddle(assumed, kind, drawn, verdicts))
        if kind == "slow":  # it goes on, slowly, until the cause is known
            hours["slowness"] += (seen + search) * assumed.slowness
        else:
            hours["detection"] += seen
            hours["search"] += search
        hours["restart"] += assumed.elastic_restart if elastic else assumed.restart
        if kind != "slow" and not elastic:  # a slow job is stopped at a checkpoint
            hours["repeated work"] += since_checkpoint
    return {item: seconds * assumed.ranks * _OF_HOUR for item, seconds in hours.items()}


def _spread(values):
    values = sorted(values)
    return {"median": statistics.median(values), "p5": values[len(values) // 20], "p95": values[-1 - len(values) // 20]}


def compare(assumed, verdicts, jobs):
    """All ways over the same incidents of `jobs` seeds."""
    histories = [draw_incidents(assumed, seed) for seed in range(1, jobs + 1)]
    whole = assumed.ranks * assumed.days * 24
    ways, people = {}, None
    for name, how in WAYS.items():
        losses = [lost(assumed, incidents, verdicts if how["verdicts"] else None, how["elastic"])
                  for incidents in histories]
        sums = [sum(each.values()) for each in losses]
        people = people or sums
        ways[name] = {"items": {item: statistics.mean(each[item] for each in losses) for item in ITEMS},
                      "share_of_job": _spread([each / whole for each in sums]),
                      "less_by": _spread([1 - each / before for each, before in zip(sums, people) if before > 0])}
    return {"search_s": assumed.search, "ways": ways}


def run(arguments, progress):
    verdicts = measure(arguments, progress)
    measured = {}
    for kind, seen in verdicts.items():
        delays = [delay for delay, _ in seen if delay is not None]
        right = sum(right for delay, right in seen if delay is not None)
        measured[kind] = {"jobs": len(seen), "found": len(delays) / len(seen), "place_right": right / len(delays),
                          "delay_s_median": statistics.median(delays),
                          "delay_s_p95": sorted(delays)[-1 - len(delays) // 20]}
    assumed = Assumed()
    cases = [compare(dataclasses.replace(assumed, search=search), verdicts, arguments.histories)
             for search in (600, 3600, 4 * 3600)]
    return {"assumed": dataclasses.asdict(assumed), "sources": Assumed.SOURCES, "measured": measured,
            "histories": arguments.histories, "cases": cases, "machine": describe()}


def _line(name, *cells):
    print(f"  {name:24}" + "".join(f"{cell:>14}" for cell in cells[:-1]) + f"{cells[-1]:>22}")


def show(document):
    assumed = document["assumed"]
    print("Assumed (times in s, rates a rank and day):")
    for name, value in assumed.items():
        print(f"  {name:16} {value:<12.4g} {document['sources'].get(name, '')}")
    print("\nMeasured by heddle-bench-diagnosis --live:")
    for kind, of in document["measured"].items():
        print(f"  {kind:16} {of['jobs']} jobs, {of['found']:.1%} found, place right {of['place_right']:.1%}, "
              f"after {of['delay_s_median']:.1f} s (p95 {of['delay_s_p95']:.1f} s)")
    print(f"\nRank-hours lost in {assumed['days']} days of {assumed['ranks']} ranks, mean of {document['histories']} "
          "histories\n")
    for case in document["cases"]:
        _line(f"people look {case['search_s'] / 60:g} min", *ITEMS, "of the job", "less by (5% to 95%)")
        for name, way in case["ways"].items():
            less = way["less_by"]
            _line(f"  {name}", *(f"{way['items'][item]:.0f}" for item in ITEMS),
                  f"{way['share_of_job']['median']:.2%}",
                  "-" if name == "time-outs and people" else
                  f"{less['median']:.0%} ({less['p5']:.0%} to {less['p95']:.0%})")
        print()
    print("  C4 (HPCA 2025) says of its own detection that it cut the overhead of errors by about 30%, and, as far as "
          "it\n  could be recalled, the time that a job of 2,400 GPUs stood still from 31.19% to 1.16%.")
