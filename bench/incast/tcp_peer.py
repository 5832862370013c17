#!/usr/bin/env python3
"""One end of an incast over TCP: the rounds of heddle-bench-incast, for comparison. Stands alone."""

import argparse
import json
import selectors
import socket
import sys
import time

_ASK = b"\0" * 8


def _tuned(connection, control):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive(arguments):
    server = _tuned(socket.socket(), arguments.cc)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("0.0.0.0", arguments.port))
    server.listen(arguments.senders)
    print("listens", file=sys.stderr, flush=True)
    senders = [_tuned(server.accept()[0], arguments.cc) for _ in range(arguments.senders)]
    wait = selectors.DefaultSelector()
    for number, sender in enumerate(senders):
        wait.register(sender, selectors.EVENT_READ, number)
    space = bytearray(1 << 18)
    times = []
    for _ in range(arguments.rounds + 1):
        left = [arguments.bytes] * len(senders)
        took = [0] * len(senders)
        began = time.monotonic_ns()
        for sender in senders:
            sender.sendall(_ASK)
        missing = len(senders)
        while missing:
            for key, _ in wait.select(60):
                got = key.fileobj.recv_into(space)
                if got == 0:
                    sys.exit("tcp_peer: a sender has gone")
                left[key.data] -= got
                if left[key.data] == 0:
                    took[key.data] = time.monotonic_ns() - began
                    missing -= 1
        times.append(took)
    print(json.dumps({"message_ns": times[1:]}))


def send(arguments):
    connection = _tuned(socket.create_connection((arguments.send, arguments.port)), arguments.cc)
    payload = bytes(arguments.bytes)
    for _ in range(arguments.rounds + 1):
        heard = b""
        while len(heard) < len(_ASK):
            more = connection.recv(len(_ASK) - len(heard))
            if not more:
                return
            heard += more
        connection.sendall(payload)
    connection.recv(1)  # until the receiver has everything and closes


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     epilog="example: tcp_peer.py --receive --senders 8 --cc cubic")
    parser.add_argument("--receive", action="store_true", help="ask the senders")
    parser.add_argument("--send", metavar="HOST", help="answer the receiver on this host")
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--bytes", type=int, default=65536)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cc", default="cubic")
    parser.add_argument("--port", type=int, default=18761)
    arguments = parser.parse_args()
    if arguments.receive == bool(arguments.send):
        parser.error("give either --receive or --send HOST")
    (receive if arguments.receive else send)(arguments)


if __name__ == "__main__":
    main()
