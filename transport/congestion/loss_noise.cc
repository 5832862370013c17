// Two counts that forget, and the bucket that noise fills and losses empty. What they are worth, by
// heddle-bench-simulated with and without is_noise() returning false: one CUBIC connection at 1% of
// random loss carries 719 Mb/s instead of 617 over lab/examples/two_leaf_four_spine.toml, and 8.6
// Gb/s instead of 1.1 over a link of 10 Gb/s and 1 ms. Without loss nothing changes.
#include "transport/congestion/loss_noise.h"

#include <algorithm>

#include "transport/congestion/fixed_point.h"
#include "transport/congestion/reduction.h"
#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::loss_noise;

// What a queue must add to a round trip to differ from what hosts add: as in slow start, in
// proportion to the lowest round trip. Flows that share a full queue below this estimate each
// other's losses as noise, and the one that ignores more of them takes the link.
Nanos felt_above(Nanos min_rtt) {
  return std::clamp(min_rtt / params::slow_start::kMinRttDivisor, params::slow_start::kHostNoise,
                    kFelt);
}

}  // namespace

void LossNoise::Count::forget(Nanos sent_at) {
  if (sent() <= kRemembered || sent_at - halved_at < kRememberedFor) return;
  acked /= 2;
  lost /= 2;
  halved_at = sent_at;
}

uint32_t LossNoise::rate() const {
  if (with_room_.sent() < kEnough || with_room_.lost == 0) return 0;
  const uint64_t with_room = multiply_divide(with_room_.lost, kWhole, with_room_.sent());
  const uint64_t all = multiply_divide(all_.lost, kWhole, std::max<uint64_t>(all_.sent(), 1));
  // Most of what is lost is lost for want of room.
  if (2 * with_room < all) return 0;
  return static_cast<uint32_t>(std::min(with_room, all));
}

void LossNoise::on_ack(Nanos sent_at, Bytes acked, Nanos rtt) {
  all_.acked += acked.count;
  all_.forget(sent_at);
  if (meets_room(sent_at)) with_room_.acked += acked.count;
  with_room_.forget(sent_at);
  if (rtt > longest_) longest_ = rtt;
  longest_ = longest_ - (longest_ - rtt) / kForget;
  const uint64_t noise = rate();
  carry_ += acked.count * (noise + noise / 2);
  forgiven_ = std::min(forgiven_ + carry_ / kWhole, kBucket);
  carry_ %= kWhole;
}

void LossNoise::on_reduced(Nanos now, Nanos round_trip, uint64_t segments) {
  const uint64_t trips = std::clamp<uint64_t>(segments / kSegmentsATrip, 1, kMostTrips);
  room_from_ = now;
  room_until_ = now + static_cast<int64_t>(trips) * round_trip;
}

bool LossNoise::take_needless(Nanos sent_at) {
  if (!meets_room(sent_at)) return false;
  room_until_ = room_from_;
  return true;
}

bool LossNoise::is_noise(Nanos sent_at, Bytes lost, Nanos rtt, Nanos min_rtt) {
  all_.lost += lost.count;
  if (meets_room(sent_at)) with_room_.lost += lost.count;
  if (rtt - min_rtt > std::max(felt_above(min_rtt), (longest_ - min_rtt) / 2)) return false;
  // What was acknowledged with room before this was known fills the bucket in arrears.
  const uint32_t noise = meets_room(sent_at) ? rate() : 0;
  if (noise > 0 && noise <= kFew) forgiven_ = std::max(forgiven_, lost.count + lost.count / 2);
  if (forgiven_ < lost.count) return false;
  forgiven_ -= lost.count;
  return true;
}

}  // namespace heddle::transport
