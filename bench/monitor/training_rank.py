"""A rank of a training in PyTorch over heddle: a data loader with two batches ahead, a network whose gradients DDP
sums, and a checkpoint of each rank every two steps. A pause takes the place of a GPU's computation, so four ranks need
little of two cores.

`python3 training_rank.py FOLDER`. A file FOLDER/slow_loader.RANK that appears makes that rank's loader sleep. Where
there is a file FOLDER/waits.RANK, the rank writes its process id to FOLDER/pid.RANK and goes on when that file is gone.
"""

import argparse
import mmap
import os
import pathlib
import queue
import threading
import time

import heddle_torch
import torch
import torch.distributed as dist

_GPU_S = 0.03              # of a step
_BATCH, _AHEAD = 16, 2
_STATE_MIB = 4             # of a rank beside the network: all of it is used in each step
_CHECKPOINT_STEPS, _CHECKPOINT_BYTES = 2, 256 << 10
_SLEEP_S = 0.3             # of a slow loader, for a batch
_PAGE = 4096


def wait_while_there(file, pid_file):
    """A control group must hold a process before it uses memory."""
    if file.exists():
        pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")
    while file.exists():
        time.sleep(0.01)


class Loader(threading.Thread):
    def __init__(self, slow):
        super().__init__(daemon=True)
        self._slow, self._batches = slow, queue.Queue(_AHEAD)

    def run(self):
        generator = torch.Generator().manual_seed(dist.get_rank())
        while True:
            if self._slow.exists():
                time.sleep(_SLEEP_S)
            labels = torch.randint(0, 10, (_BATCH,), generator=generator)
            self._batches.put((torch.randn(_BATCH, 3, 32, 32, generator=generator), labels))

    def next(self):
        return self._batches.get()


class Checkpoint:
    """Written past the page cache: with it a slow disk would be seen minutes later."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
        self._bytes = mmap.mmap(-1, _CHECKPOINT_BYTES)

    def save(self):
        os.pwrite(self._file, self._bytes, 0)


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.Flatten(),
                               torch.nn.Linear(16 * 14 * 14, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    torch.set_num_threads(1)
    heddle_torch.init()
    rank = dist.get_rank()
    wait_while_there(folder / f"waits.{rank}", folder / f"pid.{rank}")
    loader = Loader(folder / f"slow_loader.{rank}")
    loader.start()
    checkpoint = Checkpoint(folder / f"checkpoint.{rank}")
    state = mmap.mmap(-1, _STATE_MIB << 20)
    model = torch.nn.parallel.DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    step = 0
    while True:
        heddle_torch.mark("step", step)
        images, labels = loader.next()
        time.sleep(_GPU_S)
        state[::_PAGE] = bytes(len(state) // _PAGE)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        step += 1
        if step % _CHECKPOINT_STEPS == 0:
            checkpoint.save()


if __name__ == "__main__":
    main()
