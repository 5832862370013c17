"""One of two ranks of a PyTorch job that runs collectives, compares every element of their results, and measures them.

The launcher's variables are those of torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT). Rank 0 prints one JSON
document. Exit status: 0 also where results are wrong; their number is in the document.
"""

import argparse
import json
import time

import torch
import torch.distributed as dist

_FACTORS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
            "reduce_scatter": lambda n: (n - 1) / n, "all_to_all": lambda n: (n - 1) / n,
            "broadcast": lambda n: 1, "reduce": lambda n: 1, "send_recv": lambda n: 1}
_LEAST_RUNS, _MOST_RUNS, _WARM_UP = 3, 200, 2


class Group:
    def __init__(self, backend):
        self.device = torch.device("cuda:0" if backend == "nccl" else "cpu")
        dist.init_process_group(backend)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def settle(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def largest(self, value):
        """The largest of the ranks' values."""
        held = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(held, dist.ReduceOp.MAX)
        return held.item()


class Operation:
    """One collective over `count` float32 a rank. `result` is compared with what each rank can compute by itself:
    element i of rank r is (i + r) mod 1021, so that sums are exact.
    """

    def __init__(self, name, group, count):
        self._name, self._group, self._count = name, group, count
        self._input = self._of(group.rank, 0, count)
        self._output = torch.empty(self._outputs(), device=group.device)
        self._part = count // group.size

    def _of(self, rank, first, count):
        return ((torch.arange(first, first + count, device=self._group.device) + rank) % 1021).to(torch.float32)

    def _outputs(self):
        return {"all_gather": self._count, "reduce_scatter": self._count // self._group.size}.get(
            self._name, self._count)

    def run(self):
        name, rank, size = self._name, self._group.rank, self._group.size
        if name == "all_reduce":
            dist.all_reduce(self._output)
        elif name == "all_gather":
            dist.all_gather_into_tensor(self._output, self._input[:self._part])
        elif name == "reduce_scatter":
            dist.reduce_scatter_tensor(self._output, self._input)
        elif name == "all_to_all":
            dist.all_to_all_single(self._output, self._input)
        elif name == "broadcast":
            dist.broadcast(self._output, 0)
        elif name == "reduce":
            dist.reduce(self._output, 0)
        else:
            calls = [dist.P2POp(dist.isend, self._input, (rank + 1) % size),
                     dist.P2POp(dist.irecv, self._output, (rank - 1) % size)]
            for work in dist.batch_isend_irecv(calls):
                work.wait()

    def prepare(self):
        """What is in the output before a run whose result is compared."""
        if self._name in ("all_reduce", "broadcast", "reduce"):
            self._output.copy_(self._input)
        else:
            self._output.fill_(-1)

    def wrong(self):
        """The number of elements that are not what they must be."""
        rank, size, count, part = self._group.rank, self._group.size, self._count, self._part
        if self._name == "all_reduce" or (self._name == "reduce" and rank == 0):
            expected = sum(self._of(other, 0, count) for other in range(size))
        elif self._name == "reduce":
            return 0  # the other ranks' buffers are left undefined
        elif self._name == "all_gather":
            expected = torch.cat([self._of(other, 0, part) for other in range(size)])
        elif self._name == "reduce_scatter":
            expected = sum(self._of(other, rank * part, part) for other in range(size))
        elif self._name == "all_to_all":
            expected = torch.cat([self._of(other, rank * part, part) for other in range(size)])
        elif self._name == "broadcast":
            expected = self._of(0, 0, count)
        else:
            expected = self._of((rank - 1) % size, 0, count)
        return int((self._output != expected).sum().item())


def measure(name, group, size_bytes, budget_s):
    """Compares one result, then times as many runs as take about `budget_s`, at least three."""
    operation = Operation(name, group, size_bytes // 4)
    operation.prepare()
    operation.run()
    group.settle()
    wrong = operation.wrong()
    once = group.largest(_seconds(operation, group, _WARM_UP))
    runs = int(min(max(budget_s / max(once, 1e-6), _LEAST_RUNS), _MOST_RUNS))
    seconds = group.largest(_seconds(operation, group, runs))
    wrong = group.largest(wrong)
    bandwidth = size_bytes / seconds / 1e9
    return {"operation": name, "bytes": size_bytes, "seconds": seconds, "runs": runs, "wrong": int(wrong),
            "algorithm_gbytes_per_s": bandwidth, "bus_gbytes_per_s": bandwidth * _FACTORS[name](group.size)}


def _seconds(operation, group, runs):
    dist.barrier()
    group.settle()
    began = time.monotonic()
    for _ in range(runs):
        operation.run()
    group.settle()
    return (time.monotonic() - began) / runs


def train(group, steps, batch):
    """ResNet-50 on random images, the same for every network; returns the losses and the seconds of each step."""
    import torchvision
    torch.manual_seed(1)
    model = torchvision.models.resnet50().to(group.device)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator(device=group.device).manual_seed(100 + group.rank)
    losses, seconds = [], []
    for _ in range(steps):
        images = torch.randn(batch, 3, 224, 224, device=group.device, generator=generator)
        labels = torch.randint(1000, (batch,), device=group.device, generator=generator)
        group.settle()
        began = time.monotonic()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(parallel(images), labels)
        loss.backward()
        optimizer.step()
        group.settle()
        seconds.append(group.largest(time.monotonic() - began))
        losses.append(loss.item())
    return {"losses": losses, "seconds": seconds}


def endless(group, size_bytes):
    """All-reduces until a rank is lost."""
    held = torch.ones(size_bytes // 4, device=group.device)
    step = 0
    while True:
        dist.all_reduce(held)
        held.div_(group.size)
        group.settle()
        step += 1
        print(json.dumps({"step": step, "time": time.time()}), flush=True)


def describe(group):
    what = {"torch": torch.__version__, "backend": dist.get_backend()}
    if group.device.type == "cuda":
        what |= {"gpu": torch.cuda.get_device_name(0), "cuda": torch.version.cuda,
                 "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    return what


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="nccl")
    parser.add_argument("--operations", default=",".join(_FACTORS))
    parser.add_argument("--sizes", default="1048576", help="bytes, comma-separated; multiples of 8")
    parser.add_argument("--budget", type=float, default=0.2, metavar="SECONDS", help="of one timed point [0.2]")
    parser.add_argument("--train", type=int, default=0, metavar="STEPS", help="train, too")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--endless", type=int, default=0, metavar="BYTES", help="only this, until a rank is lost")
    options = parser.parse_args()
    group = Group(options.backend)
    if options.endless:
        endless(group, options.endless)
    document = {**describe(group), "points": [
        measure(name, group, int(size), options.budget)
        for name in options.operations.split(",") if name for size in options.sizes.split(",")]}
    if options.train:
        document["training"] = train(group, options.train, options.batch)
    if group.rank == 0:
        print(json.dumps(document), flush=True)
    dist.barrier()
    group.settle()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
