"""torch.distributed over heddle: import it, then init_process_group("heddle").

Endpoints take heddle's settings (HEDDLE_PATHS, HEDDLE_BIND, heddle.toml ...); see docs/reference/pytorch.md.
"""

import atexit
import functools
import inspect
import sys
import typing

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
                      "glibc 2.35 or newer; build it on this system (make torch)") from error

__version__ = _backend.heddle_version


def _create(store, rank, size, timeout):
    """What torch calls for init_process_group() and new_group()."""
    return _backend.create(store, rank, size, timeout.total_seconds())


def mark(name, step=0):
    """Says where the program is: from here on in phase `name`, for the `step`-th time.

    Recordings show it (`heddle record`). The name is cut to 32 bytes of UTF-8. Returns whether anything is
    recorded; before init_process_group() nothing is.
    """
    return _backend.mark(name, step)


def abort(group=None):
    """Ends all calls of the group, on all of its ranks, with an error. reconfigure() makes another of it."""
    _backend.abort(_c10d().GroupMember.WORLD if group is None else group)


def get_error(group=None):
    """Why the group has failed, as a text; None while it works."""
    return _backend.get_error(_c10d().GroupMember.WORLD if group is None else group) or None


class Health(typing.NamedTuple):
    """Ranks of the group, and why it has failed; see check_health()."""

    answered: typing.List[int]
    silent: typing.Dict[int, str]  # the reason by rank
    error: typing.Optional[str]

    def __bool__(self):
        return not self.silent and self.error is None


def check_health(group=None, timeout=5.0):
    """Which ranks of the group answer, and which do not within `timeout` seconds; true if all is well.

    Any rank may call it at any time, also after the group has failed; the others need not call anything. A rank
    answers as long as its process runs and is reached, even if its program hangs: the error of a call that timed out
    names the ranks that have not made it.
    """
    group = _c10d().GroupMember.WORLD if group is None else group
    answered, silent = _backend.check_health(group, timeout)
    return Health(sorted([*answered, group.rank()]), silent, get_error(group))


def reconfigure(group=None, join_within=5.0):
    """The group of the ranks that are left after one was lost, which takes the place of `group`.

    Every rank that is left calls it, and it waits for them; one that has not called it within
    `join_within` seconds is left out. They keep their order, and the connections between them are
    kept. For the default group, torch's ranks are numbered anew: get_rank() and get_world_size()
    say what is true now. Modules that hold the old group, as DistributedDataParallel does, are
    wrapped again. Raises RuntimeError where the others went on without this rank, or where those
    that came are not more than half of the group, or half of it with rank 0.
    """
    c10d = _c10d()
    whole = c10d.GroupMember.WORLD
    old = whole if group is None else group
    new, former = _backend.reconfigure(old, join_within)
    pg_map, names, group_ranks = c10d._pg_map, c10d._pg_names, c10d._pg_group_ranks
    pg_map[new] = pg_map.pop(old)
    names[new] = names.pop(old)
    global_of = {rank: each for each, rank in group_ranks.pop(old).items()}
    if old is not whole:
        group_ranks[new] = {global_of[was]: rank for rank, was in enumerate(former)}
        return new
    now = {global_of[was]: rank for rank, was in enumerate(former)}
    for ranks in group_ranks.values():
        kept = {now[each]: rank for each, rank in ranks.items() if each in now}
        ranks.clear()
        ranks.update(kept)
    group_ranks[new] = {rank: rank for rank in range(len(former))}
    c10d._update_default_pg(new)
    return new


def _c10d():
    """torch keeps its groups in tables of this module, which 2.x has in another place."""
    c10d = dist.distributed_c10d
    if not hasattr(c10d, "_pg_group_ranks"):
        raise RuntimeError("heddle_torch.reconfigure(), abort(), get_error() and check_health() need torch 1.13, "
                           f"this is {torch.__version__}")
    return c10d


def _register():
    options = {}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        options["devices"] = ["cpu"]  # since torch 2.0
    dist.Backend.register_backend("heddle", _create, **options)


def _extend_monitored_barrier():
    """torch 1.13 refuses torch.distributed.monitored_barrier() where a backend is not named Gloo."""
    c10d = dist.distributed_c10d
    of_torch = c10d.monitored_barrier

    @functools.wraps(of_torch)
    def monitored_barrier(group=c10d.GroupMember.WORLD, timeout=None, wait_all_ranks=False):
        if c10d._rank_not_in_group(group) or c10d.get_backend(group) != "heddle":
            return of_torch(group, timeout, wait_all_ranks)
        used = c10d._get_default_group() if group is None else group
        return used.monitored_barrier(c10d.default_pg_timeout if timeout is None else timeout,
                                      wait_all_ranks=wait_all_ranks)

    dist.monitored_barrier = c10d.monitored_barrier = monitored_barrier


_register()
if hasattr(dist.distributed_c10d, "_rank_not_in_group"):
    _extend_monitored_barrier()
# A process that ends without a word is a rank that was lost, to those who are still at work.
atexit.register(_backend.leave_all_groups)
