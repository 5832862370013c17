// Sizes on the command line of `heddle sim`: see size_option.h.
#include "apps/cli/sim/size_option.h"

#include <fmt/core.h>

#include "base/quantity.h"

namespace heddle::cli {

Result<void> take_size(const SizeOption& option) {
  if (option.text.empty()) return {};
  const Result<Bytes> parsed = parse_size(option.text);
  if (!parsed) return fail(parsed.error());
  if (parsed->count < option.least) {
    return fail(ErrorCode::kInvalid, "cannot read the command line",
                fmt::format("{} is {}", option.name, option.text),
                "give at least 1 byte, or leave it out");
  }
  option.size = *parsed;
  return {};
}

}  // namespace heddle::cli
