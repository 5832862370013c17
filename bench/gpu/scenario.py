"""Stock NCCL on a GPU: PyTorch's collectives over heddle's plugin and over NCCL's own Socket transport.

Two processes share one GPU, each in a network namespace of its own, so that NCCL takes them for two hosts. Every
element of a result of each operation, size and run is compared. The machine, not a network card, is the limit of
`cable`; on `fabric` four spines of 1 Gb/s are.
"""

import os
import signal
import time

from gpu.job import Contest, Endless, heddle, multi_process_service, need_gpu, socket
from harness.cable import Cable, need_network_rights
from harness.fabric import Fabric, leaf_spine
from harness.failure import CannotMeasure
from harness.machine import describe
from harness.meanwhile import summary
from harness.report import cpu_note, row
from harness.rounds import Spare, calm, interleave, ratio, spread, text

SUMMARY = "stock NCCL on a GPU over heddle, beside NCCL's own sockets"

_PARTS = ("cable", "fabric", "loss", "training", "blackhole", "death")
_OPERATIONS = "all_reduce,all_gather,reduce_scatter,all_to_all,broadcast,reduce,send_recv"
_KIB, _MIB = 1 << 10, 1 << 20
_SPINE_MBITS = 1000
_STEPS_BEFORE = 20
_BLACKHOLE_S, _GIVE_UP_S = 6, 15
_DEATH_PATIENCE_S = 20
_REMOTE_ERROR = "ncclRemoteError"


def add_arguments(parser):
    parser.add_argument("--part", action="append", choices=_PARTS, help="measure this only [all]")
    parser.add_argument("--python", default="python3", metavar="PROGRAM", help="a Python with PyTorch [python3]")
    parser.add_argument("--sizes", default="64K,1M,16M,64M,256M", help="bytes [64K,1M,16M,64M,256M]; over the fabric "
                        "those up to 64M")
    parser.add_argument("--operations", default=_OPERATIONS, help=f"over the cable [{_OPERATIONS}]")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="rounds [5]")
    parser.add_argument("--budget", type=float, default=0.1, metavar="SECONDS", help="of one timed point [0.1]")
    parser.add_argument("--steps", type=int, default=12, metavar="N", help="of a training [12]")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="images a rank and step [32]")
    parser.add_argument("--in-turns", action="store_true", help="without NVIDIA's MPS: one process "
                        "uses the GPU at a time")
    parser.add_argument("--threads", type=int, action="append", default=[], metavar="N",
                        help="measure heddle with N threads (HEDDLE_NCCL_THREADS), too")
    parser.add_argument("--spare", type=int, default=60, metavar="SECONDS", help="for runs made again, a part [60]")


class _CableHosts:
    """A Cable as two hosts."""

    def __init__(self, cable):
        self.hosts, self.inside = [cable.near, cable.far], cable.inside
        self._addresses = {cable.near: cable.near_address, cable.far: cable.far_address}

    def address(self, host):
        return self._addresses[host]

    def device(self, _host):
        return "cable0"


def _topology(loss=None):
    made = leaf_spine(leaves=2, spines=4, hosts_per_leaf=1, mtu=9000, host_rate="10Gbit/s", host_queue="6250KB",
                      spine_rate=f"{_SPINE_MBITS}Mbit/s", spine_queue="625KB")
    return made.replace("[switch_link]", f'loss = "{loss}"\n[switch_link]') if loss else made


def _measure(arguments, progress, hosts, networks, operations, sizes):
    words = ["--operations", operations, "--sizes", ",".join(map(str, sizes)), "--budget", arguments.budget]
    contests = [Contest(hosts, network, arguments.python, words) for network in networks]
    samples = calm(interleave(contests, arguments.pairs, progress, Spare(arguments.spare)))
    points = [{"operation": point["operation"], "bytes": point["bytes"]}
              for point in next(iter(samples.values()))[0].result["points"]]
    for index, point in enumerate(points):
        speeds = {name: [run.result["points"][index]["bus_gbytes_per_s"] for run in runs]
                  for name, runs in samples.items()}
        point["bus_gbytes_per_s"] = {name: spread(values) for name, values in speeds.items()}
        point["heddle_to"] = {name: ratio(speeds["heddle"], values) for name, values in speeds.items()
                              if name != "heddle"}
    return {"points": points, "programs": [
        {"program": name, "wrong": sum(point["wrong"] for run in runs for point in run.result["points"]),
         "compared": sum(len(run.result["points"]) for run in runs),
         "cpu_share": spread([run.cpu_share for run in runs]), "machine": summary(runs)}
        for name, runs in samples.items()]}


