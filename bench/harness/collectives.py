"""Programs that time a collective between ranks: heddle, Open MPI, the Gloo library, and PyTorch's Gloo; and
as limits, UDP sockets alone and TCP flows alone.

Each returns {bytes: microseconds of a call}: in place, each call ended before its rank's next began, mean
over calls, of rank 0 or of all ranks. `groups` are (first bytes, last bytes, calls); sizes grow by a factor
of 4.
"""

import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness.failure import CannotMeasure
from harness.flows import Tcp, run_flows
from harness.pair import built, installed
from harness.ranks import run_all, run_ranks, with_variables

PEERS = pathlib.Path(__file__).resolve().parents[1] / "allreduce" / "peers"
FACTOR = 4
_PATIENCE_S = 300
_ALLOWED = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_PORTS = iter(range(23000, 32000))  # so that no run waits for ports of the previous one


def sizes(group):
    first, last, calls = group
    while first <= last:
        yield first, calls
        first *= FACTOR


def _words(groups):
    return [f"{size}:{calls}" for group in groups for size, calls in sizes(group)]


def _read_list(output):
    return {one["bytes"]: one["us"] for one in json.loads(output)}


def factor(test, ranks):
    """Bus bandwidth is algorithm bandwidth times this."""
    return (2 if test == "allreduce" else 1) * (ranks - 1) / ranks


