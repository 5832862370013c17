"""Run by each rank of backend_test.py: every method of a heddle process group beside Gloo's, or beside
what it must give where Gloo has no such method, over random types, shapes and layouts.

    methods.py SEED     prints "passed NAME" a check on rank 0; a difference is an exception on its rank
"""

import datetime
import sys
import threading
import zlib

import torch
import torch.distributed as dist

import heddle_torch
from draw import Draw, as_layout

NUMBERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
           torch.float32, torch.float64]
GLOO_NUMBERS = [torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]
# Some builds of 2.x have a Gloo without float16.
GLOO_NUMBERS = [each for each in GLOO_NUMBERS if torch.__version__[0] == "1" or each != torch.float16]
MOVED = NUMBERS + [torch.bool, torch.complex64, torch.complex128]
OPS = [dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX]


class Checks:
    """Each check_* is one test; `self.heddle` and `self.gloo` are groups of all ranks."""

    def __init__(self, seed):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.gloo, self.heddle = dist.group.WORLD, dist.new_group(backend="heddle")
        self.draw = Draw(seed, self.rank)

    def same(self, mine, right, what):
        if not isinstance(mine, (list, tuple)):
            mine, right = [mine], [right]
        for a, b in zip(mine, right, strict=True):
            if a.dtype != b.dtype or not torch.equal(a, b):
                raise AssertionError(f"rank {self.rank}: {what}: {a.dtype} {tuple(a.shape)}\n{a}\nis not\n{b}")

    def everyones(self, tensor):
        """All ranks' tensors, by Gloo as bytes, so that it knows every type."""
        whole = tensor.contiguous()
        if whole.numel() == 0:
            return [whole.clone() for _ in range(self.size)]
        raw = torch.empty(whole.numel(), dtype=whole.dtype).copy_(whole.reshape(-1)).view(torch.uint8)
        gathered = [torch.zeros_like(raw) for _ in range(self.size)]
        dist.all_gather(gathered, raw, group=self.gloo)
        return [each.view(whole.dtype).view(whole.shape) for each in gathered]

    def rounds(self, dtypes, count=2):
        for dtype in dtypes:
            for _ in range(count):
                yield dtype

    def root(self):
        return self.draw.shared.randrange(self.size)

    # --- whole tensors ---

    def check_broadcast(self):
        for dtype in self.rounds(MOVED):
            root, mine = self.root(), self.draw.tensor(dtype)
            right = self.everyones(mine)[root]
            dist.broadcast(mine, root, group=self.heddle)
            self.same(mine, right, f"broadcast from {root}")

    def check_allreduce_as_gloo_does(self):
        for dtype in self.rounds(GLOO_NUMBERS, 3):
            op = self.draw.shared.choice(OPS)
            mine = self.draw.tensor(dtype)
            right = mine.contiguous().clone()
            dist.all_reduce(mine, op, group=self.heddle)
            if right.numel() > 0:
                dist.all_reduce(right, op, group=self.gloo)
            self.same(mine.contiguous(), right, f"all_reduce {op}")

    def check_allreduce_of_what_gloo_lacks(self):
        for dtype in (torch.int16, torch.bfloat16):
            mine = self.draw.tensor(dtype)
            right = sum(self.everyones(mine))
            dist.all_reduce(mine, group=self.heddle)
            self.same(mine, right, "all_reduce")
        for op, right_of in ((dist.ReduceOp.SUM, torch.any), (dist.ReduceOp.PRODUCT, torch.all)):
            mine = self.draw.tensor(torch.bool, (50,))
            right = right_of(torch.stack(self.everyones(mine)), 0)
            dist.all_reduce(mine, op, group=self.heddle)
            self.same(mine, right, f"all_reduce of bool, {op}")
        mine = self.draw.tensor(torch.complex64, (30,)) * (1 + 2j)
        right = sum(self.everyones(mine))
        dist.all_reduce(mine, group=self.heddle)
        self.same(mine, right, "all_reduce of complex")
        mine = self.draw.tensor(torch.float32, (30,))
        right = sum(self.everyones(mine)) / self.size
        dist.all_reduce(mine, dist.ReduceOp.AVG, group=self.heddle)
        torch.testing.assert_close(mine, right)

    def check_allreduce_coalesced(self):
        tensors = [self.draw.tensor(torch.float32) for _ in range(5)]
        right = [sum(self.everyones(each)) for each in tensors]
        dist.all_reduce_coalesced(tensors, group=self.heddle)
        self.same(tensors, right, "all_reduce_coalesced")

    def check_reduce(self):
        for dtype in self.rounds(GLOO_NUMBERS):
            root, op, mine = self.root(), self.draw.shared.choice(OPS), self.draw.tensor(dtype)
            before = mine.clone()
            right = mine.contiguous().clone()
            dist.reduce(mine, root, op, group=self.heddle)
            if right.numel() > 0:
                dist.reduce(right, root, op, group=self.gloo)
            self.same(mine, right.view(mine.shape) if self.rank == root else before, f"reduce {op}")

    def check_barrier(self):
        for _ in range(3):
            dist.barrier(group=self.heddle)

    # --- a block for each rank ---

    def check_allgather(self):
        for dtype in self.rounds(MOVED):
            shape, mine = None, self.draw.tensor(dtype)
            shape, layout = mine.shape, self.draw.layout()
            got = [as_layout(torch.zeros(shape, dtype=dtype), layout) for _ in range(self.size)]
            dist.all_gather(got, mine, group=self.heddle)
            self.same(got, self.everyones(mine), "all_gather")

    def check_allgather_into_memory_that_lies_as_one(self):
        mine = self.draw.tensor(torch.float32, (700,), "plain")
        memory = torch.zeros(700 * self.size)
        dist.all_gather(list(memory.chunk(self.size)), mine, group=self.heddle)
        self.same(memory, torch.cat(self.everyones(mine)), "all_gather in place")
        dist._all_gather_base(memory.zero_(), mine, group=self.heddle)
        self.same(memory, torch.cat(self.everyones(mine)), "_all_gather_base")
        # The input lies where its block is in the output.
        memory.zero_()
        part = memory.chunk(self.size)[self.rank]
        part.copy_(mine)
        dist._all_gather_base(memory, part, group=self.heddle)
        self.same(memory, torch.cat(self.everyones(mine)), "_all_gather_base in place")

    def check_allgather_coalesced(self):
        mine = [self.draw.tensor(torch.float32) for _ in range(3)]
        got = [[torch.zeros_like(each) for each in mine] for _ in range(self.size)]
        dist.all_gather_coalesced(got, mine, group=self.heddle)
        right = [self.everyones(each) for each in mine]
        for rank in range(self.size):
            self.same(got[rank], [each[rank] for each in right], "all_gather_coalesced")

    def check_gather(self):
        for dtype in self.rounds(MOVED, 1):
            root, mine = self.root(), self.draw.tensor(dtype)
            got = [torch.zeros_like(mine) for _ in range(self.size)] if self.rank == root else None
            dist.gather(mine, got, root, group=self.heddle)
            right = self.everyones(mine)
            if self.rank == root:
                self.same(got, right, "gather")

    def check_scatter(self):
        for dtype in self.rounds(MOVED, 1):
            root, shape = self.root(), self.draw.shape()
            given = [self.draw.tensor(dtype, shape) for _ in range(self.size)]
            right = [self.everyones(each)[root] for each in given][self.rank]
            got = as_layout(torch.zeros(shape, dtype=dtype), self.draw.layout())
            dist.scatter(got, given if self.rank == root else None, root, group=self.heddle)
            self.same(got, right, "scatter")

    def check_reduce_scatter(self):
        for dtype in self.rounds(NUMBERS, 1):
            shape = self.draw.shape()
            given = [self.draw.tensor(dtype, shape) for _ in range(self.size)]
            right = [sum(self.everyones(each)) for each in given][self.rank]
            got = torch.zeros(shape, dtype=dtype)
            dist.reduce_scatter(got, given, group=self.heddle)
            self.same(got, right.to(dtype), "reduce_scatter")
        given = self.draw.tensor(torch.float64, (self.size * 1000,))
        right = sum(self.everyones(given)).chunk(self.size)[self.rank]
        got = torch.zeros(1000, dtype=torch.float64)
        dist._reduce_scatter_base(got, given, group=self.heddle)
        self.same(got, right, "_reduce_scatter_base")

    def check_alltoall(self):
        for dtype in self.rounds(GLOO_NUMBERS, 1):
            mine = self.draw.tensor(dtype, (self.size * 3, 5))
            got, right = torch.zeros_like(mine), torch.zeros_like(mine).contiguous()
            dist.all_to_all_single(got, mine, group=self.heddle)
            dist.all_to_all_single(right, mine.contiguous(), group=self.gloo)
            self.same(got, right, "all_to_all_single")

    def check_alltoall_with_counts(self):
        counts = [[self.draw.shared.randrange(0, 5) for _ in range(self.size)] for _ in range(self.size)]
        to, come = counts[self.rank], [row[self.rank] for row in counts]
        mine = self.draw.tensor(torch.float32, (sum(to), 2), "plain")
        got, right = torch.zeros(sum(come), 2), torch.zeros(sum(come), 2)
        dist.all_to_all_single(got, mine, come, to, group=self.heddle)
        dist.all_to_all_single(right, mine, come, to, group=self.gloo)
        self.same(got, right, "all_to_all_single with counts")
        lists = [torch.zeros(count, 2) for count in come]
        dist.all_to_all(lists, list(mine.split(to)), group=self.heddle)
        self.same(torch.cat(lists), right, "all_to_all")

    # --- messages ---

    def check_messages_go_round(self):
        for dtype in self.rounds(MOVED, 1):
            mine = self.draw.tensor(dtype)
            got = torch.zeros_like(mine)
            after, before = (self.rank + 1) % self.size, (self.rank - 1) % self.size
            sending = dist.isend(mine, after, group=self.heddle)
            receiving = dist.irecv(got, before, group=self.heddle)
            sending.wait()
            receiving.wait()
            self.same(got, self.everyones(mine)[before], "send and recv")

    def check_messages_meet_by_tag(self):
        if self.rank > 1:
            return
        tensors = [torch.full((4,), float(tag)) for tag in range(4)]
        if self.rank == 0:
            works = [dist.isend(tensors[tag], 1, group=self.heddle, tag=tag) for tag in (0, 1, 2, 3)]
        else:
            got = [torch.zeros(4) for _ in range(4)]
            works = [dist.irecv(got[tag], 0, group=self.heddle, tag=tag) for tag in (3, 1, 0, 2)]
        for work in works:
            work.wait()
        if self.rank == 1:
            self.same(got, tensors, "messages with tags")

    def check_messages_from_any_source(self):
        """Rank 0 takes a short message of any rank and then a longer one of the same rank, twice from each."""
        sizes = [self.draw.shared.randrange(300, 200_000) for _ in range(self.size)]
        for tag, dtype in enumerate((torch.int64, torch.float16, torch.complex64)):
            if self.rank != 0:
                for value in (1, 2):
                    dist.send(torch.full((33, 7), value, dtype=dtype), 0, group=self.heddle, tag=tag)
                    dist.send(torch.full((sizes[self.rank],), value, dtype=dtype), 0, group=self.heddle, tag=tag)
                continue
            seen = []
            for each in range(2 * (self.size - 1)):
                short = as_layout(torch.zeros(33, 7, dtype=dtype), self.draw.layout())
                work = dist.irecv(short, group=self.heddle, tag=tag) if each % 2 else None
                source = dist.recv(short, group=self.heddle, tag=tag) if work is None else None
                if work is not None:
                    work.wait()
                    source = work._source_rank()
                seen.append(source)
                value = seen.count(source)
                self.same(short, torch.full((33, 7), value, dtype=dtype), f"message {value} of rank {source}")
                long = torch.zeros(sizes[source], dtype=dtype)
                dist.recv(long, source, group=self.heddle, tag=tag)
                self.same(long, torch.full((sizes[source],), value, dtype=dtype), f"what rank {source} sent next")

    def check_a_message_that_came_for_any_source_meets_a_receive_that_names_it(self):
        """All were posted before any message: each gets the next message of rank 1."""
        values = [torch.full((5,), float(value)) for value in (1, 2, 3, 4)]
        if self.rank == 0:
            got = [torch.zeros(5) for _ in values]
            works = [dist.irecv(each, source, group=self.heddle, tag=8)
                     for each, source in zip(got, (None, 1, None, 1), strict=True)]
            dist.barrier(self.gloo)
            for work in works:
                work.wait()
            self.same(got, values, "order")
            return
        dist.barrier(self.gloo)
        if self.rank == 1:
            for each in values:
                dist.send(each, 0, group=self.heddle, tag=8)

    def check_after_a_receive_from_any_source_messages_with_its_tag_have_any_size(self):
        """The receive took the message of one rank; those of the others come later and are longer."""
        if self.rank == 0:
            first = torch.zeros(1)
            source = dist.recv(first, group=self.heddle, tag=9)
            for rank in range(1, self.size):
                if rank != source:
                    self.receive(torch.ones(1), rank, 9)
                self.receive(torch.full((50_000 * rank,), float(rank)), rank, 9)
                self.receive(torch.zeros(0), rank, 9)
                self.receive(torch.ones(7, dtype=torch.int16), rank, 9)
                dist.send(first, rank, group=self.heddle, tag=9)
            return
        for tensor in (torch.ones(1), torch.full((50_000 * self.rank,), float(self.rank)), torch.zeros(0),
                       torch.ones(7, dtype=torch.int16)):
            dist.send(tensor, 0, group=self.heddle, tag=9)
            if tensor.dtype == torch.int16:  # then comes the next rank
                dist.recv(torch.zeros(1), 0, group=self.heddle, tag=9)

    def receive(self, right, source, tag):
        got = torch.zeros_like(right)
        dist.recv(got, source, group=self.heddle, tag=tag)
        self.same(got, right, f"from rank {source} with tag {tag}")

    def check_a_message_of_another_size_stays_for_the_next_receive_from_any_source(self):
        if self.rank == 1:
            dist.send(torch.ones(6), 0, group=self.heddle, tag=10)
        if self.rank == 0:
            self.refused("rank 1 has 24 bytes, this receive 20",
                         lambda: dist.recv(torch.zeros(5), group=self.heddle, tag=10))
            self.receive(torch.ones(6), None, 10)

    def check_threads_receive_from_any_source_beside_receives_that_name_it(self):
        """Each message meets one receive, whichever thread posted it."""
        count = 200
        if self.rank == 0:
            got = [torch.zeros(3) for _ in range(2 * count)]

            def receive(first, source):
                for each in got[first::2]:
                    dist.recv(each, source, group=self.heddle, tag=11)

            thread = threading.Thread(target=receive, args=(0, None))
            thread.start()
            receive(1, 1)
            thread.join()
            assert sorted(each[0].item() for each in got) == list(range(2 * count)), got
        elif self.rank == 1:
            for each in range(2 * count):
                dist.send(torch.full((3,), float(each)), 0, group=self.heddle, tag=11)

    def check_allreduce_of_sparse_tensors_as_gloo_does(self):
        """Not the same number of elements on each rank; some of the dimensions are dense."""
        for dtype in (torch.uint8, torch.int8, torch.int32, torch.int64, torch.float32, torch.float64):
            for sparse_dims in (1, 2, 3):
                dense = self.draw.tensor(dtype, (5, 4, 3), "plain")
                dense[self.rank:, 1:] = 0
                dense[4, 0, 0] = 1
                mine, right = dense.to_sparse(sparse_dims), dense.to_sparse(sparse_dims)
                dist.all_reduce(mine, group=self.heddle)
                dist.all_reduce(right, group=self.gloo)
                self.same(mine.to_dense(), right.to_dense(), f"{sparse_dims} sparse dimensions")

    def check_allreduce_of_sparse_tensors_without_elements(self):
        """On all ranks, and on all but one."""
        for full in (self.size, self.size - 1):
            for dtype in (torch.float64, torch.int64):
                dense = torch.full((4, 2), 3 if self.rank == full else 0, dtype=dtype)
                mine = dense.to_sparse()
                dist.all_reduce(mine, group=self.heddle, async_op=True).wait()
                self.same(mine.to_dense(), sum(self.everyones(dense)), f"elements on rank {full} only")

    def check_allreduce_of_sparse_tensors_of_other_sizes_is_refused(self):
        one = torch.ones(3 + (self.rank == 0)).to_sparse()
        self.refused("other sizes", lambda: dist.all_reduce(one, group=self.heddle))

    def check_many_at_once(self):
        tensors = [self.draw.tensor(torch.float32, (count,), "plain") for count in range(1, 4000, 97)]
        right = [sum(self.everyones(each)) for each in tensors]
        works = [dist.all_reduce(each, group=self.heddle, async_op=True) for each in tensors]
        for work in reversed(works):
            work.wait()
        self.same(tensors, right, "calls under way together")

    # --- handles and groups ---

    def check_futures(self):
        tensor = torch.full((1000,), float(self.rank))
        total = float(sum(range(self.size)))
        future = dist.all_reduce(tensor, group=self.heddle, async_op=True).get_future()
        halved = future.then(lambda done: done.value()[0] / 2)
        self.same(halved.wait(), torch.full((1000,), total / 2), "then()")

        def again(done):  # a callback that makes a call and waits for it
            second = done.value()[0].clone()
            return dist.all_reduce(second, group=self.heddle, async_op=True).get_future().wait()[0]

        first = dist.all_reduce(torch.ones(10), group=self.heddle, async_op=True).get_future()
        self.same(first.then(again).wait(), torch.full((10,), float(self.size**2)), "a call in a callback")
        work = dist.all_reduce(torch.ones(3), group=self.heddle, async_op=True)
        work.wait()
        self.same(work.get_future().wait(), [torch.full((3,), float(self.size))], "a future afterwards")

    def check_dropped_works_keep_their_memory(self):
        for _ in range(20):
            dist.all_reduce(torch.ones(5000), group=self.heddle, async_op=True)
        tensor = torch.ones(4)
        dist.all_reduce(tensor, group=self.heddle)
        self.same(tensor, torch.full((4,), float(self.size)), "after works that nobody kept")

    def check_groups_of_some(self):
        for ranks in ([0, self.size - 1], list(range(self.size))[::-1]):
            group = dist.new_group(ranks, backend="heddle")
            tensor = torch.full((7,), float(self.rank))
            if self.rank in ranks:
                dist.all_reduce(tensor, group=group)
                self.same(tensor, torch.full((7,), float(sum(ranks))), f"group {ranks}")
                dist.destroy_process_group(group)

    def check_monitored_barrier_for_which_torch_wants_gloo(self):
        dist.monitored_barrier(self.heddle)
        dist.monitored_barrier(self.heddle, wait_all_ranks=True)
        dist.monitored_barrier(self.gloo)  # torch's own
        part = dist.new_group([0], backend="heddle")
        dist.monitored_barrier(part)  # of which most ranks are no members

    def check_health(self):
        """No rank makes a call for it: all but one are in another barrier."""
        if self.rank == 0:
            for timeout in (60, datetime.timedelta(minutes=1)):
                health = heddle_torch.check_health(self.heddle, timeout)
                assert health and health == (list(range(self.size)), {}, None), health
            self.refused("of another backend", lambda: heddle_torch.check_health(self.gloo))
        dist.barrier(self.gloo)

    def check_profiler_entries_of_coalesced_calls(self):
        """The names by which PyTorch's profiler lists calls are those for Gloo, but for the backend's."""
        names = {}
        for backend in ("gloo", "heddle"):
            group = getattr(self, backend)
            ones, rest = torch.ones(3), [[torch.empty(3)] for _ in range(self.size)]
            with torch.autograd.profiler.profile() as profile:
                dist.all_reduce_coalesced([ones, ones.clone()], group=group)
                dist.all_gather_coalesced(rest, [ones], group=group)
            names[backend] = [each.name.split(":")[1] for each in profile.function_events
                              if each.name.startswith(backend + ":")]
        assert names["heddle"] == names["gloo"] == ["all_reduce", "all_gather"], names

    # --- what makes no sense, or is not there ---

    def refused(self, text, call):
        try:
            call()
        except RuntimeError as error:
            if text not in str(error):
                raise AssertionError(f"'{error}' does not say '{text}'") from error
            return
        raise AssertionError(f"not refused: {text}")

    def check_refusals(self):
        group, ones = self.heddle, torch.ones(3)
        self.refused("there are SUM, AVG", lambda: dist.all_reduce(ones, dist.ReduceOp.BXOR, group=group))
        self.refused("of bool there are", lambda: dist.all_reduce(ones.bool(), dist.ReduceOp.AVG, group=group))
        # Since 2.0 torch itself refuses it.
        self.refused("dense" if torch.__version__[0] == "1" else "SparseCPU",
                     lambda: dist.broadcast(ones.to_sparse(), 0, group=group))
        self.refused("there is SUM", lambda: dist.all_reduce(ones.to_sparse(), dist.ReduceOp.MAX, group=group))
        self.refused("all have to be alike",
                     lambda: dist.all_gather([torch.ones(4) for _ in range(self.size)], ones, group=group))
        self.refused("give split sizes", lambda: dist.all_to_all_single(
            torch.ones(self.size + 1), torch.ones(self.size + 1), group=group))


def main():
    seed = int(sys.argv[1])
    dist.init_process_group("gloo")
    checks = Checks(seed)
    for name in sorted(name for name in dir(Checks) if name.startswith("check_")):
        checks.draw = Draw(seed + zlib.crc32(name.encode()), checks.rank)
        getattr(checks, name)()
        dist.barrier()
        if checks.rank == 0:
            print("passed", name[6:], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
