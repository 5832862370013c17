"""Two ranks of a PyTorch job on one GPU, each on a host of a network, so that NCCL's traffic goes over that network."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from harness.arguments import without_settings_of
from harness.failure import CannotMeasure
from harness.pair import start
from harness.ranks import end_group, run_ranks, with_variables
from nccl.drive import own_plugin

_RANK = pathlib.Path(__file__).with_name("rank.py")
_PORTS = iter(range(25000, 32000))
_PATIENCE_S = 300

# Two processes on one GPU are two hosts for NCCL, without any other way between them than the network.
_APART = {"NCCL_P2P_DISABLE": 1, "NCCL_SHM_DISABLE": 1, "NCCL_MNNVL_ENABLE": 0, "NCCL_NVLS_ENABLE": 0,
          "NCCL_IB_DISABLE": 1, "NCCL_DEBUG": "WARN"}


class Network:
    """What NCCL sends over. `variables(device)`: the environment of a rank whose NIC is `device`."""

    def __init__(self, name, variables):
        self.name, self.variables = name, variables


def heddle(name="heddle", **settings):
    library = own_plugin()
    return Network(name, lambda device: {"NCCL_NET_PLUGIN": library, "NCCL_NET": "heddle",
                                         "HEDDLE_IFNAME": f"={device}", **settings})


def socket(threads=None, sockets_per_thread=None):
    """NCCL's own transport; without arguments as it sets itself up."""
    own = {"NCCL_NET_PLUGIN": "none", "NCCL_NET": "Socket"}
    if threads is None:
        return Network("NCCL Socket", lambda _: own)
    own |= {"NCCL_SOCKET_NTHREADS": threads, "NCCL_NSOCKS_PERTHREAD": sockets_per_thread}
    return Network(f"Socket, {threads * sockets_per_thread} sockets", lambda _: own)


def _command_of(hosts, network, python, words):
    shared = {**_APART, "WORLD_SIZE": len(hosts.hosts), "MASTER_ADDR": hosts.address(hosts.hosts[0]),
              "MASTER_PORT": next(_PORTS), "PYTHONWARNINGS": "ignore"}

    def command(rank):
        device = hosts.device(hosts.hosts[rank])
        own = {"RANK": rank, "NCCL_HOSTID": f"host{rank}", "NCCL_SOCKET_IFNAME": f"={device}"}
        variables = {**shared, **own, **network.variables(device)}
        return ["env", *without_settings_of("NCCL_", "HEDDLE_"),
                *with_variables(variables, [python, str(_RANK), *map(str, words)])[1:]]
    return command


class Contest:
    """One run of the job, for harness.rounds.interleave()."""

    def __init__(self, hosts, network, python, words):
        self.name = network.name
        self._hosts, self._network, self._python, self._words = hosts, network, python, words

    def run(self):
        command = _command_of(self._hosts, self._network, self._python, self._words)
        sample = run_ranks(self._hosts, self.name, command, _PATIENCE_S)
        sample.result = json.loads(next(line for line in sample.output.splitlines() if line.startswith('{"points"')))
        sample.cpu_share = sample.meanwhile.cpu_share
        return sample


class Endless:
    """A job that does all-reduces until it is ended, for the duration of a `with` block. `steps`: the times at which
    rank 0 finished them, of time.time().
    """

    def __init__(self, hosts, network, python, size_bytes):
        self._hosts = hosts
        self._command = _command_of(hosts, network, python, ["--endless", size_bytes])
        self.ranks, self.steps = [], []

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="heddle-bench-gpu-")
        for rank, host in enumerate(self._hosts.hosts):
            with open(f"{self._folder.name}/{rank}", "w", encoding="utf-8") as output, \
                    open(f"{self._folder.name}/errors{rank}", "w", encoding="utf-8") as errors:
                self.ranks.append(start(self._hosts.inside(host, self._command(rank)), stdout=output, stderr=errors,
                                        process_group=0))
        return self

    def __exit__(self, *_):
        for rank in self.ranks:
            end_group(rank)
        self._folder.cleanup()

    def read(self):
        text = pathlib.Path(self._folder.name, "0").read_text(encoding="utf-8")
        lines = text[:text.rfind("\n") + 1].splitlines()
        self.steps = [json.loads(line)["time"] for line in lines if line.startswith("{")]  # NCCL writes there, too

    def errors(self, rank):
        return pathlib.Path(self._folder.name, f"errors{rank}").read_text(encoding="utf-8", errors="replace")

    def wait_for_steps(self, count, patience_s=120):
        end = time.monotonic() + patience_s
        while len(self.steps) < count:
            if time.monotonic() > end or any(rank.poll() is not None for rank in self.ranks):
                raise CannotMeasure(f"no steps: {self.errors(0)[-600:]}", "run it by hand")
            time.sleep(0.1)
            self.read()


@contextlib.contextmanager
def multi_process_service(wanted):
    """Lets both processes use the GPU at once, where NVIDIA's MPS is installed; otherwise they take turns of some
    2 ms. Yields whether they do. Variables in os.environ are inherited by the ranks.
    """
    control = shutil.which("nvidia-cuda-mps-control")
    if control is None or not wanted:
        yield False
        return
    with tempfile.TemporaryDirectory(prefix="heddle-bench-mps-") as folder:
        os.environ["CUDA_MPS_PIPE_DIRECTORY"] = os.environ["CUDA_MPS_LOG_DIRECTORY"] = folder
        try:
            subprocess.run([control, "-d"], check=True, capture_output=True)
            yield True
        finally:
            subprocess.run([control], input="quit\n", text=True, capture_output=True, check=False)
            del os.environ["CUDA_MPS_PIPE_DIRECTORY"], os.environ["CUDA_MPS_LOG_DIRECTORY"]


_WHAT = """
import json, torch, torch.distributed as d
found = torch.cuda.is_available() and d.is_nccl_available()
nccl = found and ".".join(map(str, torch.cuda.nccl.version()))
print(json.dumps(found and {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__,
                            "cuda": torch.version.cuda, "nccl": nccl}))
"""


def need_gpu(python):
    """The GPU's name and the versions. Raises CannotMeasure unless `python` has PyTorch with NCCL and a GPU."""
    try:
        done = subprocess.run([python, "-c", _WHAT], capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotMeasure(f"cannot start {python}: {error.strerror}", "name a Python with PyTorch: --python"
                            ) from error
    said = (done.stderr.strip().splitlines() or [""])[-1]
    if done.returncode != 0:
        raise CannotMeasure(f"{python} has no PyTorch: {said}", "name one that has: --python")
    found = json.loads(done.stdout.splitlines()[-1])
    if not found:
        raise CannotMeasure(f"PyTorch of {python} has no GPU or no NCCL", "run it on a machine with an NVIDIA GPU")
    return found
