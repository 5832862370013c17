"""StallMeter: measures how long the machine itself was stalled, for example by a hypervisor.

A thread for each core sleeps for short intervals, with priority over all ordinary programs; the delay of its
wakeup is time in which no program could run there. The threads are in a separate process, so that Python's
other work does not delay them. Without the right to real-time priority they would measure other programs, so
then there is no result.
"""

import os
import subprocess
import sys
import threading
import time

_SLEEP_S = 0.002


class StallMeter:
    def start(self):
        self._process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        self._process.stdout.readline()

    def stop(self):
        """Milliseconds of the longest stall of any core; None: it could not be measured."""
        answer, _ = self._process.communicate()
        return float(answer) if answer.strip() else None


def _watch(core, end, longest_s):
    me = threading.get_native_id()
    try:
        os.sched_setaffinity(me, {core})
        os.sched_setscheduler(me, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return
    longest_s[core] = 0.0
    before = time.monotonic()
    while not end.is_set():
        time.sleep(_SLEEP_S)
        now = time.monotonic()
        longest_s[core] = max(longest_s[core], now - before - _SLEEP_S)
        before = now


def main():
    end, longest_s = threading.Event(), {}
    cores = sorted(os.sched_getaffinity(0))
    threads = [threading.Thread(target=_watch, args=(core, end, longest_s)) for core in cores]
    for thread in threads:
        thread.start()
    print("watching", flush=True)
    sys.stdin.read()  # until the measuring process has ended
    end.set()
    for thread in threads:
        thread.join()
    print(max(longest_s.values()) * 1e3 if len(longest_s) == len(cores) else "")


if __name__ == "__main__":
    main()
