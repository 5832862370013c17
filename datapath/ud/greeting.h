// Greeting: the datagram by which two UD datapaths learn each other's receiving queue pair; with
// several engines, each has one. An ask travels by UDP or, to prove that this way is open, by queue
// pair; its answer by UDP. Both have one length, so an answer is never longer than its ask.
// docs/explanation/protocol.md has the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace heddle::datapath {

enum class GreetingKind : uint8_t {
  kAsk = 1,
  kAnswer = 2,
  kMoved = 3,  // the queue pair of an earlier answer works no more: ask again
};

struct Greeting {
  GreetingKind kind = GreetingKind::kAsk;
  uint8_t mtu = 1;          // as verbs encode it: 1 is 256 bytes, 5 is 4096
  uint8_t to = 0;           // the engine that it is for
  uint8_t from = 0;         // the sender's engine
  uint8_t engines = 1;      // of the sender
  uint16_t port = 0;        // at which the sender receives by UDP
  uint32_t queue_pair = 0;  // that receives, 24 bits
  uint32_t key = 0;         // which its datagrams must carry
  uint64_t nonce = 0;       // of the ask; an answer repeats it

  bool operator==(const Greeting&) const = default;
};

inline constexpr size_t kGreetingBytes = 24;
// Version 2 of the wire protocol, type 12: no endpoint reads it.
inline constexpr std::byte kGreetingFirstByte{0x2c};

std::array<std::byte, kGreetingBytes> write_greeting(const Greeting& greeting);
// Nothing: none of this version, or a field out of range.
std::optional<Greeting> read_greeting(std::span<const std::byte> datagram);

// Bytes of payload: 256 << (mtu - 1).
constexpr uint32_t mtu_bytes(uint8_t mtu) { return uint32_t{128} << mtu; }

}  // namespace heddle::datapath
