#!/usr/bin/env python3
"""One MPTCP connection with SUBFLOWS subflows for SECONDS; the receiver prints as JSON its goodput, its
bytes by interval, and how many subflows the kernel had open at most: 1 where it fell back to TCP.

mptcp_peer.py --listen SUBFLOWS ADDRESS|own [--nic] | mptcp_peer.py HOST SUBFLOWS SECONDS WARM_UP_S

The receiver offers its address again on further ports, and the sender's kernel opens a subflow to each: hosts with one
address have no other way to more than one; "own" is that address. With --nic, ADDRESS is of another of its NICs, and
is offered as it is. Each end sets this up in its own network namespace.
"""

import json
import random
import socket
import struct
import subprocess
import sys
import time

_PORT = 18770
_IPPROTO_MPTCP = 262
_CHUNK = bytes(1 << 20)
_INTERVAL_MS = 100
_PORTS_TO_TRY = 20
_SOL_MPTCP, _MPTCP_INFO = 284, 1  # linux/mptcp.h: of struct mptcp_info the first byte and the 32 bits at 8 are read
_INFO_BYTES, _FELL_BACK = 128, 1


def _manage_paths(*words):
    subprocess.run(["ip", "mptcp", *map(str, words)], check=True)


def _offer_on_another_port(address):
    """Offers the address on a free port: connections of the runs before may still hold some for a minute."""
    for _ in range(_PORTS_TO_TRY):
        words = ["endpoint", "add", address, "port", str(random.randrange(20_000, 30_000)), "signal"]
        done = subprocess.run(["ip", "mptcp", *words], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return
    sys.exit(f"ip mptcp {' '.join(words)}: {done.stderr.strip()}; the last of {_PORTS_TO_TRY} ports")


def _prepare(subflows):
    _manage_paths("endpoint", "flush")
    _manage_paths("limits", "set", "subflows", subflows - 1, "add_addr_accepted", subflows - 1)


def _own_address():
    listed = subprocess.run(["ip", "-j", "-4", "address", "show", "scope", "global"], check=True, capture_output=True)
    return next(each["addr_info"][0]["local"] for each in json.loads(listed.stdout) if each.get("addr_info"))


def _socket():
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return made


def _subflows(connection):
    """Open ones, with the first."""
    try:
        info = connection.getsockopt(_SOL_MPTCP, _MPTCP_INFO, _INFO_BYTES)
    except OSError:  # plain TCP
        return 1
    (flags,) = struct.unpack_from("=I", info, 8)
    return 1 if flags & _FELL_BACK else 1 + info[0]


def listen(subflows, address, is_nic):
    _prepare(subflows)
    address = _own_address() if address == "own" else address
    if is_nic:
        _manage_paths("endpoint", "add", address, "signal")
    else:
        for _ in range(subflows - 1):
            _offer_on_another_port(address)
    with _socket() as server:
        server.bind(("0.0.0.0", _PORT))
        server.listen()
        print("listening", flush=True)
        connection, _ = server.accept()
    seconds, warm_up = map(float, connection.recv(16).split())
    began = time.monotonic()
    got, buffer, opened = 0, bytearray(1 << 20), 1
    intervals = [0] * round((warm_up + seconds) * 1e3 / _INTERVAL_MS)
    while (now := time.monotonic() - began) < warm_up + seconds:
        connection.settimeout(warm_up + seconds - now)
        try:
            more = connection.recv_into(buffer)
        except TimeoutError:
            break
        if more == 0:
            break
        if now >= warm_up:
            got += more
        interval = min(int(now * 1e3 / _INTERVAL_MS), len(intervals) - 1)
        if intervals[interval] == 0:
            opened = max(opened, _subflows(connection))
        intervals[interval] += more
    print(json.dumps({"goodput_mbits_per_s": got * 8 / seconds / 1e6, "subflows": opened,
                      "received": {"interval_ms": _INTERVAL_MS, "interval_bytes": intervals}}), flush=True)


def send(host, subflows, seconds, warm_up):
    _prepare(subflows)
    connection = _socket()
    connection.settimeout(5)
    connection.connect((host, _PORT))
    connection.sendall(f"{seconds:7.3f} {warm_up:7.3f} ".encode())
    end = time.monotonic() + warm_up + seconds
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            connection.sendall(_CHUNK)
        except OSError:
            break  # the receiver has closed


if __name__ == "__main__":
    if len(sys.argv) in (4, 5) and sys.argv[1] == "--listen":
        listen(int(sys.argv[2]), sys.argv[3], sys.argv[4:] == ["--nic"])
    elif len(sys.argv) == 5:
        send(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
    else:
        sys.exit(__doc__)
