// See greeting.h.
#include "datapath/ud/greeting.h"

#include "transport/engine_share.h"

namespace heddle::datapath {
namespace {

constexpr std::byte kFormat{2};
constexpr uint8_t kLargestMtu = 5;
constexpr uint32_t kMost24Bits = 0xff'ffff;
constexpr size_t kToAt = transport::kEngineIdAt;  // where a shared port reads it
// The upper half of keys belongs to the operating system.
constexpr uint32_t kMostKey = 0x7fff'ffff;

template <typename Integer>
void put(Integer value, std::byte* to) {
  for (size_t i = 0; i < sizeof value; ++i) {
    to[i] = static_cast<std::byte>(static_cast<uint64_t>(value) >> 8 * i);
  }
}

template <typename Integer>
Integer take(const std::byte* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) value |= static_cast<uint64_t>(from[i]) << 8 * i;
  return static_cast<Integer>(value);
}

}  // namespace

std::array<std::byte, kGreetingBytes> write_greeting(const Greeting& greeting) {
  std::array<std::byte, kGreetingBytes> out{};
  out[0] = kGreetingFirstByte;
  out[1] = kFormat;
  out[2] = static_cast<std::byte>(greeting.kind);
  out[3] = static_cast<std::byte>(greeting.mtu);
  out[kToAt] = std::byte{greeting.to};
  out[5] = std::byte{greeting.from};
  put(greeting.port, &out[6]);
  put(greeting.queue_pair | uint32_t{greeting.engines} << 24, &out[8]);
  put(greeting.key, &out[12]);
  put(greeting.nonce, &out[16]);
  return out;
}

std::optional<Greeting> read_greeting(std::span<const std::byte> datagram) {
  if (datagram.size() != kGreetingBytes || datagram[0] != kGreetingFirstByte ||
      datagram[1] != kFormat) {
    return std::nullopt;
  }
  const auto kind = take<uint8_t>(&datagram[2]);
  Greeting out;
  out.mtu = take<uint8_t>(&datagram[3]);
  out.to = take<uint8_t>(&datagram[kToAt]);
  out.from = take<uint8_t>(&datagram[5]);
  out.port = take<uint16_t>(&datagram[6]);
  const auto pair_and_engines = take<uint32_t>(&datagram[8]);
  out.queue_pair = pair_and_engines & kMost24Bits;
  out.engines = static_cast<uint8_t>(pair_and_engines >> 24);
  out.key = take<uint32_t>(&datagram[12]);
  out.nonce = take<uint64_t>(&datagram[16]);
  const bool good = kind >= static_cast<uint8_t>(GreetingKind::kAsk) &&
                    kind <= static_cast<uint8_t>(GreetingKind::kMoved) && out.mtu >= 1 &&
                    out.mtu <= kLargestMtu && out.port != 0 && out.key <= kMostKey &&
                    out.to < transport::kMostEngines && out.from < out.engines &&
                    out.engines <= transport::kMostEngines;
  if (!good) return std::nullopt;
  out.kind = static_cast<GreetingKind>(kind);
  return out;
}

}  // namespace heddle::datapath
