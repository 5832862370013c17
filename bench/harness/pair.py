"""A server in one namespace and a client in the other, run once: the client's output, and the CPU time.

Children die with this process, even if it is killed.
"""

import ctypes
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

from harness.failure import CannotMeasure
from harness.meanwhile import Meanwhile

ROOT = pathlib.Path(__file__).resolve().parents[2]
_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def built(name):
    """The path of one of heddle's own programs."""
    folder = pathlib.Path(os.environ.get("HEDDLE_BENCH_BIN", ROOT / "build/release/bin"))
    path = folder / name
    if not path.exists():
        raise CannotMeasure(f"{path} is missing", "run `make build`, or set HEDDLE_BENCH_BIN")
    return str(path)


def installed(name, package):
    """The path of another program."""
    path = shutil.which(name)
    if path is None:
        raise CannotMeasure(f"`{name}` is missing", f"apt-get install {package}")
    return path


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command, **streams):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True,
                            preexec_fn=_die_with_parent, **streams)


def wait_until_listening(server, name, sign):
    """Reads the server's output until it contains `sign`."""
    end = time.monotonic() + 10
    text = ""
    while sign not in text:
        ready, _, _ = select.select([server.stdout], [], [], max(0, end - time.monotonic()))
        line = os.read(server.stdout.fileno(), 4096).decode() if ready else ""
        if not line:
            raise CannotMeasure(f"the server {name} does not listen: {text.strip() or 'it is silent'}",
                                "run it by hand")
        text += line


class Sample:
    """The result of one run: the client's output, and the other load of the machine."""

    def __init__(self, output, meanwhile):
        self.output = output
        self.meanwhile = meanwhile
        self.wall_s = meanwhile.wall_s
        self.host_cpu_s = meanwhile.cpu.busy_s  # of all processes and the kernel


def run_pair(cable, server, client, sign, patience_s):
    """`sign`: text that the server prints when it listens. Both end by themselves. Raises CannotMeasure."""
    meanwhile = Meanwhile()
    far = start(cable.inside(cable.far, server), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until_listening(far, server[0], sign)
        with meanwhile:
            near = start(cable.inside(cable.near, client), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                output, complaint = near.communicate(timeout=patience_s)
            finally:
                near.kill()
                near.wait()
        if near.returncode != 0:
            raise CannotMeasure(f"{client[0]} failed: {(complaint or output).strip()}", "run it by hand")
        far.wait(timeout=10)
    except subprocess.TimeoutExpired as late:
        raise CannotMeasure(f"{late.cmd[4]} does not end", "run it by hand") from late
    finally:
        far.kill()
        far.wait()
        far.stdout.close()
    meanwhile.settle()
    return Sample(output, meanwhile)
