"""Training that goes on when a rank dies, and takes in processes that come later: heddle's PyTorch backend,
DistributedDataParallel, reconfigure() and grow().

    make torch
    export PYTHONPATH=build/release/python
    heddle run -n 4 --elastic 2:6 -- python3 examples/elastic.py &
    kill -9 PID        # the "process" of one of the lines: three go on, and a newcomer joins them
    heddle resize 6    # two more join

Every rank prints a line of JSON for each step, with its process. Under other launchers, which must leave the other
ranks alone when one is lost, --store names a file by which processes join that are started by hand with --join:

    srun --no-kill --kill-on-bad-exit=0 -n 4 python3 examples/elastic.py --store /shared/store
    python3 examples/elastic.py --store /shared/store --join
"""

import argparse
import json
import os
import time

import heddle_torch  # registers the backend
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def make_model():
    torch.manual_seed(1)  # the same on all ranks
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))


def samples_of(step, rank):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(32, 64, generator=generator)
    return inputs, inputs[:, :10].argmax(dim=1)


def share_state(optimizer, step):
    """All ranks continue from the step and the optimizer's state of rank 0, as they do from its model. `step`: None
    where this process has joined and has no state yet.
    """
    shared = [step, optimizer.state_dict()]
    dist.broadcast_object_list(shared, src=0)
    if shared[0] is None:
        raise RuntimeError("all ranks with the model's state are lost: start again from a checkpoint")
    optimizer.load_state_dict(shared[1])
    return shared[0]


def go_on(error):
    """After a rank was lost: the others agree on who is left."""
    if heddle_torch.get_error() is None:
        raise error  # not the group's
    heddle_torch.reconfigure()


def report(**values):
    print(json.dumps({"time": time.time(), "process": os.getpid(), "rank": dist.get_rank(),
                      "size": dist.get_world_size(), **values}), flush=True)


def train(steps, store, grows, joins):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    parallel, step = None, None if joins else 0
    while step is None or step < steps:
        try:
            if grows and parallel is not None and step % 10 == 0 and heddle_torch.grow(store):
                parallel = None
                report(grown=True)
            if parallel is None:  # a newcomer begins here, as the others do after grow()
                parallel = DistributedDataParallel(model)  # broadcasts rank 0's model
                step = share_state(optimizer, step)
            inputs, labels = samples_of(step, dist.get_rank())
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(parallel(inputs), labels)
            loss.backward()  # averages the gradients
            optimizer.step()
        except RuntimeError as error:
            parallel = None  # it holds the old group
            go_on(error)
            report(lost=str(error))
            continue
        step += 1
        report(step=step, loss=round(loss.item(), 4))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--init", help="where ranks find each other, as torch writes it")
    parser.add_argument("--store", help="a file, not there yet, by which processes join the job")
    parser.add_argument("--join", action="store_true", help="join the job that has this store")
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    store = dist.FileStore(options.store, -1) if options.store else None  # it stays when a process dies
    joins = options.join or "HEDDLE_JOIN" in os.environ
    if joins:
        heddle_torch.join(store)
    elif options.init:
        dist.init_process_group("heddle", init_method=options.init, rank=int(os.environ["RANK"]),
                                world_size=int(os.environ["WORLD_SIZE"]))
    else:
        heddle_torch.init()
    train(options.steps, store, store is not None or "HEDDLE_RUN" in os.environ, joins)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
