// Control messages between ranks, on channel 0 of each connection, beside the data of collectives:
// who connects, whether they share memory, what failed, what one waits for. One message is at most
// kControlBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "collectives/call.h"
#include "collectives/shared_memory/negotiation.h"

namespace heddle::collectives {

inline constexpr size_t kControlBytes = 512;

// The first message of the rank that connected.
struct Hello {
  uint64_t communicator = 0;
  uint32_t rank = 0;
  uint32_t size = 0;
  std::optional<MemoryOffer> memory;  // nothing: the network it is
  bool operator==(const Hello&) const = default;
};

// Why the communicator cannot go on, in words that every rank may show.
struct Failure {
  static constexpr uint32_t kNobody = UINT32_MAX;

  ErrorCode code = ErrorCode::kPeerDead;
  uint32_t rank = kNobody;  // whose fault it is
  std::string text;
};

enum class ControlKind : uint8_t { kHello = 1, kFailure = 2, kStalled = 3, kLate = 4, kAnswer = 5 };

// The answer to a rank that waits in a call: a rank that has not posted the call yet, either the
// sender or one reported to it. The receiver is notified as well when that rank has posted it.
struct Late {
  uint64_t number = 0;  // of the call
  uint32_t rank = 0;
  bool came = false;  // it has made the call since
  bool operator==(const Late&) const = default;
};

// Each returns the bytes written; `bytes` has kControlBytes. A failure's text is cut to fit.
size_t write_hello(const Hello& hello, std::byte* bytes);
size_t write_failure(const Failure& failure, std::byte* bytes);
// The sender waits for a message of this call.
size_t write_stalled(const Signature& signature, std::byte* bytes);
size_t write_late(const Late& late, std::byte* bytes);

// To an offer of memory. Its reason is cut to fit.
size_t write_answer(const MemoryAnswer& answer, std::byte* bytes);

// Nothing where the bytes make no sense.
std::optional<ControlKind> control_kind(std::span<const std::byte> bytes);
std::optional<Hello> read_hello(std::span<const std::byte> bytes);
std::optional<Failure> read_failure(std::span<const std::byte> bytes);
std::optional<Signature> read_stalled(std::span<const std::byte> bytes);
std::optional<Late> read_late(std::span<const std::byte> bytes);
std::optional<MemoryAnswer> read_answer(std::span<const std::byte> bytes);

}  // namespace heddle::collectives
