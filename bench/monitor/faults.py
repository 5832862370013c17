"""Faults of a rank, its host and its links in a lab, each made of what makes it outside of one: signals, busy programs,
limits of the kernel's control groups, and the lab's own links.
"""

import contextlib
import errno
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness.failure import CannotMeasure
from harness.pair import start

RANK, HOST, LEAF = 2, "h2", "leaf1"  # where faults of ranks, hosts and NICs are
_FROM = 1                            # of links between leaves: the last rank of leaf0 sends to RANK
_GROUPS = pathlib.Path("/sys/fs/cgroup")
_HOGS = 4
_SWAP_MIB = 256
_HELD_SHARE, _SQUEEZED_WITHIN_S = 0.5, 10  # of what the rank holds without page cache
_DISK_MIB, _DISK_BYTES_PER_S = 64, 2 << 20


class Throttle:
    """A process that has a tenth of the time: 5 of 50 ms."""

    def __init__(self, pid):
        self._pid, self._over = pid, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        with contextlib.suppress(ProcessLookupError):
            while not self._over.is_set():
                os.kill(self._pid, signal.SIGSTOP)
                time.sleep(0.045)
                os.kill(self._pid, signal.SIGCONT)
                time.sleep(0.005)

    def close(self):
        self._over.set()
        self._thread.join()


class Hogs:
    """Busy programs on the core of a process. All ranks but that one are kept on the other cores from the start."""

    def __init__(self, core):
        spin = f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"
        self._all = [start([sys.executable, "-c", spin]) for _ in range(_HOGS)]

    def close(self):
        for one in self._all:
            one.kill()
            one.wait()


def pin(pid, core):
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread), [core])


def _command(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"`{' '.join(words)}` failed: {done.stderr.strip()}", "run it as root")
    return done.stdout.strip()


class Group:
    """A control group of one controller."""

    def __init__(self, controller):
        self._parent = _GROUPS / controller
        self.path = self._parent / f"heddle-bench-{os.getpid()}"
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise CannotMeasure(f"cannot make {self.path}: {error.strerror}",
                                f"run it as root, where {self._parent} is a control group of version 1") from error

    def write(self, name, value):
        (self.path / name).write_text(f"{value}\n", encoding="ascii")

    def held_bytes(self):
        """Of a group of memory, without its page cache, which the kernel drops first."""
        pairs = (line.split() for line in (self.path / "memory.stat").read_text(encoding="ascii").splitlines())
        return sum(int(value) for name, value in pairs if name in ("rss", "shmem"))

    def close(self):
        for pid in (self.path / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):
                (self._parent / "cgroup.procs").write_text(pid, encoding="ascii")
        self.path.rmdir()


class Site:
    """What is prepared before a job starts and undone in reverse order: first the folder in which its ranks keep files,
    then what a subclass has in `_prepare`.
    """

    def __init__(self):
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self.folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="heddle-bench-"))
            self._prepare()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _prepare(self):
        raise NotImplementedError


class Memory(Site):
    """A control group in which the rank is from its start on, and a swap file for what it may not hold."""

    def _prepare(self):
        swap = f"{self.folder}/swap"
        _command("dd", "if=/dev/zero", f"of={swap}", "bs=1M", f"count={_SWAP_MIB}", "status=none")
        os.chmod(swap, 0o600)
        _command("mkswap", swap)
        _command("swapon", swap)
        self._stack.callback(_command, "swapoff", swap)
        self._group = Group("memory")
        self._stack.callback(self._group.close)
        self._group.write("memory.swappiness", 100)
        self._over = threading.Event()
        thread = threading.Thread(target=self._take_in)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(self._over.set)

    def _take_in(self):
        waits, pid = (pathlib.Path(self.folder) / f"{name}.{RANK}" for name in ("waits", "pid"))
        waits.touch()
        while not self._over.wait(0.05):
            if pid.exists() and (text := pid.read_text(encoding="ascii")).endswith("\n"):
                self._group.write("cgroup.procs", int(text))
                return waits.unlink()

    def squeeze(self):
        """Less than the rank uses in each step: the rest goes to the swap file and back."""
        limit = int(_HELD_SHARE * self._group.held_bytes())
        self._stack.callback(self._group.write, "memory.limit_in_bytes", -1)
        end = time.monotonic() + _SQUEEZED_WITHIN_S
        while True:
            try:
                return self._group.write("memory.limit_in_bytes", limit)
            except OSError as error:  # the kernel has not reclaimed enough yet
                if error.errno != errno.EBUSY or time.monotonic() > end:
                    raise CannotMeasure(f"cannot limit a rank's memory: {error.strerror}", "run it again") from error


