// JSON of other tools: read to a bounded depth, since whoever copies a value goes as deep as it is.
#pragma once

#include <string_view>

#include "apps/cli/service/control.h"
#include "base/result.h"

namespace heddle::cli {

// Values in values; dumps that are sound need fewer than ten.
inline constexpr int kMostJsonDepth = 32;

// Errors: kInvalid (no JSON), kExhausted (deeper than kMostJsonDepth).
Result<Json> read_json(std::string_view text);

// The member of an object, without a copy; an empty array where it has none. What is no object
// throws as Json's own access does.
const Json& member_or_empty(const Json& object, const char* name);

}  // namespace heddle::cli
