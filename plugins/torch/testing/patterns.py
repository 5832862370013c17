"""Run by each rank of backend_test.py: how sharded training and pipelines use a process group, each beside the
same computation by one rank alone. Prints "passed NAME" a part on rank 0.
"""

import torch
import torch.distributed as dist
from torch import nn

import heddle_torch  # noqa: F401  registers the backend

LAYERS, WIDTH, STEPS = 3, 24, 4


def make_layers():
    torch.manual_seed(5)
    return [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]


def batch(step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(8, WIDTH, generator=generator), torch.randn(8, WIDTH, generator=generator)


def flat_of(layer):
    return torch.cat([each.detach().reshape(-1) for each in layer.parameters()])


def fill(layer, flat):
    at = 0
    for each in layer.parameters():
        each.data.copy_(flat[at:at + each.numel()].view_as(each))
        at += each.numel()


def alone(size, rate):
    """The same training by one rank: the mean of the gradients of all ranks' batches."""
    layers = make_layers()
    for step in range(STEPS):
        for layer in layers:
            layer.zero_grad()
        for rank in range(size):
            x, y = batch(step, rank)
            for layer in layers:
                x = torch.tanh(layer(x))
            ((x - y)**2).mean().div(size).backward()
        for layer in layers:
            for each in layer.parameters():
                each.data -= rate * each.grad
    return [flat_of(layer) for layer in layers]


def sharded(rate=0.3):
    """Each rank keeps a part of each layer: all-gather before its use, reduce-scatter of its gradient."""
    rank, size = dist.get_rank(), dist.get_world_size()
    layers = make_layers()
    padded = [nn.functional.pad(flat_of(layer), (0, -flat_of(layer).numel() % size)) for layer in layers]
    shards = [flat.chunk(size)[rank].clone() for flat in padded]
    for step in range(STEPS):
        # The next layer's parameters come while this one computes.
        wholes = [torch.empty(size * shard.numel()) for shard in shards]
        coming = [dist._all_gather_base(whole, shard, async_op=True) for whole, shard in zip(wholes, shards)]
        x, y = batch(step, rank)
        for layer, work, whole in zip(layers, coming, wholes):
            work.wait()
            fill(layer, whole)
            layer.zero_grad()
            x = torch.tanh(layer(x))
        ((x - y)**2).mean().backward()
        leaving = []
        for layer, shard in zip(reversed(layers), reversed(shards)):
            flat = torch.cat([each.grad.reshape(-1) for each in layer.parameters()])
            gradient = torch.empty_like(shard)
            work = dist._reduce_scatter_base(gradient, nn.functional.pad(flat, (0, -flat.numel() % size)),
                                             async_op=True)
            leaving.append((work, shard, gradient))
        for work, shard, gradient in leaving:
            work.wait()
            shard -= rate * gradient / size
    for shard, right in zip(shards, alone(size, rate)):
        whole = torch.empty(size * shard.numel())
        dist._all_gather_base(whole, shard)
        torch.testing.assert_close(whole[:right.numel()], right)


def pipeline(micro_batches=4):
    """A layer a rank: activations go down by send and recv, gradients come up, several micro-batches at once."""
    rank, size = dist.get_rank(), dist.get_world_size()
    layers = make_layers()[:size]
    mine = layers[rank]
    inputs = [batch(each, 0)[0] for each in range(micro_batches)]
    kept, sends = [], []
    for each in range(micro_batches):
        x = inputs[each] if rank == 0 else torch.empty(8, WIDTH)
        if rank > 0:
            dist.recv(x, rank - 1, tag=each)
        x.requires_grad_(True)
        y = torch.tanh(mine(x))
        kept.append((x, y))
        if rank < size - 1:
            sends.append((dist.isend(y.detach(), rank + 1, tag=each), y))
    for each, (x, y) in enumerate(kept):
        gradient = torch.ones_like(y)
        if rank < size - 1:
            dist.recv(gradient, rank + 1, tag=micro_batches + each)
        y.backward(gradient)
        if rank > 0:
            sends.append((dist.isend(x.grad, rank - 1, tag=micro_batches + each), x))
    for work, _ in sends:
        work.wait()
    right = make_layers()[:size]
    for x in inputs:
        for layer in right:
            x = torch.tanh(layer(x))
        x.sum().backward()
    for got, wanted in zip(mine.parameters(), right[rank].parameters()):
        torch.testing.assert_close(got.grad, wanted.grad)


def sparse_embedding():
    """DistributedDataParallel with gradients that are sparse, which each rank's batch makes differently."""
    def made():
        torch.manual_seed(7)
        return nn.Sequential(nn.Embedding(20, 4, sparse=True), nn.Linear(4, 1))

    def words(rank):
        return torch.arange(rank + 3) * (rank + 1) % 20

    rank, size = dist.get_rank(), dist.get_world_size()
    ours, alone = nn.parallel.DistributedDataParallel(made()), made()
    ours(words(rank)).sum().backward()
    for each in range(size):
        alone(words(each)).sum().div(size).backward()
    for mine, right in zip(ours.module.parameters(), alone.parameters()):
        torch.testing.assert_close(mine.grad.to_dense(), right.grad.to_dense())


def main():
    torch.set_num_threads(1)
    dist.init_process_group("heddle")
    for part in (sharded, pipeline, sparse_embedding):
        part()
        dist.barrier()
        if dist.get_rank() == 0:
            print("passed", part.__name__, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