class Heddle:
    """`heddle bench`; `settings` are for --set."""

    def __init__(self, settings=(), name="heddle"):
        self.name, self._settings = name, settings
        self._program = built("heddle")

    def run(self, network, test, groups):
        parts = [self._run_group(network, test, group) for group in groups]
        whole = max(parts, key=lambda part: part.meanwhile.disturbance)
        whole.times = {size: time for part in parts for size, time in part.times.items()}
        whole.algorithms = {size: name for part in parts for size, name in part.algorithms.items()}
        return whole

    def _run_group(self, network, test, group):
        first, end, calls = group
        with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
            results = pathlib.Path(folder) / "results.json"
            command = [self._program, "bench", test, "-b", str(first), "-e", str(end), "-f", str(FACTOR),
                       "-n", str(calls), "-w", str(1 + calls // 10), "-c", "0", "-J", str(results),
                       *(word for setting in self._settings for word in ("--set", setting))]
            store = f"udp://{network.address(network.hosts[0])}:{next(_PORTS)}"
            size = len(network.hosts)
            sample = run_ranks(network, self.name, lambda rank: with_variables(
                {"HEDDLE_RANK": rank, "HEDDLE_SIZE": size, "HEDDLE_STORE": store}, command), _PATIENCE_S)
            document = json.loads(results.read_text(encoding="utf-8"))
        rows = list(zip(document["results"], document["heddle"]["results"]))
        sample.times = {row["size"]: row["in_place"]["time"] for row, _ in rows}
        sample.algorithms = {row["size"]: own["algorithm"] for row, own in rows}
        return sample


class TorchGloo:
    """The Gloo of Debian's PyTorch."""

    _PYTHON = "/usr/bin/python3"

    def __init__(self):
        self.name = "Gloo through PyTorch"
        if subprocess.run([self._PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            raise CannotMeasure(f"{self._PYTHON} does not know the module torch", "apt-get install python3-torch")

    def run(self, network, test, groups):
        variables = {"WORLD_SIZE": len(network.hosts), "MASTER_ADDR": network.address(network.hosts[0]),
                     "MASTER_PORT": next(_PORTS)}
        command = [self._PYTHON, str(PEERS / "torch_peer.py"), test, *_words(groups)]
        own = [{"RANK": rank, "GLOO_SOCKET_IFNAME": network.device(host)} for rank, host in enumerate(network.hosts)]
        sample = run_ranks(network, self.name, lambda rank: with_variables({**own[rank], **variables}, command),
                           _PATIENCE_S)
        sample.times = _read_list(sample.output)
        return sample


class Gloo:
    """libgloo without PyTorch; all-reduce only."""

    def __init__(self, tools, algorithm="ring"):
        self.name = f"Gloo's library, {algorithm}"
        self._algorithm = algorithm
        self._program = tools.compiled("gloo_peer", ["g++", "-O2", "-std=c++17"], "gloo_peer.cpp",
                                       ["-lgloo", "-lpthread"], "libgloo-dev")

    def run(self, network, test, groups):
        if test != "allreduce":
            raise CannotMeasure(f"Gloo's library has no {test} here", "leave it out")
        with tempfile.TemporaryDirectory(prefix="heddle-bench-") as store:
            size = str(len(network.hosts))
            sample = run_ranks(network, self.name, lambda rank: [
                self._program, str(rank), size, store, network.address(network.hosts[rank]), self._algorithm,
                *_words(groups)], _PATIENCE_S)
        sample.times = _read_list(sample.output)
        return sample


class RawUdp:
    """A limit: the bytes of a ring all-reduce through UDP sockets, without a protocol. For large sizes only:
    it is not a limit where the latency of messages matters.
    """

    LEAST_BYTES = 4 << 20

    def __init__(self, tools):
        self.name = "UDP sockets alone"
        self._program = tools.compiled("udp_ring", ["g++", "-O3", "-std=c++17"], "udp_ring.cpp", [], "g++")

    def run(self, network, test, groups):
        if test != "allreduce":
            raise CannotMeasure(f"UDP sockets alone have no {test} here", "leave it out")
        addresses = [network.address(host) for host in network.hosts]
        size = len(addresses)
        words = [f"{each}:{calls}" for group in groups for each, calls in sizes(group) if each >= self.LEAST_BYTES]
        sample = run_ranks(network, self.name, lambda rank: [
            self._program, str(rank), str(size), addresses[rank], addresses[(rank + 1) % size], addresses[rank - 1],
            str(network.mtu_bytes), *words], _PATIENCE_S)
        sample.times = _read_list(sample.output)
        return sample


class TcpFlows:
    """A limit: the bytes of a ring over this many TCP flows from each host to the next, without a collective.
    The time follows from their throughput over some seconds at the slowest host.
    """

    LEAST_BYTES = 4 << 20
    _SECONDS = 3

    def __init__(self, count):
        self._tcp = Tcp(count)
        self.name = f"{self._tcp.name}, alone"

    def run(self, network, test, groups):
        if test == "alltoall":
            raise CannotMeasure("a ring's flows say nothing of alltoall", "leave it out")
        hosts = network.hosts
        sample = run_flows(network, self._tcp, list(zip(hosts, hosts[1:] + hosts[:1])), self._SECONDS)
        slowest = min(flow["goodput_mbits_per_s"] for flow in sample.flows)
        all_sizes = [size for group in groups for size, _ in sizes(group) if size >= self.LEAST_BYTES]
        sample.times = {size: factor(test, len(hosts)) * size * 8 / slowest for size in all_sizes}
        return sample


class OpenMpi:
    """mpirun on rank 0's host, which starts ranks on their hosts through a shell of the network. `words`:
    more arguments for mpirun.
    """

    def __init__(self, tools, words=(), name="Open MPI", shared_memory=False):
        self.name, self._words, self._shared = name, list(words), shared_memory
        self._mpirun = installed("mpirun", "openmpi-bin")
        self._tools = tools
        self._program = tools.compiled("mpi_peer", ["mpicc", "-O2"], "mpi_peer.c", [], "libopenmpi-dev")

    def run(self, network, test, groups):
        ranks = len(network.hosts)
        words = [self._mpirun, "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), "--mca", "pml", "ob1",
                 "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none", *self._words]
        if self._shared:
            words += ["--mca", "btl", "vader,self"]
            commands = [[*words, self._program, test, *_words(groups)]]
        else:
            addresses = [network.address(host) for host in network.hosts]
            network_of = ".".join(addresses[0].split(".")[:2]) + ".0.0/16"
            words += ["--host", ",".join(addresses), "--mca", "btl", "tcp,self", "--mca", "plm_rsh_agent",
                      self._tools.shell_into(network), "--mca", "btl_tcp_if_include", network_of,
                      "--mca", "oob_tcp_if_include", network_of]
            commands = [network.inside(network.hosts[0], [*words, self._program, test, *_words(groups)])]
        sample = run_all(self.name, commands, _PATIENCE_S)
        sample.times = _read_list(sample.output)
        return sample


@contextlib.contextmanager
def cubic(network):
    """For programs that cannot choose: sets the host's default."""
    before = _ALLOWED.read_text(encoding="ascii")
    if "cubic" not in before:
        try:
            _ALLOWED.write_text(before.strip() + " cubic", encoding="ascii")
        except OSError as failure:
            raise CannotMeasure(f"the hosts may not have TCP cubic: {failure}", "run it as root") from failure
    try:
        try:
            for host in network.hosts:
                network.run(host, ["sh", "-c", "echo cubic >/proc/sys/net/ipv4/tcp_congestion_control"])
        except subprocess.CalledProcessError as failure:
            raise CannotMeasure("the hosts may not have TCP cubic", "run it as root") from failure
        yield
    finally:
        with contextlib.suppress(OSError):
            _ALLOWED.write_text(before, encoding="ascii")


class Tools:
    """A folder for compiled and written files of a comparison, for the duration of a `with` block."""

    def __enter__(self):
        self._stack = contextlib.ExitStack()
        self._folder = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="heddle-bench-")))
        return self

    def __exit__(self, *_):
        self._stack.close()

    def compiled(self, name, compiler, source, libraries, package):
        program = self._folder / name
        if program.exists():
            return str(program)
        if shutil.which(compiler[0]) is None:
            raise CannotMeasure(f"`{compiler[0]}` is missing", f"apt-get install {package}")
        done = subprocess.run([*compiler, "-o", str(program), str(PEERS / source), *libraries], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise CannotMeasure(f"{source} does not compile: {done.stderr.strip()[-300:]}",
                                f"apt-get install {package}")
        return str(program)

    def shell_into(self, network):
        """A program with rsh's arguments (HOST COMMAND…) that runs the command on that host of the network."""
        path = self._folder / "shell"
        table = {network.address(host): network.inside(host, []) for host in network.hosts}
        path.write_text(f"#!{sys.executable}\nimport os, sys\ntable = {table!r}\n"
                        "words = sys.argv[1:]\nwhile words[0] not in table:\n    words.pop(0)\n"
                        "inside = table[words[0]]\n"
                        "os.execvp(inside[0], [*inside, 'sh', '-c', ' '.join(words[1:])])\n", encoding="utf-8")
        path.chmod(0o700)
        return str(path)
