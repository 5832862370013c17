"""Runs the program under test: servers that are stopped in the end, clients, and what they said.

The environment variable HEDDLE names the program. Nothing here waits for a time to pass: waits end by
events, and limits are far above what anything takes that works.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time

HEDDLE = os.environ.get("HEDDLE", "heddle")


def sanitized():
    """Whether the program is of a build with sanitizers, in which it takes several times as long."""
    cache = pathlib.Path(HEDDLE).resolve().parents[1] / "CMakeCache.txt"
    return cache.exists() and "HEDDLE_SANITIZERS:STRING=\n" not in cache.read_text(encoding="utf-8")


# Below ctest's own limit of a file, so that the test that waits in vain is named.
PATIENCE_S = 180 if sanitized() else 60


def sample(cases, every=4):
    """All of them; with sanitizers each `every`-th: of cases that each start the program, for texts or simulated
    results, which do not depend on the build."""
    return cases[::every] if sanitized() else cases


def environment(**settings):
    """A clean one: no HEDDLE_* of the caller, no configuration file of the host, and a home that none can make: a tool
    of the host once made /nonexistent, which other tests expect to be missing."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HEDDLE")}
    clean.update({"HOME": "/proc/nonexistent", "LC_ALL": "C.UTF-8", **settings})
    return clean


def free_port():
    """A port that is free now for UDP and TCP, outside the system's ephemeral range."""
    while True:
        port = random.randrange(20000, 32000)
        with (socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as datagrams,
              socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as stream, contextlib.suppress(OSError)):
            datagrams.bind(("::", port))
            stream.bind(("::", port))
            return port


def is_taken(port):
    """By a UDP socket. A probe that binds the port would keep it from the program for a moment."""
    for table in ("udp", "udp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            if any(int(line.split()[1].rsplit(":", 1)[1], 16) == port for line in file.readlines()[1:]):
                return True
    return False


def run(*arguments, settings=None, timeout=PATIENCE_S, **options):
    """Runs to its end: a CompletedProcess with text."""
    return subprocess.run([HEDDLE, *map(str, arguments)], env=environment(**(settings or {})),
                          capture_output=True, text=True, timeout=timeout, check=False, **options)


def wait_until(condition, what="it did not come true in time"):
    """Until the condition holds; an error that says `what` where it does not come true."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.05)


def catches(process, number):
    """Whether it has a handler of that signal; before it has, the signal ends it as it ends any program."""
    status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    return bool(int(re.search(r"(?m)^SigCgt:\t(\w+)$", status).group(1), 16) >> (number - 1) & 1)


def kill(process):
    """SIGKILL to a process that may have ended: the others of a job end it some seconds after it was stopped."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def has_stopped(process):
    """Whether all threads of a process stand still since SIGSTOP, or it has ended: the signal takes effect later."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return all(re.search(r"^State:\s*[TXZ]", (task / "status").read_text(encoding="utf-8"), re.MULTILINE)
                   for task in pathlib.Path(f"/proc/{process}/task").iterdir())
    return True


def recordings(folder):
    """The names of the recordings of a job's processes."""
    return sorted(name for name in os.listdir(folder) if name.endswith(".heddle"))


def page_data(path):
    """The data embedded in an HTML page of the program."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search('type="application/json">(.*?)</script>', file.read(), re.DOTALL).group(1))


def foreign_socket(test):
    """A socket of UDP by which a test is the other end of a connection."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    test.addCleanup(made.close)
    made.bind(("127.0.0.1", 0))
    made.settimeout(PATIENCE_S)
    return made


def mount_small_disk(test, folder, size):
    """Mounts a tmpfs of this size ("500k") on a new folder until the test ends; skips the test where that fails."""
    if os.geteuid() != 0:
        test.skipTest("mounting a small disk needs root")
    os.mkdir(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False).returncode != 0:
        test.skipTest("a small disk cannot be mounted here")
    test.addCleanup(subprocess.run, ["umount", folder], check=True)


def controllers():
    """The congestion controllers that the program offers, so that a new one needs no change here."""
    offered = re.search(r"--cc (\S+\|\S+)", run("perf", "--help").stdout)
    return offered.group(1).split("|")


class Process:
    """A running program; wait_for() waits for a line of its output."""

    def __init__(self, *arguments, settings=None, before=(), program=HEDDLE, **options):
        self.process = subprocess.Popen([*before, program, *map(str, arguments)],
                                        env=environment(**(settings or {})), text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.lines = []
        self.errors = []
        self._arrived = threading.Condition()
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                         for pair in ((self.process.stdout, self.lines),
                                      (self.process.stderr, self.errors))]
        for reader in self._readers:
            reader.start()

    def _read(self, stream, lines):
        for line in stream:
            with self._arrived:
                lines.append(line.rstrip("\n"))
                self._arrived.notify_all()
        with self._arrived:
            self._arrived.notify_all()

    def wait_for(self, pattern, timeout=PATIENCE_S):
        """The first line of either output that matches; an error if it ends or is silent."""
        def found():
            return next((line for line in self.lines + self.errors if re.search(pattern, line)),
                        None)

        with self._arrived:
            ended = lambda: not any(reader.is_alive() for reader in self._readers)
            self._arrived.wait_for(lambda: found() or ended(), timeout)
            line = found()
        if line is None:
            raise AssertionError(f"no line matches '{pattern}' in:\n{self.said()}")
        return line

    def wait_for_port(self, port, timeout=PATIENCE_S):
        """Until it has a UDP socket at this port: with --json a server prints nothing before its end."""
        end = time.monotonic() + timeout
        while not is_taken(port):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"nothing listens at port {port}:\n{self.said()}")
            time.sleep(0.01)

    def said(self):
        """All its output so far."""
        return "\n".join(self.lines + self.errors)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE_S):
        """Waits for the end; the exit status, negative for a signal."""
        status = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(timeout)
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        self.process.stdout.close()
        self.process.stderr.close()


@contextlib.contextmanager
def started(*arguments, **options):
    """A Process that is killed in the end, however that comes."""
    process = Process(*arguments, **options)
    try:
        yield process
    finally:
        process.close()


@contextlib.contextmanager
def server(*arguments, command="perf", **options):
    """A listening server and its port, which clients can reach when this is entered."""
    port = free_port()
    with started(command, "--listen", "-p", port, *arguments, **options) as process:
        if "--json" in arguments:
            process.wait_for_port(port)
        else:
            process.wait_for(r"listens on")
        yield process, port


INTERRUPT = signal.SIGINT
