// PacketIdentity: what names a numbered packet of a connection, in clear in every packet. For
// datapaths that add redundancy; the transport itself reads packets by transport/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace heddle::transport {

struct PacketIdentity {
  uint64_t connection = 0;  // the wire id
  uint64_t number = 0;      // on its path
  uint16_t path = 0;
  bool operator==(const PacketIdentity&) const = default;
};

// Where these fields are in the packet: path and connection are adjacent, the number follows.
inline constexpr size_t kIdentityPathAt = 2;
inline constexpr size_t kIdentityNumberAt = 12;
// No packet of a connection is shorter.
inline constexpr size_t kLeastPacketBytes = 30;

// The first byte of datagrams of forward error correction (datapath/fec/), which no transport
// reads.
inline constexpr std::byte kParityFirstByte{0x2b};

// Nothing: no packet of a connection in this version, or one that wants no acknowledgement.
std::optional<PacketIdentity> identify_packet(std::span<const std::byte> packet);

}  // namespace heddle::transport
