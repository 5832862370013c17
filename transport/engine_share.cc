// See engine_share.h.
#include "transport/engine_share.h"

#include "transport/wire/handshake.h"

namespace heddle::transport {
namespace {

static_assert(kEngineInitType == static_cast<uint32_t>(PacketType::kInit));
static_assert(kEngineParityType == static_cast<uint32_t>(PacketType::kParity));
static_assert(kEngineIdAt == kConnectionAt && kEngineIdAt == kHandshakeIdAt);

uint8_t low_bits(std::byte id, const EngineShare& share) {
  const auto index = static_cast<uint8_t>(std::to_integer<uint32_t>(id) & share.mask());
  return index < share.count ? index : kAnyEngine;
}

uint8_t engine_of_parity(std::span<const std::byte> datagram, const EngineShare& share) {
  if (datagram[kEngineParityKindAt] == std::byte{0}) return kEveryEngine;
  return datagram.size() > kEngineParityIdAt ? low_bits(datagram[kEngineParityIdAt], share)
                                             : kAnyEngine;
}

}  // namespace

uint8_t engine_of(std::span<const std::byte> datagram, const EngineShare& share) {
  if (datagram.size() < kEngineReadableBytes) return kAnyEngine;
  switch (type_of(datagram[0])) {
    case PacketType::kData:
    case PacketType::kControl:
    case PacketType::kRetransmission:
    case PacketType::kRetry:
    case PacketType::kAccept:
    case PacketType::kVersion:
    case PacketType::kRefuse:
      return low_bits(datagram[kEngineIdAt], share);
    case PacketType::kInit: {
      if (datagram.size() <= kEngineInitPortAt) return kAnyEngine;
      const uint32_t sum = std::to_integer<uint32_t>(datagram[kEngineIdAt]) +
                           std::to_integer<uint32_t>(datagram[kEngineInitPortAt]);
      return static_cast<uint8_t>(sum % share.count);
    }
    case PacketType::kReset:
      return kEveryEngine;
    case PacketType::kParity:
      return engine_of_parity(datagram, share);
  }
  return kAnyEngine;
}

}  // namespace heddle::transport
