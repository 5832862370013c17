#!/usr/bin/env python3
"""Steps of training with recording and without it, in turn within the same processes: for each way of recording a
process group of its own, one after the other, with the same model. Rank 0 prints {"off": {"wall_ns": [...], "cpu_ns":
[...]}, ...}, a number a round. bench/run recording runs it on each host, with PyTorch's own variables.

    training_in_turn.py FOLDER --levels bins,messages --rounds 30 --steps 3
"""

import argparse
import gc
import importlib.util
import json
import os
import pathlib
import shutil
import time

import torch
import torch.distributed as dist

import heddle_torch

_EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "plugins" / "torch" / "examples" / "train.py"


def _example():
    described = importlib.util.spec_from_file_location("train", _EXAMPLE)
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


class _InTurn:
    def __init__(self, options):
        self._options = options
        self._example = _example()
        self._words = self._example.parse(["--batch", str(options.batch)])
        self._rank, self._size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), self._size,
                                    self._rank == 0)
        self._groups = 0
        self._training = None
        self.ways = {"off": None, "off again": None, **{level: level for level in options.levels.split(",")}}

    def _folder(self, name):
        return os.path.join(self._options.folder, f"{name} {self._rank}")

    def _open(self, name):
        level = self.ways[name]
        os.environ["HEDDLE_RECORD"] = "" if level is None else self._folder(name)
        os.environ["HEDDLE_RECORD_LEVEL"] = level or "messages"
        self._groups += 1
        dist.init_process_group("heddle", store=dist.PrefixStore(f"group {self._groups}", self._store),
                                rank=self._rank, world_size=self._size)
        if self._training is None:
            self._training = self._example.Training(self._words, heddle_torch.mark)
        else:
            self._training.distribute()

    def _close(self, name):
        dist.barrier()
        self._training.model = None  # it holds the group
        dist.destroy_process_group()
        gc.collect()
        if self.ways[name] is not None:
            if not any(pathlib.Path(self._folder(name)).glob("*.heddle")):
                raise RuntimeError(f"nothing was recorded in {self._folder(name)}")
            shutil.rmtree(self._folder(name))

    def steps(self, name):
        """Nanoseconds of one, by the clock and of the processor, of this rank."""
        self._open(name)
        for step in range(self._options.warm_up):
            self._training.step(step)
        dist.barrier()
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        for step in range(self._options.steps):
            self._training.mark("step", step)
            self._training.step(step)
        taken = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        self._close(name)
        return [each // self._options.steps for each in taken]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", help="where to record; nothing is left there")
    parser.add_argument("--levels", default="bins,messages", help="of recording, beside none [bins,messages]")
    parser.add_argument("--rounds", type=int, default=30, help="of all ways [30]")
    parser.add_argument("--steps", type=int, default=3, help="timed, of a way in a round [3]")
    parser.add_argument("--warm-up", type=int, default=1, help="steps before them [1]")
    parser.add_argument("--batch", type=int, default=16, help="images a rank and step [16]")
    options = parser.parse_args()
    torch.set_num_threads(1)
    turn = _InTurn(options)
    names = list(turn.ways)
    told = {name: {"wall_ns": [], "cpu_ns": []} for name in names}
    turn.steps("off")  # the first of all is slow
    for number in range(options.rounds):
        first = number % len(names)
        order = names[first:] + names[:first]
        for name in order if number // len(names) % 2 == 0 else reversed(order):
            wall, cpu = turn.steps(name)
            told[name]["wall_ns"].append(wall)
            told[name]["cpu_ns"].append(cpu)
    if os.environ["RANK"] == "0":
        print(json.dumps(told))


if __name__ == "__main__":
    main()
