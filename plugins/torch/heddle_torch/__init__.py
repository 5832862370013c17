"""torch.distributed over heddle: import it, then init_process_group("heddle").

Endpoints take heddle's settings (HEDDLE_PATHS, HEDDLE_BIND, heddle.toml ...); see docs/reference/pytorch.md.
"""

import atexit
import itertools
import os
import sys
import urllib.parse

from . import _built


def _check_version(what, built, found):
    """The extension is loaded by the Python, and calls into the torch, that it was built with and no other."""
    if built.split(".") != found.split(".")[:2]:
        raise ImportError(f"heddle_torch was built with {what} {built}, this is {found}: "
                          f"build it with this {what} (make torch), or use {what} {built}")


_check_version("Python", _built.PYTHON, ".".join(map(str, sys.version_info[:3])))

import torch
import torch.distributed as dist

_check_version("torch", _built.TORCH, torch.__version__)

try:
    from . import _backend
except ImportError as error:
    raise ImportError(f"heddle_torch's extension does not load: {error}: it needs this system's OpenSSL 3 and "
                      "glibc 2.34 or newer; build it on this system (make torch)") from error

from . import elastic, groups, health
from .elastic import abort, get_error, grow, init, join, reconfigure
from .health import check_health

__version__ = _backend.heddle_version


def _create(store, rank, size, timeout, without_members=False):
    """What torch calls for init_process_group() and new_group()."""
    made = groups.take_prepared() or elastic.take_joined()
    if made is not None:
        return made
    if without_members:
        return _backend.create_without_members(rank, size, timeout.total_seconds())
    return _backend.create(store, rank, size, timeout.total_seconds())


def mark(name, step=0):
    """Says where the program is: from here on in phase `name`, for the `step`-th time.

    Recordings show it (`heddle record`). The name is cut to 32 bytes of UTF-8. Returns whether anything is
    recorded; before init_process_group() nothing is.
    """
    return _backend.mark(name, step)


_times_met = itertools.count()


def _meet(url, timeout=dist.default_pg_timeout, **_):
    """For init_method="heddle://": ranks of `heddle run` meet in a file of the run, which outlives each of them;
    those of other launchers as with "env://", in a store of rank 0's process.
    """
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(url).query))
    if "HEDDLE_JOIN" in os.environ:
        raise RuntimeError("this process was started to join a running job: call heddle_torch.init() instead of "
                           "init_process_group()")
    rank, size = (int(asked.get(name.lower(), os.environ.get(name, -1))) for name in ("RANK", "WORLD_SIZE"))
    place = os.environ.get("HEDDLE_STORE", "")
    if "HEDDLE_RUN" in os.environ and place.startswith("file:///"):
        # No number of ranks for the file: it is the run that removes it, also when ranks were lost.
        store = dist.FileStore(place[len("file://"):] + ".torch", -1)
        yield dist.PrefixStore(str(next(_times_met)), store), rank, size
    else:
        yield from dist.rendezvous("env://", rank, size, timeout=timeout)
    raise RuntimeError("ranks cannot meet anew with heddle://: call init_process_group() again")


def _register():
    dist.register_rendezvous_handler("heddle", _meet)
    groups.register("heddle", _create)


_register()
health.extend_monitored_barrier()
# A process that ends without a word is a rank that was lost, to those who are still at work.
atexit.register(_backend.leave_all_groups)
