// JSON of other tools: read to a bounded depth, since copying a value recurses as deep as it is.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"
#include "recordings/params.h"

namespace heddle::recordings {

// Members are looked up by a tree: an object may have as many as its file holds.
using ForeignJson = nlohmann::json;

// Values in values; dumps that are sound need fewer than ten.
inline constexpr int kMostJsonDepth = params::foreign::kMostJsonDepth;

// Errors, with the byte: kInvalid (no JSON), kExhausted (deeper than kMostJsonDepth).
Result<ForeignJson> read_json(std::string_view text);

// The member of an object, without a copy; an empty array where it has none. What is no object
// throws as JSON's own access does.
const ForeignJson& member_or_empty(const ForeignJson& object, const char* name);

}  // namespace heddle::recordings
