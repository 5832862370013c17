// Rates of links over time: see rate_history.h.
#include "simulator/rate_history.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace heddle::simulator {

namespace {

Uint128 within(Nanos from, Nanos to, BitsPerSec rate) {
  return to > from ? static_cast<Uint128>(rate.count) * static_cast<Uint128>((to - from).count) : 0;
}

}  // namespace

void RateHistory::add(LinkId link, Nanos at, BitsPerSec rate) {
  std::vector<Change>& changes = changes_[link];
  Uint128 before = 0;
  if (!changes.empty()) {
    const Change& last = changes.back();
    CHECK(last.at <= at);
    before = last.before + within(last.at, at, last.rate);
  }
  changes.push_back({at, rate, before});
}

// From the first change to `to`, which must not be before it.
Uint128 RateHistory::changed(const std::vector<Change>& changes, Nanos to) {
  const auto after = std::upper_bound(changes.begin(), changes.end(), to,
                                      [](Nanos at, const Change& each) { return at < each.at; });
  const Change& last = *std::prev(after);
  return last.before + within(last.at, to, last.rate);
}

Uint128 RateHistory::nanobits(LinkId link, BitsPerSec first, Nanos from, Nanos to) const {
  const auto found = changes_.find(link);
  if (found == changes_.end() || to <= from) return within(from, to, first);
  const std::vector<Change>& changes = found->second;
  const Nanos begins = changes.front().at;
  if (to <= begins) return within(from, to, first);
  return within(from, begins, first) + changed(changes, to) -
         changed(changes, std::max(from, begins));
}

}  // namespace heddle::simulator
