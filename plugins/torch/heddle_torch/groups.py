"""Torch's tables of groups, which its versions keep in different places: all that heddle_torch uses of the insides of
torch.distributed. Of 1.13 a group is heddle's own object; since 2.0 it is torch's, which has heddle's inside.
"""

import inspect

import torch
import torch.distributed as dist

c10d = dist.distributed_c10d


class _Tables1:
    """Those of 1.13: variables of the module."""

    def default(self):
        return c10d.GroupMember.WORLD

    def backend_of(self, group):
        return group

    def count(self):
        """How many groups were named: part of the next one's name."""
        return c10d._group_count

    def set_count(self, count):
        c10d._group_count = count

    def set_store(self, group, store):
        c10d._pg_map[group] = ("heddle", store)

    def pass_first_barrier(self, store, size):
        """Torch waits until all ranks have counted in the store, which is this one's alone."""
        store.add(f"{c10d.STORE_BASED_BARRIER_PREFIX}:{c10d._group_count}", size - 1)

    def check_replaceable(self, group):
        """Raises RuntimeError for a group that replace() refuses: asked before the group is of no more use."""

    def replace(self, old, backend, former):
        """Puts a group of `backend` in the place of `old`, and returns it; `former` are the ranks that its first ranks
        had there."""
        global_of = {rank: each for each, rank in c10d._pg_group_ranks.pop(old).items()}
        c10d._pg_map[backend] = c10d._pg_map.pop(old)
        c10d._pg_names[backend] = c10d._pg_names.pop(old)
        _number_ranks(c10d._pg_group_ranks, old is c10d.GroupMember.WORLD, backend, global_of, former)
        if old is c10d.GroupMember.WORLD:
            c10d._update_default_pg(backend)
        return backend


class _Tables2:
    """Those since 2.0: one object, and a registry of names in C++."""

    def __init__(self):
        self.prepared = []  # the backend that torch is to make a group of

    def default(self):
        return c10d.GroupMember.WORLD

    def backend_of(self, group):
        return group._get_backend(torch.device("cpu"))

    def count(self):
        return c10d._world.group_count

    def set_count(self, count):
        c10d._world.group_count = count

    def set_store(self, group, store):
        c10d._world.pg_map[group] = (c10d._world.pg_map[group][0], store)

    def pass_first_barrier(self, store, size):
        if c10d._is_barrier_after_init() == 1:  # TORCH_DIST_INIT_BARRIER
            key = f"{c10d.STORE_BASED_BARRIER_PREFIX}:{c10d._world.group_count - 1}"
            dist.PrefixStore("default_pg", store).add(key, size - 1)

    def check_replaceable(self, group):
        kind = c10d._world.pg_map[group][0]
        if {each.split(":")[-1] for each in str(kind).split(",")} != {"heddle"}:
            raise RuntimeError(f"heddle_torch: cannot replace a group of '{kind}': its other backends would be lost; "
                               "make it of heddle alone")

    def replace(self, old, backend, former):
        self.check_replaceable(old)
        world = c10d._world
        kind, store = world.pg_map[old]
        name = world.pg_names[old]
        global_of = {rank: each for each, rank in world.pg_group_ranks[old].items()}
        is_default = old is c10d.GroupMember.WORLD
        tag = world.pg_to_tag.get(old) or ""
        ranks = [] if is_default else [global_of[was] for was in former]
        options = {"timeout": c10d.default_pg_timeout, "group_desc": getattr(old, "group_desc", None),
                   "pg_tag": tag[len("user:"):] if tag.startswith("user:") else None}
        known = inspect.signature(c10d._new_process_group_helper).parameters
        options = {key: each for key, each in options.items() if key in known}
        kept = self._forget(old, name)
        self.prepared.append(backend)
        try:
            made, _ = c10d._new_process_group_helper(backend.size(), backend.rank(), ranks, kind, store, name,
                                                     **options)
            if self.prepared or self.backend_of(made) is not backend:
                raise RuntimeError(f"heddle_torch: this torch {torch.__version__} has made a group without heddle's "
                                   "backend in it: its tables are as they were")
        except BaseException:
            self._restore(old, name, kept)
            raise
        finally:
            self.prepared.clear()
        world.pg_map[made] = (world.pg_map[made][0], store)  # torch's would have one more prefix each time
        _number_ranks(world.pg_group_ranks, is_default, made, global_of, former)
        if is_default:
            c10d._update_default_pg(made)
        return made

    def _tables(self):
        world = c10d._world
        return (world.pg_map, world.pg_names, world.pg_group_ranks, world.pg_backend_config, world.pg_to_tag)

    def _forget(self, group, name):
        """Takes it out of all tables; returns them as they were, for _restore()."""
        groups_of = c10d._world.tags_to_pg
        kept = [dict(table) for table in self._tables()], {tag: list(groups) for tag, groups in groups_of.items()}
        tag = c10d._world.pg_to_tag.get(group)
        for table in self._tables():
            table.pop(group, None)
        for each in {tag, ""}:
            if group in groups_of.get(each, []):
                groups_of[each].remove(group)
        getattr(c10d, "_unregister_process_group", lambda _: None)(name)
        return kept

    def _restore(self, group, name, kept):
        lines, groups_of = kept
        was_made = name in c10d._world.pg_names.values()
        for table, former in zip(self._tables(), lines):
            table.clear()
            table.update(former)
        c10d._world.tags_to_pg.clear()
        c10d._world.tags_to_pg.update(groups_of)
        if was_made:
            getattr(c10d, "_unregister_process_group", lambda _: None)(name)
        getattr(c10d, "_register_process_group", lambda *_: None)(name, group)


def _number_ranks(group_ranks, is_default, new, global_of, former):
    """`group_ranks` with a line for `new`; where it is the default group, its ranks are those of all groups."""
    if not is_default:
        group_ranks[new] = {global_of[was]: rank for rank, was in enumerate(former)}
        return
    now = {global_of[was]: rank for rank, was in enumerate(former)}
    for group, ranks in group_ranks.items():
        if group is new:
            continue
        kept = {now[each]: rank for each, rank in ranks.items() if each in now}
        ranks.clear()
        ranks.update(kept)
    group_ranks[new] = {rank: rank for rank in range(new.size())}


def tables_of(module):
    """Those of this torch.distributed.distributed_c10d."""
    if hasattr(module, "_world"):
        return _Tables2()
    if hasattr(module, "_pg_group_ranks"):
        return _Tables1()
    raise ImportError(f"heddle_torch does not know where torch {torch.__version__} keeps its groups: use 1.13 or 2.x")


tables = tables_of(c10d)


def take_prepared():
    """The backend that replace() gives to torch, where torch asks for one; None where it is to be made."""
    prepared = getattr(tables, "prepared", [])
    return prepared.pop() if prepared else None


def own_or_default(group):
    return tables.default() if group is None else group


def backend_of(group):
    """heddle's object in the group; None is the default group."""
    return tables.backend_of(own_or_default(group))


def register(name, create):
    """Registers a backend that create(store, rank, size, timeout, without_members) makes."""
    known = inspect.signature(dist.Backend.register_backend).parameters
    if "devices" not in known:  # 1.13
        def create_plain(store, rank, size, timeout):
            return create(store, rank, size, timeout, False)

        dist.Backend.register_backend(name, create_plain)
        return

    def create_extended(options, _):
        return create(options.store, options.group_rank, options.group_size, options.timeout,
                      getattr(options, "enable_reconfigure", False))

    dist.Backend.register_backend(name, create_extended, extended_api=True, devices=["cpu"])
