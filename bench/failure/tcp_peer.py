#!/usr/bin/env python3
"""One TCP flow for SECONDS; the receiver prints the longest time in which nothing came, as JSON.

tcp_peer.py --listen | tcp_peer.py HOST SECONDS; the sender waits for the receiver's words no longer than that.
"""

import json
import socket
import sys
import time

_PORT = 18760
_CHUNK = bytes(64 << 10)


def _cubic(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return connection


def listen():
    with socket.create_server(("0.0.0.0", _PORT)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
    began = latest = time.monotonic()
    longest = longest_after = got = 0
    seconds = float(connection.recv(8).strip())
    buffer = bytearray(1 << 20)
    while (left := began + seconds - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            more = connection.recv_into(buffer)
        except TimeoutError:
            break
        if more == 0:
            break
        now = time.monotonic()
        if now - latest > longest:
            longest, longest_after = now - latest, latest - began
        latest, got = now, got + more
    silent = time.monotonic() - latest
    print(json.dumps({"longest_gap_ms": max(longest, silent) * 1e3, "longest_gap_after_s": longest_after,
                      "silent_at_end_ms": silent * 1e3, "bytes": got}), flush=True)


def send(host, seconds):
    connection = _cubic(socket.create_connection((host, _PORT), timeout=5))
    connection.sendall(f"{seconds:8.3f}".encode())
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            connection.sendall(_CHUNK)
        except OSError:
            break  # the connection is stuck, or the receiver has closed


if __name__ == "__main__":
    if sys.argv[1:] == ["--listen"]:
        listen()
    elif len(sys.argv) == 3:
        send(sys.argv[1], float(sys.argv[2]))
    else:
        sys.exit(__doc__)
