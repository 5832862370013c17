"""Run by three ranks of backend_test.py where torch reconfigures groups by handles (since 2.14): a group without
members gets them, in either order, goes on without one, takes it in again, and names one that does not come. Handles
and uuids travel in a store of rank 0. Prints "passed handles" on rank 0.
"""

import datetime
import os

import torch
import torch.distributed as dist

import heddle_torch  # noqa: F401  registers the backend
from expected import expect_error

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def sum_of_ones():
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    return tensor[0].item()


class Job:
    """The default group, and where its members find each other's handles."""

    def __init__(self):
        self.store, rank, size = next(dist.rendezvous("env://"))
        dist.init_process_group("heddle", store=dist.PrefixStore("group", self.store), rank=rank, world_size=size,
                                enable_reconfigure=True)
        self.group = dist.group.WORLD

    def handles(self, turn, ranks):
        self.store.set(f"{turn}/{RANK}", self.group.get_reconfigure_handle())
        return [self.store.get(f"{turn}/{each}").decode() for each in ranks]

    def reconfigure(self, uuid, handles, seconds=60):
        dist.distributed_c10d._reconfigure(uuid, handles, timeout=datetime.timedelta(seconds=seconds)).wait()

    def meet(self, name):
        self.store.set(f"{name}/{RANK}", "here")
        self.store.wait([f"{name}/{each}" for each in range(SIZE)])


def main():
    torch.set_num_threads(1)
    job = Job()
    assert dist.distributed_c10d._supports_reconfigure()
    expect_error("no members yet", sum_of_ones)
    job.reconfigure(1, job.handles(1, range(SIZE)))
    assert (job.group.rank(), job.group.size(), sum_of_ones()) == (RANK, SIZE, SIZE)
    job.reconfigure(2, job.handles(2, reversed(range(SIZE))))
    assert (job.group.rank(), sum_of_ones()) == (SIZE - 1 - RANK, SIZE)
    if RANK != SIZE - 1:  # a set: in the order that they had
        handles = set(job.handles(3, range(SIZE - 1)))
        job.reconfigure(3, handles)
        assert (job.group.rank(), job.group.size(), sum_of_ones()) == (SIZE - 2 - RANK, SIZE - 1, SIZE - 1)
        expect_error("used before", lambda: job.reconfigure(3, handles))
    job.meet("all again")
    handles = job.handles(4, range(SIZE))
    expect_error("not among them", lambda: job.reconfigure(4, [each for each in handles if each != handles[RANK]]))
    job.reconfigure(4, handles)
    assert sum_of_ones() == SIZE
    handles = job.handles(5, range(SIZE))
    if RANK != 1:
        expect_error("Timed out", lambda: job.reconfigure(5, handles, seconds=5))
        assert heddle_torch.get_error() is not None
    job.meet("the end")
    dist.destroy_process_group()
    if RANK == 0:
        print("passed handles", flush=True)


if __name__ == "__main__":
    main()
