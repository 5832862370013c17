#!/usr/bin/env python3
"""Trains an image classifier under DistributedDataParallel, over heddle or Gloo, and says where the time
of a step goes: computing alone, communicating alone, and both overlapped as in training.

    heddle run -n 2 -- python3 train.py --backend heddle --model resnet18 --steps 20
    heddle run -n 4 -- python3 -m heddle_torch.train --cifar cifar-10-batches-bin --json

Images are CIFAR-10's binary files where --cifar names their folder, and otherwise made here: ten classes of
coloured stripes with noise, which a small network learns in some steps. The same seed gives the same
losses with either backend, within what the order of sums makes of floats. Weights are random unless --weights
names a file of them, as torchvision's pretrained ones: its last layer is left out where it has other classes.
"""

import argparse
import json
import os
import pathlib
import pickle
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

CLASSES = 10


def made_images(count, seed):
    """Ten classes of stripes in noise, which differ in direction and color."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (count,), generator=generator)
    rows = torch.arange(32).view(1, 1, 32, 1) / 32
    columns = torch.arange(32).view(1, 1, 1, 32) / 32
    kind = labels.view(-1, 1, 1, 1)
    angle = kind * (torch.pi / CLASSES)
    waves = torch.sin(2 * torch.pi * 4 * (rows * torch.cos(angle) + columns * torch.sin(angle)))
    colour = torch.cos(kind + torch.arange(3).view(1, 3, 1, 1) * 2.1)
    return waves * colour + 0.5 * torch.randn(count, 3, 32, 32, generator=generator), labels


def cifar_images(folder):
    """The five training files of CIFAR-10's binary version: a byte of label, 3072 of pixels."""
    files = sorted(pathlib.Path(folder).glob("data_batch_*.bin"))
    if not files:
        sys.exit(f"error: cannot read CIFAR-10: no data_batch_*.bin in {folder} "
                 "(unpack the binary version there, or leave out --cifar)")
    raw = torch.cat([torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.uint8) for file in files])
    rows = raw.view(-1, 3073)
    return rows[:, 1:].view(-1, 3, 32, 32).float() / 127.5 - 1, rows[:, 0].long()


def load_weights(model, path):
    """All layers of the file; the last one may be of other classes, and is then left out."""
    own = model.state_dict()
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
        fitting = {name: each for name, each in weights.items() if name in own and each.shape == own[name].shape}
    except (OSError, EOFError, RuntimeError, AttributeError, ValueError, pickle.UnpicklingError) as failure:
        why = str(failure) or "it is empty"
        if isinstance(failure, pickle.UnpicklingError):
            why = "it is no file of tensors alone"
        sys.exit(f"error: cannot read weights from {path}: {why} (give a file that torch.save made of a state_dict)")
    missing = [name for name in own if name not in fitting]
    if len(missing) > 2:  # weight and bias of the last layer
        sys.exit(f"error: {path} lacks {len(missing)} of the model's {len(own)} tensors, as {missing[0]} (give weights "
                 "of the same model)")
    model.load_state_dict(fitting, strict=False)


