#!/usr/bin/env python3
"""Torch's tables of groups after a group was replaced: for modules that have them where torch 1.13 has them and where
2.x has them, with the helper that 2.x makes a group by. The file under test is loaded beside these instead of torch.
"""

import collections
import importlib.util
import pathlib
import sys
import types
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent / "heddle_torch"


class Group:
    """A group of torch's, or a backend of heddle's."""

    def __init__(self, rank, size, backend=None):
        self._rank, self._size, self.backend = rank, size, backend
        self.group_desc = "described"

    def rank(self):
        return self._rank

    def size(self):
        return self._size

    def _get_backend(self, device):
        assert device == "device cpu"
        return self.backend


class Backend:
    """torch.distributed.Backend."""

    plugins = {}


class Backend1(Backend):
    @classmethod
    def register_backend(cls, name, func, extended_api=False):
        assert not extended_api
        cls.plugins[name] = func


class Backend2(Backend):
    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        assert extended_api and devices == ["cpu"]
        cls.plugins[name] = func


def module_of_1():
    c10d = types.SimpleNamespace(GroupMember=types.SimpleNamespace(WORLD=None), _pg_map={}, _pg_names={},
                                 _pg_group_ranks={}, _group_count=1, STORE_BASED_BARRIER_PREFIX="barrier")
    c10d._update_default_pg = lambda group: setattr(c10d.GroupMember, "WORLD", group)
    return c10d


def module_of_2():
    world = types.SimpleNamespace(pg_map={}, pg_names={}, pg_group_ranks={}, pg_backend_config={}, pg_to_tag={},
                                  tags_to_pg=collections.defaultdict(list), group_count=1)
    c10d = types.SimpleNamespace(GroupMember=types.SimpleNamespace(WORLD=None), _world=world, default_pg_timeout=1800,
                                 registered={}, STORE_BASED_BARRIER_PREFIX="barrier", _is_barrier_after_init=lambda: 0)
    c10d._update_default_pg = lambda group: setattr(c10d.GroupMember, "WORLD", group)
    c10d._unregister_process_group = lambda name: c10d.registered.pop(name)
    c10d._register_process_group = lambda name, group: c10d.registered.update({name: group})

    def helper(group_size, group_rank, global_ranks_in_group, backend, store, group_name, timeout=None, pg_tag=None,
               group_desc=None):
        assert group_name not in world.pg_names.values(), "the name is in use"
        assert group_desc == "described" and timeout == 1800
        options = types.SimpleNamespace(store=store, group_rank=group_rank, group_size=group_size, timeout=timeout)
        made = Group(group_rank, group_size, Backend.plugins[backend](options, None))
        own_store = f"{store} of {group_name}"
        put_2(c10d, made, group_name, backend, own_store, f"user:{pg_tag}" if pg_tag else f"ptd:{group_name}")
        c10d.made_of = global_ranks_in_group
        return made, store

    c10d._new_process_group_helper = helper
    return c10d


def put_2(c10d, group, name, backend, store, tag):
    world = c10d._world
    world.pg_map[group] = (backend, store)
    world.pg_names[group] = name
    world.pg_backend_config[group] = f"cpu:{backend}"
    world.pg_to_tag[group] = tag
    world.tags_to_pg[tag].append(group)
    if tag.startswith("ptd:"):
        world.tags_to_pg[""].append(group)
    c10d.registered[name] = group


