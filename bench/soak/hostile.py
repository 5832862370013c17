#!/usr/bin/env python3
"""A hostile host: sends to the targets, at a bounded rate, until SIGTERM; then prints its counters as JSON.

It sends, in turn: garbage; recorded packets, truncated and changed; inits from unused addresses, with and
without a cookie; handshakes that stop halfway; handshakes whose connection then sends hostile values; resets
for guessed ids; forged ICMP. With --watch it records the packets that pass an interface, and replays them
unchanged and changed.
"""

import argparse
import json
import random
import signal
import socket
import struct
import sys
import time

import hostile_wire as wire

_ANSWER_S = 0.5
_MOST_SEEN = 500
_BURST = 32        # largest number of packets without a pause
_UDP, _ICMP = 17, 1
_EVERYTHING = 3    # ETH_P_ALL: outgoing packets as well
_OWN_HOPS = 63     # of forged packets; the kernel's begin with 64


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_header(protocol, origin, to, length):
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + length, 0, 0x4000, _OWN_HOPS, protocol, 0,
                       socket.inet_aton(origin), socket.inet_aton(to))


class Sender:
    """Limits the rate; counts packets by kind."""

    def __init__(self, rate):
        self._rate, self._began, self._due_from = rate, time.monotonic(), 0
        self.sent, self.counts = 0, {}
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def wait(self):
        ahead_s = (self.sent - self._due_from) / self._rate - (time.monotonic() - self._began)
        if ahead_s > 0:
            time.sleep(ahead_s)
        elif ahead_s * self._rate < -_BURST:  # after a stall; the missed packets are not made up for
            self._began, self._due_from = time.monotonic(), self.sent

    def send(self, kind, action):
        self.wait()
        self.sent += 1
        try:
            action()
        except OSError:  # the queue is full, or an ICMP error for an earlier packet
            kind += " (refused by the kernel)"
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def forge(self, kind, origin, to, payload):
        """A UDP datagram; ends are (address, port)."""
        datagram = struct.pack("!HHHH", origin[1], to[1], 8 + len(payload), 0) + payload
        packet = ip_header(_UDP, origin[0], to[0], len(datagram)) + datagram
        self.send(kind, lambda: self.raw.sendto(packet, (to[0], 0)))

    def forge_icmp(self, origin, to, kind, code, rest, quoted):
        body = struct.pack("!BBHI", kind, code, 0, rest) + quoted
        body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
        packet = ip_header(_ICMP, origin, to, len(body)) + body
        self.send("forged ICMP", lambda: self.raw.sendto(packet, (to, 0)))


class Seen:
    """Datagrams from and to the targets' hosts that passed an interface: (origin, to, payload)."""

    def __init__(self, interface, targets):
        self._hosts, self.kept = {host for host, _ in targets}, []
        self._socket = None
        if interface:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_EVERYTHING))
            self._socket.bind((interface, _EVERYTHING))
            self._socket.setblocking(False)

    def look(self, chance, most=20):
        for _ in range(most if self._socket else 0):
            try:
                packet = self._socket.recv(70_000)
            except BlockingIOError:
                return
            at = (packet[0] & 15) * 4
            if packet[0] >> 4 != 4 or len(packet) < at + 9 or packet[9] != _UDP or packet[8] == _OWN_HOPS:
                continue
            ports = struct.unpack_from("!HH", packet, at)
            ends = [(socket.inet_ntoa(packet[low:low + 4]), port) for low, port in zip((12, 16), ports)]
            if self._hosts & {host for host, _ in ends}:
                self.keep((*ends, packet[at + 8:at + 1408]), chance)

    def keep(self, packet, chance):
        if len(self.kept) < _MOST_SEEN:
            self.kept.append(packet)
        else:
            self.kept[chance.randrange(_MOST_SEEN)] = packet


