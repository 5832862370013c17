"""A wall clock that is ahead or behind, for programs that are started with it: hosts of a lab share the machine's."""

import pathlib
import subprocess

_AHEAD = "MOVED_CLOCK_S"
_LIBRARY = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*own)(clockid_t, struct timespec *);
  if (own == 0) own = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int failed = own(clock, time);
  if (failed == 0 && clock == CLOCK_REALTIME) time->tv_sec += atoi(getenv("%s"));
  return failed;
}
""" % _AHEAD


def make_library(folder):
    """Compiles the library that moves the clock into this folder, once for all hosts; its path."""
    path = pathlib.Path(folder, "clock.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-", "-ldl"], input=_LIBRARY, text=True,
                   check=True)
    return path


def settings(library, seconds):
    """The environment of programs whose clock is to be so far ahead; below 0: behind."""
    return {"LD_PRELOAD": str(library), _AHEAD: str(seconds)}
