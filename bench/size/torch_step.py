"""Steps of data parallel training over heddle: torch_step.py MODEL STEPS. Rank 0 prints the model's parameters.

Run by `bench/run size traffic` on each rank; MODEL is one of torchvision's.
"""

import sys

import heddle_torch  # noqa: F401: registers the backend
import torch
import torch.distributed as dist
import torchvision

torch.set_num_threads(1)
dist.init_process_group("heddle")
torch.manual_seed(1)
model = getattr(torchvision.models, sys.argv[1])(num_classes=10)
parallel = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
for _ in range(int(sys.argv[2])):
    parallel(torch.randn(2, 3, 32, 32)).sum().backward()
if dist.get_rank() == 0:
    print(sum(each.numel() for each in model.parameters()))
dist.destroy_process_group()
