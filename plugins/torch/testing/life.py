"""Run by three ranks of backend_test.py: groups are made, destroyed and made again; who is missing, late or
dead is named. Prints "passed NAME" a part on rank 0.

    life.py made_again FOLDER
    life.py own_settings FOLDER HEDDLE
    life.py missing
    life.py ends_in_a_callback    (one rank does)
    life.py limited_threads       (one rank does)
    life.py dropped_tensors
"""

import collections
import ctypes
import datetime
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist

import heddle_torch  # noqa: F401  registers the backend


def seconds(count):
    return datetime.timedelta(seconds=count)


def passed(name):
    if dist.get_rank() == 0:
        print("passed", name, flush=True)


def error_of(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError(f"rank {dist.get_rank()}: it ended well")


def expect(part, text):
    if part not in text:
        raise AssertionError(f"rank {dist.get_rank()}: '{text}' does not say '{part}'")


class Signs:
    """Signals between ranks, by a store that is independent of heddle."""

    def __init__(self, store):
        self.store = store

    def give(self, name):
        self.store.set(f"{name}/{dist.get_rank()}", "1")

    def wait(self, name, ranks):
        self.store.wait([f"{name}/{rank}" for rank in ranks])

    def meet(self, name, ranks):
        """Rank 0, which has the store, leaves last."""
        self.give(name)
        self.wait(name, ranks)
        if dist.get_rank() != 0:
            self.give(f"{name} left")
        else:
            self.wait(f"{name} left", [rank for rank in ranks if rank != 0])


def ask_until_answered(group, ranks, stopped=None):
    """check_health(), again and for longer until these ranks have answered: a busy host is slow. The process `stopped`
    does not run meanwhile."""
    for attempt in range(20):
        if stopped is not None:
            os.kill(stopped, signal.SIGSTOP)
        try:
            health = heddle_torch.check_health(group, timeout=min(0.5 * 2**attempt, 3))
        finally:
            if stopped is not None:
                os.kill(stopped, signal.SIGCONT)
        if health.answered == ranks:
            break
        time.sleep(1)  # so that a stopped rank is not declared lost
    return health


def made_again(folder):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for count in range(3):
        dist.init_process_group("heddle", init_method=f"file://{folder}/{count}", rank=rank, world_size=size)
        tensor = torch.ones(2000)
        dist.all_reduce(tensor)
        assert tensor[0] == 3
        part = dist.new_group([0, 2])
        if dist.get_rank() != 1:
            dist.broadcast(tensor, 2, group=part)
        dist.destroy_process_group()


def own_settings(folder, heddle):
    """Groups made under a changed setting have it, and share an endpoint; the others do not."""
    dist.init_process_group("heddle")
    mine = pathlib.Path(folder, str(dist.get_rank()))
    os.environ["HEDDLE_RECORD"] = str(mine)
    recorded = [dist.new_group(backend="heddle") for _ in range(2)]
    os.environ["HEDDLE_RECORD"] = ""
    plain = dist.new_group(backend="heddle")
    for group in [*recorded, plain, None]:
        tensor = torch.ones(7)
        dist.all_reduce(tensor, group=group)
        assert tensor[0] == 3

    def events(rank, kind):
        return subprocess.run([heddle, "record", "dump", pathlib.Path(folder, str(rank)), "--kind", kind], check=True,
                              capture_output=True, text=True).stdout.splitlines()

    if dist.get_rank() == 0:
        while not (events(1, "wait_begun") and events(2, "wait_begun")):  # for rank 0, which has not come
            time.sleep(0.05)
    dist.barrier(recorded[0])
    waits = 0 if dist.get_rank() == 0 else 1
    for kind, least, most in (("endpoint_opened", 1, 1), ("communicator_made", 2, 2), ("wait_begun", waits, 3)):
        found = events(dist.get_rank(), kind)
        assert least <= len(found) <= most, found
    os.environ["HEDDLE_RECORD"], os.environ["HEDDLE_RECORD_LEVEL"] = str(mine), "segments"
    expect("records there at level messages already", error_of(lambda: dist.new_group(backend="heddle")))
    passed("own_settings")
    dist.barrier()


def ends_in_a_callback():
    """The process ends while a future's callback computes in another thread."""
    dist.init_process_group("heddle")

    def compute(_future):
        begun.set()
        until = time.monotonic() + 1
        while time.monotonic() < until:
            pass
        passed("ends_in_a_callback")

    begun = threading.Event()
    dist.all_reduce(torch.ones(5), async_op=True).get_future().then(compute)
    begun.wait()


class NoMoreThreads:
    """As under a limit of threads: each would need a stack that no address space has."""

    def __enter__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.set_stack(1 << 48)

    def __exit__(self, *_):
        self.set_stack(1 << 20)

    def set_stack(self, count):
        attributes = ctypes.create_string_buffer(64)
        self.libc.pthread_attr_init(attributes)
        assert self.libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(count)) == 0
        assert self.libc.pthread_setattr_default_np(attributes) == 0


