"""Meanwhile: the other load of the machine during a measurement, and whether it disturbed the measurement."""

import os
import resource
import time

from harness.host_cpu import HostCpu
from harness.stall_meter import StallMeter

# Limits of other load during an undisturbed run.
_OTHERS_MOST = 0.05   # of the cores, by other programs
_STOLEN_MOST = 0.02   # of the cores, by a hypervisor
_STALL_MOST_MS = 10


class Meanwhile:
    """Create it before the measured processes start; a `with` encloses the measurement; call settle() after
    all of them have been waited for, with their daemons (harness.orphans). Without settle() no other program counts.
    """

    def __init__(self):
        self._children_before_s = _children_s()
        self.others_share = 0.0
        self.stolen_share = 0.0
        self.stall_ms = 0.0

    def __enter__(self):
        self._meter = StallMeter()
        self._meter.start()
        self._cpu_before, self._began = HostCpu.now(), time.monotonic()
        return self

    def __exit__(self, *_):
        self.wall_s = time.monotonic() - self._began
        self.cpu = HostCpu.now() - self._cpu_before
        self.stall_ms = self._meter.stop()
        self.cpu_share = self.cpu.busy_s / self._all_s()
        self.stolen_share = self.cpu.stolen_s / self._all_s()

    def settle(self):
        own_s = _children_s() - self._children_before_s
        self.others_share = max(0.0, self.cpu.programs_s - own_s) / self._all_s()

    @property
    def disturbance(self):
        return disturbance(self.others_share, self.stolen_share, self.stall_ms)

    def _all_s(self):
        return self.wall_s * os.cpu_count()


def disturbance(others_share, stolen_share, stall_ms):
    """Shares of the cores; the longest stall (None: unknown). The result is at most 1 for an undisturbed run."""
    return max(others_share / _OTHERS_MOST, stolen_share / _STOLEN_MOST, (stall_ms or 0) / _STALL_MOST_MS)


def _children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def summary(runs):
    """A summary of samples for the document: the disturbance of those that were kept, and the number of
    repeated runs.
    """
    return {"runs": len(runs), "others_share_max": max(run.meanwhile.others_share for run in runs),
            "stolen_share_max": max(run.meanwhile.stolen_share for run in runs),
            "stall_ms_max": max(run.meanwhile.stall_ms or 0 for run in runs),
            "disturbed": sum(run.meanwhile.disturbance > 1 for run in runs),
            "made_again": sum(run.made_again for run in runs)}