class Disk(Site):
    """A file system on a loop device, on which the job's ranks keep their checkpoints."""

    def _prepare(self):
        image = f"{self.folder}.image"
        self._stack.callback(pathlib.Path(image).unlink)
        with open(image, "wb") as file:
            file.truncate(_DISK_MIB << 20)
        _command("mkfs.ext4", "-q", image)
        self.device = _command("losetup", "--find", "--show", image)
        self._stack.callback(_command, "losetup", "--detach", self.device)
        _command("mount", self.device, self.folder)
        self._stack.callback(_command, "umount", self.folder)

    def slow_for(self, pid):
        """What that process writes to it; to be closed."""
        group = Group("blkio")
        group.write("cgroup.procs", pid)
        number = os.stat(self.device).st_rdev
        group.write("blkio.throttle.write_bps_device",
                    f"{os.major(number)}:{os.minor(number)} {_DISK_BYTES_PER_S}")
        return group


def _slow_disk(job):
    job.closing(job.site.slow_for(job.process_of(RANK)))


def _hog(job):
    core = os.cpu_count() - 1
    job.closing(Hogs(core))


def _keep_apart(job):
    """Before the fault: the rank is alone on the last core."""
    cores = os.cpu_count()
    if cores < 2:
        raise CannotMeasure("the machine has one core", "leave out this fault")
    for rank in range(4):
        pin(job.process_of(rank), cores - 1 if rank == RANK else rank % (cores - 1))


def _at_host(alarm):
    return (alarm["host"] == HOST or str(RANK) in alarm["processes"]) and alarm["place"] not in ("group", "job")


def _at_link(alarm):
    return alarm["place"] == "link" and alarm["processes"] == [str(_FROM), str(RANK)]


def _on_route(alarm):
    return alarm["place"] == "route"


class Fault:
    """`make(job)`; `sign`: a part of the classes that say so; `at(alarm)`: it names the place; `before(job)`: made when
    the job runs; `site`: what is prepared before the job starts, with the folder in which its ranks keep files.
    """

    def __init__(self, kind, make, sign, at=_at_host, before=None, site=None):
        self.kind, self.make, self.sign, self.at, self.before, self.site = kind, make, sign, at, before, site

    @property
    def slows(self):
        return "hang" not in self.sign

    def is_named_by(self, alarm):
        fits = self.sign in alarm["class"] or (self.sign == "slow" and alarm["class"] == "degradation")
        return fits and self.at(alarm)


def _on_link(kind, *words):
    return lambda job: job.fabric.fault(kind, *words)


_ALL, _ONE_SPINE, _ROUTES, _TWO, _TRAINING = ("all-reduces", "all-reduces over one spine", "all-reduces, routes known",
                                              "all-reduces over two NICs", "training")
FAULTS = {
    "stopped rank": Fault(_ALL, lambda job: os.kill(job.process_of(RANK), signal.SIGSTOP), "hang"),
    "killed rank": Fault(_ALL, lambda job: os.kill(job.process_of(RANK), signal.SIGKILL), "hang"),
    "paused host": Fault(_ALL, _on_link("pause", HOST), "hang"),
    "NIC without carrier": Fault(_ALL, _on_link("down", HOST, LEAF), "hang"),
    "NIC behind a black hole": Fault(_ALL, _on_link("blackhole", HOST, LEAF, "--both-ways"), "hang"),
    "NIC of a quarter of its rate": Fault(_ALL, _on_link("rate", HOST, LEAF, "25Mbit/s"), "slow"),
    "NIC that loses 20%": Fault(_ALL, _on_link("loss", HOST, LEAF, "20%"), "slow"),
    "rank that has a tenth of its core": Fault(_ALL, lambda job: job.closing(Throttle(job.process_of(RANK))), "slow"),
    "switch link of a quarter of its rate": Fault(
        _ONE_SPINE, _on_link("rate", "leaf0", "spine0", "25Mbit/s", "--one-way"), "slow", _at_link),
    "switch link that loses 20%": Fault(
        _ONE_SPINE, _on_link("loss", "leaf0", "spine0", "20%", "--one-way"), "slow", _at_link),
    "black hole at one of four spines": Fault(_ROUTES, _on_link("blackhole", "leaf0", "spine1"), "path_failure",
                                              _on_route),
    "one NIC of two without carrier": Fault(_TWO, _on_link("down", f"{HOST}.1", LEAF), ""),
    "one NIC of two of a quarter of its rate": Fault(_TWO, _on_link("rate", f"{HOST}.1", LEAF, "25Mbit/s"), "slow"),
    "data loader that sleeps": Fault(
        _TRAINING, lambda job: (job.files / f"slow_loader.{RANK}").touch(), "slow"),
    "busy programs on a rank's core": Fault(_TRAINING, _hog, "slow", before=_keep_apart),
    "less memory than a rank uses": Fault(_TRAINING, lambda job: job.site.squeeze(), "slow", site=Memory),
    "slow disk for checkpoints": Fault(_TRAINING, _slow_disk, "slow", site=Disk),
}
