"""Groups whose ranks change: some are lost and the others go on; processes join a job that runs."""

import contextlib
import datetime
import functools
import os

import torch.distributed as dist

from . import _backend
from .groups import backend_of, own_or_default, tables

_JOINED = []  # the group that init_process_group() is to have


def init(timeout=dist.default_pg_timeout):
    """init_process_group() of a job under `heddle run --elastic MIN:MAX`: the first ranks find each other, and a
    newcomer waits until they have taken it in. Returns whether this process is a newcomer: model, optimizer and
    step are then copied from another rank, which all ranks do after grow().

    `timeout` is that of the group's calls. Under other launchers it is init_process_group("heddle").
    """
    if "HEDDLE_JOIN" in os.environ:
        join(call_timeout=timeout)
        return True
    dist.init_process_group("heddle", init_method="heddle://", timeout=timeout)
    report_members()
    return False


def abort(group=None):
    """Ends all calls of the group, on all of its ranks, with an error. reconfigure() makes another of it."""
    _backend.abort(backend_of(group))


def get_error(group=None):
    """Why the group has failed, as a text; None while it works."""
    return _backend.get_error(backend_of(group)) or None


def reconfigure(group=None, join_within=5.0):
    """The group of the ranks that are left after one was lost, which takes the place of `group`.

    Every rank that is left calls it, and it waits for them; one that has not called it within
    `join_within` seconds is left out. They keep their order, and the connections between them are
    kept. For the default group, torch's ranks are numbered anew: get_rank() and get_world_size()
    say what is true now. Modules that hold the old group, as DistributedDataParallel does, are
    wrapped again. Raises RuntimeError where the others went on without this rank, or where those
    that came are not more than half of the group, or half of it with rank 0.
    """
    tables.check_replaceable(own_or_default(group))  # before the old one has left
    backend, former = _backend.reconfigure(backend_of(group), join_within)
    new = tables.replace(own_or_default(group), backend, former)
    if new is tables.default():
        report_members()
    return new


def grow(store=None, find_within=5.0):
    """Takes the processes that wait in join() into the default group; returns whether there were any.

    All ranks of the group call it, in the same order as its collectives, between two steps; where
    no process waits it takes as long as a broadcast. `store` is one that they and the newcomers share, as
    torch.distributed.FileStore(path, -1) or a TCPStore that outlives all ranks; None: the run's, under `heddle run`.
    Newcomers have the ranks behind the others. One that does not answer within `find_within` seconds is not taken in.
    As after reconfigure(), ranks may be numbered anew, and modules are wrapped again.
    """
    store = store or _store_of_run()
    tables.check_replaceable(tables.default())
    backend, former = _backend.grow(backend_of(None), store, find_within)
    if not former:  # the same group
        return False
    new = tables.replace(tables.default(), backend, former)
    _share_store(store, new).set("heddle/groups", str(tables.count()))
    report_members()
    return True


def join(store=None, timeout=datetime.timedelta(days=365), find_within=5.0, call_timeout=dist.default_pg_timeout):
    """Instead of init_process_group(), for a process that joins a job whose ranks call grow(store).

    Waits until they have taken it in, `timeout` at most. Model, optimizer and step are then copied
    from another rank, which all ranks do after grow(). `call_timeout` is that of the group's calls.
    """
    if tables.default() is not None:
        raise RuntimeError("heddle_torch.join(): this process has a default group already")
    store = store or _store_of_run()
    group = _backend.join(store, timeout.total_seconds(), find_within, call_timeout.total_seconds())
    own = dist.PrefixStore(f"heddle/joined/{_backend.communicator_of(group)}/{group.rank()}", store)
    _JOINED.append((own, group))
    try:
        dist.init_process_group("heddle", store=own, rank=group.rank(), world_size=group.size(), timeout=call_timeout)
        tables.set_count(int(_share_store(store, tables.default()).get("heddle/groups")))
    except Exception:
        _JOINED.clear()
        _backend.abort(group)  # the others wait for this rank
        raise
    report_members()


def report_members():
    """Lets `heddle run --elastic MIN:MAX` know which group this process is in now."""
    path = os.environ.get("HEDDLE_MEMBER_FILE")
    if path is None:
        return
    group = tables.default()
    if group is None:
        return
    with contextlib.suppress(OSError):  # the run has ended, or it waits for a time instead
        with open(f"{path}.new", "w", encoding="ascii") as file:
            file.write(f"{_backend.communicator_of(backend_of(group)):x} {group.size()}\n")
        os.replace(f"{path}.new", path)


def take_joined():
    """The group that join() found, where torch makes its default group of it."""
    if not _JOINED:
        return None
    own, group = _JOINED.pop()
    tables.pass_first_barrier(own, group.size())  # the others have had their group for long
    return group


@functools.lru_cache(maxsize=None)  # a new one would read the whole file again
def _store_of_run():
    """In which newcomers of this run and its ranks meet; the run removes it."""
    place = os.environ.get("HEDDLE_STORE", "")
    if "HEDDLE_RUN" not in os.environ or not place.startswith("file:///"):
        raise ValueError("heddle_torch: give a store: only under `heddle run` there is one of the run")
    return dist.FileStore(place[len("file://"):] + ".join", -1)


def _share_store(store, group):
    """new_group() meets in the store of the default group: all ranks get the same one."""
    shared = dist.PrefixStore(f"heddle/group/{_backend.communicator_of(backend_of(group))}", store)
    tables.set_store(group, shared)
    return shared