def limited_threads():
    """Copies and callbacks, each of which may want a side thread, where there can be none; also one that waits
    for another."""
    dist.init_process_group("heddle")
    rank = dist.get_rank()
    results = []
    with NoMoreThreads():
        for _ in range(20):
            apart = torch.ones(64, 2)[:, 0]
            work = dist.all_reduce(apart, async_op=True)
            work.get_future().add_done_callback(lambda future: results.append(future.value()[0][0].item()))

            def call_again(_future):
                again = torch.ones(64, 2)[:, 0]
                dist.all_reduce(again)
                results.append(again[0].item())

            work.get_future().then(call_again)
            work.wait()
            dist.all_reduce(torch.ones(64, 2)[:, 0])
        until = time.monotonic() + 60
        while len(results) < 40 and time.monotonic() < until:
            dist.all_reduce(torch.ones(64, 2)[:, 0], async_op=True).wait()
    assert results == [dist.get_world_size()] * 40, results
    dist.destroy_process_group()
    if rank == 0:
        print("passed limited_threads", flush=True)


def dropped_tensors():
    """No tensor is destroyed on the progress thread, even if other references are dropped at the same time."""
    dist.init_process_group("heddle")
    rank = dist.get_rank()
    went = collections.Counter()

    class Seen(torch.Tensor):
        def __del__(self):
            name = pathlib.Path("/proc/thread-self/comm").read_text().strip()
            went[name if name.startswith("heddle") else "the program's"] += 1

    count = 3000
    for round in range(count):
        tensor = torch.ones(8).as_subclass(Seen)
        work = dist.all_reduce(tensor, async_op=True)
        del tensor
        for _ in range(round % 100):
            work.is_completed()
        del work
    dist.barrier()
    dist.destroy_process_group()
    until = time.monotonic() + 60
    while went.total() < count and time.monotonic() < until:
        time.sleep(0.01)
    print(went, flush=True)
    assert went.total() == count, "tensors are kept for ever"
    assert "heddle-progress" not in went
    if rank == 0:
        print("passed dropped_tensors", flush=True)


def late_rank_is_named(signs):
    group = dist.new_group(backend="heddle", timeout=seconds(6))
    tensor = torch.ones(3)
    if dist.get_rank() == 2:
        signs.wait("late", [0, 1])
    text = error_of(lambda: dist.all_reduce(tensor, group=group))
    expect("timed out after 6.0 s", text)
    expect(" Timed out ", text)  # by which PyTorch's programs recognize it
    expect("waits for rank 2, which has not called it", text)
    signs.give("late")
    expect("has failed", error_of(lambda: dist.all_reduce(tensor, group=group)))
    passed("late_rank_is_named")


def wait_with_a_time_is_no_end(signs):
    group = dist.new_group(backend="heddle")
    tensor = torch.ones(3)
    if dist.get_rank() == 2:
        signs.wait("patient", [0, 1])
    work = dist.all_reduce(tensor, group=group, async_op=True)
    if dist.get_rank() != 2:
        text = error_of(lambda: work.wait(seconds(0.05)))
        expect("waits for rank", text)
        expect(" Timed out ", text)
        signs.give("patient")
    work.wait()
    assert tensor[0] == 3 and work.is_completed()
    passed("wait_with_a_time_is_no_end")


def monitored_barrier_names_all(signs):
    group = dist.new_group(backend="heddle")
    if dist.get_rank() == 0:
        text = error_of(lambda: dist.monitored_barrier(group, seconds(1), wait_all_ranks=True))
        expect("Ranks 1, 2 failed to pass monitoredBarrier in 1000 ms", text)
        signs.give("monitored")
    else:
        signs.wait("monitored", [0])
        expect(f"Rank {dist.get_rank()} successfully reached monitoredBarrier, but received errors while waiting for "
               "send/recv from rank 0", error_of(lambda: dist.monitored_barrier(group, seconds(1))))
    passed("monitored_barrier_names_all")


def monitored_barrier_names_the_first(signs):
    """In the order of ranks; and itself, as Gloo's rank 0, if it has no time."""
    for time_s, text in ((1, "Rank 1 failed to pass monitoredBarrier in 1000 ms"),
                         (0, "Rank 0 timed out in monitoredBarrier after 0 ms")):
        group = dist.new_group(backend="heddle")
        if dist.get_rank() == 0:
            expect(text, error_of(lambda: dist.monitored_barrier(group, seconds(time_s))))
        signs.meet(f"first named, {time_s} s", [0, 1, 2])
    passed("monitored_barrier_names_the_first")


def monitored_barrier_waits_for_rank_0(meanwhile):
    """Whose time begins when it comes, with Gloo; the others have come long before."""
    group = dist.new_group(backend="heddle")
    errors = []

    def arrive(time_s):
        try:
            group.monitored_barrier(seconds(time_s))
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=arrive, args=(0.1,))
    if dist.get_rank() == 0:
        meanwhile()
        arrive(60)
    else:
        thread.start()
        meanwhile()
        thread.join()
    assert not errors, errors
    passed("monitored_barrier_waits_for_rank_0")


