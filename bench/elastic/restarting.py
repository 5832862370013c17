"""The peer of examples/elastic.py: the same model and data over Gloo or heddle, started by torchelastic, which starts
all ranks again when one is lost. Rank 0 writes a checkpoint after every CHECKPOINT steps, and all ranks begin with it.

Appends the lines of examples/elastic.py to FOLDER/steps, one of JSON for each step: those that torchelastic passes on
from several ranks run into each other.
"""

import argparse
import json
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))


def samples_of(step, rank):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(32, 64, generator=generator)
    return inputs, inputs[:, :10].argmax(dim=1)


class Checkpoint:
    def __init__(self, path):
        self._path = path

    def save(self, step, model, optimizer):
        new = self._path.with_suffix(".new")
        torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, new)
        new.replace(self._path)

    def load(self, model, optimizer):
        """The step it was saved after; 0 where there is none."""
        if not self._path.exists():
            return 0
        saved = torch.load(self._path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        return saved["step"]


def train(checkpoint, every, steps):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = checkpoint.load(model, optimizer)
    parallel = DistributedDataParallel(model)
    while True:
        inputs, labels = samples_of(step, dist.get_rank())
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(parallel(inputs), labels)
        loss.backward()
        optimizer.step()
        step += 1
        if dist.get_rank() == 0 and step % every == 0:
            checkpoint.save(step, model, optimizer)
        line = json.dumps({"time": time.time(), "process": os.getpid(), "rank": dist.get_rank(),
                           "size": dist.get_world_size(), "step": step, "loss": round(loss.item(), 4)})
        os.write(steps, f"{line}\n".encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--backend", choices=["gloo", "heddle"], default="gloo")
    parser.add_argument("--checkpoint", type=int, default=1, help="steps from one to the next [1]")
    options = parser.parse_args()
    if options.backend == "heddle":
        import heddle_torch  # registers the backend
    dist.init_process_group(options.backend)
    steps = os.open(options.folder / "steps", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    train(Checkpoint(options.folder / "checkpoint"), options.checkpoint, steps)


if __name__ == "__main__":
    main()
