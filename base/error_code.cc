// Names and reasons of error codes: see error_code.h.
#include "base/error_code.h"

#include <array>
#include <cstddef>

#include "base/check.h"

namespace heddle {
namespace {

struct Text {
  ErrorCode code;
  const char* name;
  const char* reason;
};

constexpr std::array kTexts = {
    Text{ErrorCode::kInvalid, "invalid", "what was asked makes no sense"},
    Text{ErrorCode::kUnavailable, "unavailable", "no program listens there"},
    Text{ErrorCode::kPermission, "permission", "it is not permitted"},
    Text{ErrorCode::kInUse, "in_use", "another program has it"},
    Text{ErrorCode::kTimeout, "timeout", "no answer in time"},
    Text{ErrorCode::kPeerDead, "peer_dead", "the peer stopped answering"},
    Text{ErrorCode::kCancelled, "cancelled", "it was withdrawn"},
    Text{ErrorCode::kTruncated, "truncated", "a message was larger than its receive"},
    Text{ErrorCode::kClosed, "closed", "the connection is closed"},
    Text{ErrorCode::kVersion, "version", "the versions differ"},
    Text{ErrorCode::kExhausted, "exhausted", "a bound is reached"},
    Text{ErrorCode::kSystem, "system", "the transfer failed"}};
static_assert(kTexts.size() == kErrorCodes);

const Text& text_of(ErrorCode code) {
  const auto index = static_cast<size_t>(code);
  CHECK(index < kTexts.size() && kTexts[index].code == code);
  return kTexts[index];
}

}  // namespace

const char* name_of(ErrorCode code) { return text_of(code).name; }
const char* reason_of(ErrorCode code) { return text_of(code).reason; }

}  // namespace heddle
