"""Cable: two network namespaces joined by a veth pair, for the duration of a `with` block.

Names contain this process's id; the next run removes the namespaces of a killed one. Without root, the
program is started again in a new user namespace, where all of this is allowed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from harness.failure import CannotMeasure

PREFIX = "heddle-bench"
_INSIDE = "HEDDLE_BENCH_IN_USER_NAMESPACE"


def need_network_rights():
    """Returns with the right to create namespaces; may restart the program."""
    for tool in ("ip", "unshare"):
        if shutil.which(tool) is None:
            raise CannotMeasure(f"`{tool}` is missing", "install iproute2 and util-linux")
    if os.geteuid() == 0:
        return
    if os.environ.get(_INSIDE):
        raise CannotMeasure("not root even in a user namespace", "run it as root")
    inner = 'mount -t tmpfs tmpfs /run && mkdir /run/netns && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise CannotMeasure("this user may not make network namespaces", "run it as root")
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", [*command, "sh", "-c", inner, "sh", sys.executable, *sys.argv])


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotMeasure(f"`ip {' '.join(words)}` failed: {done.stderr.strip()}",
                            "run it as root, or where network namespaces are allowed")


def remove_what_killed_runs_left():
    for path in pathlib.Path("/run/netns").glob(f"{PREFIX}-*"):
        owner = re.match(rf"{PREFIX}-(\d+)-", path.name)
        if owner and not pathlib.Path(f"/proc/{owner[1]}").exists():
            subprocess.run(["ip", "netns", "del", path.name], stderr=subprocess.DEVNULL)


class Cable:
    """near and far are namespaces; programs in far are reached from near at far_address."""

    def __init__(self, mtu_bytes):
        self.mtu_bytes = mtu_bytes
        stem = f"{PREFIX}-{os.getpid()}-{mtu_bytes}"
        self.near, self.far = f"{stem}-near", f"{stem}-far"
        self.near_address, self.far_address = "10.77.0.1", "10.77.0.2"

    def __enter__(self):
        remove_what_killed_runs_left()
        try:
            for name in (self.near, self.far):
                ip("netns", "add", name)
            ip("-n", self.near, "link", "add", "cable0", "mtu", str(self.mtu_bytes), "type", "veth",
                "peer", "name", "cable0", "mtu", str(self.mtu_bytes), "netns", self.far)
            for name, address in ((self.near, self.near_address), (self.far, self.far_address)):
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable0")
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "link", "set", "cable0", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in (self.near, self.far):
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)

    def inside(self, side, command):
        """Returns the command line that runs `command` in namespace `side`, as the same process."""
        return ["ip", "netns", "exec", side, *command]