def _sizes(arguments):
    units = {"K": _KIB, "M": _MIB}
    return [int(size[:-1]) * units[size[-1]] for size in arguments.sizes.split(",")]


def _networks(arguments, *sockets):
    own = [heddle(f"heddle, {count} thread{'s' if count > 1 else ''}", HEDDLE_NCCL_THREADS=count)
           for count in arguments.threads]
    return [heddle(), *own, socket(), *(socket(*each) for each in sockets)]


def _cable(arguments, progress):
    with Cable(9000) as cable:
        return _measure(arguments, progress, _CableHosts(cable), _networks(arguments, (2, 2)), arguments.operations,
                        _sizes(arguments))


def _fabric(arguments, progress, loss=None):
    with Fabric(_topology(loss)) as fabric:
        return _measure(arguments, progress, fabric, _networks(arguments, (2, 2), (4, 4)),
                        "all_reduce,all_to_all,send_recv", [size for size in _sizes(arguments) if size <= 64 * _MIB])


def _train(arguments, progress, hosts, networks, where):
    words = ["--operations", "", "--train", arguments.steps, "--batch", arguments.batch]
    contests = [Contest(hosts, network, arguments.python, words) for network in networks]
    samples = calm(interleave(contests, min(arguments.pairs, 3), progress, Spare(arguments.spare)))
    timed = {name: [_median_step(run.result["training"]["seconds"]) for run in runs] for name, runs in samples.items()}
    losses = {name: runs[0].result["training"]["losses"] for name, runs in samples.items()}
    return {"on": where, "programs": [
        {"program": name, "step_s": spread(timed[name]), "machine": summary(runs),
         "cpu_share": spread([run.cpu_share for run in runs]),
         "losses_differ_by": max(abs(a - b) for a, b in zip(losses["heddle"], losses[name])),
         "last_loss": losses[name][-1]}
        for name, runs in samples.items()],
        "heddle_to": {name: ratio(values, timed["heddle"]) for name, values in timed.items() if name != "heddle"}}


