"""Random faults in a fabric: each is repaired, at most half of the spines are down at a time, and every fault
is shorter than the time after which a peer is declared dead.
"""

import random
import threading
import time

from harness.failure import CannotMeasure

_PAUSE_MOST_S = 1.5
_VALUES = {"loss": "2%", "corrupt": "0.5%", "reorder": "5%", "rate": "20Mbit/s"}


class Faults(threading.Thread):
    """Causes a fault about every second and repairs it later; counts them."""

    def __init__(self, fabric, shape, seed, stop):
        """`shape`: leaves, spines, and the hosts that may be paused."""
        super().__init__()
        self._fabric, self._random, self.stop_asked = fabric, random.Random(seed), stop
        self._leaves, self._spines, self._hosts = shape
        self._out = set()
        self.counts, self.error = {}, None
        self.longest_pause_s = 0.0  # from the request to stop until the host resumes; longer than intended on
                                    # a busy machine

    def run(self):
        try:
            while not self.stop_asked.wait(self._random.uniform(0.4, 2)):
                self._one()
            self._fabric.fault("clear")
        except CannotMeasure as failure:
            self.error = failure

    def _one(self):
        leaf, spine = (f"{name}{self._random.randrange(count)}"
                       for name, count in (("leaf", self._leaves), ("spine", self._spines)))
        kind = self._random.choice((*_VALUES, "blackhole", "down", "clear", "pause"))
        if kind == "pause":
            host = self._random.choice(self._hosts)
            began = time.monotonic()
            self._fabric.fault("pause", host)
            self.stop_asked.wait(self._random.uniform(0.05, _PAUSE_MOST_S))
            self._fabric.fault("resume", host)
            self.longest_pause_s = max(self.longest_pause_s, time.monotonic() - began)
        elif kind in ("blackhole", "down"):
            if len(self._out | {spine}) > self._spines // 2:
                return
            self._out.add(spine)
            self._fabric.fault(kind, leaf, spine)
        elif kind == "clear":
            self._fabric.fault("clear")
            self._out.clear()
        else:
            self._fabric.fault(kind, leaf, spine, _VALUES[kind])
        self.counts[kind] = self.counts.get(kind, 0) + 1
