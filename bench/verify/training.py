"""Verify, third stage: ResNet-18 in PyTorch's DistributedDataParallel, two ranks on different leaves."""

from harness.failure import CannotMeasure
from harness.trainer import Trainer

TITLE = "training ResNet-18 (11.2 million parameters) on 2 hosts of different leaves, batches of 16 images a rank"


class _TwoHosts:
    """Hosts 0 and 2 of a network."""

    def __init__(self, network):
        self.hosts = [network.hosts[0], network.hosts[2]]
        self.address, self.device, self.inside = network.address, network.device, network.inside


def measure(network, _tools, arguments, skip):
    words = ["--steps", arguments.steps, "--measure", 0, "--warm-up", 1]
    results = {}
    for backend in ("heddle", "gloo"):
        try:
            results[backend] = Trainer(backend, words).run(_TwoHosts(network)).result
        except CannotMeasure as failure:
            skip(f"training over {backend}: {failure}")
    if "heddle" not in results:
        return
    mine = results["heddle"]
    row = {"stage": "training", "what": "ResNet-18, images a second", "heddle": f"{mine['images_per_s']:.1f}"}
    if "gloo" in results:
        theirs = results["gloo"]
        furthest = max(abs(a - b) for a, b in zip(mine["losses"], theirs["losses"]))
        row |= {"peer_name": "Gloo over TCP", "peer": f"{theirs['images_per_s']:.1f}",
                "ratio": mine["images_per_s"] / theirs["images_per_s"], "losses_differ_by": furthest,
                "wrong": furthest > 0.05}
    yield row
