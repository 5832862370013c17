"""Two ranks of `heddle nccl drive`, each on a host of a network, through one net plugin."""

import json
import os
import subprocess
import tempfile
import threading

from harness.arguments import without_settings_of
from harness.failure import CannotMeasure
from harness.meanwhile import Meanwhile
from harness.pair import built, start


class Plugin:
    """A net plugin, and the variables under which it is measured. `{device}` in a value is the NIC's name."""

    def __init__(self, name, library, **variables):
        self.name, self.library, self.variables = name, library, variables


class Ends:
    """Where the two ranks run: `inside(host, command)` of a cable or a fabric, the hosts, and the NIC of each."""

    def __init__(self, inside, hosts, devices):
        self.inside, self.hosts, self.devices = inside, hosts, devices


class DriveSample:
    """Goodput is what a rank sends, in GB/s (1e9), the mean of both; both send at the same time."""

    def __init__(self, document, meanwhile):
        ranks = document["ranks"]
        self.gbytes_per_s = sum(rank["gbytes_per_s"] for rank in ranks) / len(ranks)
        self.cpu_seconds_per_gb = sum(rank["cpu_seconds_per_gb"] for rank in ranks) / len(ranks)
        self.meanwhile = meanwhile
        self.cpu_share = meanwhile.cpu_share


class Drive:
    """One run, for harness.rounds.interleave(). `options`: further words of the command."""

    def __init__(self, plugin, ends, options, seconds):
        self.name = plugin.name
        self._plugin, self._ends, self._options, self._seconds = plugin, ends, options, seconds

    def _command(self, rank, folder):
        variables = [f"{name}={value.format(device=self._ends.devices[rank])}"
                     for name, value in self._plugin.variables.items()]
        return self._ends.inside(self._ends.hosts[rank], [
            "env", *without_settings_of("NCCL_", "HEDDLE_"), *variables, built("heddle"), "nccl", "drive",
            self._plugin.library, "--rank", str(rank), "--ranks", "2", "--exchange", folder, "--time",
            f"{self._seconds}s", *self._options, "--json"])

    def start(self, folder):
        return [start(self._command(rank, folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for rank in range(2)]

    def run(self):
        meanwhile = Meanwhile()
        with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
            with meanwhile:
                outputs = finish(self.start(folder), self._seconds + 60)
        meanwhile.settle()
        for status, _, said in outputs:
            if status != 0:
                raise CannotMeasure(f"{self.name} failed: {said.strip()}", "run `heddle nccl drive` by hand")
        return DriveSample(json.loads(outputs[0][1]), meanwhile)


def finish(processes, patience_s):
    """(exit status, output, errors) of each; the status is None for one that had to be killed."""
    results = [None] * len(processes)

    def wait(index, process):
        try:
            output, said = process.communicate(timeout=patience_s)
            results[index] = (process.returncode, output, said)
        except subprocess.TimeoutExpired:
            process.kill()
            results[index] = (None, *process.communicate())

    threads = [threading.Thread(target=wait, args=pair) for pair in enumerate(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def own_plugin():
    library = os.path.join(os.path.dirname(built("heddle")), "..", "lib", "libnccl-net-heddle.so")
    if not os.path.exists(library):
        raise CannotMeasure(f"{library} is missing", "run `make build`")
    return os.path.abspath(library)
