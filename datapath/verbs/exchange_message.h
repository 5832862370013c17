// ExchangeMessage: the datagrams by which two verbs datapaths agree on a queue pair, and the token
// by which one names a region to the other. Integers are little-endian; every message has the same
// length, so an answer is never longer than its request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/verbs.h"
#include "transport/placed.h"

namespace heddle::datapath {

enum class ExchangeKind : uint8_t {
  kRequest = 1,  // make a queue pair for my writes
  kAnswer = 2,   // it is made
  kRefusal = 3,  // it will not be made: the epoch or the connection is over, or too many
  kBroken = 4,   // the queue pair of that answer does not work any more
};

struct ExchangeMessage {
  ExchangeKind kind = ExchangeKind::kRequest;
  RdmaMode mode = RdmaMode::kReliable;
  uint8_t mtu = 1;               // as verbs encode it: 1 is 256 bytes, 5 is 4096
  uint16_t path = 0;             // chunk path of the requester
  uint32_t epoch = 0;            // of the path
  uint32_t from_connection = 0;  // the requester's id
  uint32_t to_connection = 0;    // the responder's id
  uint32_t attempt = 0;          // increases with each queue pair of the requester
  uint32_t queue_pair = 0;       // of the sender of this message, 24 bits
  uint32_t first_number = 0;     // packet sequence number that its queue pair begins with, 24 bits
  uint64_t secret = 0;           // of the responder, from a token
  uint64_t nonce = 0;            // of the requester: names the request

  bool operator==(const ExchangeMessage&) const = default;
};

inline constexpr size_t kExchangeBytes = 52;

void write_exchange(const ExchangeMessage& message, std::span<std::byte, kExchangeBytes> out);
// Nothing: not a message of this version, or a field out of range.
std::optional<ExchangeMessage> read_exchange(std::span<const std::byte> bytes);

// What a token of this datapath holds.
struct VerbsToken {
  uint64_t address = 0;  // of the region's first byte
  uint32_t remote_key = 0;
  uint16_t exchange_port = 0;  // where the region's owner takes requests for queue pairs
  uint64_t secret = 0;         // shows the owner that the requester was granted memory

  bool operator==(const VerbsToken&) const = default;
};

transport::MemoryToken write_token(const VerbsToken& token);
// Nothing: a token of another datapath.
std::optional<VerbsToken> read_token(const transport::MemoryToken& token);

}  // namespace heddle::datapath
