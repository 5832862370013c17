// Pickles: Python's serialized objects, of which only data are read: numbers, texts, lists, tuples
// and dictionaries. Nothing in one can run anything: what asks for it is refused.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "recordings/import/bounded_json.h"

namespace heddle::recordings {

// Bytes with which a pickle of protocol 2 to 5 begins.
bool looks_like_pickle(std::string_view bytes);

// As JSON: tuples become arrays, keys texts. Values of keys named `left_out` are null. Errors:
// kInvalid (no pickle, cut short, or more than data), kExhausted (more than 4 Mi
// values or 128 MiB of texts, each counted as often as it is named).
Result<ForeignJson> read_pickle(std::string_view bytes, std::string_view left_out = {});

}  // namespace heddle::recordings
