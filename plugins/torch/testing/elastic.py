"""Run by three ranks of backend_test.py under `heddle run --elastic 2`, one part a run:

    elastic.py store    rank 0 is lost, with which torch's own store would go; the others make groups in the run's
    elastic.py again    groups that are destroyed and made again meet by their own keys of the same file

Prints "passed NAME" on the lowest rank that is left.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist

import heddle_torch


def sum_of_ones(group=None):
    tensor = torch.ones(1000)
    dist.all_reduce(tensor, group=group)
    return tensor[0].item()


def lose_rank_0():
    if dist.get_rank() == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        for _ in range(1000):
            sum_of_ones()
    except RuntimeError:
        assert heddle_torch.get_error() is not None
        heddle_torch.reconfigure()


def store():
    assert os.environ["HEDDLE_ELASTIC"] == "2"
    dist.init_process_group("heddle", init_method="heddle://")
    assert sum_of_ones() == 3
    lose_rank_0()
    assert dist.get_world_size() == 2
    assert sum_of_ones() == 2
    assert sum_of_ones(dist.new_group()) == 2


def again():
    for _ in range(3):
        dist.init_process_group("heddle", init_method="heddle://")
        assert sum_of_ones() == 3
        dist.destroy_process_group()
    dist.init_process_group("heddle", init_method="heddle://")
    assert sum_of_ones() == 3


def main(name):
    torch.set_num_threads(1)
    {"store": store, "again": again}[name]()
    if dist.get_rank() == 0:
        print("passed", name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
