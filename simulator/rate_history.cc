// Rates of links over time: see rate_history.h.
#include "simulator/rate_history.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {

namespace {

Uint128 within(Nanos from, Nanos to, BitsPerSec rate) {
  return to > from ? static_cast<Uint128>(rate.count) * static_cast<Uint128>((to - from).count) : 0;
}

}  // namespace

void RateHistory::add(LinkId link, Nanos at, BitsPerSec rate) {
  std::vector<Change>& changes = changes_[link];
  CHECK(changes.empty() || changes.back().at <= at);
  changes.push_back({at, rate});
}

Uint128 RateHistory::nanobits(LinkId link, BitsPerSec first, Nanos from, Nanos to) const {
  const auto found = changes_.find(link);
  if (found == changes_.end()) return within(from, to, first);
  Uint128 sum = 0;
  Nanos at = from;
  BitsPerSec rate = first;
  for (const Change& change : found->second) {
    if (change.at >= to) break;
    sum += within(at, change.at, rate);
    at = std::max(at, change.at);
    rate = change.rate;
  }
  return sum + within(at, to, rate);
}

}  // namespace heddle::simulator
