// Packet: a packet of the simulated network, and the store that lends packets. A packet carries
// real header bytes, and either real payload or a reference to virtual payload, so that gigabytes
// move cheaply. It can also represent a remote write (the placed-chunk shape of RDMA).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/nanos.h"
#include "base/pool.h"
#include "simulator/params.h"
#include "transport/payload.h"
#include "transport/rx_run.h"

namespace heddle::simulator {

using NicId = uint32_t;     // index into the topology's NICs
using PacketId = uint32_t;  // kNoIndex: none

// Overhead beyond the datagram: IPv4 and UDP headers; on the wire also Ethernet header, check
// sequence, preamble and gap.
inline constexpr uint32_t kIpUdpBytes = 28;
inline constexpr uint32_t kWireOverheadBytes = kIpUdpBytes + 38;

// The size of a datagram after trimming.
inline constexpr uint16_t kTrimmedBytes = transport::kDataHeaderBytes;

enum class PacketKind : uint8_t {
  kDatagram,
  kTrimmed,       // a datagram that a switch cut after its first kTrimmedBytes
  kRefused,       // ICMP: no receiver at (to_nic, to_port) of the quoted packet
  kTooLarge,      // ICMP: the quoted packet did not fit; `limit_bytes` would have
  kTimeExceeded,  // ICMP: the quoted packet's hop limit ended at a switch
  kWrite,         // a piece of a remote write
  kWriteAck,      // of a reliable NIC: `write.chunk` is the first that has not landed
  kPause,         // PFC: stops the sender at the other end of this cable (outlets.h)
  kGoOn,          // PFC: resumes it
};

// Header bytes of a write piece: RoCEv2's transport headers and checksum.
inline constexpr uint16_t kWriteHeaderBytes = 32;

// A piece of a chunk (transport/placed.h): a NIC splits chunks into packets of an RDMA MTU.
struct RemoteWrite {
  transport::RegionId region = transport::kNoRegion;  // receiver's region, with the generation
  uint32_t generation = 0;                            // that its token named
  uint64_t offset = 0;                                // of this piece in the region
  uint32_t from_connection = 0;
  uint32_t to_connection = 0;
  uint32_t epoch = 0;
  uint32_t chunk = 0;  // number within (connection, path, epoch)
  uint32_t piece = 0;  // number within the chunk
  uint32_t immediate = 0;
  uint32_t chunk_bytes = 0;
  bool last = false;      // piece of the chunk
  bool reliable = false;  // requests a kWriteAck
  bool gap = false;       // kWriteAck: a later piece has arrived
};

// Fields that every hop reads come first, in one cache line.
struct alignas(64) Packet {
  static constexpr uint32_t kInlineBytes = params::kInlineBytes;
  // For ICMP packets, sizes of their two parts, which are contiguous.
  static constexpr size_t kRouterBytes = 16;
  static constexpr size_t kQuotedBytes = transport::NetworkError::kMostQuoted;

  PacketId next = kNoIndex;  // in its current list
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
  bool lost = false;  // ends at the end of its current link, as pause frames do
  bool header_corrupt = false;
  bool payload_corrupt = false;
  uint8_t hop_limit = 0;      // hops left, including the switch where it ends; 0: unlimited
  bool reordered = false;     // held back after the link, so that others overtake it
  Nanos arrives_at;           // at its port
  uint32_t node = 0;          // current node, or destination while held back
  uint32_t block = kNoIndex;  // header and real payload, contiguous, if not inline

  // Virtual payload: the source region and the offset in it.
  transport::RegionId content = transport::kNoRegion;
  uint32_t came_by = kNoIndex;  // the link to its current node
  uint64_t content_at = 0;
  std::array<std::byte, kInlineBytes> header;
  RemoteWrite write;
  uint32_t limit_bytes = 0;  // kTooLarge
  Nanos held_back;           // if `reordered`: delay

  bool is_virtual() const { return content != transport::kNoRegion; }
  uint32_t datagram_bytes() const { return header_bytes + payload_bytes; }
  uint32_t wire_bytes() const { return datagram_bytes() + kWireOverheadBytes; }
};

static_assert(offsetof(Packet, header) == 64);

class PacketStore {
 public:
  PacketStore() : packets_(UINT32_MAX) {}

  // A packet with default fields and memory for the header, and for the payload unless `content`
  // names virtual bytes.
  PacketId lend(uint16_t header_bytes, uint32_t payload_bytes, transport::RegionId content,
                uint64_t content_at);
  // A copy with its own bytes.
  PacketId clone(PacketId id);
  void give_back(PacketId id);

  Packet& operator[](PacketId id) { return packets_[id]; }
  const Packet& operator[](PacketId id) const { return packets_[id]; }

  // Header, then real payload.
  std::byte* bytes(Packet& packet);
  const std::byte* bytes(const Packet& packet) const;
  // The number of these bytes.
  static uint32_t real_bytes(const Packet& packet) {
    return packet.header_bytes + (packet.is_virtual() ? 0 : packet.payload_bytes);
  }

  uint32_t lent() const { return packets_.lent(); }

 private:
  // Blocks of one size, identified by (class, index).
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
