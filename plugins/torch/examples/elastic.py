#!/usr/bin/env python3
"""Trains an image classifier while ranks die and others come: heddle's PyTorch backend under `heddle run --elastic`.

    heddle run -n 4 --elastic 2:6 -- python3 elastic.py --steps 400 &
    kill -9 PID            # the "process" of one of the lines: three go on, and a newcomer joins them
    heddle resize 6        # two more join

The batch of all ranks together stays as it is, and each rank takes its part of it, so that the learning rate need not
change with the number of ranks. What a run loses with a rank is the step that was running: it is made again. Every
rank prints a line of JSON for each step, with the loss of the whole batch.
"""

import argparse
import json
import os
import sys
import time

import heddle_torch
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from train import cifar_images, made_images, make_model


class Batches:
    """The images of each step: the same whatever the number of ranks is."""

    def __init__(self, images, labels, size, seed):
        self._images, self._labels, self._seed = images, labels, seed
        self.size = size

    def part(self, step):
        """This rank's part of the batch."""
        epoch, at = divmod(step, len(self._labels) // self.size)
        order = torch.randperm(len(self._labels), generator=torch.Generator().manual_seed(1000 * self._seed + epoch))
        picked = order[at * self.size:(at + 1) * self.size][dist.get_rank()::dist.get_world_size()]
        return self._images[picked], self._labels[picked]


def share_state(optimizer, step):
    """All ranks continue from the step and the optimizer's state of rank 0, as they do from its model. `step`: None
    where this process has joined and has no state yet.
    """
    shared = [step, optimizer.state_dict()]
    dist.broadcast_object_list(shared, src=0)
    if shared[0] is None:
        raise RuntimeError("all ranks with the model's state are lost: start again from a checkpoint")
    optimizer.load_state_dict(shared[1])
    return shared[0]


def report(**values):
    print(json.dumps({"time": time.time(), "process": os.getpid(), "rank": dist.get_rank(),
                      "size": dist.get_world_size(), **values}), flush=True)


class Training:
    def __init__(self, options, joins):
        torch.manual_seed(options.seed)
        self._options = options
        self._model = make_model(options.model)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=options.lr, momentum=0.9)
        images, labels = cifar_images(options.cifar) if options.cifar else made_images(2048, options.seed)
        self._batches = Batches(images, labels, options.batch, options.seed)
        self._parallel = None  # the model in the group as it is now
        self._step = None if joins else 0

    def run(self):
        while self._step is None or self._step < self._options.steps:
            try:
                self._make_step()
            except RuntimeError:
                if heddle_torch.get_error() is None:
                    raise  # another error than the group's
                self._parallel = None
                heddle_torch.reconfigure()

    def _make_step(self):
        # A newcomer begins where the others are after grow(): with the state of rank 0.
        grows = self._parallel is not None and self._step % self._options.grow_every == 0
        if self._parallel is None or (grows and heddle_torch.grow()):
            self._parallel = DistributedDataParallel(self._model)  # broadcasts rank 0's model
            self._step = share_state(self._optimizer, self._step)
        loss = self._learn(*self._batches.part(self._step))
        self._step += 1
        report(step=self._step, loss=round(loss, 4))

    def _learn(self, images, labels):
        """One step; the mean loss over the whole batch."""
        self._optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self._parallel(images), labels, reduction="sum") / self._batches.size
        (loss * dist.get_world_size()).backward()  # DistributedDataParallel divides by the number of ranks
        whole = loss.detach().clone()
        dist.all_reduce(whole)
        self._optimizer.step()
        return whole.item()


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet18", help="small, or a model of torchvision [resnet18]")
    parser.add_argument("--cifar", metavar="DIR", help="folder with CIFAR-10's data_batch_*.bin")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=48, help="images of all ranks together a step [48]")
    parser.add_argument("--lr", type=float, default=0.02, help="learning rate [0.02]")
    parser.add_argument("--grow-every", type=int, default=5, metavar="N", help="steps between looks for newcomers [5]")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    torch.set_num_threads(1)
    joins = heddle_torch.init()
    Training(options, joins).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
