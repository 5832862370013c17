"""Trainer: the training example of the PyTorch plugin, once on each host, over heddle or Gloo."""

import json
import os
import pathlib
import subprocess

from harness.failure import CannotMeasure, DoesNotEnd
from harness.ranks import run_ranks, with_variables

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "plugins" / "torch" / "examples" / "train.py"
_PATIENCE_S = 600
# Gloo's ranks hang now and then on a host that has much to do.
_GLOO_PATIENCE_S = 150
_MOST_HANGS = 3
_PORTS = iter(range(24000, 32000))


class Trainer:
    """`program` trains by itself; the example takes the backend as an argument, and prints JSON on request."""

    def __init__(self, backend, words, name=None, variables=None, python="/usr/bin/python3", program=None):
        self.name = name or backend
        self.hangs = 0  # runs of Gloo that did not end and were made again
        self._backend = backend
        self._program = program or EXAMPLE
        told = [] if program else ["--backend", backend, "--json"]
        self._words = [*told, *map(str, words)]
        self._variables = dict(variables or {})
        self._python = python
        module = os.environ.get("HEDDLE_TORCH_MODULE", str(ROOT / "build" / "release" / "python"))
        self._variables["PYTHONPATH"] = os.pathsep.join([module, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        needed = "import torch, torchvision" + (", heddle_torch" if backend == "heddle" else "")
        done = subprocess.run([python, "-c", needed], env={**os.environ, **self._variables}, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"{python} cannot `{needed}`: {done.stderr.strip().splitlines()[-1:]}",
                                "run scripts/setup --torch and build again")

    def run(self, network, patience_s=_PATIENCE_S):
        if self._backend != "gloo":
            return self._run_once(network, patience_s)
        while True:
            try:
                return self._run_once(network, _GLOO_PATIENCE_S)
            except DoesNotEnd:
                self.hangs += 1
                if self.hangs > _MOST_HANGS:
                    raise

    def _run_once(self, network, patience_s):
        variables = {"WORLD_SIZE": len(network.hosts), "MASTER_ADDR": network.address(network.hosts[0]),
                     "MASTER_PORT": next(_PORTS), **self._variables}
        own = [{"RANK": rank, "GLOO_SOCKET_IFNAME": network.device(host)} for rank, host in enumerate(network.hosts)]
        command = [self._python, str(self._program), *self._words]
        sample = run_ranks(network, self.name, lambda rank: with_variables({**own[rank], **variables}, command),
                           patience_s)
        sample.result = json.loads(sample.output.strip().splitlines()[-1])
        return sample