def receive_at_last(tensor, group):
    """The source; on a busy host the message may need longer than the group's timeout."""
    while True:
        try:
            return dist.recv(tensor, group=group)
        except RuntimeError as error:
            expect(" Timed out ", str(error))


def receive_from_any_source_ends(signs):
    """After its time without a message; at once when no rank can send any more."""
    group = dist.new_group(backend="heddle", timeout=seconds(3))
    tensor = torch.ones(3)
    if dist.get_rank() == 0:
        expect(" Timed out ", error_of(lambda: dist.recv(tensor, group=group)))
        expect(" Timed out ", error_of(lambda: dist.irecv(tensor, group=group, tag=1).wait(seconds(0.05))))
        signs.give("no message")
        assert receive_at_last(tensor, group) == 2 and tensor[0] == 2  # the group works on
        work = dist.irecv(tensor, group=group)
        heddle_torch.abort(group)
        error_of(work.wait)
        expect("cannot receive", error_of(lambda: dist.recv(tensor, group=group)))
    else:
        signs.wait("no message", [0])
        if dist.get_rank() == 2:
            dist.send(2 * tensor, 0, group=group)
    signs.meet("any source", [0, 1, 2])
    passed("receive_from_any_source_ends")


def silent_rank_is_found(signs):
    """A rank whose process is stopped does not answer; the group itself has not failed yet."""
    group = dist.new_group(backend="heddle")
    dist.barrier(group)
    if dist.get_rank() == 2:
        signs.store.set("process", str(os.getpid()))
        signs.wait("health", [0])
    elif dist.get_rank() == 0:
        process = int(signs.store.get("process"))
        assert ask_until_answered(group, [0, 1, 2])
        health = ask_until_answered(group, [0, 1], stopped=process)
        assert not health and health.answered == [0, 1] and list(health.silent) == [2], health
        expect("does not answer", health.silent[2])
        signs.give("health")
    passed("silent_rank_is_found")


def absent_rank_is_named(signs):
    if dist.get_rank() == 2:
        signs.wait("absent", [0, 1])
        return
    store = dist.PrefixStore("absent", signs.store)
    store.set_timeout(seconds(3))
    signs.meet("absent begins", [0, 1])
    text = error_of(lambda: heddle_torch._create(store, dist.get_rank(), 3, seconds(3)))
    expect("of the group's 3 ranks, 2 did not come", text)
    signs.give("absent")
    passed("absent_rank_is_named")


def child_is_refused(signs):
    group = dist.new_group(backend="heddle")
    child = os.fork()
    if child == 0:
        text = error_of(lambda: dist.all_reduce(torch.ones(1), group=group))
        os._exit(0 if "after fork" in text else 1)
    assert os.waitpid(child, 0)[1] == 0
    dist.all_reduce(torch.ones(1), group=group)
    passed("child_is_refused")


def dead_rank_is_named(signs):
    group, monitored = (dist.new_group(backend="heddle") for _ in range(2))
    tensor = torch.ones(100_000)
    dist.all_reduce(tensor, group=group)
    dist.monitored_barrier(monitored)
    dist.barrier()
    if dist.get_rank() == 2:
        os._exit(0)
    expect("rank 2", error_of(lambda: [dist.all_reduce(tensor, group=group) for _ in range(1000)]))
    health = ask_until_answered(group, [0, 1])
    assert not health and health.answered == [0, 1] and list(health.silent) == [2], health
    expect("rank 2", health.error)
    text = error_of(lambda: dist.monitored_barrier(monitored, seconds(600)))  # long before its time
    if dist.get_rank() == 0:
        expect("Rank 2 failed to pass monitoredBarrier in 600000 ms. Rank 2: ", text)
    signs.meet("dead rank was named", [0, 1])
    passed("dead_rank_is_named")


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "made_again":
        made_again(sys.argv[2])
        dist.init_process_group("heddle")
        dist.all_reduce(torch.ones(5))
        passed("made_again")
        return  # and ends without a word to heddle
    if sys.argv[1] == "own_settings":
        return own_settings(*sys.argv[2:])
    if sys.argv[1] == "ends_in_a_callback":
        return ends_in_a_callback()
    if sys.argv[1] == "limited_threads":
        return limited_threads()
    if sys.argv[1] == "dropped_tensors":
        return dropped_tensors()
    dist.init_process_group("gloo")
    signs = Signs(dist.PrefixStore("signs", dist.distributed_c10d._get_default_store()))
    monitored_barrier_waits_for_rank_0(meanwhile=lambda: late_rank_is_named(signs))
    wait_with_a_time_is_no_end(signs)
    monitored_barrier_names_all(signs)
    monitored_barrier_names_the_first(signs)
    receive_from_any_source_ends(signs)
    silent_rank_is_found(signs)
    absent_rank_is_named(signs)
    child_is_refused(signs)
    dead_rank_is_named(signs)


if __name__ == "__main__":
    main()
