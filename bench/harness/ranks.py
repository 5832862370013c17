"""Ranks: runs one program on each of several hosts, and returns the output of its rank 0. Children die with
this process.

A network has hosts, address(host) and inside(host, command): harness.bridge, harness.fabric, and OneHost
here.
"""

import os
import signal
import subprocess
import tempfile

from harness.failure import CannotMeasure, DoesNotEnd
from harness.meanwhile import Meanwhile
from harness.orphans import Orphans
from harness.pair import start


class OneHost:
    """All ranks on this machine, without namespaces."""

    def __init__(self, ranks):
        self.hosts = [f"h{number}" for number in range(ranks)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def address(self, _host):
        return "127.0.0.1"

    def device(self, _host):
        return "lo"

    def inside(self, _host, command):
        return command


class RanksSample:
    def __init__(self, output, meanwhile):
        self.output = output
        self.meanwhile = meanwhile


def with_variables(variables, command):
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *command]


def run_ranks(network, name, command_of, patience_s):
    """`command_of(rank)`: the command on the rank-th host. Returns rank 0's output. Raises CannotMeasure."""
    commands = [network.inside(host, command_of(rank)) for rank, host in enumerate(network.hosts)]
    return run_all(name, commands, patience_s)


def run_all(name, commands, patience_s):
    """Runs commands in parallel; returns the output of the first."""
    meanwhile = Meanwhile()
    orphans = Orphans()
    processes = []
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaint:
        try:
            with meanwhile:
                for rank, command in enumerate(commands):
                    streams = {"stdout": output if rank == 0 else subprocess.DEVNULL, "stderr": complaint}
                    processes.append(start(command, **streams, process_group=0))
                ends = [process.wait(timeout=patience_s) for process in processes]
        except subprocess.TimeoutExpired as late:
            raise DoesNotEnd(f"{name} does not end: {_last_words(complaint)}", "run it by hand") from late
        finally:
            for process in processes:
                end_group(process)
        if any(ends):
            raise CannotMeasure(f"{name} failed: {_last_words(complaint)}", "run it by hand")
        orphans.settle()
        meanwhile.settle()
        output.seek(0)
        return RanksSample(output.read(), meanwhile)


def _last_words(file):
    file.seek(0)
    return file.read().strip()[-600:] or "it says nothing"


def end_group(process):
    """Ends a process with its process group (mpirun's daemons and ranks)."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=3)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
