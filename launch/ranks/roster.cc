// RankLosses: see losses.h.
#include "launch/ranks/losses.h"

#include <fmt/format.h>

namespace heddle::launch {

std::string RankLosses::left_text() const {
  return fmt::format("{} of {} ranks {} left, at least {} {} needed", left(), ranks_,
                     left() == 1 ? "is" : "are", min_ranks_, min_ranks_ == 1 ? "is" : "are");
}

std::string RankLosses::summary() const {
  if (lost_.empty()) return {};
  const bool one = lost_.size() == 1;
  return fmt::format("the job ended with {} of {} ranks: rank{} {} {} lost", left(), ranks_,
                     one ? "" : "s", fmt::join(lost_, ", "), one ? "was" : "were");
}

}  // namespace heddle::launch
