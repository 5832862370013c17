"""Training over a slow link: each rank makes many steps of its own, and rarely, in the background, all average what
they have changed.

    make torch
    PYTHONPATH=build/release/python heddle run -n 2 -- python3 examples/local_steps.py --every 20 --bits 8

Between two sites that a link of 20 Mb/s joins, averaging every step waits for the link; this waits for nothing as long
as an average takes less time than `--every` steps. It is the outer step of DiLoCo (Douillard and others, 2023), whose
momentum is an option, with the average applied one round late. What 8 bits round away is added to the next round (error
feedback; Seide and others, 2014). With `--synchronous` it is ordinary data-parallel training, to compare with.

Rank 0 prints a line of JSON: the loss on samples that no rank trained on, and the bytes each rank gave to the others.
"""

import argparse
import json
import time

import heddle_torch  # registers the backend
import torch
import torch.distributed as dist


def make_model():
    torch.manual_seed(1)  # the same on all ranks
    return torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def samples_of(seed, count=64):
    """Inputs and the classes that a fixed random network gives them."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(count, 32, generator=generator)
    teacher = torch.randn(32, 10, generator=torch.Generator().manual_seed(0))
    return inputs, (inputs @ teacher).argmax(dim=1)


class Average:
    """The average of a vector over all ranks, which is computed while the program goes on."""

    def __init__(self, vector, bits):
        self.bits, self.error = bits, None
        if bits == 32:
            self.gathered = [vector.clone()]
            self.work = [dist.all_reduce(self.gathered[0], async_op=True)]
            self.bytes = 4 * vector.numel()
            return
        # Each rank's largest value becomes 127. Ranks have scales of their own, so what arrives is summed as floats.
        self.scale = (vector.abs().max() / 127).clamp(min=1e-12).reshape(1)
        rounded = torch.round(vector / self.scale).to(torch.int8)
        self.error = vector - rounded * self.scale
        ranks = range(dist.get_world_size())
        self.gathered = [torch.empty_like(rounded) for _ in ranks]
        self.scales = [torch.empty_like(self.scale) for _ in ranks]
        self.work = [dist.all_gather(self.gathered, rounded, async_op=True),
                     dist.all_gather(self.scales, self.scale, async_op=True)]
        self.bytes = vector.numel() + 4

    def wait(self):
        for each in self.work:
            each.wait()
        if self.bits == 32:
            return self.gathered[0] / dist.get_world_size()
        return sum(each * scale for each, scale in zip(self.gathered, self.scales)) / len(self.gathered)


class OuterStep:
    """Every `every` steps: what this rank has changed since the last time is averaged with the others' changes, and
    the average replaces this rank's own change one round later."""

    def __init__(self, model, every, bits, rate, momentum):
        self.parameters = list(model.parameters())
        self.every, self.bits, self.rate, self.momentum = every, bits, rate, momentum
        self.start = self.vector()  # the parameters when this round began
        self.velocity = torch.zeros_like(self.start)
        self.error = torch.zeros_like(self.start)
        self.average, self.own, self.bytes = None, None, 0

    def vector(self):
        return torch.nn.utils.parameters_to_vector(self.parameters).detach().clone()

    def step(self, number):
        if number % self.every == 0:
            self.end_round()

    def end_round(self):
        change = self.start - self.vector()
        self.apply_last_round()
        self.average = Average(change + self.error, self.bits)
        self.error = self.average.error if self.average.error is not None else self.error
        self.own, self.bytes = change, self.bytes + self.average.bytes
        self.start = self.vector()

    def apply_last_round(self):
        """The average of the round before, with Nesterov's momentum, in the place of this rank's own change."""
        if self.average is None:
            return
        average = self.average.wait()
        self.velocity = self.momentum * self.velocity + average
        change = self.rate * (average + self.momentum * self.velocity)
        torch.nn.utils.vector_to_parameters(self.vector() + self.own - change, self.parameters)
        self.average = None

    def finish(self):
        """All ranks have the same parameters from here on."""
        self.apply_last_round()
        last = self.vector()
        dist.all_reduce(last)
        torch.nn.utils.vector_to_parameters(last / dist.get_world_size(), self.parameters)


def average_gradients(model):
    vector = torch.nn.utils.parameters_to_vector([each.grad for each in model.parameters()])
    dist.all_reduce(vector)
    torch.nn.utils.vector_to_parameters(vector / dist.get_world_size(), [each.grad for each in model.parameters()])
    return 4 * vector.numel()


def train(options):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    outer = OuterStep(model, options.every, options.bits, options.rate, options.momentum)
    given = 0
    for number in range(1, options.steps + 1):
        inputs, labels = samples_of(1 + number * dist.get_world_size() + dist.get_rank())
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        if options.synchronous:
            given += average_gradients(model)
        optimizer.step()
        if not options.synchronous:
            outer.step(number)
    outer.finish()
    return model, given + outer.bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--every", type=int, default=20, help="steps of a round (20)")
    parser.add_argument("--bits", type=int, choices=(8, 32), default=32, help="of each value that is sent (32)")
    parser.add_argument("--rate", type=float, default=1.0, help="of the outer step (1: the plain average)")
    parser.add_argument("--momentum", type=float, default=0.0, help="of the outer step (0)")
    parser.add_argument("--synchronous", action="store_true", help="average the gradients of every step instead")
    options = parser.parse_args()
    dist.init_process_group("heddle")
    began = time.monotonic()
    model, given = train(options)
    seconds = time.monotonic() - began
    inputs, labels = samples_of(0, 2000)
    loss = torch.nn.functional.cross_entropy(model(inputs), labels).item()
    if dist.get_rank() == 0:
        print(json.dumps({"loss": round(loss, 4), "bytes": given,
                          "steps_per_min": round(60 * options.steps / seconds)}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
