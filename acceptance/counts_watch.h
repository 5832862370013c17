// CountsWatch: what NICs and ports count from the begin of an acceptance test to its end, also to
// an interruption, and as rows of its first stage. acceptance.cc drives it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "acceptance/report.h"
#include "acceptance/run_counts.h"

namespace heddle::acceptance {

class CountsWatch {
 public:
  // Nothing where counters cannot be read at all.
  using Reader = std::function<std::optional<std::vector<PlaceCounts>>()>;

  // Reads for the first time. `earlier`: the test that is gone on with; null: none.
  CountsWatch(Reader read, const Report* earlier);

  // Reads again, and puts all that was counted since the begin into the report's first stage, in
  // place of what an earlier call put there.
  void conclude(Report& report) const;

 private:
  Reader read_;
  std::optional<std::vector<PlaceCounts>> begin_;
  std::vector<PlaceCounts> earlier_;
};

}  // namespace heddle::acceptance
