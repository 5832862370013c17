// See counts_watch.h.
#include "acceptance/counts_watch.h"

#include <utility>

namespace heddle::acceptance {
namespace {

// Of a first stage that is kept, or that was interrupted and runs anew. One that failed has failed
// of a fault that is mended since.
std::vector<PlaceCounts> counts_of(const Report* earlier) {
  if (earlier == nullptr || earlier->stages.empty()) return {};
  const StageReport& first = earlier->stages.front();
  if (first.outcome == StageOutcome::kFailed) return {};
  return counts_in(first);
}

}  // namespace

CountsWatch::CountsWatch(Reader read, const Report* earlier)
    : read_(std::move(read)), begin_(read_()), earlier_(counts_of(earlier)) {}

void CountsWatch::conclude(Report& report) const {
  if (!begin_ || report.stages.empty()) return;
  const std::optional<std::vector<PlaceCounts>> now = read_();
  if (!now) return;
  std::vector<PlaceCounts> counted = counted_between(*begin_, *now);
  add_counts(earlier_, counted);
  set_run_counts(counted, report.stages.front());
}

}  // namespace heddle::acceptance
