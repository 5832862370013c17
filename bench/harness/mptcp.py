"""Mptcp: one connection of the kernel's multipath TCP, as a program of harness.flows."""

import json
import pathlib
import shutil
import sys

from harness.flows import WARM_UP_S

_PEER = str(pathlib.Path(__file__).resolve().parents[1] / "multipath" / "mptcp_peer.py")


class Mptcp:
    """With this many subflows to an address of the fabric, or to the receiver's only one ("own"); `words`: more
    arguments for the server.
    """

    def __init__(self, subflows, address, name, words=()):
        self.name = f"MPTCP cubic, {name}"
        self._subflows, self._address, self._words = str(subflows), address, list(words)

    def server(self):
        return [sys.executable, _PEER, "--listen", self._subflows, self._address, *self._words], "listening"

    def client(self, address, seconds):
        return [sys.executable, _PEER, address, self._subflows, str(seconds), str(WARM_UP_S)]

    def read(self, output):
        return {}

    def read_server(self, output):
        return json.loads(output)


def kernel_has_mptcp():
    return why_no_mptcp() is None


def why_no_mptcp():
    """None where the kernel has it."""
    switch = pathlib.Path("/proc/sys/net/mptcp/enabled")
    if not switch.exists():
        return f"this kernel has no MPTCP: {switch} is missing"
    if switch.read_text().strip() != "1":
        return "MPTCP is off in this kernel: sysctl net.mptcp.enabled=1 turns it on"
    if shutil.which("ip") is None:
        return "`ip` is missing, which opens MPTCP's subflows: install iproute2"
    return None
