"""Packets of wire version 2 with hostile values, in the format of docs/explanation/protocol.md."""

import struct

_VERSION = 2
INIT, RETRY, ACCEPT, VERSION, REFUSE, RESET, DATA, CONTROL, REPEAT = 1, 2, 3, 4, 5, 6, 8, 9, 10
_FIRST_SEQUENCE = 2 ** 32 - 64
_INIT_BYTES = 512
_NUMBERED = 4


def first_byte(kind, version=_VERSION):
    return version << 4 | kind


def edge(random, bits):
    """A number at an edge of arithmetic; in half of the cases near the expected value."""
    top = 2 ** bits
    near = random.choice((0, 1, top // 2, top - 1, top // 4, _FIRST_SEQUENCE, 2 ** 24))
    return (near + random.choice((-65, -1, 0, 1, 2, 63, 64))) % top


def _parameters(random, hostile):
    def value(usual, bits):
        return edge(random, bits) if hostile and random.random() < 0.3 else usual
    fields = ((1, "H", value(16, 16)), (2, "I", value(1472, 32)), (3, "Q", value(200_000, 64)), (4, "I", value(16, 32)),
              (5, "I", value(1024, 32)), (6, "I", value(32_832, 32)), (7, "H", value(16, 16)), (8, "Q", value(8, 64)),
              (10, "H", 0), (11, "I", 0))
    text = b"".join(struct.pack("<HH" + form, kind, struct.calcsize("<" + form), number)
                    for kind, form, number in fields)
    name = b"cubic" if not hostile else random.choice((b"cubic", b"", b"credits", bytes(15)))
    return text + struct.pack("<HH", 9, len(name)) + name + struct.pack("<H", 0)


class Stranger:
    """An initiator's state of one handshake."""

    def __init__(self, random, reply_port):
        self.random, self.reply_port = random, reply_port
        self.identity, self.nonce, self.wire_id = random.getrandbits(32), random.getrandbits(64), random.getrandbits(64)

    def init(self, cookie=None, hostile=False):
        packet = struct.pack("<B3xIQQHQB", first_byte(INIT), self.identity, self.nonce, 1, self.reply_port,
                             self.wire_id, cookie is not None)
        return (packet + (cookie or bytes(24)) + _parameters(self.random, hostile)).ljust(_INIT_BYTES, b"\0")

    def cookie_of(self, answer):
        """None unless it is a retry for this handshake."""
        if len(answer) < 40 or answer[0] != first_byte(RETRY) or answer[8:16] != struct.pack("<Q", self.nonce):
            return None
        return answer[16:40]

    def peer_of(self, answer):
        """The wire id of packets to the acceptor; None unless it is an accept for this handshake."""
        if len(answer) < 38 or answer[0] != first_byte(ACCEPT) or answer[8:16] != struct.pack("<Q", self.nonce):
            return None
        return struct.unpack_from("<Q", answer, 30)[0]


def header(kind, peer, number, path, reply_port):
    flags = _NUMBERED if kind == CONTROL else 0
    return struct.pack("<BBHQQQH", first_byte(kind), flags, path, peer, number, 1, reply_port)


def _acknowledgement(random):
    ranges = random.choice((1, 1, 2, 16, 0, 255))
    older = b"".join(struct.pack("<II", edge(random, 32), edge(random, 32)) for _ in range(min(ranges, 16) - 1))
    return struct.pack("<BHqqIBQI", 1, random.choice((0, 1, 65_535)), 1, 2 ** 63 - 1, edge(random, 32), ranges,
                       random.choice((1, edge(random, 64), 2 ** 62)), random.choice((1, edge(random, 32)))) + older


def frame(random):
    """One frame of any type, with numbers at their edges."""
    def e(bits):
        return edge(random, bits)
    channel = random.choice((0, 0, 0, 1, 15, 65_535))
    made = {
        1: lambda: _acknowledgement(random), 2: lambda: struct.pack("<BQQ", 2, e(64), e(64)),
        3: lambda: struct.pack("<BHIHI", 3, channel, e(32), random.choice((1, 2, 64, 65_535)), e(32)),
        4: lambda: struct.pack("<BHIB", 4, channel, e(32), e(8)),
        5: lambda: struct.pack("<BHIB", 5, channel, e(32), e(8)),
        6: lambda: struct.pack("<BB", 6, e(8)), 7: lambda: b"\x07",
        8: lambda: struct.pack("<BHIIBQB", 8, channel, e(32), e(32), e(8), e(64), 32) + random.randbytes(32),
        9: lambda: struct.pack("<BHI", 9, channel, e(32)), 10: lambda: struct.pack("<BHI", 10, channel, e(32)),
        11: lambda: struct.pack("<BHI", 11, channel, e(32)) + random.randbytes(random.choice((0, 1, 700))),
        12: lambda: struct.pack("<BHIB", 12, channel, e(32), 0),
        13: lambda: struct.pack("<BIQQ", 13, e(32), e(64), e(64)),
        14: lambda: struct.pack("<BQI", 14, e(64), e(32)), 15: lambda: struct.pack("<BQ", 15, e(64)),
        16: lambda: struct.pack("<BQ", 16, e(64)), 17: lambda: struct.pack("<BHQ", 17, channel, e(64)),
        255: lambda: bytes((random.choice((18, 99, 255)),)) + random.randbytes(8),
    }
    return made[random.choice(tuple(made))]()


# Requests to the servers of `heddle perf`, invalid ones and a valid one.
_WORDS = (b"{", b"[" * 4000, b'{"run":"bw","message_bytes":-1,"window":4294967296}', b'{"run":"lat"}', b"\xff\xfe", b"")


def packets(random, peer, reply_port):
    """The packets of one hostile peer on an open connection: well-formed, with hostile values; endless."""
    number = 0
    if random.random() < 0.5:
        number = 1
        words = random.choice(_WORDS)[:1100]
        yield header(CONTROL, peer, 1, 0, reply_port) + struct.pack("<BHI", 11, 0, _FIRST_SEQUENCE) + words
    while True:
        number += 1
        wild = random.random() < 0.1
        at = edge(random, 64) if wild else number
        path = random.choice((0, 0, 0, 1, 15, 16, 65_535))
        if random.random() < 0.3:
            yield header(DATA, peer, at, path, reply_port) + struct.pack(
                "<HIII", random.choice((0, 0, 1, 65_535)), edge(random, 32), edge(random, 32),
                edge(random, 32)) + random.randbytes(random.choice((0, 1, 1000)))
        else:
            frames = b"".join(frame(random) for _ in range(random.choice((1, 1, 3))))
            yield (header(CONTROL, peer, at, path, reply_port) + frames)[:1400]


def mutated(random, packet):
    """Truncates a packet, or changes some of its bits and fields."""
    changed = bytearray(packet)
    if random.random() < 0.3:
        return bytes(changed[:random.randrange(1, len(changed) + 1)])
    for _ in range(random.choice((1, 1, 4, 30))):
        changed[random.randrange(len(changed))] ^= random.randrange(1, 256)
    return bytes(changed)
