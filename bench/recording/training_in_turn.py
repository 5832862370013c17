#!/usr/bin/env python3
"""Steps of training with recording and without it, in turn within the same processes: one model, and for each way a
process group of its own over which it sums gradients and sends buffers for a step, then the next way's for the next.
Rank 0 prints {"off": {"wall_ns": [...], "cpu_ns": [...]}, ...}, a number a round. bench/run recording runs it on each
host, with PyTorch's own variables.

    training_in_turn.py FOLDER --levels bins,messages --rounds 200
"""

import argparse
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
    """`first`: the rotation of the order in which groups are created, and thereby of their memory layout."""

    def __init__(self, options):
        # Two ways without recording have different settings: groups with the same settings share an endpoint.
        levels = options.levels.split(",")
        ways = {"off": ("", "counters"), "off again": ("", "bins")}
        ways |= {level: (f"{options.folder}/{level} {os.environ['RANK']}", level) for level in levels}
        names = list(ways)
        first = options.first % len(names)
        self._groups, self._recordings = {}, []
        os.environ["HEDDLE_RECORD"] = ""
        dist.init_process_group("heddle")
        for name in names[first:] + names[:first]:
            self._groups[name] = self._open(*ways[name])
        example = _example()
        self._training = example.Training(example.parse(["--batch", str(options.batch)]), heddle_torch.mark)

    def _open(self, folder, level):
        os.environ["HEDDLE_RECORD"], os.environ["HEDDLE_RECORD_LEVEL"] = folder, level
        if folder:
            self._recordings.append(pathlib.Path(folder))
        return dist.new_group(backend="heddle")

    def names(self):
        return sorted(self._groups)

    def step(self, name, step):
        """Nanoseconds of the step by the clock, and CPU time of this rank."""
        self._training.model.process_group = self._training.waits.group = self._groups[name]
        dist.barrier(self._groups[name])
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        self._training.mark("step", step)
        self._training.step(step)
        return time.perf_counter_ns() - wall, time.process_time_ns() - cpu

    def close(self):
        dist.barrier()
        self._training = None  # releases its groups
        self._groups.clear()
        dist.destroy_process_group()
        for recording in self._recordings:
            if not any(recording.glob("*.heddle")):
                raise RuntimeError(f"nothing was recorded in {recording}")
            shutil.rmtree(recording)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", help="where to record; nothing is left there")
    parser.add_argument("--levels", default="bins,messages", help="of recording, beside none [bins,messages]")
    parser.add_argument("--rounds", type=int, default=200, help="of a step of each way [200]")
    parser.add_argument("--warm-up", type=int, default=2, help="rounds before them [2]")
    parser.add_argument("--first", type=int, default=0, help="the way whose group is made first [0]")
    parser.add_argument("--batch", type=int, default=16, help="images a rank and step [16]")
    options = parser.parse_args()
    torch.set_num_threads(1)
    turn = _InTurn(options)
    names = turn.names()
    told = {name: {"wall_ns": [], "cpu_ns": []} for name in names}
    for number in range(-options.warm_up, options.rounds):
        first = number % len(names)
        order = names[first:] + names[:first]
        for name in order if number // len(names) % 2 == 0 else reversed(order):
            wall, cpu = turn.step(name, max(number, 0))
            if number >= 0:
                told[name]["wall_ns"].append(wall)
                told[name]["cpu_ns"].append(cpu)
    rank = dist.get_rank()
    turn.close()
    if rank == 0:
        print(json.dumps(told))


if __name__ == "__main__":
    main()
