// The header of a simulated RoCEv2 packet: the fields that the model uses, in the size of the real
// headers.
#pragma once

#include <cstdint>
#include <cstring>

#include "simulator/packet.h"

namespace heddle::simulator::roce {

// UDP's port for RoCEv2.
inline constexpr uint16_t kPort = 4791;
// Source ports of queue pairs, by which switches choose among routes, begin here; there are 2^14.
inline constexpr uint16_t kFirstSourcePort = 49'152;
inline constexpr uint16_t kSourcePorts = 16'384;

// Bytes after UDP's header: base transport header (12) and invariant CRC (4); with AETH (4); a CNP
// has 16 reserved bytes.
inline constexpr uint16_t kSendHeaderBytes = 16;
inline constexpr uint16_t kAckHeaderBytes = 20;
inline constexpr uint16_t kCnpHeaderBytes = 32;

enum class Opcode : uint8_t { kSend, kAck, kNak, kCnp };

struct Header {
  uint32_t queue_pair = 0;  // of the receiver
  Opcode opcode = Opcode::kSend;
  bool last = false;           // kSend: of its message
  bool wants_ack = false;      // kSend: AckReq
  uint8_t reserved = 0;        //
  uint64_t packet_number = 0;  // kAck, kNak: the next that the responder expects
};
static_assert(sizeof(Header) == kSendHeaderBytes);

inline void write_header(PacketStore& packets, Packet& packet, const Header& header) {
  std::memcpy(packets.bytes(packet), &header, sizeof(header));
}

inline Header read_header(const PacketStore& packets, const Packet& packet) {
  Header header;
  std::memcpy(&header, packets.bytes(packet), sizeof(header));
  return header;
}

}  // namespace heddle::simulator::roce