class Hostile:
    def __init__(self, arguments):
        self._random = random.Random(arguments.seed)
        self._targets = [(host, int(port)) for host, port in (one.rsplit(":", 1) for one in arguments.to)]
        self._peers, self._address = arguments.peer, arguments.address
        self._sender = Sender(arguments.rate)
        self.seen = Seen(arguments.watch, self._targets)
        self.handshakes = self.accepted = 0
        self._kinds = [self._replay, self._changed] * 3 if arguments.watch else [self._connection, self._half_open]
        self._kinds += [self._garbage, self._changed, self._init_flood, self._cookie_flood, self._reset, self._icmp]

    def run(self, stopped):
        while not stopped:
            for kind in self._kinds:
                self.seen.look(self._random)
                kind(self._random.choice(self._targets))

    def result(self):
        return {"packets": self._sender.sent, "kinds": self._sender.counts, "handshakes": self.handshakes,
                "accepted": self.accepted, "seen": len(self.seen.kept)}

    def _own_end(self):
        return (self._address, self._random.randrange(1024, 65_536))

    def _garbage(self, target):
        for _ in range(10):
            data = bytearray(self._random.randbytes(self._random.randrange(0, 1400)))
            if data and self._random.random() < 0.7:  # often with a valid first byte
                data[0] = wire.first_byte(self._random.randrange(16), self._random.choice((1, 2, 2, 2, 3)))
            self._sender.forge("garbage", self._own_end(), target, bytes(data))

    def _changed(self, _target):
        for _ in range(10 if self.seen.kept else 0):
            origin, to, payload = self._random.choice(self.seen.kept)
            self._sender.forge("seen, changed", origin, to, wire.mutated(self._random, payload))

    def _replay(self, _target):
        for _ in range(10 if self.seen.kept else 0):
            self._sender.forge("seen, again", *self._random.choice(self.seen.kept))

    def _init_flood(self, target):
        for _ in range(10):
            origin = (f"10.66.{self._random.randrange(256)}.{self._random.randrange(1, 255)}",
                      self._random.randrange(1, 65_536))
            self._sender.forge("init without a cookie", origin, target,
                               wire.Stranger(self._random, origin[1]).init(hostile=True))

    def _cookie_flood(self, target):
        for _ in range(10):
            origin = self._own_end()
            self._sender.forge("init with a wrong cookie", origin, target,
                               wire.Stranger(self._random, origin[1]).init(self._random.randbytes(24), True))

    def _reset(self, target):
        ends = [(self._random.choice(self._peers), self._random.randrange(1024, 65_536)), target]
        for to, origin in (ends, ends[::-1]):
            self._sender.forge("reset", origin, to, struct.pack("<BBHIIQ", wire.first_byte(wire.RESET), 0, 0,
                                                                *(self._random.getrandbits(32) for _ in range(2)), 1))

    def _icmp(self, target):
        """Port unreachable, fragmentation needed and time exceeded, as from a router, about packets to a
        peer.
        """
        peer = (self._random.choice(self._peers),
                self._random.choice((target[1], self._random.randrange(1024, 65_536))))
        inner = wire.header(wire.DATA, self._random.getrandbits(64), 7, 0, target[1])
        quoted = ip_header(_UDP, target[0], peer[0], 8 + len(inner)) + struct.pack(
            "!HHHH", target[1], peer[1], 8 + len(inner), 0) + inner
        for kind, code, rest in ((3, 3, 0), (3, 4, 576), (11, 0, 0), (3, 1, 0)):
            self._sender.forge_icmp(self._address, target[0], kind, code, rest, quoted)

    def _answer(self, own, read):
        end = time.monotonic() + _ANSWER_S
        while (left := end - time.monotonic()) > 0:
            own.settimeout(left)
            try:
                found = read(own.recv(2048))
            except OSError:
                return None
            if found is not None:
                return found
        return None

    def _begin(self, own, target, kind):
        """Sends an init with a valid cookie from a new address; None without a cookie."""
        own.bind((self._address, 0))
        stranger = wire.Stranger(self._random, own.getsockname()[1])
        self.handshakes += 1
        self._sender.send(kind, lambda: own.sendto(stranger.init(), target))
        cookie = self._answer(own, stranger.cookie_of)
        if cookie is None:
            return None
        self._sender.send(kind, lambda: own.sendto(stranger.init(cookie, self._random.random() < 0.3), target))
        return stranger

    def _half_open(self, target):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            self._begin(own, target, "half-open handshake")

    def _connection(self, target):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            stranger = self._begin(own, target, "handshake")
            peer = stranger and self._answer(own, stranger.peer_of)
            if peer is None:
                return
            self.accepted += 1
            made = wire.packets(self._random, peer, stranger.reply_port)
            for _ in range(self._random.choice((1, 3, 20, 50))):
                packet = next(made)
                self.seen.keep((own.getsockname(), target, packet), self._random)
                self._sender.send("hostile frames", lambda packet=packet: own.sendto(packet, target))


def main():
    parser = argparse.ArgumentParser(description="a hostile host, for bench/run soak")
    parser.add_argument("to", nargs="+", metavar="ADDRESS:PORT", help="targets")
    parser.add_argument("--address", required=True, help="of this host")
    parser.add_argument("--peer", action="append", required=True, help="address of an honest peer of the targets")
    parser.add_argument("--watch", metavar="DEVICE", help="interface whose traffic with the targets it records")
    parser.add_argument("--rate", type=float, default=250, help="packets a second")
    parser.add_argument("--seed", type=int, default=1)
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the soak, which ends this process
    hostile = Hostile(parser.parse_args())
    hostile.run(stopped)
    json.dump(hostile.result(), sys.stdout)


if __name__ == "__main__":
    main()
