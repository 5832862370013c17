// See exchange_message.h.
#include "datapath/verbs/exchange_message.h"

#include <algorithm>
#include <array>

namespace heddle::datapath {
namespace {

constexpr uint32_t kMagic = 0x716c6468;  // "hdlq"
constexpr uint8_t kVersion = 1;
constexpr uint8_t kTokenVersion = 0xd1;
constexpr uint8_t kTokenBytes = 1 + 8 + 4 + 2 + 8;
constexpr uint32_t kMost24Bits = 0xff'ffff;

class Put {
 public:
  explicit Put(std::byte* to) : to_(to) {}
  template <typename Integer>
  void operator()(Integer value) {
    for (size_t i = 0; i < sizeof value; ++i) {
      *to_++ = static_cast<std::byte>(static_cast<uint64_t>(value) >> 8 * i);
    }
  }

 private:
  std::byte* to_;
};

class Take {
 public:
  explicit Take(const std::byte* from) : from_(from) {}
  template <typename Integer>
  Integer take() {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(Integer); ++i) {
      value |= static_cast<uint64_t>(*from_++) << 8 * i;
    }
    return static_cast<Integer>(value);
  }

 private:
  const std::byte* from_;
};

}  // namespace

void write_exchange(const ExchangeMessage& message, std::span<std::byte, kExchangeBytes> out) {
  Put put(out.data());
  put(kMagic);
  put(kVersion);
  put(static_cast<uint8_t>(message.kind));
  put(static_cast<uint8_t>(message.mode));
  put(message.mtu);
  put(message.path);
  put(uint16_t{0});
  put(message.epoch);
  put(message.from_connection);
  put(message.to_connection);
  put(message.attempt);
  put(message.queue_pair);
  put(message.first_number);
  put(message.secret);
  put(message.nonce);
}

std::optional<ExchangeMessage> read_exchange(std::span<const std::byte> bytes) {
  if (bytes.size() != kExchangeBytes) return std::nullopt;
  Take from(bytes.data());
  if (from.take<uint32_t>() != kMagic || from.take<uint8_t>() != kVersion) return std::nullopt;
  ExchangeMessage message;
  const auto kind = from.take<uint8_t>();
  const auto mode = from.take<uint8_t>();
  message.mtu = from.take<uint8_t>();
  message.path = from.take<uint16_t>();
  const auto reserved = from.take<uint16_t>();
  message.epoch = from.take<uint32_t>();
  message.from_connection = from.take<uint32_t>();
  message.to_connection = from.take<uint32_t>();
  message.attempt = from.take<uint32_t>();
  message.queue_pair = from.take<uint32_t>();
  message.first_number = from.take<uint32_t>();
  message.secret = from.take<uint64_t>();
  message.nonce = from.take<uint64_t>();
  const bool good = kind >= static_cast<uint8_t>(ExchangeKind::kRequest) &&
                    kind <= static_cast<uint8_t>(ExchangeKind::kBroken) &&
                    mode <= static_cast<uint8_t>(RdmaMode::kUnreliable) && message.mtu >= 1 &&
                    message.mtu <= 5 && reserved == 0 && message.queue_pair <= kMost24Bits &&
                    message.first_number <= kMost24Bits;
  if (!good) return std::nullopt;
  message.kind = static_cast<ExchangeKind>(kind);
  message.mode = static_cast<RdmaMode>(mode);
  return message;
}

transport::MemoryToken write_token(const VerbsToken& token) {
  transport::MemoryToken out;
  static_assert(kTokenBytes <= sizeof out.bytes);
  Put put(out.bytes.data());
  put(kTokenVersion);
  put(token.address);
  put(token.remote_key);
  put(token.exchange_port);
  put(token.secret);
  out.length = kTokenBytes;
  return out;
}

std::optional<VerbsToken> read_token(const transport::MemoryToken& token) {
  if (token.length != kTokenBytes) return std::nullopt;
  Take from(token.bytes.data());
  if (from.take<uint8_t>() != kTokenVersion) return std::nullopt;
  VerbsToken out;
  out.address = from.take<uint64_t>();
  out.remote_key = from.take<uint32_t>();
  out.exchange_port = from.take<uint16_t>();
  out.secret = from.take<uint64_t>();
  return out;
}

}  // namespace heddle::datapath
