// The comparison of two paths, and the search for paths that were never tried.
#include "transport/path/two_choices.h"

#include <algorithm>

#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::two_choices;

constexpr uint32_t kNone = UINT32_MAX;

bool measured(const PathSample& path) { return path.latest_rtt > Nanos{}; }

Nanos expected_delay(const PathSample& path) {
  return path.latest_rtt * (1 + int64_t{std::min(path.recent_losses, kLossesMost)});
}

// The first path, from a random start, that was never tried.
uint32_t untried(const UsablePaths& usable, uint32_t start) {
  const auto count = static_cast<uint32_t>(usable.size());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = start + i < count ? start + i : start + i - count;
    const PathSample path = usable[at];
    if (!measured(path) && path.in_flight.count == 0) return at;
  }
  return kNone;
}

// Its samples are stale, and nothing is in flight that will bring a new one.
bool forgotten(const PathSample& path) { return path.stale && path.in_flight.count == 0; }

bool better(const PathSample& a, const PathSample& b) {
  // One that has something in flight but never answered may be dead: any that has answered is
  // preferred.
  if (measured(a) != measured(b)) return measured(a);
  // What was slow once need not be slow now; were it judged by that, it would never be tried again.
  if (forgotten(a) || forgotten(b)) return a.in_flight < b.in_flight;
  const Nanos delay_a = expected_delay(a);
  const Nanos delay_b = expected_delay(b);
  const Nanos band = std::max(std::min(delay_a, delay_b) / kBandDivisor, kBandLeast);
  if (delay_a + band < delay_b) return true;
  if (delay_b + band < delay_a) return false;
  if (a.marked != b.marked) return b.marked;
  return a.in_flight < b.in_flight;
}

}  // namespace

uint32_t TwoChoices::select(const UsablePaths& usable, Random& random) {
  // One draw of 64 bits serves both choices.
  const uint64_t bits = random.next();
  const uint64_t count = usable.size();
  const auto first = static_cast<uint32_t>(((bits >> 32) * count) >> 32);
  const auto second = static_cast<uint32_t>(((bits & UINT32_MAX) * count) >> 32);
  if (selects_till_search_ == 0) {
    const uint32_t fresh = untried(usable, first);
    if (fresh != kNone) return fresh;
    selects_till_search_ = kSearchEvery;
  }
  --selects_till_search_;
  return better(usable[second], usable[first]) ? second : first;
}

void TwoChoices::on_ack(uint16_t /*path*/, const PathSample& /*sample*/, Bytes /*acked*/) {}

std::unique_ptr<Selector> make_two_choices() { return std::make_unique<TwoChoices>(); }

}  // namespace heddle::transport
