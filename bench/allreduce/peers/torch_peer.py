"""A collective by PyTorch's Gloo, timed: torch_peer.py TEST BYTES:CALLS… with RANK, WORLD_SIZE, MASTER_ADDR
and MASTER_PORT in the environment. Rank 0 prints [{"bytes": …, "us": …}, …]: the mean over calls and ranks,
in place.
"""

import json
import sys
import time

import torch
import torch.distributed as dist


def main():
    test, *groups = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ranks = dist.get_world_size()
    results = []
    for group in groups:
        size, calls = map(int, group.split(":"))
        data = torch.zeros(size // 4)
        other = torch.zeros(size // 4)

        def call():
            if test == "allreduce":
                dist.all_reduce(data)
            else:
                dist.all_to_all_single(other, data)

        for _ in range(1 + calls // 10):
            call()
        dist.barrier()
        began = time.perf_counter()
        for _ in range(calls):
            call()
        took = torch.tensor([(time.perf_counter() - began) / calls])
        dist.all_reduce(took)
        results.append({"bytes": size, "us": took.item() / ranks * 1e6})
    if dist.get_rank() == 0:
        print(json.dumps(results))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
