"""Training ResNet-18 in PyTorch over heddle and over Gloo, each rank in a separate namespace: on links
without a rate limit, on a shaped fabric where the network is the bottleneck, and on two leaves that a link of 20 Mb/s
joins, with a round trip of 20 ms (there the example's small network, since a step of ResNet-18 takes half a minute).

The example, images and seed are the same for both; images per second are of the timed steps. TCP's congestion
control is cubic.
"""

from harness.bridge import Bridge
from harness.cable import need_network_rights
from harness.collectives import cubic
from harness.fabric import WAN, Fabric, leaf_spine, wan
from harness.machine import describe
from harness.meanwhile import summary
from harness.report import cpu_note, row
from harness.rounds import interleave, ratio, spread, text
from harness.trainer import Trainer

SUMMARY = "training ResNet-18 over heddle, beside Gloo"

_MTU = 9000
_PLACES = {"links": "links without a rate", "fabric": "2 leaves, 4 spines of 200 Mb/s", "wan": WAN}


def add_arguments(parser):
    parser.add_argument("--pairs", type=int, default=15, metavar="N", help="rounds [15]")
    parser.add_argument("--steps", type=int, default=6, metavar="N", help="timed steps of a run [6]")
    parser.add_argument("--ranks", type=int, action="append", metavar="N", help="a number of ranks [2 and 4]")
    parser.add_argument("--on", choices=list(_PLACES), action="append",
                        help="this network only [links and fabric]")
    parser.add_argument("--batch", type=int, default=16, metavar="N", help="images a rank and step [16]")
    parser.add_argument("--model", default="resnet18", help="a model of torchvision [resnet18]")


class _Contest:
    def __init__(self, network, trainer):
        self.name, self._network, self._trainer = trainer.name, network, trainer

    def run(self):
        return self._trainer.run(self._network)


class _Some:
    """This many hosts of a network, spread over its leaves."""

    def __init__(self, network, count):
        step = len(network.hosts) // count
        self.hosts = network.hosts[::step][:count]
        self.address, self.device, self.inside = network.address, network.device, network.inside


def _network(on, ranks):
    if on == "links":
        return Bridge(ranks, _MTU)
    if on == "wan":
        return Fabric(wan())
    return Fabric(leaf_spine(mtu=_MTU))


def _measure(arguments, on, ranks, progress):
    model = "small" if on == "wan" else arguments.model
    words = ["--steps", arguments.steps, "--warm-up", 2, "--measure", 4, "--batch", arguments.batch, "--model",
             model]
    trainers = [Trainer("heddle", words), Trainer("gloo", words), Trainer("heddle", words, "heddle again")]
    with _network(on, ranks) as network:
        with cubic(network):
            samples = interleave([_Contest(_Some(network, ranks), one) for one in trainers], arguments.pairs, progress)
    speed = {name: [run.result["images_per_s"] for run in runs] for name, runs in samples.items()}
    hangs = {trainer.name: trainer.hangs for trainer in trainers}
    losses = [runs[0].result["losses"] for name, runs in samples.items() if name != "heddle again"]
    return {"on": on, "ranks": ranks, "model": model,
            "steps_a_minute": {name: spread([60 * each / arguments.batch / ranks for each in made])
                               for name, made in speed.items()},
            "losses_differ_by": max(abs(a - b) for a, b in zip(*losses)),
            "to_gloo": ratio(speed["heddle"], speed["gloo"]),
            "to_itself": ratio(speed["heddle"], speed["heddle again"]),
            "programs": [{"program": name, "images_per_s": spread(speed[name]), "hangs": hangs[name],
                          "split": {part: spread([run.result["split"][part] for run in runs])
                                    for part in runs[0].result["split"]},
                          "cpu_share": spread([run.meanwhile.cpu_share for run in runs]), "machine": summary(runs)}
                         for name, runs in samples.items()]}


def run(arguments, progress):
    need_network_rights()
    parts = [_measure(arguments, on, ranks, progress)
             for on in arguments.on or ["links", "fabric"] for ranks in arguments.ranks or [2, 4]]
    return {"scenario": "training", "machine": describe(), "model": arguments.model, "batch": arguments.batch,
            "tcp_congestion_control": "cubic", "parts": parts}


def show(document):
    print(f"{document['batch']} images a rank and step, TCP cubic; median (least to most)")
    for part in document["parts"]:
        print(f"\n{part['model']}, {part['ranks']} ranks, {_PLACES[part['on']]}; losses differ by at most "
              f"{part['losses_differ_by']:.2g}")
        row("", "images/s", "steps/min", "computing, ms", "communicating, ms", "both, ms", "blocked, ms")
        for one in part["programs"]:
            split = one["split"]
            row(one["program"], text(one["images_per_s"]), f"{part['steps_a_minute'][one['program']]['median']:.1f}",
                *(f"{split[name]['median'] * 1e3:.0f}" for name in ("compute_s", "communicate_s", "overlapped_s",
                                                                  "exposed_s")))
        print(f"  heddle to Gloo {text(part['to_gloo'], 2)}, to itself {text(part['to_itself'], 2)}")
        for one in part["programs"]:
            if one["hangs"]:
                print(f"  {one['program']} stood still at its end {one['hangs']} times, and ran again")
        cpu_note(part["programs"])