def _median_step(seconds):
    rest = sorted(seconds[2:])  # the first two allocate and choose kernels
    return rest[len(rest) // 2]


def _training(arguments, progress):
    parts = []
    with Cable(9000) as cable:
        parts.append(_train(arguments, progress, _CableHosts(cable), _networks(arguments, (2, 2)), "cable"))
    with Fabric(_topology()) as fabric:
        parts.append(_train(arguments, progress, fabric, _networks(arguments, (2, 2), (4, 4)), "fabric"))
    return parts


def _blackhole(arguments, progress):
    """One spine drops everything in mid-run, in both directions, and does not come back."""
    results = []
    networks, runs = [heddle(), socket(), socket(2, 2)], min(arguments.pairs, 3)
    with Fabric(_topology()) as fabric:
        for turn in range(runs * len(networks)):
            network = networks[turn % len(networks)]
            progress.say(turn, runs * len(networks), network.name)
            fabric.fault("clear")
            with Endless(fabric, network, arguments.python, 16 * _MIB) as job:
                job.wait_for_steps(_STEPS_BEFORE)
                fault = time.time()
                for leaf in ("leaf0", "leaf1"):
                    fabric.fault("blackhole", leaf, "spine0")
                results.append({"program": network.name, **_after_fault(job, fault)})
            fabric.fault("clear")
    return results


def _after_fault(job, fault):
    """Steps until _BLACKHOLE_S after the fault, or until none has ended for _GIVE_UP_S."""
    while True:
        time.sleep(0.2)
        job.read()
        now, failed = time.time(), any(rank.poll() is not None for rank in job.ranks)
        if failed or now - max(job.steps[-1], fault) > _GIVE_UP_S or (
                now - fault > _BLACKHOLE_S and job.steps[-1] > now - 1):
            break
    times = [fault, *(step for step in job.steps if step > fault), now]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    before = [step for step in job.steps if step <= fault]
    return {"survived": not failed and max(gaps) < _GIVE_UP_S, "longest_gap_s": max(gaps),
            "step_before_s": (before[-1] - before[5]) / (len(before) - 6), "steps_after": len(times) - 2,
            "step_after_s": (now - fault) / max(1, len(times) - 2)}


def _death(arguments, progress):
    """kill -9 of rank 1: the time until PyTorch reports NCCL's remote error at rank 0, and the cause that it names.
    PyTorch then collects stacks and ends itself, which takes as long with each network.
    """
    results = []
    networks, runs = [heddle(), socket()], min(arguments.pairs, 3)
    with Cable(9000) as cable:
        for turn in range(runs * len(networks)):
            network = networks[turn % len(networks)]
            progress.say(turn, runs * len(networks), network.name)
            with Endless(_CableHosts(cable), network, arguments.python, 16 * _MIB) as job:
                job.wait_for_steps(_STEPS_BEFORE)
                os.killpg(job.ranks[1].pid, signal.SIGKILL)
                killed = time.monotonic()
                while _REMOTE_ERROR not in job.errors(0) and time.monotonic() - killed < _DEATH_PATIENCE_S:
                    time.sleep(0.02)
                seconds, reported = time.monotonic() - killed, job.errors(0)
                results.append({"program": network.name, "reported": _REMOTE_ERROR in reported, "seconds": seconds,
                                "causes": [line for line in reported.splitlines()
                                           if line.startswith(("NET/", "socketProgress"))][:1]})
    return results


def run(arguments, progress):
    need_network_rights()
    gpu = need_gpu(arguments.python)
    parts = {"cable": _cable, "fabric": _fabric, "training": _training, "blackhole": _blackhole,
             "loss": lambda *words: _fabric(*words, loss="0.1%")}
    document = {"scenario": "gpu", "machine": {**describe(), "gpu": gpu}, "rounds": arguments.pairs}
    chosen = arguments.part or _PARTS
    with multi_process_service(not arguments.in_turns) as together:
        document["multi_process_service"] = together
        for name in chosen:
            if name != "death":
                document[name] = parts[name](arguments, progress)
    # Under MPS the end of one process may disturb the others' work on the GPU.
    if "death" in chosen:
        document["death"] = _death(arguments, progress)
    wrong = [program for part in ("cable", "fabric", "loss") if part in document
             for program in document[part]["programs"] if program["wrong"]]
    if wrong:
        raise CannotMeasure(f"wrong elements: {wrong}", "this is a defect: report it")
    return document


def _show_points(title, part):
    print(f"\n{title}; bus bandwidth, GB/s")
    names = [program["program"] for program in part["programs"]]
    row("", *names, "best heddle to best other")
    for point in part["points"]:
        speeds = point["bus_gbytes_per_s"]
        ours, best = (max((name for name in names if name.startswith("heddle") == own),
                          key=lambda name: speeds[name]["median"]) for own in (True, False))
        row(f"{point['operation']} {point['bytes'] / _KIB:g} KiB", *(text(speeds[name], 3) for name in names),
            text(ratio(speeds[ours]["samples"], speeds[best]["samples"]), 2))
    for program in part["programs"]:
        print(f"  {program['program']}: {program['compared']} results compared, {program['wrong']} wrong elements")
    cpu_note(part["programs"])


def show(document):
    how = "at once (MPS)" if document["multi_process_service"] else "in turns"
    print(f"{document['machine']['gpu']}, two processes that use it {how}; median (least to most) of "
          f"{document['rounds']} rounds in turn")
    titles = {"cable": "veth, MTU 9000", "fabric": f"four spines of {_SPINE_MBITS} Mb/s",
              "loss": "the same, 0.1% of packets lost on each host's link"}
    for name, title in titles.items():
        if name in document:
            _show_points(title, document[name])
    for part in document.get("training", []):
        print(f"\nResNet-50 on random images, {part['on']}")
        for program in part["programs"]:
            against = part["heddle_to"].get(program["program"])
            row(program["program"], f"{text(program['step_s'], 3)} s a step",
                f"losses differ by {program['losses_differ_by']:.2g}",
                f"heddle {text(against, 2)} times as fast" if against else "")
    for result in document.get("blackhole", []):
        row(f"black hole: {result['program']}", "survived" if result["survived"] else "stood still or failed",
            f"longest gap {result['longest_gap_s']:.2f} s", f"step {result['step_before_s'] * 1e3:.0f} ms before",
            f"{result['step_after_s'] * 1e3:.0f} ms after")
    for result in document.get("death", []):
        row(f"kill -9: {result['program']}", f"{'reported' if result['reported'] else 'nothing'} after "
            f"{result['seconds']:.2f} s")
        print(*(f"    {cause}" for cause in result["causes"]), sep="\n")
