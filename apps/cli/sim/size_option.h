// An option of `heddle sim` that is a size.
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace heddle::cli {

struct SizeOption {
  const char* name;
  const std::string& text;  // empty: it was not given
  Bytes& size;
  uint64_t least;
};

// A size that was given, or what it was. Errors: kInvalid, naming the option.
Result<void> take_size(const SizeOption& option);

}  // namespace heddle::cli
