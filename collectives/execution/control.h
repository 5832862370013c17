// Control messages between ranks, on channel 0 of each connection, beside the data of collectives:
// hello of the rank that connects, offers of shared memory, failures, and reports of calls that
// wait. One message is at most kControlBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "collectives/call.h"
#include "collectives/execution/hello.h"
#include "collectives/execution/stream_counts.h"
#include "collectives/membership/membership_agreement.h"
#include "collectives/shared_memory/negotiation.h"

namespace heddle::collectives {

inline constexpr size_t kControlBytes = 512;
inline constexpr engine::Channel kControlChannel = 0;

// Why the communicator cannot go on, in words that every rank may show.
struct Failure {
  static constexpr uint32_t kNobody = UINT32_MAX;

  ErrorCode code = ErrorCode::kPeerDead;
  uint32_t rank = kNobody;  // whose fault it is
  std::string text;
};

enum class ControlKind : uint8_t {
  kHello = 1,
  kFailure = 2,
  kStalled = 3,
  kLate = 4,
  kAnswer = 5,
  kKept = 6,
  kMembership = 7,
  kWanted = 8,
};

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

// After a failure: all calls of the sender with this rank have ended.
size_t write_kept(const StreamCounts& posted, std::byte* bytes);
// Of that communicator, since another may have its connections by now. 0: its ranks do not fit.
size_t write_membership(uint64_t communicator, const MembershipMessage& message, std::byte* bytes);

// The first message of a connection that only asks: whether that communicator may still come here.
size_t write_wanted(uint64_t communicator, std::byte* bytes);

// To an offer of memory. Its reason is cut to fit.
size_t write_answer(const MemoryAnswer& answer, std::byte* bytes);

// Nothing where the bytes make no sense.
std::optional<ControlKind> control_kind(std::span<const std::byte> bytes);
std::optional<Hello> read_hello(std::span<const std::byte> bytes);
std::optional<Failure> read_failure(std::span<const std::byte> bytes);
std::optional<Signature> read_stalled(std::span<const std::byte> bytes);
std::optional<Late> read_late(std::span<const std::byte> bytes);
std::optional<uint64_t> read_wanted(std::span<const std::byte> bytes);
std::optional<StreamCounts> read_kept(std::span<const std::byte> bytes);
// Nothing, too, of another communicator than this of `size` ranks.
std::optional<MembershipMessage> read_membership(std::span<const std::byte> bytes,
                                                 uint64_t communicator, uint32_t size);
std::optional<MemoryAnswer> read_answer(std::span<const std::byte> bytes);

}  // namespace heddle::collectives
