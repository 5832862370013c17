"""The average of a tensor over all ranks, by PyTorch with the backend "heddle".

    make torch
    PYTHONPATH=build/release/python heddle run -n 4 -- python3 examples/all_reduce.py
"""

import heddle_torch  # registers the backend
import torch
import torch.distributed as dist

dist.init_process_group("heddle")
rank, size = dist.get_rank(), dist.get_world_size()

for step in range(3):
    heddle_torch.mark("step", step)  # recordings show it
    gradient = torch.full((1_000_000,), float(rank))
    work = dist.all_reduce(gradient, dist.ReduceOp.AVG, async_op=True)
    # Compute here: the data moves meanwhile.
    work.wait()

if rank == 0:
    print(f"average of {size} ranks: {gradient[0]:.1f}")
dist.destroy_process_group()
