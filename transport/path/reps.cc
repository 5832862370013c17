// The balances of paths that came through, and when to look for others.
#include "transport/path/reps.h"

#include <algorithm>

namespace heddle::transport {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr int32_t kUnitBytes = 64;
// One selection in so many may leave a path that came through for an idle one. Delays are told a
// round trip late: were all to follow them at once, they would all go where the last queue was.
constexpr uint64_t kExploreEvery = 8;

int32_t units_of(Bytes bytes) {
  return static_cast<int32_t>(std::min<uint64_t>(bytes.count, 1u << 20)) / kUnitBytes;
}

void add(int16_t& units, int32_t more) {
  units = static_cast<int16_t>(std::clamp(units + more, -INT16_MAX, +INT16_MAX));
}

// Whether a path that nothing is under way on is worth a burst that `recycled` could carry.
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
  if (rival != at && usable[rival].latest_rtt < usable[at].latest_rtt) at = rival;
  if (random.below(kExploreEvery) != 0) return at;
  const auto other = static_cast<uint32_t>(random.below(usable.size()));
  if (!promises_more(usable[other], usable[at])) return at;
  if (Balance* left = find(usable[at].path)) left->units = 0;
  return other;
}

uint32_t Reps::next_recyclable(const UsablePaths& usable) {
  for (uint32_t looked = 0; looked < count_; ++looked) {
    next_ = next_ + 1 < count_ ? next_ + 1 : 0;
    const Balance& balance = balances_[next_];
    if (balance.units > 0 && usable.find(balance.path) != UsablePaths::kNowhere) return next_;
  }
  return kNone;
}

Reps::Balance* Reps::find(uint16_t path) {
  for (uint32_t i = 0; i < count_; ++i) {
    if (balances_[i].path == path) return &balances_[i];
  }
  return nullptr;
}

Reps::Balance& Reps::remember(uint16_t path) {
  if (Balance* known = find(path)) return *known;
  Balance& place = balances_[count_ < kMost ? count_++ : next_];
  place = {path, 0};
  return place;
}

void Reps::on_sent(uint16_t path, Bytes sent) {
  Balance* balance = find(path);
  if (balance != nullptr && balance->units > 0) add(balance->units, -units_of(sent));
}

void Reps::on_ack(uint16_t path, const PathSample& sample, Bytes acked) {
  if (acked.count > 0 && !sample.marked) add(remember(path).units, units_of(acked));
}

std::unique_ptr<Selector> make_reps() { return std::make_unique<Reps>(); }

}  // namespace heddle::transport
