// Why flows failed: see failures.h.
#include "apps/cli/sim/failures.h"

#include <fmt/core.h>

#include <array>

#include "apps/cli/quantity.h"
#include "base/error_code.h"

namespace heddle::cli {

std::string failures_text(const simulator::FlowRun& run) {
  std::array<uint64_t, kErrorCodes> counts = {};
  for (const simulator::FlowOutcome& outcome : run.outcomes()) {
    const bool failed = outcome.failed && outcome.received == Nanos::never();
    if (failed) ++counts[static_cast<size_t>(outcome.error)];
  }
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count_text(counts[i]),
                        reason_of(static_cast<ErrorCode>(i)));
  }
  return text;
}

}  // namespace heddle::cli