def make_model(name):
    if name == "small":
        return nn.Sequential(nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                             nn.Flatten(), nn.Linear(32 * 6 * 6, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    try:
        import torchvision
    except ImportError:
        sys.exit(f"error: there is no torchvision, which has the model {name} (install python3-torchvision, or take "
                 "--model small)")
    return getattr(torchvision.models, name)(num_classes=CLASSES)


def timed(run, steps, warm_up):
    """Seconds that a step takes on the slowest rank, and what the last step gave."""
    result = None
    for step in range(warm_up + steps):
        if step == warm_up:
            dist.barrier()
            began = time.perf_counter()
        result = run(step)
    taken = torch.tensor((time.perf_counter() - began) / steps, dtype=torch.float64)
    dist.all_reduce(taken, dist.ReduceOp.MAX)
    return float(taken), result


class Waits:
    """A hook of DDP that sums as DDP does, and counts for how long the caller is blocked in wait: from the
    end of its own gradients until the last sum has come. It waits itself, as DDP would, so that it can count. Sums in
    `group`, None: the one of all ranks."""

    def __init__(self):
        self.group = None
        self.last_ready = 0.0
        self.blocked = 0.0
        self.bytes = 0
        self.works = []

    def sum(self, _, bucket):
        buffer = bucket.buffer()
        self.bytes += buffer.numel() * buffer.element_size()
        buffer.div_(dist.get_world_size())
        work = dist.all_reduce(buffer, group=self.group, async_op=True)
        future = work.get_future().then(lambda done: done.value()[0])
        self.works.append(work)
        if bucket.is_last():
            self.last_ready = time.perf_counter()
            for each in self.works:
                each.wait()
            self.works.clear()
        return future

    def step_over(self):
        self.blocked += time.perf_counter() - self.last_ready


class Training:
    def __init__(self, options, mark):
        self.options = options
        self.mark = mark
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        torch.manual_seed(options.seed)
        self.plain = make_model(options.model)
        if options.weights:
            load_weights(self.plain, options.weights)
        self.waits = Waits()
        self.model = nn.parallel.DistributedDataParallel(self.plain, bucket_cap_mb=options.bucket_mb)
        self.model.register_comm_hook(None, self.waits.sum)
        self.optimizer = torch.optim.SGD(self.plain.parameters(), lr=options.lr, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()
        if options.cifar:
            self.images, self.labels = cifar_images(options.cifar)
        else:
            self.images, self.labels = made_images(2048, options.seed)
        self.order = torch.randperm(len(self.labels), generator=torch.Generator().manual_seed(options.seed))

    def batch(self, step):
        """Each rank's own part of the step's images."""
        first = (step * self.size + self.rank) * self.options.batch
        picked = self.order[torch.arange(first, first + self.options.batch) % len(self.order)]
        return self.images[picked], self.labels[picked]

    def step(self, step):
        images, labels = self.batch(step)
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.loss(self.model(images), labels)
        loss.backward()
        self.waits.step_over()
        self.optimizer.step()
        return loss.detach()

    def train(self):
        losses = []

        def run(step):
            steady = step - self.options.warm_up
            self.mark("step" if steady >= 0 else "warm-up", steady if steady >= 0 else step)
            mean = self.step(step).clone()
            dist.all_reduce(mean, dist.ReduceOp.SUM)
            losses.append(float(mean) / self.size)

        taken, _ = timed(run, self.options.steps, self.options.warm_up)
        return taken, losses

    def compute_alone(self, step):
        images, labels = self.batch(step)
        self.loss(self.plain(images), labels).backward()

    def communicate_alone(self, gradients):
        for work in [dist.all_reduce(each, async_op=True) for each in gradients]:
            work.wait()

    def split(self):
        """Seconds of a step: computing alone, communicating alone, both overlapped, and of these blocked."""
        options = self.options
        compute, _ = timed(self.compute_alone, options.measure, 1)
        size = int(options.bucket_mb * (1 << 20)) // 4
        flat = torch.cat([each.detach().reshape(-1) for each in self.plain.parameters()])
        communicate, _ = timed(lambda _: self.communicate_alone(flat.split(size)), options.measure, 1)
        self.waits.blocked = 0.0
        overlapped, _ = timed(self.step, options.measure, 0)
        return {"compute_s": compute, "communicate_s": communicate, "overlapped_s": overlapped,
                "exposed_s": self.waits.blocked / options.measure}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--backend", choices=["heddle", "gloo"], default="heddle")
    parser.add_argument("--model", default="resnet18", help="small, or a model of torchvision [resnet18]")
    parser.add_argument("--cifar", metavar="DIR", help="folder with CIFAR-10's data_batch_*.bin")
    parser.add_argument("--weights", metavar="FILE", help="begin with these weights, as torch.save wrote them")
    parser.add_argument("--steps", type=int, default=20, help="steps of training [20]")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before them that are not timed [2]")
    parser.add_argument("--measure", type=int, default=5, help="steps of each part of the split, 0: none [5]")
    parser.add_argument("--batch", type=int, default=16, help="images a rank and step [16]")
    parser.add_argument("--lr", type=float, default=0.02, help="learning rate [0.02]")
    parser.add_argument("--bucket-mb", type=float, default=25, help="gradients summed at once, in MiB [25]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON document on rank 0's standard output")
    return parser.parse_args(arguments)


def report(result):
    print(f"{result['model']}, {result['ranks']} ranks, {result['backend']}, {result['data']}")
    print(f"loss {result['losses'][0]:.4f} -> {result['losses'][-1]:.4f} in {len(result['losses'])} steps")
    print(f"{result['images_per_s']:.1f} images/s")
    if "split" in result:
        milliseconds = {name: 1000 * value for name, value in result["split"].items()}
        print("a step: computation alone {compute_s:.1f} ms, communication alone {communicate_s:.1f} ms, "
              "both overlapped {overlapped_s:.1f} ms, of which {exposed_s:.1f} ms blocked in wait"
              .format(**milliseconds))


def main(arguments):
    options = parse(arguments)
    mark = lambda phase, step=0: None
    if options.backend == "heddle":
        import heddle_torch  # registers the backend
        mark = heddle_torch.mark
    torch.set_num_threads(1)
    dist.init_process_group(options.backend)
    mark("start-up")
    training = Training(options, mark)
    if training.rank == 0 and not options.cifar:
        print("no --cifar: training on images made here", file=sys.stderr)
    taken, losses = training.train()
    result = {"backend": options.backend, "model": options.model, "ranks": training.size,
              "data": "CIFAR-10" if options.cifar else "made images", "weights": options.weights or "",
              "batch_per_rank": options.batch,
              "losses": losses, "step_s": taken,
              "images_per_s": options.batch * training.size / taken,
              "parameters": sum(each.numel() for each in training.plain.parameters())}
    mark("measure")
    if options.measure > 0:
        result["split"] = training.split()
    if training.rank == 0:
        print(json.dumps(result)) if options.json else report(result)
    dist.barrier()
    if options.backend == "gloo":
        # Its destructor in PyTorch 1.13 waits for ever for a thread of its own when another rank ends first.
        sys.stdout.flush()
        os._exit(0)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
