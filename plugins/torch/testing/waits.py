"""Run by each of two ranks of waits_test.py: jobs of DistributedDataParallel and of plain calls, each recorded in a
folder of its own, and how long this rank's caller was blocked by its own count. Prints "passed NAME" a job on rank 0.

    waits.py FOLDER     FOLDER/NAME is a job's recording, FOLDER/NAME.RANK.json what the rank counted
"""

import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

import heddle_torch  # noqa: F401  registers the backend

STEPS, LATE_S = 20, 0.05


def blocked_ns():
    """Of this thread since its start: neither on a core nor waiting for one."""
    ran, waited = pathlib.Path("/proc/thread-self/schedstat").read_text().split()[:2]
    return time.monotonic_ns() - int(ran) - int(waited)


class Counted:
    """The time in which the caller is blocked inside `with`."""

    def __init__(self):
        self.blocked_ns = 0

    def __enter__(self):
        self.began = blocked_ns()

    def __exit__(self, *_):
        self.blocked_ns += blocked_ns() - self.began


class Late(nn.Module):
    """Rank 1 comes late to its backward pass."""

    def forward(self, x):
        if dist.get_rank() == 1:
            time.sleep(LATE_S)
        return x


def train(counted, group, layers, width, batch, hook=None):
    layers = [layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.Tanh())]
    with counted:
        model = nn.parallel.DistributedDataParallel(nn.Sequential(Late(), *layers), process_group=group,
                                                    bucket_cap_mb=2)
    if hook:
        model.register_comm_hook(group, hook)
    for _ in range(STEPS):
        loss = model(torch.ones(batch, width)).sum()
        with counted:
            loss.backward()


def late_rank(counted, group):
    train(counted, group, layers=2, width=64, batch=4)


def late_rank_and_futures_of_futures(counted, group):
    train(counted, group, layers=2, width=64, batch=4, hook=default_hooks.fp16_compress_hook)


def overlapped(counted, group):
    """Several buckets, which are summed while others are computed."""
    train(counted, group, layers=8, width=512, batch=32)


def computing(_counted, group):
    """The caller computes, with threads, while its calls wait for the other rank."""
    torch.set_num_threads(2)
    matrix = torch.ones(400, 400)
    for _ in range(STEPS):
        if dist.get_rank() == 1:
            time.sleep(LATE_S)
        work = dist.all_reduce(torch.ones(100), group=group, async_op=True)
        future = work.get_future()
        while not future.done():
            matrix @ matrix
    torch.set_num_threads(1)


def asleep_elsewhere(_counted, group):
    """The caller sleeps, but not for its calls."""
    for _ in range(STEPS):
        late = dist.get_rank() == 1
        time.sleep(LATE_S if late else 0)
        future = dist.all_reduce(torch.ones(100), group=group, async_op=True).get_future()
        while not future.done():
            time.sleep(0.001)


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    dist.init_process_group("heddle")
    rank = dist.get_rank()
    for job in (late_rank, late_rank_and_futures_of_futures, overlapped, computing, asleep_elsewhere):
        os.environ["HEDDLE_RECORD"] = str(folder / job.__name__)
        group = dist.new_group(backend="heddle")
        os.environ["HEDDLE_RECORD"] = ""
        counted = Counted()
        dist.barrier()
        job(counted, group)
        (folder / f"{job.__name__}.{rank}.json").write_text(json.dumps({"blocked_ns": counted.blocked_ns}))
        dist.destroy_process_group(group)
        if rank == 0:
            print("passed", job.__name__, flush=True)
    dist.barrier()


if __name__ == "__main__":
    main()
