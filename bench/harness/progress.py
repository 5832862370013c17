"""Progress: one line on standard error with the current measurement, if that is a terminal."""

import sys
import time


class Progress:
    def __init__(self):
        self._shown = sys.stderr.isatty()
        self._began = time.monotonic()

    def say(self, done, total, what):
        """`done` of `total` measurements are complete; `what` is the next one."""
        if not self._shown:
            return
        spent = time.monotonic() - self._began
        left = f", {spent / done * (total - done):.0f} s left" if done else ""
        print(f"\r\033[K[{done}/{total}{left}] {what}", end="", file=sys.stderr, flush=True)

    def clear(self):
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
