"""Random tensors for methods.py."""

import random

import torch


class Draw:
    """Random tensors: shapes, types and layouts are the same on all ranks, values each rank's own."""

    def __init__(self, seed, rank):
        self.shared = random.Random(seed)
        self.own = torch.Generator().manual_seed(seed * 1000 + rank)

    def shape(self):
        kind = self.shared.randrange(6)
        if kind == 0:
            return (0,)
        if kind == 1:
            return ()
        if kind == 2:
            return (self.shared.randrange(1, 60_000),)
        return tuple(self.shared.randrange(1, 9) for _ in range(self.shared.randrange(1, 4)))

    def layout(self):
        return self.shared.choice(["plain", "plain", "strided", "turned", "offset"])

    def tensor(self, dtype, shape=None, layout=None):
        """Small whole numbers, so that sums are exact in every type."""
        shape = self.shape() if shape is None else shape
        layout = self.layout() if layout is None else layout
        values = torch.randint(0, 4, shape, generator=self.own).to(dtype)
        return as_layout(values, layout)


def as_layout(values, layout):
    """The same values in memory that is contiguous or not."""
    if layout == "strided" and values.dim() > 0:
        memory = torch.zeros(values.shape[:-1] + (2 * values.shape[-1],), dtype=values.dtype)
        view = memory[..., ::2]
    elif layout == "turned" and values.dim() > 1:
        view = torch.zeros(values.shape[::-1], dtype=values.dtype).permute(*range(values.dim())[::-1])
    elif layout == "offset":
        memory = torch.zeros(values.numel() + 3, dtype=values.dtype)
        view = memory[3:].view(values.shape)
    else:
        return values.clone()
    return view.copy_(values)
