"""Verify, third stage: ResNet-18 in PyTorch's DistributedDataParallel, two ranks on different leaves."""

from harness.failure import CannotMeasure
from harness.trainer import Trainer
from comparison import measure as measure_rounds
from comparison import row

TITLE = "training ResNet-18 (11.2 million parameters) on 2 hosts of different leaves, batches of 16 images a rank"

_ROUNDS_MOST = 3  # each starts PyTorch four times


class _TwoHosts:
    """Hosts 0 and 2 of a network."""

    def __init__(self, network):
        self.hosts = [network.hosts[0], network.hosts[2]]
        self.address, self.device, self.inside = network.address, network.device, network.inside


class _Contest:
    def __init__(self, network, trainer, name):
        self.name = name
        self._network, self._trainer = network, trainer

    def run(self):
        return self._trainer.run(self._network)


def measure(network, _tools, arguments, skip, progress):
    words = ["--steps", arguments.steps, "--measure", 0, "--warm-up", 1]
    contests = []
    for backend, name in (("heddle", "heddle"), ("gloo", "Gloo over TCP")):
        try:
            contests.append(_Contest(_TwoHosts(network), Trainer(backend, words), name))
        except CannotMeasure as failure:
            skip(f"training over {backend}: {failure}")
    if not contests or contests[0].name != "heddle":
        return
    measured = measure_rounds(contests, min(arguments.rounds, _ROUNDS_MOST), progress, arguments.again)
    made = row("training", "ResNet-18, images a second", measured, lambda run: run.result["images_per_s"], digits=1)
    kept, _ = measured
    if len(kept) > 1:
        furthest = max(abs(a - b) for runs in zip(*kept.values())
                       for a, b in zip(runs[0].result["losses"], runs[1].result["losses"]))
        made |= {"losses_differ_by": furthest, "wrong": furthest > 0.05}
    yield made
