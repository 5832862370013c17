"""StallMeter: how long the machine itself stood still, as a hypervisor makes it.

A thread a core sleeps a little, over and over, before all ordinary programs; how much too late it wakes is time in
which nothing could run there. Without the right to go first it would measure the other programs, so then it is silent.
"""

import os
import threading
import time

_SLEEP_S = 0.002


class StallMeter:
    def __init__(self):
        self._longest_s = [0.0] * os.cpu_count()
        self._unable = False
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._watch, args=(core,), daemon=True)
                         for core in sorted(os.sched_getaffinity(0))]

    def start(self):
        for thread in self._threads:
            thread.start()

    def stop(self):
        """Milliseconds of the longest stall of any core; None: it could not be measured."""
        self._end.set()
        for thread in self._threads:
            thread.join()
        return None if self._unable else max(self._longest_s) * 1e3

    def _watch(self, core):
        me = threading.get_native_id()
        try:
            os.sched_setaffinity(me, {core})
            os.sched_setscheduler(me, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            self._unable = True
            return
        before = time.monotonic()
        while not self._end.is_set():
            time.sleep(_SLEEP_S)
            now = time.monotonic()
            self._longest_s[core] = max(self._longest_s[core], now - before - _SLEEP_S)
            before = now
