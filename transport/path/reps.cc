// The balances of paths that came through, and when to look for others.
#include "transport/path/reps.h"

#include <algorithm>
#include <bit>

#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::reps;

constexpr uint32_t kNone = UINT32_MAX;
constexpr int32_t kUnitBytes = 64;

int32_t units_of(Bytes bytes) {
  return static_cast<int32_t>(std::min<uint64_t>(bytes.count, 1u << 20)) / kUnitBytes;
}

// Whether a path with nothing in flight is worth a burst that `recycled` could carry.
bool promises_more(const PathSample& idle, const PathSample& recycled) {
  if (idle.in_flight.count > 0) return false;
  return idle.stale || idle.latest_rtt < recycled.latest_rtt - recycled.latest_rtt / 4;
}

}  // namespace

uint32_t Reps::select(const UsablePaths& usable, Random& random) {
  const uint32_t first = next_recyclable(usable);
  if (first == kNone) return explore_.select(usable, random);
  uint32_t at = usable.find(balances_[first].path);
  const uint32_t second = next_recyclable(usable);
  const uint32_t rival = usable.find(balances_[second].path);
  selected_ = static_cast<uint8_t>(first);
  if (rival != at && usable[rival].latest_rtt < usable[at].latest_rtt) {
    at = rival;
    selected_ = static_cast<uint8_t>(second);
  }
  if (random.below(kExploreEvery) != 0) return at;
  const auto other = static_cast<uint32_t>(random.below(usable.size()));
  if (!promises_more(usable[other], usable[at])) return at;
  set(selected_, 0);
  return other;
}

uint32_t Reps::next_recyclable(const UsablePaths& usable) {
  uint32_t at = next_;
  for (uint32_t left = recyclable_; left != 0; left &= ~(1u << at)) {
    // The first behind the one whose turn it was.
    const auto behind = static_cast<uint32_t>(std::countr_zero(std::rotr(left, int(at + 1))));
    at = (at + 1 + behind) % kMost;
    if (usable.find(balances_[at].path) != UsablePaths::kNowhere) return next_ = at;
  }
  return kNone;
}

uint32_t Reps::find(uint16_t path) const {
  if (balances_[path % kMost].path == path) return path % kMost;
  for (uint32_t at = 0; at < kMost; ++at) {
    if (balances_[at].path == path) return at;
  }
  return kNone;
}

void Reps::set(uint32_t at, int32_t units) {
  balances_[at].units = static_cast<int16_t>(std::clamp(units, -INT16_MAX, +INT16_MAX));
  const uint32_t bit = 1u << at;
  recyclable_ = units > 0 ? recyclable_ | bit : recyclable_ & ~bit;
}

void Reps::on_sent(uint16_t path, Bytes sent) {
  if (recyclable_ == 0) return;
  const uint32_t at = balances_[selected_].path == path ? selected_ : find(path);
  if (at != kNone && balances_[at].units > 0) set(at, balances_[at].units - units_of(sent));
}

void Reps::on_ack(uint16_t path, const PathSample& sample, Bytes acked) {
  if (acked.count == 0 || sample.marked) return;
  uint32_t at = find(path);
  if (at == kNone) {
    at = balances_[path % kMost].path == kNoPath ? path % kMost : next_;
    balances_[at] = {path, 0};
  }
  set(at, balances_[at].units + units_of(acked));
}

std::unique_ptr<Selector> make_reps() { return std::make_unique<Reps>(); }

}  // namespace heddle::transport
