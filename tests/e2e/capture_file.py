"""Captures that tests write: RoCEv2's write of any size as a NIC sends it, and data packets of heddle."""

import struct

_LINK_ETHERNET = 1
_FIRST, _MIDDLE, _LAST, _ONLY, _ACK = 6, 7, 8, 10, 17


def _frame(opcode, number, extended, payload_bytes, queue_pair=17):
    bth = struct.pack(">BBHI", opcode, 0, 0xffff, queue_pair) + struct.pack(">I", number & 0xffffff)
    return _datagram(4791, bth + extended + bytes(payload_bytes + 4))


def _datagram(port, payload):
    body = struct.pack(">HHHH", 49152, port, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 2, 20 + len(body), 0, 0x4000, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2")
    return bytes(12) + b"\x08\x00" + ip + body


def write_frames(message_bytes, first_number=0, mtu=4096):
    """The packets of one RDMA write."""
    reth = struct.pack(">QII", 0x1000, 9, message_bytes)
    if message_bytes <= mtu:
        return [_frame(_ONLY, first_number, reth, message_bytes)]
    count = -(-message_bytes // mtu)
    frames = []
    for i in range(count):
        opcode = _FIRST if i == 0 else _LAST if i == count - 1 else _MIDDLE
        frames.append(_frame(opcode, first_number + i, reth if i == 0 else b"", min(mtu, message_bytes - i * mtu)))
    return frames


def ack_frame(number, syndrome=0):
    return _frame(_ACK, number, struct.pack(">I", syndrome << 24), 0, queue_pair=18)


def heddle_frame(number, offset, message_bytes, packets=1, payload_bytes=1400):
    """A datagram of data packets without keys; several are merged as by GSO."""
    merged = b""
    for i in range(packets):
        merged += struct.pack("<BBHQQqHHIII", 0x28, 0, 0, 0x1122334455667788, number + i, 5, 40_000, 3, 100,
                              offset + i * payload_bytes, message_bytes) + b"p" * payload_bytes
    return _datagram(18_700, merged)


def capture(frames, snapshot_bytes=128, step_us=10):
    """The bytes of a pcap file."""
    parts = [struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, snapshot_bytes, _LINK_ETHERNET)]
    for at, frame in enumerate(frames):
        seconds, micros = divmod(at * step_us, 1_000_000)
        kept = frame[:snapshot_bytes]
        parts.append(struct.pack("<IIII", 1_700_000_000 + seconds, micros, len(kept), len(frame)) + kept)
    return b"".join(parts)
