#!/usr/bin/env python3
"""One MPTCP connection with SUBFLOWS subflows for SECONDS; the receiver prints its goodput, as JSON.

mptcp_peer.py --listen SUBFLOWS ADDRESS [--nic] | mptcp_peer.py HOST SUBFLOWS SECONDS WARM_UP_S

The receiver offers its address again on further ports, and the sender's kernel opens a subflow to each: hosts with one
address have no other way to more than one. With --nic, ADDRESS is of another of its NICs, and is offered as it is. Each
end sets this up in its own network namespace.
"""

import json
import random
import socket
import subprocess
import sys
import time

_PORT = 18770
_IPPROTO_MPTCP = 262
_CHUNK = bytes(1 << 20)


def _manage_paths(*words):
    subprocess.run(["ip", "mptcp", *map(str, words)], check=True)


def _prepare(subflows):
    _manage_paths("endpoint", "flush")
    _manage_paths("limits", "set", "subflows", subflows - 1, "add_addr_accepted", subflows - 1)


def _socket():
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return made


def listen(subflows, address, is_nic):
    _prepare(subflows)
    if is_nic:
        _manage_paths("endpoint", "add", address, "signal")
    further = random.randrange(20_000, 30_000)  # those of the previous run may still be in use
    for number in range(1, 1 if is_nic else subflows):
        _manage_paths("endpoint", "add", address, "port", further + number, "signal")
    with _socket() as server:
        server.bind(("0.0.0.0", _PORT))
        server.listen()
        print("listening", flush=True)
        connection, _ = server.accept()
    seconds, warm_up = map(float, connection.recv(16).split())
    began = time.monotonic()
    got, buffer = 0, bytearray(1 << 20)
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
    print(json.dumps({"goodput_mbits_per_s": got * 8 / seconds / 1e6}), flush=True)


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
