"""Which ranks of a group answer, and barriers that name those which do not come."""

import datetime
import functools
import typing

import torch.distributed as dist

from . import _backend, elastic
from .groups import backend_of


class Health(typing.NamedTuple):
    """Ranks of the group, and why it has failed; see check_health()."""

    answered: typing.List[int]
    silent: typing.Dict[int, str]  # the reason by rank
    error: typing.Optional[str]

    def __bool__(self):
        return not self.silent and self.error is None


def check_health(group=None, timeout=5.0):
    """Which ranks of the group answer, and which do not in `timeout` (seconds or a timedelta); true if all is well.

    Any rank may call it at any time, also after the group has failed; the others need not call anything. A rank
    answers as long as its process runs and is reached, even if its program hangs: the error of a call that timed out
    names the ranks that have not made it.
    """
    if group is None:
        group = dist.distributed_c10d._get_default_group()
    if isinstance(timeout, datetime.timedelta):
        timeout = timeout.total_seconds()
    answered, silent = _backend.check_health(backend_of(group), timeout)
    return Health(sorted([*answered, group.rank()]), silent, elastic.get_error(group))


def extend_monitored_barrier():
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
