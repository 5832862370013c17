// Packet: what travels through the simulated network, and the store that lends it. A packet carries
// the real bytes of its header and either real payload or the name of virtual payload, so that
// gigabytes move cheaply. It can also stand for a write into remote memory (the placed-chunk shape
// of RDMA).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/nanos.h"
#include "base/pool.h"
#include "transport/payload.h"
#include "transport/rx_run.h"

namespace heddle::simulator {

using NicId = uint32_t;     // index into the topology's NICs
using PacketId = uint32_t;  // kNoIndex: none

// What a packet is larger by than its datagram: IPv4 and UDP headers; and on the wire Ethernet's
// header, check sequence, preamble and gap as well.
inline constexpr uint32_t kIpUdpBytes = 28;
inline constexpr uint32_t kWireOverheadBytes = kIpUdpBytes + 38;

// What a switch that trims leaves of a datagram.
inline constexpr uint16_t kTrimmedBytes = transport::kDataHeaderBytes;

enum class PacketKind : uint8_t {
  kDatagram,
  kTrimmed,       // a datagram that a switch has cut off behind its first kTrimmedBytes
  kRefused,       // ICMP: nobody receives at (to_nic, to_port) of the packet that it answers
  kTooLarge,      // ICMP: the packet that it answers did not fit; `limit_bytes` would have
  kTimeExceeded,  // ICMP: the hop limit of the packet that it quotes ended at a switch
  kWrite,         // a piece of a write into remote memory
  kWriteAck,      // of a reliable NIC: `write.chunk` is the first that has not landed
  kPause,         // PFC: the sender at the other end of this cable stops (see outlets.h)
  kGoOn,          // and goes on
};

// What a NIC puts in front of a piece of a write: RoCEv2's transport headers and checksum.
inline constexpr uint16_t kWriteHeaderBytes = 32;

// One piece of a chunk (see transport/placed.h): a NIC cuts chunks into packets of an RDMA MTU.
struct RemoteWrite {
  transport::RegionId region = transport::kNoRegion;  // of the receiver, with the generation that
  uint32_t generation = 0;                            // its token named
  uint64_t offset = 0;                                // of this piece in the region
  uint32_t from_connection = 0;
  uint32_t to_connection = 0;
  uint32_t epoch = 0;
  uint32_t chunk = 0;  // counts those of its (connection, path, epoch)
  uint32_t piece = 0;  // counts those of the chunk
  uint32_t immediate = 0;
  uint32_t chunk_bytes = 0;
  bool last = false;      // piece of the chunk
  bool reliable = false;  // wants a kWriteAck
  bool gap = false;       // kWriteAck: something behind it has arrived
};

// What every hop looks at stands first, in one cache line.
struct alignas(64) Packet {
  static constexpr uint32_t kInlineBytes = 64;
  // Of an ICMP packet these are its bytes, one behind the other.
  static constexpr size_t kRouterBytes = 16;
  static constexpr size_t kQuotedBytes = transport::NetworkError::kMostQuoted;

  PacketId next = kNoIndex;  // in whatever list it stands
  NicId from_nic = 0;
  NicId to_nic = 0;
  uint16_t from_port = 0;
  uint16_t to_port = 0;
  uint16_t path = 0;
  uint16_t header_bytes = 0;
  uint32_t payload_bytes = 0;
  PacketKind kind = PacketKind::kDatagram;
  transport::Ecn ecn = transport::Ecn::kNotCapable;
  bool may_fragment = false;
  bool lost = false;  // ends at the end of the link that it is on, as pause frames do
  bool header_corrupt = false;
  bool payload_corrupt = false;
  uint8_t hop_limit = 0;  // switches that it may still meet, the one where it ends included; 0: any
  bool reordered = false;     // is held back after the link, so that others overtake it
  Nanos arrives_at;           // at its port
  uint32_t node = 0;          // where it is, or where it goes while it is held back
  uint32_t block = kNoIndex;  // header and real payload, one after the other, when not inline

  // Virtual payload: the region whose bytes these are, and from where on.
  transport::RegionId content = transport::kNoRegion;
  uint32_t came_by = kNoIndex;  // the link, to where it is
  uint64_t content_at = 0;
  std::array<std::byte, kInlineBytes> header;
  RemoteWrite write;
  uint32_t limit_bytes = 0;  // kTooLarge
  Nanos held_back;           // where it is `reordered`: for so long

  bool is_virtual() const { return content != transport::kNoRegion; }
  uint32_t datagram_bytes() const { return header_bytes + payload_bytes; }
  uint32_t wire_bytes() const { return datagram_bytes() + kWireOverheadBytes; }
};

static_assert(offsetof(Packet, header) == 64);

class PacketStore {
 public:
  PacketStore() : packets_(UINT32_MAX) {}

  // A packet with all fields at their defaults and room for its bytes: the header's, and the
  // payload's unless `content` names virtual ones.
  PacketId lend(uint16_t header_bytes, uint32_t payload_bytes, transport::RegionId content,
                uint64_t content_at);
  // A copy with bytes of its own.
  PacketId clone(PacketId id);
  void give_back(PacketId id);

  Packet& operator[](PacketId id) { return packets_[id]; }
  const Packet& operator[](PacketId id) const { return packets_[id]; }

  // Header, then real payload.
  std::byte* bytes(Packet& packet);
  const std::byte* bytes(const Packet& packet) const;
  // How many of them there are.
  static uint32_t real_bytes(const Packet& packet) {
    return packet.header_bytes + (packet.is_virtual() ? 0 : packet.payload_bytes);
  }

  uint32_t lent() const { return packets_.lent(); }

 private:
  // Blocks of one size, named by (class, index).
  struct BlockClass {
    uint32_t bytes = 0;
    std::vector<std::unique_ptr<std::byte[]>> blocks;
    std::vector<uint32_t> free;
  };

  uint32_t lend_block(uint32_t bytes);
  std::byte* block(uint32_t name) const;

  Pool<Packet> packets_;
  std::array<BlockClass, 7> classes_{{{256, {}, {}},
                                      {512, {}, {}},
                                      {1'280, {}, {}},
                                      {2'048, {}, {}},
                                      {4'608, {}, {}},
                                      {10'240, {}, {}},
                                      {65'536, {}, {}}}};
};

}  // namespace heddle::simulator
