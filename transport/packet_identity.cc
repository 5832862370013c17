// See packet_identity.h.
#include "transport/packet_identity.h"

#include "transport/wire/packet.h"

namespace heddle::transport {

static_assert(kIdentityPathAt == kPathAt && kIdentityNumberAt == kNumberAt &&
              kConnectionAt == kPathAt + 2 && kLeastPacketBytes == kConnectionHeaderBytes);
static_assert(kParityFirstByte == std::byte{first_byte(PacketType::kParity)});

std::optional<PacketIdentity> identify_packet(std::span<const std::byte> packet) {
  if (packet.size() < kConnectionHeaderBytes || version_of(packet[0]) != kWireVersion) return {};
  const ConnectionHeader header = read_connection_header(packet.data());
  const bool numbered =
      header.type == PacketType::kData || header.type == PacketType::kRetransmission ||
      (header.type == PacketType::kControl && (header.flags & kFlagNumbered) != 0);
  if (!numbered) return {};
  return PacketIdentity{header.connection, header.number, header.path};
}

}  // namespace heddle::transport
