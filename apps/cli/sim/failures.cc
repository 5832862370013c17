// Why flows failed: see failures.h.
#include "apps/cli/sim/failures.h"

#include <fmt/core.h>

#include <array>

#include "apps/cli/quantity.h"
#include "base/check.h"

namespace heddle::cli {
namespace {

struct Failure {
  ErrorCode code;
  const char* name;
  const char* reason;
};

constexpr std::array kFailures = {
    Failure{ErrorCode::kInvalid, "invalid", "what was asked makes no sense"},
    Failure{ErrorCode::kUnavailable, "unavailable", "nobody listens"},
    Failure{ErrorCode::kPermission, "permission", "it is not permitted"},
    Failure{ErrorCode::kInUse, "in_use", "somebody else has it"},
    Failure{ErrorCode::kTimeout, "timeout", "no answer in time"},
    Failure{ErrorCode::kPeerDead, "peer_dead", "the peer stopped answering"},
    Failure{ErrorCode::kCancelled, "cancelled", "it was withdrawn"},
    Failure{ErrorCode::kTruncated, "truncated", "a message was larger than its receive"},
    Failure{ErrorCode::kClosed, "closed", "the connection is closed"},
    Failure{ErrorCode::kVersion, "version", "the versions differ"},
    Failure{ErrorCode::kExhausted, "exhausted", "a bound is reached"},
    Failure{ErrorCode::kSystem, "system", "the transfer failed"}};

}  // namespace

const char* name_of(ErrorCode code) {
  const auto index = static_cast<size_t>(code);
  CHECK(index < kFailures.size() && kFailures[index].code == code);
  return kFailures[index].name;
}

std::string failures_text(const simulator::FlowRun& run) {
  std::array<uint64_t, kFailures.size()> counts = {};
  for (const simulator::FlowOutcome& outcome : run.outcomes()) {
    const bool failed = outcome.failed && outcome.received == Nanos::never();
    if (failed) ++counts[static_cast<size_t>(outcome.error)];
  }
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(counts[i]),
                        kFailures[i].reason);
  }
  return text;
}

}  // namespace heddle::cli
