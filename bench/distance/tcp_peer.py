#!/usr/bin/env python3
"""One end of messages that go to and fro over one TCP connection, one at a time, as `heddle perf lat` sends them.

Stands alone.
"""

import argparse
import json
import socket
import sys
import time


def _tuned(connection, control):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _receive(connection, space):
    """Reads a whole message; returns False if the peer has closed."""
    left = memoryview(space)
    while left:
        got = connection.recv_into(left)
        if got == 0:
            return False
        left = left[got:]
    return True


def answer(arguments):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _tuned(server, arguments.cc).bind(("0.0.0.0", arguments.port))
        server.listen(1)
        print("listens", file=sys.stderr, flush=True)
        connection = _tuned(server.accept()[0], arguments.cc)
    space = bytearray(arguments.bytes)
    while _receive(connection, space):
        connection.sendall(space)


def ask(arguments):
    connection = _tuned(socket.create_connection((arguments.ask, arguments.port)), arguments.cc)
    payload, space = bytes(arguments.bytes), bytearray(arguments.bytes)
    took_ns = []
    begin = time.monotonic()
    while (now := time.monotonic()) < begin + arguments.warm_up + arguments.seconds:
        began = time.monotonic_ns()
        connection.sendall(payload)
        if not _receive(connection, space):
            sys.exit("tcp_peer: the peer has gone")
        if now >= begin + arguments.warm_up:
            took_ns.append(time.monotonic_ns() - began)
    took_ns.sort()
    print(json.dumps({"rounds": len(took_ns), **{
        f"half_round_trip_us_p{part}": took_ns[len(took_ns) * part // 100] / 2e3 for part in (50, 99)}}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: tcp_peer.py --answer --cc cubic")
    parser.add_argument("--answer", action="store_true", help="send back what comes")
    parser.add_argument("--ask", metavar="HOST", help="measure with the one that answers on this host")
    parser.add_argument("--bytes", type=int, default=65536)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--warm-up", type=float, default=0.3)
    parser.add_argument("--cc", default="cubic")
    parser.add_argument("--port", type=int, default=18762)
    arguments = parser.parse_args()
    if arguments.answer == bool(arguments.ask):
        parser.error("give either --answer or --ask HOST")
    (answer if arguments.answer else ask)(arguments)


if __name__ == "__main__":
    main()
