"""heddle's model of RoCE NICs beside htsim's: PFC, ECMP and go-back-N without congestion control, 128 hosts."""

import pathlib
import re
import statistics
import subprocess
import tempfile

from harness.failure import CannotMeasure
from sim import fat_tree
from sim.run import simulate

_HOSTS, _BYTES, _PACKET = 128, 2_000_000, 4096
_RUNS = 5


def _htsim(directory, workload):
    """The time at which the last sender knows."""
    program = pathlib.Path(directory, "htsim_roce")
    if not program.is_file():
        raise CannotMeasure(f"{program} is not there", "build htsim: make in sim, then in sim/datacenter")
    with tempfile.TemporaryDirectory(prefix="heddle-bench-htsim-") as folder:
        for name, text in (("fabric.topo", fat_tree.topology(_HOSTS)), ("flows.cm", workload)):
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
        done = subprocess.run([program.resolve(), "-nodes", str(_HOSTS), "-topo", "fabric.topo", "-tm", "flows.cm",
                               "-strat", "ecmp_host", "-paths", "1", "-mtu", str(_PACKET), "-q", "1000",
                               "-linkspeed", "100000", "-end", "100000", "-o", "log.dat"],
                              cwd=folder, capture_output=True, text=True, check=False)
    ends = [float(found) for found in re.findall(r"finished at (\S+)", done.stdout)]
    wanted = workload.count("->")
    if done.returncode != 0 or len(ends) != wanted:
        raise CannotMeasure(f"htsim_roce finished {len(ends)} of {wanted} flows: {done.stderr.strip()[-200:]}",
                            "run it by hand")
    return max(ends)


def _heddle(workload):
    words = ("--transport", "roce", "--cc", "none", "--pfc", "--buffer", "4MiB", "--xoff", f"{15 * _PACKET}B",
             "--xon", f"{12 * _PACKET}B")
    return simulate(fat_tree.topology(_HOSTS), workload, words)["tail_acked_us"]


def compare(directory, found):
    """`found`: of sim/published.py."""
    incast = fat_tree.incast(_HOSTS, 15, _HOSTS // 2, _BYTES)
    ours, theirs = _heddle(incast), _htsim(directory, incast)
    yield found("incast of 15: the last flow, to htsim_roce's", ours / theirs, f"{theirs:.0f} us", "htsim", "", 0.95,
                1.05)
    permutations = [fat_tree.permutation(_HOSTS, _BYTES, seed) for seed in range(13, 13 + _RUNS)]
    ours = statistics.median(_heddle(each) for each in permutations)
    theirs = statistics.median(_htsim(directory, each) for each in permutations)
    yield found("permutation: the last flow, to htsim_roce's", ours / theirs, f"{theirs:.0f} us", "htsim", "", 0.7,
                1.4)