def load(c10d, backend_class, **backend_calls):
    """groups.py and elastic.py, with these for torch's; `backend_calls` are those of the extension."""
    Backend.plugins.clear()
    dist = types.ModuleType("torch.distributed")
    dist.distributed_c10d, dist.Backend, dist.default_pg_timeout = c10d, backend_class, 1800
    torch = types.ModuleType("torch")
    torch.distributed, torch.device, torch.__version__ = dist, lambda name: f"device {name}", "9.9"
    package = types.ModuleType("heddle_under_test")
    package._backend = types.SimpleNamespace(**backend_calls)
    names = {"torch": torch, "torch.distributed": dist, "heddle_under_test": package}
    kept = {name: sys.modules.get(name) for name in (*names, "heddle_under_test.groups", "heddle_under_test.elastic")}
    sys.modules.update(names)
    try:
        for name in ("groups", "elastic"):
            spec = importlib.util.spec_from_file_location(f"heddle_under_test.{name}", FOLDER / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            sys.modules[f"heddle_under_test.{name}"] = module
            setattr(package, name, module)
            spec.loader.exec_module(module)
    finally:
        for name, module in kept.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
    package.groups.elastic = package.elastic
    return package.groups


def tables_of(c10d):
    """As they are now, the registry of names with them."""
    world = c10d._world
    tables = (world.pg_map, world.pg_names, world.pg_group_ranks, world.pg_backend_config, world.pg_to_tag)
    return [dict(each) for each in tables], {tag: list(each) for tag, each in world.tags_to_pg.items()}, dict(
        c10d.registered)


class Groups(unittest.TestCase):
    def job_of_1(self):
        """Four ranks, of which this is 2, and a group of 1, 2 and 3."""
        c10d = module_of_1()
        groups = load(c10d, Backend1)
        default, part = Group(2, 4), Group(1, 3)
        c10d._pg_map = {default: ("heddle", "store"), part: ("heddle", "part's store")}
        c10d._pg_names = {default: "0", part: "1"}
        c10d._pg_group_ranks = {default: {rank: rank for rank in range(4)}, part: {1: 0, 2: 1, 3: 2}}
        c10d.GroupMember.WORLD = default
        return c10d, groups, default, part

    def job_of_2(self, kind="heddle", **backend_calls):
        c10d = module_of_2()
        groups = load(c10d, Backend2, **backend_calls)
        groups.register("heddle", lambda *_: groups.take_prepared())
        default, part = Group(2, 4, Group(2, 4)), Group(1, 3, Group(1, 3))
        put_2(c10d, default, "0", kind, "store", "ptd:0")
        put_2(c10d, part, "1", kind, "part's store", "user:mine")
        c10d._world.pg_group_ranks = {default: {rank: rank for rank in range(4)}, part: {1: 0, 2: 1, 3: 2}}
        c10d.GroupMember.WORLD = default
        return c10d, groups, default, part

    def test_1_a_rank_of_the_default_group_is_lost(self):
        c10d, groups, default, part = self.job_of_1()
        left = Group(1, 3)
        self.assertIs(groups.tables.replace(default, left, [0, 2, 3]), left)
        self.assertIs(c10d.GroupMember.WORLD, left)
        self.assertEqual(c10d._pg_group_ranks, {left: {0: 0, 1: 1, 2: 2}, part: {1: 1, 2: 2}})
        self.assertEqual(c10d._pg_names[left], "0")
        self.assertNotIn(default, c10d._pg_map)

    def test_1_a_rank_of_another_group_is_lost(self):
        c10d, groups, default, part = self.job_of_1()
        left = Group(0, 2)
        groups.tables.replace(part, left, [1, 2])
        self.assertIs(c10d.GroupMember.WORLD, default)
        self.assertEqual(c10d._pg_group_ranks[left], {2: 0, 3: 1})

    def test_2_a_rank_of_the_default_group_is_lost(self):
        c10d, groups, default, part = self.job_of_2()
        left = Group(1, 3)
        made = groups.tables.replace(default, left, [0, 2, 3])
        self.assertIs(groups.backend_of(made), left)
        self.assertIs(c10d.GroupMember.WORLD, made)
        self.assertIs(groups.backend_of(None), left)
        world = c10d._world
        self.assertEqual(world.pg_group_ranks, {made: {0: 0, 1: 1, 2: 2}, part: {1: 1, 2: 2}})
        self.assertEqual(c10d.made_of, [])
        for table in (world.pg_map, world.pg_names, world.pg_backend_config, world.pg_to_tag):
            self.assertEqual(set(table), {made, part})
        self.assertEqual(world.tags_to_pg, {"ptd:0": [made], "": [made], "user:mine": [part]})
        self.assertEqual(c10d.registered, {"0": made, "1": part})
        self.assertEqual(world.pg_map[made], ("heddle", "store"))

    def test_2_a_rank_of_another_group_is_lost(self):
        c10d, groups, default, part = self.job_of_2()
        made = groups.tables.replace(part, Group(0, 2), [1, 2])
        self.assertIs(c10d.GroupMember.WORLD, default)
        self.assertEqual(c10d._world.pg_group_ranks[made], {2: 0, 3: 1})
        self.assertEqual(c10d.made_of, [2, 3])
        self.assertEqual(c10d._world.tags_to_pg["user:mine"], [made])

    def test_2_newcomers_are_behind_the_former_ranks(self):
        c10d, groups, default, part = self.job_of_2()
        made = groups.tables.replace(default, Group(1, 5), [0, 2, 3])
        self.assertEqual(c10d._world.pg_group_ranks, {made: {rank: rank for rank in range(5)}, part: {1: 1, 2: 2}})

    def test_2_a_group_with_another_backend_is_left_as_it_is(self):
        c10d, groups, default, _ = self.job_of_2("cpu:heddle,cuda:nccl")
        with self.assertRaisesRegex(RuntimeError, "other backends would be lost"):
            groups.tables.replace(default, Group(1, 3), [0, 2, 3])
        self.assertIn(default, c10d._world.pg_map)

    def test_2_a_group_with_another_backend_is_refused_before_the_old_one_leaves(self):
        called = []
        calls = {name: lambda *words, name=name: called.append(name) for name in ("reconfigure", "grow")}
        _, groups, _, part = self.job_of_2("cpu:heddle,cuda:nccl", **calls)
        for change in (groups.elastic.reconfigure, lambda: groups.elastic.reconfigure(part),
                       lambda: groups.elastic.grow("store")):
            with self.assertRaisesRegex(RuntimeError, "other backends would be lost"):
                change()
        self.assertEqual(called, [])

    def test_2_reconfigure_replaces_the_group(self):
        left = Group(1, 3)
        c10d, groups, default, _ = self.job_of_2(reconfigure=lambda backend, within: (left, [0, 2, 3]))
        made = groups.elastic.reconfigure()
        self.assertIs(groups.backend_of(None), left)
        self.assertIs(c10d.GroupMember.WORLD, made)

    def test_2_tables_are_as_they_were_where_no_group_is_made(self):
        for fault, what in (("raises", "no memory"), ("forgets heddle", "without heddle's backend")):
            c10d, groups, default, part = self.job_of_2()
            before = tables_of(c10d)
            good = c10d._new_process_group_helper

            def helper(*words, timeout=None, pg_tag=None, group_desc=None, fault=fault, good=good, groups=groups):
                if fault == "raises":
                    raise RuntimeError("no memory")
                wanted = groups.take_prepared()
                groups.tables.prepared.append(Group(wanted.rank(), wanted.size()))
                return good(*words, timeout=timeout, pg_tag=pg_tag, group_desc=group_desc)

            c10d._new_process_group_helper = helper
            for old in (default, part):
                with self.assertRaisesRegex(RuntimeError, what):
                    groups.tables.replace(old, Group(1, 3), [0, 1, 2])
                self.assertEqual(tables_of(c10d), before)
                self.assertIsNone(groups.take_prepared())
                self.assertIs(c10d.GroupMember.WORLD, default)

    def test_2_a_group_that_is_replaced_often_keeps_its_store(self):
        c10d, groups, default, _ = self.job_of_2()
        made = default
        for _ in range(3):
            made = groups.tables.replace(made, Group(2, 4), [0, 1, 2, 3])
        self.assertEqual(c10d._world.pg_map[made], ("heddle", "store"))

    def test_what_torch_asks_for_comes_from_its_options(self):
        for module, backend_class, asked in ((module_of_1(), Backend1, ("store", 1, 2, 9)),
                                             (module_of_2(), Backend2, None)):
            groups = load(module, backend_class)
            groups.register("heddle", lambda *words: words)
            create = Backend.plugins["heddle"]
            if asked:
                self.assertEqual(create(*asked), (*asked, False))
                continue
            options = types.SimpleNamespace(store="store", group_rank=1, group_size=2, timeout=9)
            self.assertEqual(create(options, None), ("store", 1, 2, 9, False))
            options.enable_reconfigure = True
            self.assertEqual(create(options, None), ("store", 1, 2, 9, True))

    def test_a_torch_without_such_tables_is_named(self):
        with self.assertRaisesRegex(ImportError, "torch 9.9"):
            load(types.SimpleNamespace(), Backend2)


if __name__ == "__main__":
    unittest.main()
