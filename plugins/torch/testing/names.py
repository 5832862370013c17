"""Run by four ranks of backend_test.py where torch is 2.14 or newer: what its Backend calls by names of its own.
Rank 3 is killed, and rank 1 left out. Prints "passed NAME" a part on rank 0.
"""

import datetime
import os
import signal

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

import heddle_torch  # noqa: F401  registers the backend
from expected import expect_error

ERRORS = torch._C._distributed_c10d.ErrorType
CPU = torch.device("cpu")


def passed(name):
    if dist.get_rank() == 0:
        print("passed", name, flush=True)


def sum_of_ones(group):
    """The same by a group of torch's, or a backend."""
    tensor = torch.ones(10)
    group.allreduce([tensor]).wait()
    return tensor[0].item()


def coalesced(size, rank):
    outputs = [torch.empty(2 * size), torch.empty(size)]
    with distributed_c10d._coalescing_manager():
        for output in outputs:
            dist.all_gather_into_tensor(output, torch.full((output.numel() // size,), float(rank)))
    assert outputs[0].tolist() == [float(each // 2) for each in range(2 * size)], outputs
    sums = [torch.empty(1), torch.empty(2)]
    with distributed_c10d._coalescing_manager():
        for output in sums:
            dist.reduce_scatter_tensor(output, torch.arange(float(size * output.numel())))
    assert [each.tolist() for each in sums] == [[size * rank], [size * 2 * rank, size * (2 * rank + 1)]], sums
    passed("coalesced")


def split(backend, store, rank):
    assert backend.supports_splitting
    part = backend.split(dist.PrefixStore("split", store), [2, 0], backend.options)
    if rank in (0, 2):
        assert (part.rank(), part.size(), sum_of_ones(part)) == (1 - rank // 2, 2, 2)
        assert part.get_error() == ERRORS.SUCCESS
        part.shutdown()
        expect_error("has left", lambda: sum_of_ones(part))
    else:
        assert part is None
    passed("split")


def times(rank, size, store):
    group = dist.new_group()
    backend = group._get_backend(CPU)
    backend.set_timeout(datetime.timedelta(seconds=4))
    assert sum_of_ones(group) == dist.get_world_size()
    dist.barrier()
    if rank == 1:
        store.wait([f"timed out/{other}" for other in range(size) if other != rank])
    expect_error("Timed out" if rank != 1 else "", lambda: sum_of_ones(group))
    store.set(f"timed out/{rank}", "1")
    assert backend.get_error() == ERRORS.TIMEOUT, backend.get_error()
    dist.barrier()
    passed("times")


def aborted():
    group = dist.new_group()
    assert sum_of_ones(group) == dist.get_world_size()
    dist.barrier()
    group.abort()
    expect_error("", lambda: sum_of_ones(group))
    assert group._get_backend(CPU).get_error() != ERRORS.SUCCESS
    passed("aborted")


def lose(backend, rank):
    if rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    expect_error("rank 3", lambda: sum_of_ones(dist.group.WORLD))
    assert backend.get_error() == ERRORS.REMOTE_ERROR, backend.get_error()
    passed("lose")


def shrink(rank, store):
    """Rank 3 is lost, rank 1 is left out; of four, half with rank 0 go on."""
    if rank == 1:
        store.wait(["shrunk"])
        return
    left = dist.shrink_group([1, 3])
    assert (left.rank(), left.size(), sum_of_ones(left)) == (rank // 2, 2, 2)
    if rank == 0:
        print("passed shrink", flush=True)
        store.set("shrunk", "1")


def main():
    torch.set_num_threads(1)
    store, rank, size = next(dist.rendezvous("env://"))
    dist.init_process_group("heddle", store=dist.PrefixStore("group", store), rank=rank, world_size=size)
    backend = dist.group.WORLD._get_backend(CPU)
    assert backend.get_error() == ERRORS.SUCCESS
    assert sum_of_ones(dist.group.WORLD) == size
    coalesced(size, rank)
    split(backend, store, rank)
    times(rank, size, store)
    aborted()
    lose(backend, rank)
    shrink(rank, store)


if __name__ == "__main__":
    main()
